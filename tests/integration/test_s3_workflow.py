"""A whole workflow on S3: store, find, open, compress and audit, through a proxy that counts requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from uuid import uuid4

import pytest

from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.object_keys import ACTIVE, DURABLE, durable_key
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.memories import new_user, stored
from tests.support.s3_proxy import S3Proxy, s3_proxy
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, moto_server, new_bucket

MEMBER_BYTES = 1_024

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy() -> Iterator[S3Proxy]:
    with moto_server() as address, s3_proxy(address) as between:
        yield between


@pytest.fixture
def settings(settings: Settings, proxy: S3Proxy) -> Settings:
    """Settings of an installation whose objects are in a bucket; many small members, so that ranges are small."""
    return Settings.model_validate(
        {
            **settings.model_dump(),
            "objects_url": f"s3://{new_bucket(proxy.address)}/memories",
            "s3_endpoint_url": proxy.address,
            "s3_region": "us-east-1",
            "s3_access_key_id": ACCESS_KEY_ID,
            "s3_secret_access_key": SECRET_ACCESS_KEY,
            "s3_max_attempts": 3,
            "gzip_member_bytes": MEMBER_BYTES,
        }
    )


@pytest.fixture
def claims(installation: Installation) -> Claims:
    """Bob, whose sixteen conversations are remembered."""
    user, claims = new_user(installation, "bob")
    sample = ROOT / "samples" / "bob.jsonl"
    import_file(installation.acting_for(claims), sample, "jsonl")
    results = list(run_due(installation.context, "test", user.user_id))
    assert stored(results)
    assert [returned for result in results for returned in result.returned] == []
    return claims


def test_store_find_open_and_compress_on_s3(installation: Installation, claims: Claims, proxy: S3Proxy) -> None:
    here = installation
    assert not (here.home / "objects").exists()
    found = search(here.acting_for(claims), Question("What did Dave say?", explain=True))
    hit = found.hits[0]
    file_id = file_of_record(here.database, claims, hit.key)

    whole = open_file(here.acting_for(claims), file_id).content
    lines = [json.loads(line) for line in whole.splitlines()]
    assert lines

    # One message: only its bytes go over the wire, out of the compressed object.
    proxy.log.clear()
    message = open_message(here.acting_for(claims), file_id, lines[-1]["seq"])
    assert message.content == lines[-1]["content"]
    (exchange,) = proxy.log
    first, last = (int(number) for number in re.findall(r"\d+", exchange.range or ""))
    assert exchange.method == "GET"
    assert exchange.sent_bytes == last - first + 1 < 2 * MEMBER_BYTES
    assert exchange.sent_bytes < len(whole) / 2

    # Asleep and awake again, through a server that is busy.
    copies = set(here.objects.keys(ACTIVE))
    control.compress(here.acting_for(claims), file_id)
    assert len(copies - set(here.objects.keys(ACTIVE))) == 1
    proxy.fail("GET", "slow_down")
    proxy.fail("GET", "reset_in_body")
    assert open_file(here.acting_for(claims), file_id).content == whole
    assert set(here.objects.keys(ACTIVE)) == copies

    # A server that is gone is not a file that is damaged.
    proxy.fail("GET", "reset", times=3)
    with pytest.raises(TransientError):
        open_message(here.acting_for(claims), file_id, lines[0]["seq"])
    assert open_message(here.acting_for(claims), file_id, lines[0]["seq"]).content

    checked = verify(here.context)
    assert checked.findings == []
    assert checked.files == len(list(here.objects.keys(DURABLE)))


def test_orphans_on_s3_are_found(installation: Installation, claims: Claims) -> None:
    here = installation
    named = list(here.objects.keys())
    left_over = durable_key("bob", ["Family"], uuid4(), uuid4())
    here.objects.put(left_over, [b"of a commit that died"])
    here.objects.put(f"{DURABLE}notes.txt", [b"of somebody else"])
    settings = here.settings.changed(orphan_grace_hours=0.0)
    tried = audit_objects(here.context.using(settings=settings), dry_run=True)
    assert (tried.orphans, tried.foreign, tried.objects) == ([left_over], [f"{DURABLE}notes.txt"], len(named) + 2)
    audit_objects(here.context.using(settings=settings))
    assert list(here.objects.keys()) == sorted([*named, f"{DURABLE}notes.txt"])
