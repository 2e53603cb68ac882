"""New summaries by another model: revisions that keep history and manual changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from neurigraph_pipelines.graph.history import pipeline_author
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.resummarize import Resummarized, WantedSummaries, resummarize
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Keywords, Privacy, Segment, Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.vectors import to_record_vector
from neurigraph_pipelines.wiring.installation import Installation
from resources.redaction import PatternRedactor
from tests.conftest import ROOT
from tests.support.changing_record import MICROSECOND, Memory
from tests.support.graphs import Graph, new_graph
from tests.support.memories import PlainModel, WordEmbedder, converse, explained, ingest, node_rows, rows, stored
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import Fault, ModelProvider
from tests.support.waiting import wait_until

MODEL = "openai:gpt-test"
FOREVER = datetime.now(UTC) + timedelta(days=1)
DOWN = Fault("status", status=503)
REFUSED = Fault("status", status=400)
HELD = Fault("stall", seconds=60.0)


class FilesByTags(PlainModel):
    """Files as the plain model does, and writes as another, which looks at more of what it is given."""

    def __init__(self, writer: LanguageModel) -> None:
        super().__init__()
        self._writer = writer

    def summarize(self, segment: Segment, words: int) -> Summary:
        return self._writer.summarize(segment, words)

    def extract_keywords(self, segment: Segment) -> Keywords:
        return self._writer.extract_keywords(segment)


@pytest.fixture
def graph(here: Installation) -> Graph:
    return new_graph(here)


@pytest.fixture
def writing(context: Context, provider: ModelProvider) -> Iterator[Context]:
    """A context with another language model than the one that wrote what is stored."""
    client = make_client(provider, max_retries=1)
    yield context.using(language_model=make_model(client))
    client.close()


@pytest.fixture
def run(graph: Graph, writing: Context) -> Callable[..., Resummarized]:
    def over_all(record_ids: Sequence[UUID] | None = None, context: Context = writing, **how: Any) -> Resummarized:
        settings = graph.here.settings
        return resummarize(context.using(settings=settings), None, FOREVER, graph.user.user_id, record_ids, **how)

    return over_all


def remember(graph: Graph, *texts: str) -> list[Memory]:
    records = graph.remember(*(f"#Notes {text}" for text in texts))
    return [Memory(graph.here, WordEmbedder(), graph.claims, record_id) for record_id in records]


def states(memories: Sequence[Memory]) -> list[dict[str, Any]]:
    return [memory.at() for memory in memories]


def counts(done: Resummarized) -> tuple[int, int, int, int, int, int]:
    return done.records, done.unchanged, done.complete, done.revised, done.gone, len(done.failed)


def lexemes_hold(memory: Memory, word: str) -> bool:
    query = "SELECT tsv @@ plainto_tsquery(language, %s) AS held FROM {schema}.metadata_records WHERE record_id = %s"
    (row,) = node_rows(memory.here, memory.place["schema_name"], query, word, memory.record_id)
    return bool(row["held"])


def meanwhile(
    run: Callable[..., Resummarized], provider: ModelProvider, change: Callable[[], object], **how: Any
) -> Resummarized:
    """Change something while the provider writes the summary of a zeppelin."""
    provider.fail_when("zeppelin", HELD, "SummaryAnswer")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, **how)
        wait_until(lambda: provider.held("zeppelin"), "the provider is asked")
        try:
            change()
        finally:
            provider.mend()
        return running.result()


def test_new_summary_keeps_history(graph: Graph, run: Callable[..., Resummarized], writing: Context) -> None:
    (memory,) = remember(graph, f"{'The desk. ' * 110} Her zeppelin waits in Oslo since yesterday.")
    before, (first,) = memory.at(), memory.deltas
    assert not lexemes_hold(memory, "user")
    done = run()
    assert (done.model, counts(done)) == (MODEL, (1, 0, 0, 0, 0, 0))

    now, (newest, _) = memory.at(), memory.deltas
    assert (newest.operation, newest.authored_by) == ("revise", pipeline_author(MODEL))
    assert newest.before == {name: before[name] for name in newest.before}
    assert newest.after == {name: now[name] for name in newest.after}
    assert newest.before.keys() == {"title", "summary", "entities", "topics", "dates"} | (
        newest.after.keys() & {"relationships"}
    )
    assert now["summary"].startswith("user: #Notes The desk.")
    assert "Oslo" in now["entities"]
    assert memory.at(newest.changed_at - MICROSECOND) == before
    assert memory.at(first.changed_at) == before

    assert lexemes_hold(memory, "user")
    embedded = to_record_vector(writing.embedder.embed([now["summary"]])[0])
    row = memory.row()
    np.testing.assert_allclose(row["embedding"].to_numpy(), embedded, atol=1e-6)
    assert (row["embedding_model"], row["embedding_pending"]) == ("words", False)
    question = Question("user zeppelin", explain=True)
    answer = search(graph.here.acting_for(graph.claims).using(embedder=writing.embedder), question)
    assert answer.hits[0].summary == now["summary"]
    asked = to_record_vector(writing.embedder.embed([question.query])[0])
    assert explained(answer.hits[0])["summary_dense"] == pytest.approx(float(asked @ embedded), abs=0.01)
    graph.check()


def test_repeated_run_changes_nothing(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    memories = remember(graph, "the walnut desk", "the oak desk")
    assert counts(run()) == (2, 0, 0, 0, 0, 0)
    after, asked = states(memories), len(provider.requests)
    assert counts(run()) == (0, 0, 2, 0, 0, 0)
    assert len(provider.requests) == asked
    assert counts(run(wanted=WantedSummaries(again=True))) == (0, 2, 0, 0, 0, 0)
    assert len(provider.requests) == 2 * asked
    assert states(memories) == after


def test_stored_text_gives_same_summary(
    graph: Graph, here: Installation, context: Context, run: Callable[..., Resummarized]
) -> None:
    careful = context.using(language_model=FilesByTags(here.context.language_model))
    sample = ROOT / "samples" / "bob.jsonl"
    import_file(here.acting_for(graph.claims), sample, "jsonl")
    converse(here, graph.claims, "#Garden We planted beans.", "#Vespa It needs jet 7.", external_id="Beans, and jets")
    memories = stored(ingest(careful, graph.user))
    assert len(memories) == 16 + 2
    done = run(context=careful, wanted=WantedSummaries(again=True))
    assert counts(done) == (0, len(memories), 0, 0, 0, 0)


def test_keywords_alone(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    (memory,) = remember(graph, "Her zeppelin waits in Oslo since yesterday.")
    before, alone = memory.row(), WantedSummaries(keywords_only=True)
    assert counts(run(wanted=alone, dry_run=True)) == (1, 0, 0, 0, 0, 0)
    assert memory.row() == before
    assert counts(run(wanted=alone)) == (1, 0, 0, 0, 0, 0)
    assert len(provider.requests) == 1, "no summary and no vector"
    after = memory.row()
    assert "Oslo" in after["kw_entities"]
    assert {name for name in after if str(after[name]) != str(before[name])} <= {*KEYWORD_COLUMNS.values(), "tsv"}
    assert counts(run(wanted=alone)) == (0, 0, 1, 0, 0, 0)
    assert counts(run()) == (1, 0, 0, 0, 0, 0), "its summary is still another model's"
    graph.check()


def test_dry_run_only_counts(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    memories = remember(graph, "the walnut desk", "the oak desk")
    before = states(memories)
    assert counts(run(dry_run=True)) == (2, 0, 0, 0, 0, 0)
    assert (states(memories), provider.requests) == (before, [])


def test_manual_revisions_are_kept(graph: Graph, run: Callable[..., Resummarized]) -> None:
    mine, other = remember(graph, "the walnut desk", "the oak desk")
    mine.revise(Revision(topics=["furniture"]))
    before = mine.at()
    assert counts(run(wanted=WantedSummaries(again=True))) == (1, 0, 0, 1, 0, 0)
    assert mine.at() == before
    assert other.deltas[0].authored_by == pipeline_author(MODEL)
    assert counts(run(wanted=WantedSummaries(revised=True))) == (1, 0, 1, 0, 0, 0)
    assert mine.at()["topics"] != ["furniture"]
    assert counts(run()) == (0, 0, 2, 0, 0, 0), "no person's words are left"


def test_single_records_by_id(graph: Graph, here: Installation, run: Callable[..., Resummarized]) -> None:
    named, other = remember(graph, "the walnut desk", "the oak desk")
    (stranger,) = remember(new_graph(here), "the ash desk")
    absent = uuid4()
    done = run([named.record_id, absent, stranger.record_id])
    assert counts(done) == (1, 0, 0, 0, 0, 2)
    assert dict(done.failed) == dict.fromkeys((absent, stranger.record_id), "there is no such record")
    assert [len(memory.deltas) for memory in (named, other, stranger)] == [2, 1, 1]


def test_days_are_storage_days(graph: Graph, writing: Context) -> None:
    old, new = remember(graph, "the walnut desk", "the oak desk")
    old.clock_jumps(timedelta(days=30))
    today, user_id = datetime.now(UTC), graph.user.user_id
    done = resummarize(writing, None, today - timedelta(days=20), user_id)
    assert (counts(done), len(old.deltas), len(new.deltas)) == ((1, 0, 0, 0, 0, 0), 2, 1)
    done = resummarize(writing, today - timedelta(days=20), FOREVER, user_id)
    assert (counts(done), len(old.deltas), len(new.deltas)) == ((1, 0, 0, 0, 0, 0), 2, 2)


def test_provider_outage_changes_nothing(
    graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider, writing: Context
) -> None:
    memories = remember(graph, *(f"the desk of {name}" for name in ("Ana", "Dave", "Eve", "Finn", "Gus")))
    before = states(memories)
    provider.fail_when("desk", DOWN)
    with pytest.raises(TransientError):
        run()
    assert states(memories) == before
    provider.mend()
    no_vectors = writing.using(embedder=WordEmbedder(fault=TransientError("the embedder is down")))
    with pytest.raises(TransientError, match="embedder"):
        run(context=no_vectors)
    assert states(memories) == before
    assert not rows(graph.here, "SELECT FROM neurigraph.pending_embeddings WHERE user_id = %s", graph.user.user_id)
    assert counts(run()) == (5, 0, 0, 0, 0, 0)
    graph.check()


def test_failures_are_isolated(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    refused, busy, lost, fine = remember(graph, "the walnut desk", "the oak desk", "the ash desk", "the elm desk")
    provider.fail_when("walnut", REFUSED)
    provider.fail_when("oak", DOWN)
    query = "SELECT storage_path FROM {schema}.file_manifest WHERE record_id = %s"
    (file,) = node_rows(graph.here, lost.place["schema_name"], query, lost.record_id)
    content = b"".join(graph.here.objects.get(file["storage_path"]))
    graph.here.objects.put(file["storage_path"], [b"damaged"])
    before = states([refused, busy, lost])
    done = run()
    assert counts(done) == (1, 0, 0, 0, 0, 3)
    assert {record_id for record_id, _ in done.failed} == {m.record_id for m in (refused, busy, lost)}
    assert states([refused, busy, lost]) == before
    assert fine.deltas[0].authored_by == pipeline_author(MODEL)
    provider.mend()
    graph.here.objects.put(file["storage_path"], [content])
    assert counts(run()) == (3, 0, 1, 0, 0, 0)


def test_moved_record_is_updated_in_place(
    graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider
) -> None:
    memory, _ = remember(graph, "her zeppelin", "the oak desk")
    graph.remember("#Travel a trip")
    done = meanwhile(
        run,
        provider,
        lambda: move_records(graph.here.database, graph.claims, [memory.record_id], graph.node("Travel")),
    )
    assert counts(done) == (3, 0, 0, 0, 0, 0)
    assert memory.operations == ["revise", "move", "create"]
    assert memory.place["node_id"] == graph.node("Travel")
    graph.check()


def test_erased_record_stays_erased(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    memory, other = remember(graph, "her zeppelin", "the oak desk")
    here, subject = graph.here, ErasureSubject(SubjectKind.RECORD, memory.record_id)
    done = meanwhile(
        run,
        provider,
        lambda: forget(here.acting_for(graph.claims), subject, through="tests"),
    )
    assert counts(done) == (1, 0, 0, 0, 1, 0)
    assert set(graph.records) == {other.record_id}
    graph.check()


def test_concurrent_revision_wins(graph: Graph, run: Callable[..., Resummarized], provider: ModelProvider) -> None:
    (memory,) = remember(graph, "her zeppelin")
    how = {"wanted": WantedSummaries(revised=True)}
    done = meanwhile(run, provider, lambda: memory.revise(Revision(title="Mine")), **how)
    assert [(record_id, "revised" in error) for record_id, error in done.failed] == [(memory.record_id, True)]
    assert (memory.at()["title"], memory.operations) == ("Mine", ["revise", "create"])


def test_redaction_and_privacy_hold(graph: Graph, writing: Context, run: Callable[..., Resummarized]) -> None:
    text = "Mail marked.one@example.com about the zeppelin in Oslo"
    (memory,) = remember(graph, text)
    set_privacy(graph.here.database, graph.claims, UUID(memory.at()["source_id"]), Privacy.PRIVATE)
    shell = graph.shell("Notes")
    redacting = writing.using(redactor=PatternRedactor(("email",), None))
    assert counts(run(context=redacting)) == (1, 0, 0, 0, 0, 0)
    now = memory.at()
    assert "[email]" in now["summary"]
    assert "marked.one" not in str({name: now[name] for name in now if name != "file_name"})
    assert "Oslo" in now["entities"]
    columns = ("node_summary", "node_keywords", "aliases", "keyword_weights")
    assert {name: graph.shell("Notes")[name] for name in columns} == {name: shell[name] for name in columns}
