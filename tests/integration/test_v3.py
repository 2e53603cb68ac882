"""Documents and searches below ``/v3``: statuses, versions, chunks, scores, and what others see of them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.sharing import Subject, grant, issue_key
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import SubjectType
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http
from tests.support.agents import found as answer_of
from tests.support.api_server import serving
from tests.support.memories import new_user
from tests.support.model_provider import Fault, ModelProvider
from tests.support.model_responses import rerank_answer
from tests.support.uploads import store

BOATS = "The keel of the sloop needs new bolts.\n\nThe mast was varnished in May.\n\nThe sails lie in the loft."


@pytest.fixture
def bob(shared_installation: Installation) -> dict[str, str]:
    user, _ = new_user(shared_installation)
    return bearer(issue_api_key(shared_installation.database, user.user_id))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def add(client: httpx.Client, who: dict[str, str], content: str, **fields: Any) -> str:
    added = client.post("/v3/documents", json={"content": content, **fields}, headers=who)
    assert added.status_code == 202, added.text
    assert added.json()["status"] == "pending"
    assert added.headers["location"] == f"/v3/documents/{added.json()['id']}"
    return str(added.json()["id"])


def test_a_document_passes_its_statuses(
    client: httpx.Client, shared_installation: Installation, bob: dict[str, str]
) -> None:
    here = shared_installation
    stated = {
        "title": "Boats",
        "type": "google_doc",
        "containerTags": ["sm_project_boats"],
        "metadata": {
            "url": "https://example.com/boats", "source": "drive", "customId": "b1", "pages": 3,
            "crew": ["Ana", 2, True],
        },
    }  # fmt: skip
    document_id = add(client, bob, BOATS, **stated)

    def shown() -> dict[str, Any]:
        answer: dict[str, Any] = client.get(f"/v3/documents/{document_id}", headers=bob).json()
        assert client.get("/v3/documents/b1", headers=bob).json() == answer
        return answer

    lease = "UPDATE neurigraph.uploads SET attempts = %s, next_attempt_at = now() + %s * interval '1 hour' RETURNING 1"
    with here.database.owner() as tx:
        tx.execute(lease, [1, 1])
    assert shown()["status"] == "processing"
    with here.database.owner() as tx:
        tx.execute(lease, [0, 0])
    here.uploads.read_due(here.text_extractor)
    assert shown()["status"] == "chunking"
    seen: list[str] = []
    runs = run_due(here.context, "tests", on_batch=lambda *_: seen.append(shown()["status"]))
    assert [len(result.stored) for result in runs] == [1]
    assert "embedding" in seen
    done = shown()
    assert (done["status"], done["type"], done["title"], done["customId"]) == ("completed", "google_doc", "Boats", "b1")
    assert done["content"].split() == BOATS.split()
    assert "file" not in done["summary"].lower()
    assert "keel" in done["summary"]
    assert done["metadata"] == {
        "pages": 3,
        "crew": ["Ana", 2, True],
        "url": "https://example.com/boats",
        "source": "drive",
    }
    assert (done["url"], done["containerTags"]) == ("https://example.com/boats", ["sm_project_boats"])
    again = client.post("/v3/documents", json={"content": BOATS, **stated}, headers=bob)
    assert (again.status_code, again.json()) == (200, {"id": document_id, "status": "completed"})
    newer = add(client, bob, BOATS.replace("May", "June"), customId="b1", type="pdf")
    store(here)
    found = client.post("/v3/search", json={"q": "When was the mast varnished?"}, headers=bob).json()["results"]
    assert "The file" not in str(found)
    assert found[0]["chunks"][0]["firstMessage"] == 1
    assert [(one["documentId"], one["type"]) for one in found] == [(newer, "pdf")]
    asked: dict[str, Any] = {"query": "When was the mast varnished?", "includeFullDocs": True}
    key = bob["Authorization"].removeprefix("Bearer ")
    (same,) = answer_of(call_over_http(str(client.base_url).rstrip("/"), key, "searchDatabase", **asked))["results"][:1]
    assert (same["documentId"], same["score"]) == (newer, found[0]["score"])
    assert same["chunks"][0]["saidBy"] == same["metadata"]["saidBy"] == ["document"]
    assert same["content"].split() == BOATS.replace("May", "June").split(), "no speaker stands before its words"


def test_a_failed_document_says_why(
    client: httpx.Client, shared_installation: Installation, bob: dict[str, str]
) -> None:
    document_id = add(client, bob, "%PDF-1.7\nThis is no document.", type="pdf")
    shared_installation.uploads.read_due(shared_installation.text_extractor)
    failed = client.get(f"/v3/documents/{document_id}", headers=bob).json()
    assert (failed["status"], failed["content"]) == ("failed", None)
    assert failed["error"]


def test_search_joins_passages_and_keeps_its_bounds(
    client: httpx.Client, shared_installation: Installation, bob: dict[str, str]
) -> None:
    here = shared_installation
    for number in range(3):
        parts = [f"The harbour master noted storm {number} on day {day}. " + "Waves rose. " * 60 for day in range(12)]
        add(client, bob, "\n\n".join(parts), title=f"Log {number}")
    tarred = ["We tarred the hull on Monday.", "Was it dry?", "The hull was tarred again on Tuesday."]
    talk = {"messages": [{"role": "user", "content": one} for one in tarred]}
    assert client.post("/v1/memories", json=talk, headers=bob).status_code == 201
    old = add(client, bob, BOATS, title="Boats", metadata={"publishedAt": "2001-05-01T10:00:00Z"})
    store(here)

    def search(q: str, **fields: Any) -> dict[str, Any]:
        answer = client.post("/v3/search", json={"q": q, **fields}, headers=bob)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    found = search("What did the harbour master note of the storm?")
    assert (found["searchPath"], found["count"]) == ("rpc_vector", len(found["results"]))
    assert {one["title"] for one in found["results"][:3]} == {"Log 0", "Log 1", "Log 2"}
    chunks = [chunk for one in found["results"] for chunk in one["chunks"]]
    (hull,) = search("When was the hull tarred?")["results"][0]["chunks"]
    assert (hull["firstMessage"], hull["lastMessage"]) == (1, 3)
    assert all(here.tokens.count(chunk["content"]) <= 800 for chunk in chunks)
    assert all(0.1 <= one["score"] <= 1 for one in [*chunks, *found["results"]])
    assert [one["score"] for one in found["results"]] == sorted(
        (one["score"] for one in found["results"]), reverse=True
    )
    scoped = search("What needs bolts?", scopedDocumentIds=[old], includeFullDocs=True, includeSummary=False)
    (only,) = scoped["results"]
    assert (only["documentId"], only["content"].split()) == (old, BOATS.split())
    assert "summary" not in only
    aged = {one["documentId"]: one["score"] for one in search("bolts", recencyWeight=0.5, threshold=0)["results"]}
    fresh = {one["documentId"]: one["score"] for one in search("bolts", threshold=0)["results"]}
    assert aged[old] == pytest.approx(fresh[old] / 2, abs=1e-5)
    assert fresh[old] == 1.0, "it has all words of the question"
    assert search("bolts quokkas", threshold=0)["results"][0]["score"] <= 0.7, "and half of the words of this one"
    assert [one["documentId"] for one in search("bolts")["results"]] == [old]
    assert min(score for one, score in aged.items() if one != old) > 0.499
    nothing = search("zzzzqqq xxyyy", recencyWeight=0.5)
    assert (nothing["searchPath"], nothing["count"]) == ("broad_recent", 5)
    assert {one["score"] for one in nothing["results"]} == {0}
    assert search("bolts", rerank=True)["notes"] == ["There is no reranker: the order is that of the search."]
    assert search("bolts", containerTags=["elsewhere"])["count"] == 0


def test_search_without_vectors_says_that_words_alone_found(
    client: httpx.Client, shared_installation: Installation, bob: dict[str, str]
) -> None:
    boats = add(client, bob, BOATS, title="Boats")
    store(shared_installation)
    with ModelProvider() as provider:
        provider.fail_when("", Fault("status", status=500), "embeddings")
        values = {
            "embedder": "openai",
            "openai_api_key": "test",
            "openai_base_url": provider.base_url,
            "model_max_retries": 0,
        }
        settings = shared_installation.settings.changed(**values)
        with (
            Installation(Settings.model_validate(settings.model_dump())) as here,
            serving(here) as address,
            httpx.Client(base_url=address, timeout=60.0, headers=bob) as without,
        ):
            found = without.post("/v3/search", json={"q": "Which bolts does the keel need?", "threshold": 0}).json()
        assert [request for request in provider.requests if request.path.endswith("/embeddings")]
    assert (found["searchPath"], found["results"][0]["documentId"]) == ("fallback_local", boats)
    assert any("could not be reached" in note for note in found["notes"])


def test_a_reranker_orders_documents(shared_installation: Installation, bob: dict[str, str]) -> None:
    with ModelProvider() as provider:
        values = {"reranker": "compatible", "reranker_base_url": provider.base_url, "reranker_model": "a-reranker"}
        settings = shared_installation.settings.changed(**values)
        with (
            Installation(Settings.model_validate(settings.model_dump())) as here,
            serving(here) as address,
            httpx.Client(base_url=address, timeout=60.0, headers=bob) as client,
        ):
            for text in ("Ana keeps bees behind the shed.", "Bees bees bees: a poem.", "The shed is red."):
                add(client, bob, text)
            store(here)
            question = {"q": "Where does Ana keep bees?", "rerank": True, "threshold": 0}
            titles = [one["title"] for one in client.post("/v3/search", json=question).json()["results"]]
        asked = provider.requests[-1].body
    assert len(asked["documents"]) == 3
    assert all(text.count(text.splitlines()[0]) >= 2 for text in asked["documents"])  # title, and chunk or summary
    best = [asked["documents"][one["index"]] for one in rerank_answer(asked)["results"]]
    assert [text.splitlines()[0] for text in best] == titles != [text.splitlines()[0] for text in asked["documents"]]


def test_same_content_is_put_into_further_spaces(client: httpx.Client, shared_installation: Installation) -> None:
    here = shared_installation
    owner = bearer(issue_api_key(here.database, new_user(here)[0].user_id))

    document_id = add(client, owner, BOATS, containerTags=["boats"])
    store(here)
    for tags in (["sea"], ["boats", "harbour"], []):
        known = client.post("/v3/documents", json={"content": BOATS, "containerTags": tags}, headers=owner)
        assert known.status_code == 200, known.text
        assert known.json()["id"] == document_id
    shown = client.get(f"/v3/documents/{document_id}", headers=owner).json()
    assert shown["containerTags"] == ["boats", "harbour", "sea"]
    for tag in shown["containerTags"]:
        question = {"q": "How is the boat varnished?", "threshold": 0, "containerTags": [tag]}
        found = client.post("/v3/search", json=question, headers=owner).json()
        assert [one["documentId"] for one in found["results"]] == [document_id], tag


def test_others_find_nothing_of_what_is_private_or_theirs(
    client: httpx.Client, shared_installation: Installation
) -> None:
    here = shared_installation
    user, owner = new_user(here)
    mine = bearer(issue_api_key(here.database, user.user_id))
    secret = add(client, mine, "The safe opens with 4711.")
    client.patch(f"/v1/uploads/{secret}", json={"privacy": "private"}, headers=mine)
    shared = add(client, mine, "The garden gate is green.")
    store(here)
    friend = Subject(SubjectType.THIRD_PARTY, "friend")
    grant(here.database, owner, friend, user.root_node_id)
    theirs = bearer(issue_key(here.database, owner, subject=friend)[1])
    question = {"q": "What opens the safe?", "threshold": 0, "includeFullDocs": True}
    answer = client.post("/v3/search", json=question, headers=theirs)
    assert "4711" not in answer.text
    assert secret not in answer.text
    assert [one["documentId"] for one in answer.json()["results"]] in ([shared], [])
    absent = client.get(f"/v3/documents/{user.user_id}", headers=theirs)
    for who in (theirs, bearer(issue_api_key(here.database, new_user(here)[0].user_id))):
        denied = client.get(f"/v3/documents/{secret}", headers=who)
        assert (denied.status_code, denied.json()["detail"]) == (404, absent.json()["detail"])
        scoped = client.post("/v3/search", json={"q": "safe", "scopedDocumentIds": [secret]}, headers=who)
        assert (scoped.status_code, scoped.json()["detail"]) == (404, absent.json()["detail"])
    assert client.post("/v3/documents", json={"content": "x"}, headers=theirs).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("/v3/documents", {"content": ""}, "empty"),
        ("/v3/documents", {"content": "x", "type": "novel"}, "'text', 'pdf'"),
        ("/v3/documents", {"content": "x", "container_tags": ["a"]}, "Extra inputs"),
        (
            "/v3/documents",
            {"content": "x", "customId": "1/2/3/4/5/6/7/8/9"},
            "9 parts between slashes and the limit is 8",
        ),
        ("/v3/documents", {"content": "x", "title": "x" * 257}, "257 characters and the limit is 256: shorten it"),
        ("/v3/documents", {"content": "x" * ((1 << 20) + 1)}, "the limit is 1,048,576"),
        ("/v3/documents", {"content": "x", "metadata": {"containerTags": "a"}}, "metadata.containerTags"),
        ("/v3/documents", {"content": "x", "metadata": {"deep": {"er": 1}}}, "deep"),
        ("/v3/documents", {"content": "x", "metadata": {"deep": [["er"]]}}, "deep"),
        ("/v3/documents", {"content": "x", "url": "javascript:alert(1)"}, "http"),
        ("/v3/search", {"q": " "}, "empty"),
        ("/v3/search", {"q": "x", "threshold": 2}, "less than or equal to 1"),
        ("/v3/search", {"q": "x", "halfLifeDays": 0}, "greater than 0"),
    ],
)
def test_bad_input_is_named(client: httpx.Client, bob: dict[str, str], path: str, body: Any, wrong: str) -> None:
    answer = client.post(path, json=body, headers=bob)
    assert answer.status_code == 422
    assert wrong in answer.text
    assert client.post(path, json=body).status_code == 401


def test_an_uploaded_document_has_as_short_a_path(client: httpx.Client, bob: dict[str, str]) -> None:
    for name, status in (("1/2/3/4/5/6/7/8", 202), ("1/2/3/4/5/6/7/8/9", 422)):
        file = {"file": ("boats.txt", BOATS.encode())}
        sent = client.post("/v1/files", files=file, data={"external_id": name}, headers=bob)
        assert (sent.status_code, "the limit is 8" in sent.text) == (status, status == 422)


def test_a_document_without_title_is_called_as_its_memory_is(
    client: httpx.Client, shared_installation: Installation, bob: dict[str, str]
) -> None:
    added = client.post("/v1/notes", json={"content": "Dave keeps two tortoises in the shed."}, headers=bob).json()
    here = f"/v3/documents/{added['note_id']}"
    assert client.get(here, headers=bob).json()["title"] is None, "it is no memory yet"
    store(shared_installation)
    (listed,) = client.get("/v1/records", params={"source_id": added["note_id"]}, headers=bob).json()["records"]
    assert listed["title"]
    assert client.get(here, headers=bob).json()["title"] == listed["title"]
    question = {"q": "zzzzqqq xxyyy", "scopedDocumentIds": [added["note_id"]]}
    newest = client.post("/v3/search", json=question, headers=bob).json()
    assert newest["searchPath"] == "broad_recent"
    assert [one["title"] for one in newest["results"]] == [listed["title"]]
