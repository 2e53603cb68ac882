"""Where the assignment of ingestion files a subject in a tree that exists, for each half of ``samples/filing.toml``.

``python -m benchmarks.filing`` prints what is wrong in the development half, for people who write rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.report import Section, number, table
from benchmarks.subjects import START, half_of
from neurigraph_pipelines.exchange.grant_previews import CHARACTERS_READ, LEAST_COMPARED, foreign_looking
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.model import (
    ConceptKind,
    ItemFailure,
    Message,
    Outline,
    OutlineNode,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.settings.pipeline import IngestionSettings
from resources.minilm.embedder import NeurigraphEmbedder
from resources.offline.area_words import AreaWords
from resources.offline.language_model import OfflineLanguageModel

SUBJECTS = PROJECT_ROOT / "samples" / "filing.toml"
OWNER = UUID(int=1)
AREAS = {"work": "business"}
"""Other names of an area."""

Path = tuple[str, ...]

_NODE = re.compile(r"(?P<path>[^:(]+?)(?: \((?P<kind>\w+)\))?: (?P<keywords>.+)")
_LINE = re.compile(r"(?P<who>\w+): (?P<text>(?:.|\n(?!\w+: ))+)")
_ROLES = {"u": Role.USER, "a": Role.ASSISTANT}


@dataclass(frozen=True)
class Subject:
    """What was said about one thing, the tree that it meets, and the nodes that a careful person may choose."""

    name: str
    language: str
    segment: Segment
    outline: Outline
    nodes: tuple[Path, ...]
    near: frozenset[str]

    @property
    def half(self) -> str:
        """Whether rules may be fitted to it."""
        return half_of(self.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one subject was filed.

    Attributes:
        is_exact: It is at a node of the labels.
        is_right: It is there, at its parent, or at a new topic below it.
        is_foreign: Somebody who may read the node reads a memory of another person or another area of life.
        is_found: It is right, or one decision between the two proposed nodes makes it so.
    """

    subject: Subject
    path: Path
    is_exact: bool
    is_right: bool
    is_foreign: bool
    is_found: bool


def written() -> list[Subject]:
    """Return the subjects of ``samples/filing.toml``."""
    data = tomllib.loads(SUBJECTS.read_text("utf-8"))
    trees = {tree["name"]: tuple(_nodes(tree["nodes"])) for tree in data["tree"]}
    languages = {"lena": "de", "carmen": "es", "luc": "fr", "giulia": "it"}
    return [
        Subject(
            one["name"],
            languages.get(one["tree"], "en"),
            _segment(one["tree"], one["said"]),
            Outline(trees[one["tree"]]),
            tuple(_path(text) for text in one["node"].split("|")),
            frozenset(_area(text.strip()) for text in one.get("near", "").split("|") if text.strip()),
        )
        for one in data["subject"]
    ]


def _nodes(text: str) -> Iterator[OutlineNode]:
    for line in text.strip().splitlines():
        match = _NODE.fullmatch(line)
        assert match is not None, line
        keywords = tuple(word.strip() for word in match["keywords"].split(","))
        yield OutlineNode(_path(match["path"]), ConceptKind(match["kind"] or "topic"), "", keywords, record_count=5)


def _path(text: str) -> Path:
    return tuple(name.strip() for name in text.split("/"))


def _area(name: str) -> str:
    return AREAS.get(name_key(name), name_key(name))


def _segment(owner: str, said: str) -> Segment:
    lines = [(match["who"], match["text"]) for match in _LINE.finditer(said.strip())]
    messages = tuple(
        Message(
            seq,
            _ROLES.get(who, Role.USER),
            text,
            len(text) // 4,
            START + timedelta(minutes=seq),
            author=None if who in _ROLES else who,
        )
        for seq, (who, text) in enumerate(lines, start=1)
    )
    ref = SegmentRef(
        trigger_id=OWNER,
        user_id=OWNER,
        user_slug=owner,
        source_kind=SourceKind.CONVERSATION,
        source_id=OWNER,
        source_external_id=None,
        title=None,
        trigger_type=TriggerType.CONVERSATION_END,
        first_message=1,
        last_message=len(messages),
        token_count=sum(message.token_count for message in messages),
        attempts=0,
    )
    return Segment(ref, messages)


def filed(subject: Subject, model: LanguageModel) -> Outcome:
    """File a subject as ingestion does, and compare; of several parts the widest counts."""
    threshold = IngestionSettings().node_creation_confidence
    (filings,) = assign_batch([subject.segment], {OWNER: subject.outline}, model, threshold)
    assert not isinstance(filings, ItemFailure), filings.error
    widest = max(filings, key=lambda filing: filing.last_message - filing.first_message)
    path = widest.path
    keys = tuple(map(name_key, path))
    wanted = [tuple(map(name_key, node)) for node in subject.nodes]
    persons = {tuple(map(name_key, node.path)) for node in subject.outline.nodes if node.kind is ConceptKind.PERSON}
    persons |= {tuple(map(name_key, node.path)) for node in widest.new_nodes if node.kind is ConceptKind.PERSON}
    is_at_person = any(keys[:depth] in persons for depth in range(1, len(keys) + 1))
    of_another = is_at_person and keys not in wanted
    is_right = not of_another and _is_at(keys, wanted)
    is_found = is_right or any(_is_at(tuple(map(name_key, one)), wanted) for one in widest.proposals)
    areas = {_area(one[0]) for one in wanted} | subject.near
    is_foreign = of_another or (bool(keys) and _area(keys[0]) not in areas)
    return Outcome(subject, path, keys in wanted, is_right, is_foreign, is_found)


