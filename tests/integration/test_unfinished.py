"""Memories that a defect in an enrichment left without it: stored whole, found, marked, listed, and made again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg import sql

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph import voices
from neurigraph_pipelines.inbox.vaults import import_vault
from neurigraph_pipelines.ingestion import (
    assign,
    batch,
    commit,
    detection,
    graph_updates,
    note_records,
    passage_words,
    record_rows,
    segment_storage,
)
from neurigraph_pipelines.ingestion import keywords as describing
from neurigraph_pipelines.ingestion import summarize as summarizing
from neurigraph_pipelines.ingestion.failures import replay
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.resummarize import resummarize
from neurigraph_pipelines.ingestion.unfinished import count_unfinished, list_unfinished
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.model import (
    ConceptKind,
    Keywords,
    NodeProposal,
    NodeType,
    Outline,
    Placement,
    Quotable,
    Segment,
    Statement,
    Summary,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.ports import KeptFacts
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.failures import ReplayOutcome
from neurigraph_pipelines.views.kinds import FactKind, StatedAs
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.failed_segments import fail
from tests.support.memories import PlainModel, WordEmbedder, converse, ingest, new_user, plain_context, rows, stored

FOREVER = datetime.now(UTC) + timedelta(days=1)
SAID = ["#Family/Ana Ana planted the quince.", "She watered the quince on Sunday.", "@Dave:sister"]


class BrokenModel(PlainModel):
    """A model of which one method has a defect, as long as ``is_broken``."""

    def __init__(self, method: str, concurrency: int = 1) -> None:
        super().__init__(concurrency)
        self.method, self.is_broken = method, True

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("plan", "place", "summarize", "extract_keywords", "extract_facts", "judge", "answer"):
            return defect if self.method == name and self.is_broken else found
        return found


def defect(*_: object, **__: object) -> NoReturn:
    raise IndexError("no such group: Ana planted the quince")


MODEL_STEPS = {"plan": "", "place": "filing", "summarize": "summarize", "extract_keywords": "extract_keywords"}
PARTS: dict[str, tuple[ModuleType, str, str]] = {
    "rules of filing": (assign, "file_segment", "filing"),
    "outlines": (assign, "with_filings", "filing"),
    "titles": (record_rows, "possible_titles", "title"),
    "languages": (passage_words, "languages_of", "languages"),
    "stems": (passage_words, "count_words", "stems"),
    "statements": (passage_words, "statement_key", "statements"),
    "edges": (graph_updates, "write_edges", "links"),
    "mentions": (graph_updates, "write_mentions", "links"),
    "candidates": (graph_updates, "add_candidates", "links"),
    "names": (graph_updates, "_aliases", "description of nodes"),
    "shells": (graph_updates, "update_shells", "description of nodes"),
    "segments": (detection, "split_tail", ""),
    "titles of sources": (summarizing, "_title", "summarize"),
    "tags": (describing, "_with_tags", "extract_keywords"),
    "outline": (batch, "outline", "filing"),
    "names of the owner": (voices, "_owners_names", ""),
    "totals": (segment_storage, "count_stored", ""),
    "times": (commit, "count_times", ""),
}


@pytest.mark.parametrize("broken", [*MODEL_STEPS, *PARTS])
def test_defect_keeps_no_memory_from_being_stored(
    here: Installation, context: Context, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave Dave says hello.")
    ingest(context, user)
    source_id = converse(here, claims, *SAID)
    model = BrokenModel(broken, concurrency=2)
    if broken in PARTS:
        module, function, missing = PARTS[broken]
        monkeypatch.setattr(module, function, defect)
    else:
        missing = MODEL_STEPS[broken]
    (record,) = stored(ingest(context.using(language_model=model), user))

    reader = here.acting_for(claims)
    opened = open_file(reader, file_of_record(here.database, claims, record.record_id))
    words = opened.content.decode()
    assert all(text in words for text in SAID), "the words are whole"
    assert rows(here, "SELECT FROM neurigraph.messages WHERE source_id = %s AND content <> ''", source_id) == []
    found = search(context.acting_for(claims), Question("quince"))
    assert record.record_id in [hit.record_id for hit in found.hits]
    marked = [one for one in list_unfinished(here.database, 100) if one.record_id == record.record_id]
    assert [one.left_out for one in marked] == ([f"{missing} (IndexError)"] if missing else [])
    assert record.left_out == ((f"{missing} (IndexError)",) if missing else ())
    assert "quince" not in str(marked).lower().replace(str(user.user_id), "")

    if broken in MODEL_STEPS and missing:
        still = resummarize(context.using(language_model=model), None, FOREVER, user.user_id)
        assert [failed for failed, _ in still.failed] == [record.record_id]
        assert count_unfinished(here.database, user.user_id) == 1, "it stays marked"
    model.is_broken = False
    monkeypatch.undo()
    done = resummarize(context, None, FOREVER, user.user_id)
    assert done.failed == []
    assert count_unfinished(here.database, user.user_id) == 0
    with here.database.agent(claims) as tx:
        row = tx.execute("SELECT neurigraph.record_at(%s, 'infinity') AS now", [record.record_id]).fetchone()
    assert row is not None
    assert row["now"]["title"].startswith("#Family/Ana Ana planted")
    assert "Ana" in row["now"]["kw_entities"]
    (hit,) = [one for one in search(context.acting_for(claims), Question("quince")).hits if one.source_id == source_id]
    assert str(hit.node_path).endswith("/Family/Ana")
    edges = rows(here, "SELECT relation FROM neurigraph.node_edges WHERE user_id = %s", user.user_id)
    assert "sister" in [edge["relation"] for edge in edges]
    again = resummarize(context, None, FOREVER, user.user_id)
    assert (again.records, again.unchanged) == (0, 0), "once is enough"


def test_defect_in_vectors_and_facts_is_mended_later(here: Installation, context: Context) -> None:
    user, claims = new_user(here)
    converse(here, claims, *SAID)
    model = BrokenModel("extract_facts")
    broken = context.using(language_model=model, embedder=WordEmbedder(fault=IndexError("no such group")))
    (record,) = stored(ingest(broken, user))
    assert record.pending_embedding
    assert [one for one, _ in reading.read_waiting(broken, user_id=user.user_id).failed] == [record.record_id]
    assert search(context.acting_for(claims), Question("quince")).hits
    with here.database.pipeline() as tx:
        for table in ("pending_embeddings", "pending_facts"):
            query = sql.SQL("UPDATE {} SET next_attempt_at = now() WHERE user_id = %s")
            tx.execute(query.format(sql.Identifier("neurigraph", table)), [user.user_id])
    assert heal_pending(context, user_id=user.user_id).records == 1
    assert reading.read_waiting(context, user_id=user.user_id).facts > 0


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), UnicodeDecodeError("utf-8", b"", 0, 1, "no")])
def test_errors_that_are_defects(here: Installation, error: Exception) -> None:
    user, claims = new_user(here)
    converse(here, claims, *SAID)

    class Failing(PlainModel):
        def summarize(self, segment: Segment, words: int) -> Summary:
            raise error

    (record,) = stored(ingest(here.context.using(language_model=Failing()), user))
    assert record.left_out == (f"summarize ({type(error).__name__})",)


class Careless(PlainModel):
    """A model whose texts have characters that Postgres cannot store."""

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        step = NodeProposal("Quince", ConceptKind.TOPIC, 0.9, "About\0 trees.", ("tree\ud83d",))
        return [Placement((step,), 1, 3)]

    def summarize(self, segment: Segment, words: int) -> Summary:
        return Summary("The\0 quince\ud83d", "Ana planted\0 the quince\ud83d.")

    def extract_keywords(self, segment: Segment) -> Keywords:
        return Keywords(entities=("Ana\0",), topics=("quince\ud83d",))

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        return [ReadFact("Ana\0 planted the quince", 1, 1, "Ana\ud83d", FactKind.OTHER, StatedAs.STATEMENT)]

    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        return [Statement("Ana planted\0 it\ud83d", (1,))]


def test_words_of_models_are_repaired(here: Installation) -> None:
    user, claims = new_user(here)
    converse(here, claims, *SAID)
    careless = here.context.using(language_model=Careless(), embedder=WordEmbedder())
    (record,) = stored(ingest(careless, user))
    assert (record.title, record.left_out) == ("The\ufffd quince\ufffd", ())
    assert reading.read_waiting(careless, user_id=user.user_id).failed == []
    reply = ask(careless.acting_for(claims), Question("Who planted the quince?"))
    assert reply.answer == "Ana planted\ufffd it\ufffd [1]"


def test_vectors_that_are_no_numbers_are_made_later(here: Installation) -> None:
    class Overflowing(WordEmbedder):
        def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
            return super().embed(texts, kind) * np.float32(np.nan)

    user, claims = new_user(here)
    converse(here, claims, *SAID)
    (record,) = stored(ingest(plain_context(here).using(embedder=Overflowing()), user))
    assert record.pending_embedding
    found = search(plain_context(here).using(embedder=Overflowing()).acting_for(claims), Question("quince"))
    assert [hit.record_id for hit in found.hits] == [record.record_id]


def test_segment_that_failed_before_is_replayed_and_stored(here: Installation) -> None:
    user, _ = new_user(here)
    (failure,) = fail(here, user, "talk")
    (replayed,) = replay(here.database, [failure.failure_id])
    assert replayed.outcome is ReplayOutcome.REPLAYED
    (record,) = stored(ingest(here.context.using(language_model=BrokenModel("extract_keywords")), user))
    assert record.left_out == ("extract_keywords (IndexError)",)


def test_links_of_a_vault_are_made_again(here: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user, claims = new_user(here)
    for name, text in (("Quince", "Grows beside the [[Pond]]."), ("Pond", "It has frogs.")):
        (tmp_path / f"{name}.md").write_text(text)
    import_vault(here.acting_for(claims), here.settings, tmp_path)
    monkeypatch.setattr(note_records, "links_in", defect)
    left_out = {one.title: one.left_out for one in stored(ingest(here.context, user))}
    assert left_out == dict.fromkeys(["Quince", "Pond"], ("links (IndexError)",))
    monkeypatch.undo()
    assert resummarize(here.context, None, FOREVER, user.user_id).failed == []
    edges = rows(here, "SELECT relation FROM neurigraph.node_edges WHERE user_id = %s", user.user_id)
    assert [edge["relation"] for edge in edges] == ["links to"]
    assert count_unfinished(here.database, user.user_id) == 0


def test_words_are_never_filed_again_into_a_persona(here: Installation, context: Context) -> None:
    user, claims = new_user(here)
    sharing.add_node(here.database, claims, user.root_node_id, "Lawyer", node_type=NodeType.PERSONA)
    converse(here, claims, "#Lawyer My hidden account is in Vaduz.")
    ingest(context.using(language_model=BrokenModel("place")), user)
    assert resummarize(context, None, FOREVER, user.user_id).failed == []
    assert count_unfinished(here.database, user.user_id) == 0
    (hit,) = search(context.acting_for(claims), Question("hidden account")).hits
    assert hit.node_path == user.slug
