"""The store of LangGraph: with its real package, against the server at NEURIGRAPH_URL."""

import asyncio
import threading
import time
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from neurigraph_client import Memory
from neurigraph_client.langgraph import NeurigraphStore

VALUE = {"food": "pizzä \u0000 \ud800", "n": 2**70, "share": 1.5e-7, "none": None, "deep": [{"": [True, []]}], "z": {}}


@pytest.fixture
def store() -> NeurigraphStore:
    return NeurigraphStore(Memory())


def test_values_come_back_equal_and_the_newest_holds(store: NeurigraphStore) -> None:
    store.put(("exact", "a.b:ü"[2:]), "k", VALUE)
    found = store.get(("exact", "b:ü"), "k")
    assert found is not None
    assert found.value == VALUE
    assert list(found.value) == list(VALUE)
    assert (found.namespace, found.key) == (("exact", "b:ü"), "k")
    large = {"text": "long " * 40_000, **VALUE}
    store.put(("exact", "b:ü"), "k", large)
    newest = store.get(("exact", "b:ü"), "k")
    assert newest is not None
    assert newest.value == large
    assert newest.created_at == found.created_at < found.updated_at + (newest.updated_at - found.updated_at)
    assert newest.updated_at > found.updated_at
    assert store.get(("exact",), "k") is None
    assert store.get(("exact", "b:ü"), "other") is None


def test_deleted_items_are_forgotten(store: NeurigraphStore) -> None:
    store.put(("gone",), "k", {"secret": "the walrus hides in the attic"})
    store.put(("gone",), "k", {"secret": "the walrus moved to the cellar"})
    store.delete(("gone",), "k")
    store.delete(("gone",), "never there")
    assert store.get(("gone",), "k") is None
    assert store.search(("gone",)) == store.search(("gone",), query="walrus") == []
    assert ("gone",) not in store.list_namespaces()
    assert "walrus" not in str([(hit.title, hit.summary) for hit in Memory().search("Where is the walrus?").hits])
    store.put(("gone",), "k", {"secret": "nothing"})
    assert store.get(("gone",), "k").value == {"secret": "nothing"}


def test_answers_are_those_of_the_store_in_memory(store: NeurigraphStore) -> None:
    known = InMemoryStore()
    for one in (known, store):
        for number in range(6):
            one.put(("team", f"user{number % 2}", "likes"), f"k{number}", {"n": number, "even": number % 2 == 0})
        one.put(("team", "user0", "likes"), "k0", {"n": 10, "even": True})
        one.put(("team",), "root", {"n": -1, "even": None})

    def found(one: BaseStore, *path: str, **asked: Any) -> list[tuple[Any, ...]]:
        items = one.search(path, limit=50, **asked)
        return sorted((item.namespace, item.key, tuple(item.value.items())) for item in items)

    filters: list[dict[str, Any]] = [
        {},
        {"filter": {"even": True}},
        {"filter": {"n": {"$gte": 2}, "even": {"$ne": True}}},
        {"filter": {"n": {"$gt": 1, "$lt": 5}}},
        {"filter": {"n": {"$lte": 1}}},
        {"filter": {"n": {"$eq": 3}}},
    ]
    for asked in filters:
        assert found(store, "team", **asked) == found(known, "team", **asked), asked
        assert found(store, "team", "user1", **asked) == found(known, "team", "user1", **asked), asked
    conditions: list[dict[str, Any]] = [
        {},
        {"max_depth": 2},
        {"prefix": ("team", "user0")},
        {"prefix": ("team", "*", "likes")},
        {"suffix": ("likes",)},
        {"suffix": ("user1", "*")},
        {"prefix": ("team",), "limit": 2, "offset": 1},
        {"prefix": ("absent",)},
    ]
    for condition in conditions:
        asked = {"prefix": ("team",), **condition}
        assert store.list_namespaces(**asked) == known.list_namespaces(**asked), asked
    pages = [store.search(("team",), limit=3, offset=offset) for offset in (0, 3, 6)]
    assert len({(item.namespace, item.key) for page in pages for item in page}) == 7
    with pytest.raises(ValueError, match="unknown operator"):
        store.search(("team",), filter={"n": {"$near": 3}})


