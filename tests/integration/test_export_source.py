"""A project of somebody else: one YAML file makes asset, job and sensor, and what its files say is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from neurigraph_pipelines.defs.components import ExportSource
from neurigraph_pipelines.defs.resources import resources
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import describe, environment
from tests.support.git_server import commit, git_server
from tests.support.imap_server import MAILBOX, PASSWORD, USER, deliver, imap_server, remove
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, moto_server, new_bucket, s3_client
from tests.support.sites import serving_site
from tests.support.uploads import store
from tests.unit.test_mailbox_place import dripping, mail_server, ok

pytestmark = pytest.mark.slow

DG = Path(sys.executable).parent / "dg"
PAGE = (ROOT / "docs" / "uploads.md").read_text(encoding="utf-8")
TALK = b'{"external_id": "t1", "messages": [{"role": "user", "content": "The ferry to Bryher leaves at noon."}]}\n'


def project_of_the_page(folder: Path, exports: Path) -> None:
    """Write the files that the page names."""
    for name, content in re.findall(r"^`([\w./]+)`[^\n]*:?\n\n```\w+\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.replace("/srv/exports/talks", str(exports)), encoding="utf-8")
    (folder / "my_sources" / "__init__.py").touch()


def source(**attributes: object) -> dg.Definitions:
    """Return the definitions of a source, with the resources of the installation."""
    given = {"name": "talks", "user": "bob", **attributes}
    built = ExportSource(**given).build_defs(dg.ComponentTree.for_test().load_context)  # type: ignore[arg-type]
    return dg.Definitions.merge(built, resources())


def found(installation: Installation, claims: Claims, words: str) -> list[str]:
    return [hit.summary for hit in search(installation.acting_for(claims), Question(words)).hits]


@pytest.mark.slow
def test_project_of_the_page_imports_a_sample(installation: Installation, tmp_path: Path) -> None:
    user, _ = create_user(installation.database, "bob")
    exports, project = tmp_path / "exports", tmp_path / "project"
    exports.mkdir()
    shutil.copy(ROOT / "samples" / "bob.jsonl", exports / "bob.jsonl")
    project_of_the_page(project, exports)
    given = environment(
        installation.settings,
        HOME=str(tmp_path),
        VIRTUAL_ENV=str(DG.parents[1]),
        PATH=f"{DG.parent}{os.pathsep}{os.environ['PATH']}",
        DAGSTER_DISABLE_TELEMETRY="1",
        NEURIGRAPH_DROP_SETTLE_SECONDS="0",
        PYTHONPATH=str(ROOT),
    )
    for command in ("list components", "check defs", "launch --assets team_talks"):
        done = subprocess.run(
            [DG, *command.split()], cwd=project, env=given, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if command == "list components":
            assert "ExportSource" in done.stdout
    assert any("Dave" in text for text in found(installation, Claims.of_user(user.user_id), "What did Dave say?"))


def test_sensor_takes_each_version_once(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = create_user(installation.database, "bob")
    describe(installation.settings, monkeypatch, NEURIGRAPH_DROP_SETTLE_SECONDS="0")
    exports = tmp_path / "exports"
    exports.mkdir()
    defs = source(place=str(exports), format="jsonl", space="work")
    with dg.DagsterInstance.ephemeral() as instance:
        sensor = defs.get_repository_def().get_sensor_def("talks_sensor")

        def tick() -> int:
            with dg.build_sensor_context(
                instance=instance, resources={"installation": InstallationResource()}
            ) as context:
                return len(sensor.evaluate_tick(context).run_requests or ())

        assert tick() == 0
        (exports / "a.txt").write_bytes(TALK)  # no file shows its format by its name alone
        assert tick() == 1
        assert defs.resolve_job_def("talks_job").execute_in_process(instance=instance).success
        assert tick() == 0
    assert found(installation, Claims.of_user(user.user_id), "When does the ferry leave?") == [
        "The ferry to Bryher leaves at noon."
    ]


def test_prefix_of_a_bucket(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    user, _ = create_user(installation.database, "bob")
    bob = Claims.of_user(user.user_id)
    with moto_server() as address, s3_client(address) as client:
        bucket = new_bucket(address)
        for key in ("out/talks/deep/a.jsonl", "out/other/b.jsonl"):
            client.put_object(Bucket=bucket, Key=key, Body=TALK)
        notes = {"anchor": b"The anchor is kept in the blue shed.", "oars": b"The oars were carved by Marta."}
        for key, text in notes.items():
            client.put_object(Bucket=bucket, Key=f"notes/{key}.txt", Body=text)
        describe(
            installation.settings,
            monkeypatch,
            NEURIGRAPH_S3_ENDPOINT_URL=address,
            NEURIGRAPH_S3_REGION="us-east-1",
            NEURIGRAPH_S3_ACCESS_KEY_ID=ACCESS_KEY_ID,
            NEURIGRAPH_S3_SECRET_ACCESS_KEY=SECRET_ACCESS_KEY,
        )
        defs = source(place=f"s3://{bucket}/out/talks", schedule="0 6 * * *")
        assert run(installation, defs) == (1, 0, 0)
        following = source(place=f"s3://{bucket}/notes", deletions="follow")
        assert run(installation, following) == (2, 0, 0)
        client.delete_object(Bucket=bucket, Key="notes/anchor.txt")
        assert run(installation, following) == (0, 0, 1)
        assert run(installation, following) == (0, 0, 0)
    assert any("ferry" in text for text in found(installation, bob, "When does the ferry leave?"))
    assert not any("blue shed" in text for text in found(installation, bob, "Where is the anchor kept?"))
    assert any("Marta" in text for text in found(installation, bob, "Who carved the oars?"))
    (schedule,) = defs.get_repository_def().schedule_defs
    assert schedule.cron_schedule == "0 6 * * *"


def run(installation: Installation, defs: dg.Definitions) -> tuple[int, int, int]:
    """Run the job of a source, and store what it took in; return the files taken in, refused and gone."""
    result = defs.resolve_job_def("talks_job").execute_in_process()
    (made,) = result.asset_materializations_for_node("talks")
    taken, refused, gone = (made.metadata[f"files {name}"].value for name in ("taken in", "refused", "gone"))
    assert made.metadata["files failed"].value == 0
    store(installation)
    return int(str(taken)), int(str(refused)), int(str(gone))


def failure_of(defs: dg.Definitions) -> str:
    """Run the job of a source that cannot be taken in, and return the reason."""
    result = defs.resolve_job_def("talks_job").execute_in_process(raise_on_error=False)
    (failed,) = result.filter_events(lambda event: event.is_step_failure)
    return str(failed.step_failure_data.error)


ENTRY = """<item><guid>{id}</guid><title>{title}</title><link>https://harbour.example.org/{id}</link>
<author>ann@harbour.example.org (Ann)</author><pubDate>Tue, 04 Mar 2025 10:00:00 GMT</pubDate>
<description>&lt;p&gt;{text}&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;</description></item>"""


def rss(*entries: tuple[str, str, str], before: str = "") -> bytes:
    items = "".join(ENTRY.format(id=one[0], title=one[1], text=one[2]) for one in entries)
    channel = f"<channel><title>Harbour</title>{items}</channel>"
    return f'<?xml version="1.0"?>{before}<rss version="2.0">{channel}</rss>'.encode()


@pytest.fixture
def bob(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Claims:
    user, _ = create_user(installation.database, "bob")
    describe(
        installation.settings,
        monkeypatch,
        NEURIGRAPH_WEB_LOCAL_HOSTS="127.0.0.1",
        NEURIGRAPH_DROP_SETTLE_SECONDS="0",
    )
    return Claims.of_user(user.user_id)


def test_a_feed_is_followed(installation: Installation, bob: Claims) -> None:
    ferry = ("n1", "Ferry times", "The ferry to Bryher leaves at noon from the old quay.")
    crane = ("n2", "The crane", "The harbour crane was painted yellow by Marta in spring.")
    with serving_site() as site:
        defs = source(kind="feed", place=site.url("/feed"), space="news")
        assert "answered 404" in failure_of(defs)
        site.pages["/feed"] = b"<html>no feed</html>"
        assert "no feed at this address" in failure_of(defs)
        site.pages["/feed"] = rss(ferry, crane)
        assert run(installation, defs) == (2, 0, 0)
        assert run(installation, defs) == (0, 0, 0)
        newest = ("n1", "Ferry times", "The ferry to Bryher leaves at nine from the new quay.")
        site.pages["/feed"] = rss(newest, ("n1", "Old", "The second entry with an id that is taken."))
        assert run(installation, defs) == (1, 0, 0)
        assert run(installation, defs) == (0, 0, 0)
        earlier = rss(("n2", "The crane", "Marta painted the harbour crane yellow, and the quay grey."))
        site.pages["/feed"] = earlier.replace(b"04 Mar", b"03 Mar")
        assert run(installation, defs) == (1, 0, 0), "what a feed shows now is the newest, whatever its date"
        bomb = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaa">' + "".join(
            f'<!ENTITY {one} "{f"&{before};" * 50}">' for before, one in zip("abcdef", "bcdefg", strict=True)
        )
        site.pages["/feed"] = rss(("n3", "&g;", "x"), before=f"{bomb}]>")
        assert run(installation, defs)[0] <= 1
    hits = search(installation.acting_for(bob), Question("When does the ferry to Bryher leave?")).hits
    assert "leaves at nine" in hits[0].summary
    stated = hits[0].origin.source
    assert (stated.url, stated.version) == ("https://harbour.example.org/n1", 2)
    assert hits[0].title.startswith("Ferry times")
    assert hits[0].occurred_at.date().isoformat() == "2025-03-04"
    assert hits[0].origin.received_through == "web"
    assert not any("noon" in hit.summary or "alert" in hit.summary for hit in hits)
    assert any("Marta" in text for text in found(installation, bob, "Who painted the crane?"))


def test_a_calendar_is_followed(installation: Installation, bob: Claims) -> None:
    def calendar(stamp: int, *events: str) -> bytes:
        said = "".join(
            f"BEGIN:VEVENT\r\nUID:{one[:3]}\r\nDTSTAMP:2025010{stamp}T000000Z\r\nDTSTART:20250304T100000Z\r\n"
            f"SUMMARY:{one}\r\nEND:VEVENT\r\n"
            for one in events
        )
        return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{said}END:VCALENDAR\r\n".encode()

    with serving_site() as site:
        defs = source(kind="calendar", place=site.url("/boats.ics"))
        site.pages["/boats.ics"] = b"BEGIN:VCARD"
        assert "no calendar at this address" in failure_of(defs)
        site.pages["/boats.ics"] = calendar(1, "Varnish the dinghy with Marta", "Regatta at Kappeln")
        assert run(installation, defs) == (1, 0, 0)
        site.pages["/boats.ics"] = calendar(2, "Varnish the dinghy with Marta", "Regatta at Kappeln")
        assert run(installation, defs) == (0, 0, 0)
        assert any("Regatta" in text for text in found(installation, bob, "Where is the regatta?"))
        (hit,) = search(installation.acting_for(bob), Question("Where is the regatta?")).hits
        assert (hit.origin.source.url, hit.origin.received_through) == (site.url("/"), "web")
        site.pages["/boats.ics"] = calendar(3, "Varnish the dinghy with Marta")
        assert run(installation, defs) == (1, 0, 0)
        site.pages["/boats.ics"] = calendar(4)
        assert run(installation, defs) == (0, 0, 0), "a calendar that is empty for once forgets nothing"
        site.pages["/boats.ics"] = calendar(5, "Varnish the dinghy")[:-20]
        assert "was cut off" in failure_of(defs)
    assert not any("Regatta" in text for text in found(installation, bob, "Where is the regatta?"))
    assert any("dinghy" in text for text in found(installation, bob, "Who varnishes the dinghy?"))


def test_a_repository_is_followed(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    commit(tmp_path / "sloop.git", {"README.md": "The sloop is steered by Marta.\n", "a.txt": "The mast is spruce.\n"})
    with git_server(tmp_path) as server:
        defs = source(kind="repository", place=server.url("sloop.git"), space="boats")
        assert run(installation, defs) == (1, 0, 0)
        assert run(installation, defs) == (0, 0, 0)
        assert any("spruce" in text for text in found(installation, bob, "What is the mast made of?"))
        commit(tmp_path / "sloop.git", {"a.txt": None})
        assert run(installation, defs) == (1, 0, 0)
    assert not any("spruce" in text for text in found(installation, bob, "What is the mast made of?"))
    assert any("Marta" in text for text in found(installation, bob, "Who steers the sloop?"))


def mail(number: int, text: str) -> str:
    return (
        f"From: Marta <marta@harbour.example.org>\nTo: bob@harbour.example.org\nSubject: The sloop\n"
        f"Date: Tue, 04 Mar 2025 10:0{number}:00 +0000\nMessage-ID: <{number}@harbour.example.org>\n"
        + ("References: <1@harbour.example.org>\n" if number > 1 else "")
        + f"Content-Type: text/plain; charset=utf-8\n\n{text}\n"
    )


def test_a_mailbox_is_followed(installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    with imap_server() as port:
        place = f"imap://{USER}@127.0.0.1:{port}/{MAILBOX.replace(' ', '%20')}"
        defs = source(kind="mailbox", place=place, password_variable="CREW_PASSWORD")
        assert "refuses the user, password or mailbox" in failure_of(defs)
        monkeypatch.setenv("CREW_PASSWORD", PASSWORD)
        assert run(installation, defs) == (0, 0, 0)
        deliver(port, mail(1, "The mainsail was mended by the sailmaker in Kappeln."))
        assert run(installation, defs) == (1, 0, 0)
        assert run(installation, defs) == (0, 0, 0)
        deliver(port, mail(2, "He asks 300 euros for it."), mail(3, "x" * 3_000_000))
        describe(
            installation.settings,
            monkeypatch,
            NEURIGRAPH_WEB_LOCAL_HOSTS="127.0.0.1",
            NEURIGRAPH_WEB_PAGE_BYTES="2000000",
        )
        assert run(installation, defs) == (1, 1, 0)
        assert run(installation, defs) == (0, 0, 0)
        gone = source(kind="mailbox", place=f"{place}x", password_variable="CREW_PASSWORD")
        assert "refuses the user, password or mailbox" in failure_of(gone)
        afar = source(kind="mailbox", place=f"imap://{USER}@imap.example.org/INBOX")
        assert "use imaps" in failure_of(afar)
        monkeypatch.setenv("NEURIGRAPH_WEB_HOSTS", "*")
        inside = source(kind="mailbox", place=f"imaps://{USER}@localhost:{port}/INBOX")
        assert "the address is not public" in failure_of(inside)
    assert "could not be reached" in failure_of(defs)
    assert any("sailmaker" in text for text in found(installation, bob, "Who mended the mainsail?"))
    assert any("300 euros" in text for text in found(installation, bob, "How many euros does the sailmaker ask?"))


def other_mail(text: str) -> str:
    return mail(7, text).replace("<1@", "<8@").replace("The sloop", "Paint")


def test_mails_that_are_gone_are_followed(
    installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(words: str, asked: str) -> bool:
        return any(words in text for text in found(installation, bob, asked))

    monkeypatch.setenv("CREW_PASSWORD", PASSWORD)
    sail, price = "Who mended the mainsail?", "How many euros does the sailmaker ask?"
    first = mail(1, "The mainsail was mended by the sailmaker in Kappeln.")
    with imap_server() as port:
        place = f"imap://{USER}@127.0.0.1:{port}/{MAILBOX.replace(' ', '%20')}"
        of = {"kind": "mailbox", "place": place, "password_variable": "CREW_PASSWORD"}
        keeping, following = source(**of), source(**of, deletions="follow")
        deliver(port, first, mail(2, "He asks 300 euros for it."), other_mail("The hull is painted by Ines."))
        assert run(installation, following) == (3, 0, 0)
        remove(port, "<1@harbour.example.org>")
        assert run(installation, keeping) == (0, 0, 0)
        assert said("sailmaker", sail)
        assert run(installation, following) == (0, 0, 1)
        assert run(installation, following) == (0, 0, 0)
        assert not said("sailmaker", sail)
        assert said("300 euros", price), "the other mail of the thread stays"
        deliver(port, first)
        assert run(installation, following) == (1, 0, 0), "a mail that is moved back is taken in again"
        assert said("sailmaker", sail)
        assert said("300 euros", price)
        for number in (1, 2):
            remove(port, f"<{number}@harbour.example.org>")
        assert run(installation, following) == (0, 0, 2)
        assert run(installation, following) == (0, 0, 0)
        assert not said("sailmaker", sail)
        assert not said("300 euros", price)
        assert said("no longer in their mailbox", "The sloop")
        remove(port)
        assert run(installation, following) == (0, 0, 0), "an empty mailbox forgets nothing"
        deliver(port, mail(9, "The oars are new.").replace("<1@", "<9@"))
        assert run(installation, following) == (1, 0, 0), "nor does one that gives its mails new numbers"
        assert said("Ines", "Who paints the hull?")


def test_a_mail_that_never_arrives_holds_up_no_other(
    installation: Installation, bob: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_mails(tag: str) -> Iterator[bytes]:
        yield b"* SEARCH 1 2\r\n"
        yield from ok(tag)

    def second(tag: str) -> Iterator[bytes]:
        content = mail(2, "The rudder was carved by Ines.").encode()
        yield b"* 2 FETCH (UID 2 BODY[] {%d}\r\n%b)\r\n" % (len(content), content)
        yield from ok(tag)

    limits = {"NEURIGRAPH_WEB_LOCAL_HOSTS": "127.0.0.1", "NEURIGRAPH_WEB_TIMEOUT_SECONDS": "2"}
    describe(installation.settings, monkeypatch, **limits)
    monkeypatch.setenv("CREW_PASSWORD", "secret")
    with mail_server({"SEARCH": two_mails, "FETCH 1": dripping, "FETCH 2": second}) as port:
        defs = source(kind="mailbox", place=f"imap://bob@127.0.0.1:{port}/INBOX", password_variable="CREW_PASSWORD")
        assert run(installation, defs) == (1, 1, 0)
        assert run(installation, defs) == (0, 1, 0), "it is tried again"
    assert any("Ines" in text for text in found(installation, bob, "Who carved the rudder?"))


def test_files_that_are_gone_are_followed(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "anchor.md").write_text("The anchor is kept in the blue shed.\n", encoding="utf-8")
    (place / "oars.md").write_text("The oars were carved by Marta.\n", encoding="utf-8")
    asked = "Where is the anchor kept?"
    keeping, following = source(place=str(place)), source(place=str(place), deletions="follow")
    assert run(installation, following) == (2, 0, 0)
    (place / "anchor.md").rename(tmp_path / "anchor.md")
    assert run(installation, keeping) == (0, 0, 0)
    assert any("blue shed" in text for text in found(installation, bob, asked))
    assert run(installation, following) == (0, 0, 1)
    assert run(installation, following) == (0, 0, 0)
    assert not any("blue shed" in text for text in found(installation, bob, asked))
    (tmp_path / "anchor.md").rename(place / "anchor.md")
    assert run(installation, following) == (1, 0, 0)
    assert run(installation, following) == (0, 0, 0)
    assert any("blue shed" in text for text in found(installation, bob, asked))
    for file in place.iterdir():
        file.rename(tmp_path / file.name)
    assert run(installation, following) == (0, 0, 0), "an empty place is more likely one that is not mounted"


def test_wrong_attributes_are_refused(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch)
    with pytest.raises(ValueError, match="name one of auto, document"):
        source(place="/tmp", format="fax")
    with pytest.raises(ValueError, match="has a kind: feed, calendar, repository or mailbox"):
        source(place="https://example.org/feed")
    with pytest.raises(ValueError, match="the place of a feed is an address"):
        source(place="/tmp", kind="feed")
    with pytest.raises(ValueError, match="the place of a mailbox is an address"):
        source(place="https://example.org/feed", kind="mailbox")
    with pytest.raises(ValueError, match="leave them out at other addresses"):
        source(place="https://example.org/feed", kind="feed", deletions="follow")
    nobody = source(place="/tmp", user="nobody").resolve_job_def("talks_job")
    result = nobody.execute_in_process(raise_on_error=False)
    assert not result.success
    (failed,) = result.filter_events(lambda event: event.is_step_failure)
    assert "names a user who does not exist" in str(failed.step_failure_data.error)
