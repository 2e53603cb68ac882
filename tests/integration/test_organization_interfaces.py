"""Organizations over HTTP, from the Python client, over MCP and on the command line."""

from __future__ import annotations

import json

import httpx
import pytest

from neurigraph_client import Denied, Memory, NotFound
from neurigraph_pipelines.access.authentication import api_key_hash, new_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http, found
from tests.support.api_calls import store
from tests.support.api_server import serving
from tests.support.memories import new_user
from tests.support.organization import found_company


def test_client_founds_joins_and_leaves(installation: Installation) -> None:
    keys = {
        slug: sharing.issue_key(installation.database, new_user(installation, slug)[1])[1] for slug in ("ana", "bo")
    }
    with serving(installation) as address, Memory(address, keys["ana"]) as ana, Memory(address, keys["bo"]) as bo:
        made = ana.organizations.create("acme", name="Acme", metadata={"town": "Oslo"})
        graph = made.organization_id
        assert (made.role, made.metadata, made.member_count) == ("owner", {"town": "Oslo"}, 1)
        joined = bo.organizations.accept_invitation(ana.organizations.invite(graph, label="bo@example.com").code)
        assert [one.slug for one in bo.organizations.list_members(graph).members] == ["ana", "bo"]
        with Memory(address, made.api_key) as anas, Memory(address, joined.api_key) as bos:
            anas.remember("The lighthouse opens on Friday.")
            bos.remember("The lighthouse frightens me.", privacy="private")
            store(installation)
            shared, private = ({hit.summary for hit in each.search("lighthouse").hits} for each in (anas, bos))
            assert shared < private
            assert len(private) == 2
            assert [one.author for one in bos.sources("note")] == ["bo"]
            with pytest.raises(Denied):
                bos.call("POST", "/v1/keys", {})
            told = found(call_over_http(address, joined.api_key, "who_am_i"))
            assert (told["role"], told["may_write"], told["may_forget"]) == ("member", True, False)
            members = bo.organizations.list_members(graph).members
            assert ana.organizations.change_member(graph, members[1].member_id, "admin").role == "admin"
            assert bo.organizations.change(graph, name="Acme Fishing").name == "Acme Fishing"
            assert len(bo.organizations.remove_member(graph, members[1].member_id).forgotten) == 1
            with pytest.raises(Exception, match="not valid"):
                bos.search("lighthouse")
        with pytest.raises(NotFound):
            bo.organizations.list_members(graph)
        assert bo.organizations.list().organizations == []
        assert [one.name for one in ana.organizations.list().organizations] == ["Acme Fishing"]


def test_members_store_documents_and_files(installation: Installation) -> None:
    """The owner and a member, each their own; who only reads is refused, and what is private is the member's alone."""
    company = found_company(installation, remembers=False)
    ana, cleo = ({"Authorization": f"Bearer {company.people[name].key}"} for name in ("ana", "cleo"))
    secret = new_api_key()
    values = {"hash": api_key_hash(secret), "user_id": company.organization_id}
    with installation.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.api_keys (user_id, key_hash, role, subject_id)"
            " VALUES (%(user_id)s, %(hash)s, 'third_party', 'reader')",
            values,
        )
    reader = {"Authorization": f"Bearer {secret}"}
    document = {"content": "The lighthouse opens on Friday.", "customId": "plan"}
    said = {"role": "user", "content": "The volcano sleeps.", "occurred_at": "2025-01-14T09:05:00Z"}
    talk = json.dumps({"external_id": "c1", "ended_at": "2025-01-14T09:25:55Z", "messages": [said]}).encode()
    with serving(installation) as address, httpx.Client(base_url=address, timeout=60) as client:
        added = [client.post("/v3/documents", json=document, headers=headers) for headers in (ana, cleo, cleo)]
        assert [one.status_code for one in added] == [202, 202, 200], [one.text for one in added]
        assert added[0].json()["id"] != added[1].json()["id"] == added[2].json()["id"]
        newer = client.post("/v3/documents", json={**document, "content": "It opens on Sunday."}, headers=cleo)
        assert newer.status_code == 202
        hidden = client.post("/v1/files", files={"file": ("t.jsonl", talk)}, data={"privacy": "private"}, headers=cleo)
        assert hidden.status_code == 202, hidden.text
        for headers in (reader, {"Authorization": "Bearer no"}):
            refused = client.post("/v3/documents", json=document, headers=headers)
            other = client.post("/v1/files", files={"file": ("a.txt", b"a")}, headers=headers)
            assert {refused.status_code, other.status_code} == {403 if headers is reader else 401}
        assert [one.error for one in installation.uploads.read_due(installation.text_extractor)] == [None] * 4
        store(installation)
        states = [
            client.get(f"/v3/documents/{one}", headers=headers).json()
            for one, headers in ((added[0].json()["id"], ana), (newer.json()["id"], cleo))
        ]
        assert [one["status"] for one in states] == ["completed", "completed"], states
        uploads = [client.get("/v1/uploads", headers=headers).json()["uploads"] for headers in (ana, cleo)]
        found = [client.post("/v1/search", json={"query": "volcano"}, headers=each).text for each in (ana, cleo)]
        assert ["volcano sleeps" in one for one in found] == [False, True], uploads
        assert str(hidden.json()["upload_id"]) not in json.dumps(uploads[0])
        shared = client.patch(f"/v1/uploads/{hidden.json()['upload_id']}", json={"privacy": "shared"}, headers=ana)
        assert shared.status_code == 404
        shared = client.patch(f"/v1/uploads/{hidden.json()['upload_id']}", json={"privacy": "shared"}, headers=cleo)
        assert shared.status_code == 204
        found = [client.post("/v1/search", json={"query": "volcano"}, headers=each).text for each in (ana, cleo)]
        assert ["volcano sleeps" in one for one in found] == [True, True]