def test_search_by_meaning(store: NeurigraphStore) -> None:
    store.put(("m",), "car", {"note": "The car is parked in the garage behind the bakery."})
    store.put(("m",), "tea", {"note": "She drinks green tea every morning.", "internal": "zebra"}, index=["note"])
    store.put(("m",), "hidden", {"note": "The automobile is parked in a secret garage."}, index=False)
    best = store.search(("m",), query="Where is the automobile parked?")
    assert best[0].key == "car"
    assert best[0].score > 0
    assert "hidden" not in {item.key for item in best}
    assert [item.key for item in store.search(("m",), query="green tea", filter={"internal": "zebra"})] == ["tea"]
    store.put(("m",), "car", {"note": "The car was sold to a neighbour."})
    assert store.search(("m",), query="car garage bakery")[0].value == {"note": "The car was sold to a neighbour."}


def test_search_skips_what_has_expired(store: NeurigraphStore) -> None:
    store.put(("over",), "old", {"note": "The bicycle leans against the oak."}, ttl=0.001)
    store.put(("over",), "new", {"note": "The bicycle was painted red, and the shed green."})
    assert [item.key for item in store.search(("over",), query="The bicycle leans against the oak", limit=1)] == ["new"]
    assert store.sweep_ttl() == 1


def test_reading_changes_nothing_that_an_item_is_found_by(store: NeurigraphStore) -> None:
    store.put(("same",), "k", {"note": "She collects stamps.", "internal": "okapi"}, index=["note"], ttl=5)
    store.put(("same",), "hidden", {"note": "She fears the quagga."}, index=False, ttl=5)
    assert store.get(("same",), "k", refresh_ttl=True) is not None
    assert store.get(("same",), "hidden", refresh_ttl=True) is not None
    told = Memory().context("okapi quagga stamps").text or ""
    assert "collects stamps" in told
    assert "okapi" not in told
    assert "quagga" not in told


def test_batch_and_async(store: NeurigraphStore) -> None:
    store.put(("b",), "one", {"n": 1})
    results = store.batch(
        [
            GetOp(("b",), "one"),
            PutOp(("b",), "one", {"n": 2}),
            PutOp(("b",), "one", {"n": 3}),
            SearchOp(("b",)),
            ListNamespacesOp((), None, 10, 0),
        ]
    )
    assert results[0].value == {"n": 1}
    assert results[1:3] == [None, None]
    assert [item.value for item in results[3]] == [{"n": 1}]
    assert ("b",) in results[4]

    async def run() -> Any:
        await asyncio.gather(*(store.aput(("b",), f"a{number}", {"n": number}) for number in range(5)))
        await store.adelete(("b",), "a0")
        return await store.aget(("b",), "one"), await store.asearch(("b",), limit=20)

    one, items = asyncio.run(run())
    assert one.value == {"n": 3}
    assert {item.key for item in items} == {"one", "a1", "a2", "a3", "a4"}


def test_what_has_expired_is_absent(store: NeurigraphStore) -> None:
    store.put(("t",), "short", {"n": 1}, ttl=0.05)
    store.put(("t",), "long", {"n": 2}, ttl=60)
    before = store.get(("t",), "long", refresh_ttl=False)
    assert store.get(("t",), "long").updated_at == before.updated_at
    time.sleep(3.2)
    assert store.get(("t",), "short") is None
    assert [item.key for item in store.search(("t",))] == ["long"]
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    store.put(("t",), "read", {"n": 3}, ttl=0.2)
    for _ in range(2):
        time.sleep(8)
        assert store.get(("t",), "read").value == {"n": 3}
    default = NeurigraphStore(Memory(), ttl={"default_ttl": 0.02, "refresh_on_read": False})
    default.put(("t",), "default", {"n": 4})
    time.sleep(1.5)
    assert default.get(("t",), "default") is None


def test_writers_at_once_lose_nothing(store: NeurigraphStore) -> None:
    failed: list[Exception] = []

    def write(number: int) -> None:
        try:
            NeurigraphStore(Memory()).put(("w",), "same", {"n": number})
            store.put(("w",), f"own{number}", {"n": number})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert store.get(("w",), "same").value["n"] in range(4)
    assert [store.get(("w",), f"own{number}").value for number in range(4)] == [{"n": number} for number in range(4)]


def test_a_graph_uses_it(store: NeurigraphStore) -> None:
    def learn(state: dict[str, str], *, store: BaseStore) -> dict[str, str]:
        known = store.search(("people", "bob"), query=state["said"])
        store.put(("people", "bob"), str(len(store.search(("people", "bob")))), {"said": state["said"]})
        return {"said": "; ".join(item.value["said"] for item in known)}

    graph = StateGraph(dict)
    graph.add_node("learn", learn)
    graph.add_edge(START, "learn")
    made = graph.compile(store=store)
    made.invoke({"said": "I am allergic to peanuts."})
    assert "peanuts" in made.invoke({"said": "What am I allergic to?"})["said"]