def _is_at(keys: Path, wanted: Sequence[Path]) -> bool:
    """Return whether a node is one of some, its parent, or a new one below it."""
    return bool(keys) and any(keys in (one, one[:-1]) or keys[:-1] == one for one in wanted)


def figures(found: Sequence[Outcome]) -> list[str]:
    """Return the number of subjects, and the shares that are exact, right, found, not foreign and at the root."""
    count = len(found)
    return [
        str(count),
        number(sum(one.is_exact for one in found) / count),
        number(sum(one.is_right for one in found) / count),
        number(sum(one.is_found for one in found) / count),
        number(sum(not one.is_foreign for one in found) / count),
        number(sum(not one.path for one in found) / count),
    ]


def foreign_figures(subjects: Sequence[Subject]) -> list[str]:
    """Return how many nodes with one memory of another area there are, how many of those are named, and of the others.

    A node has the subjects of an area, of which there are at least as many as are compared; each subject that does not
    belong there is put beside them, one at a time.
    """
    model, reader = OfflineLanguageModel(None), AreaWords()
    summaries = [model.summarize(subject.segment, IngestionSettings().summary_words) for subject in subjects]
    vectors = NeurigraphEmbedder().embed([one.text for one in summaries])
    texts = [f"{one.title}\n{one.text[:CHARACTERS_READ]}" for one in summaries]
    areas = [frozenset(_area(node[0]) for node in one.nodes) for one in subjects]
    found = named = own = others = 0
    for area in sorted({_area(one.nodes[0][0]) for one in subjects}):
        within = [at for at, one in enumerate(subjects) if _area(one.nodes[0][0]) == area]
        if len(within) < LEAST_COMPARED:
            continue
        for at, one in enumerate(subjects):
            if area in areas[at] | one.near:
                continue
            chosen = [*within, at]
            looking = foreign_looking(reader, [area.title()], [texts[it] for it in chosen], _cosines(vectors[chosen]))
            named += len(within) in looking
            others += len([it for it in looking if it != len(within)])
            own += len(within)
            found += 1
    return [str(found), number(named / found), number(others / own)]


def _cosines(vectors: NDArray[np.float32]) -> list[float]:
    """Return the cosine of each vector with the sum of the others."""
    others = vectors.sum(axis=0) - vectors
    return [float(one) for one in (vectors * others).sum(axis=1) / np.linalg.norm(others, axis=1)]


def run(bench: Bench) -> Section:
    """File both halves with the local embedder and without."""
    subjects = written()[:: 8 if bench.quick else 1]
    embedder = NeurigraphEmbedder()
    rows = []
    for name, model in (("vectors", OfflineLanguageModel(embedder)), ("words", OfflineLanguageModel(None))):
        found = [filed(subject, model) for subject in subjects]
        for half in ("development", "held out"):
            chosen = [one for one in found if one.subject.half == half]
            for language in ("all", "en", "de", "es", "fr", "it"):
                among = [one for one in chosen if language in ("all", one.subject.language)]
                rows += [[half, name, language, *figures(among)]] if among else []
    header = ("half", "with", "language", "subjects", "exact", "right", "found", "not foreign", "root")
    halves = ("development", "held out")
    previews = [[half, *foreign_figures([one for one in subjects if one.half == half])] for half in halves]
    named = table(("half", "nodes", "foreign named", "others named"), previews)
    return Section("Filing into a tree that exists", _METHOD, f"{table(header, rows)}\n\n{_PREVIEWS}\n\n{named}")


_METHOD = """Subjects of `samples/filing.toml`: notes, mails, lists, recipes, meetings and sessions at a computer, each
filed by itself into the tree of an invented owner. *exact*: at a node that a careful person may choose. *right*: there,
at its parent, or at a new topic below it. *found*: there, or at one of the two nodes that wait for a decision where the
model is unsure. *not foreign*: neither at another person's node nor in an area of life that
has nothing to do with it, since a grant opens an area. *root*: at the top, where only the owner's key reads."""

_PREVIEWS = """The preview of a grant names memories that look foreign. Here a node has the subjects of one area of
a half and one subject of another area, each in turn. *foreign named*: the share of those that are named. *others
named*: the share of the others."""


def main() -> None:
    model = OfflineLanguageModel(NeurigraphEmbedder())
    found = [filed(subject, model) for subject in written() if subject.half == "development"]
    for one in found:
        mark = "F" if one.is_foreign else " " if one.is_right else "-"
        print(mark, one.subject.name, "/".join(one.path), "|", " | ".join("/".join(node) for node in one.subject.nodes))
    print(figures(found), foreign_figures([one.subject for one in found]))


if __name__ == "__main__":
    main()
