"""Where the offline model finds a change of subject: boundaries, whole conversations and titles, for each half.

The talks are those of ``samples/subjects.toml``, labelled conversations put together, and QMSum's topics.
``python -m benchmarks.subjects HALF`` prints what was found in one half, for people who write rules.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.derived.labels import Labelled, load
from benchmarks.report import Section, number, table
from neurigraph_pipelines.model import Message, Outline, Placement, Role, Segment, SegmentRef, SourceKind, TriggerType
from resources.minilm.embedder import NeurigraphEmbedder
from resources.offline.language_model import OfflineLanguageModel

TALKS = PROJECT_ROOT / "samples" / "subjects.toml"
MEETINGS = PROJECT_ROOT.parent / "shared" / "data" / "qmsum"
START = datetime(2025, 3, 3, 9, tzinfo=UTC)
PUT_TOGETHER = 60
"""Talks of each half that are put together of labelled ones, half of them taking turns."""

NEAR = {"meetings": 5}
"""Messages by which a boundary may be missed; otherwise 1."""

_LINE = re.compile(r"\+(?P<hours>\d+)h|(?P<who>\w+): (?P<text>.+)")
_ROLES = {"u": Role.USER, "a": Role.ASSISTANT}


@dataclass(frozen=True)
class Talk:
    """A conversation with the subject of each message, and the titles of its parts where a person wrote them."""

    name: str
    kind: str
    messages: tuple[Message, ...]
    subjects: tuple[str, ...]
    titles: tuple[str, ...] = ()

    @property
    def half(self) -> str:
        """Whether rules may be fitted to it."""
        return half_of(self.name.partition("/")[0])

    @property
    def boundaries(self) -> list[int]:
        """The positions at which another subject begins."""
        return [at for at in range(1, len(self.subjects)) if self.subjects[at] != self.subjects[at - 1]]

    @property
    def segment(self) -> Segment:
        """The talk as one segment."""
        known = UUID(int=1)
        ref = SegmentRef(
            trigger_id=known,
            user_id=known,
            user_slug="owner",
            source_kind=SourceKind.CONVERSATION,
            source_id=known,
            source_external_id=None,
            title=None,
            trigger_type=TriggerType.CONVERSATION_END,
            first_message=1,
            last_message=len(self.messages),
            token_count=sum(message.token_count for message in self.messages),
            attempts=0,
        )
        return Segment(ref, self.messages)


def half_of(name: str) -> str:
    """Return the half of a talk, by the hash of its name."""
    return ("held out", "development")[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def written() -> list[Talk]:
    """Return the talks of ``samples/subjects.toml``."""
    found = []
    for talk in tomllib.loads(TALKS.read_text("utf-8"))["talk"]:
        said, subjects, hours = list[tuple[Role, str | None, str, float]](), list[str](), 0.0
        for part in talk["part"]:
            for line in part["said"].strip().splitlines():
                match = _LINE.fullmatch(line)
                assert match is not None, line
                if match["hours"]:
                    hours += float(match["hours"])
                    continue
                author = None if match["who"] in _ROLES else match["who"]
                said.append((_ROLES.get(match["who"], Role.USER), author, match["text"], hours))
                subjects.append(part["subject"])
        titles = tuple(part["title"] for part in talk["part"] if "title" in part)
        found.append(Talk(talk["name"], talk.get("kind", "written"), _messages(said), tuple(subjects), titles))
    return found


def put_together(labelled: Sequence[Labelled], half: str) -> Iterator[Talk]:
    """Yield talks of 2 to 6 labelled conversations of one half, one after the other and taking turns."""
    chance = random.Random(half)
    ours = {
        language: [one for one in labelled if one.language == language and one.half == half]
        for language in ("english", "german", "spanish")
    }
    for count in range(PUT_TOGETHER):
        pool = ours["english"] if count % 6 else ours["german"] + ours["spanish"]
        chosen = chance.sample(pool, min(len(pool), chance.randint(2, 6)))
        taking_turns = count % 2 == 1
        said, subjects = list[tuple[Role, str | None, str, float]](), list[str]()
        for one in [*chosen, *chosen[: chance.randint(1, len(chosen))]] if taking_turns else chosen:
            begin = len(one.messages) // 2 if one.id in subjects else 0
            room = len(one.messages) // 2 if taking_turns else len(one.messages)
            end = _natural_end(one, begin, chance.choice((2, 3, 4, 6, 8, 12, 20, room)), begin + room)
            said += [(message.role, message.author, message.content, 0.0) for message in one.messages[begin:end]]
            subjects += [one.id] * (end - begin)
        yield Talk(f"{half} {count}", "in turns" if taking_turns else "in a row", _messages(said), tuple(subjects))


def _natural_end(one: Labelled, begin: int, length: int, last: int) -> int:
    """Return where a piece ends: the next one begins with a user's message, and no user's question is left open."""
    for end in range(min(begin + length, last), last):
        before = one.messages[end - 1]
        open_question = before.role is Role.USER and before.content.rstrip().endswith("?")
        if one.messages[end].role is Role.USER and not open_question:
            return end
    return min(last, len(one.messages))


def whole(labelled: Sequence[Labelled], half: str) -> Iterator[Talk]:
    """Yield the labelled conversations of one half as they are, and the beginnings of them."""
    for count, one in enumerate(one for one in labelled if one.half == half):
        said = [(message.role, message.author, message.content, 0.0) for message in one.messages]
        kept = tuple(
            replace(made, occurred_at=message.occurred_at)
            for made, message in zip(_messages(said), one.messages, strict=True)
        )
        begun = kept[: 2 + count % 10]
        yield Talk(one.id, "labelled", kept, (one.id,) * len(kept))
        yield Talk(one.id, "beginnings", begun, (one.id,) * len(begun))


def meetings(folder: Path = MEETINGS) -> Iterator[Talk]:
    """Yield QMSum's meetings with their topics; none where the data folder is absent."""
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        turns = data["meeting_transcripts"]
        subjects = ["opening"] * len(turns)
        for topic in data["topic_list"]:
            first = int(topic["relevant_text_span"][0][0])
            subjects[first:] = [topic["topic"]] * (len(turns) - first)
        said = [(Role.USER, turn["speaker"], turn["content"], 0.0) for turn in turns]
        yield Talk(path.stem, "meetings", _messages(said), tuple(subjects))


def talks(half: str) -> list[Talk]:
    """Return all talks of one half."""
    labelled = load()
    return [
        *(talk for talk in written() if talk.half == half),
        *put_together(labelled, half),
        *whole(labelled, half),
        *(talk for talk in meetings() if talk.half == half),
    ]


def _messages(said: Sequence[tuple[Role, str | None, str, float]]) -> tuple[Message, ...]:
    return tuple(
        Message(seq, role, text, len(text) // 4, START + timedelta(minutes=seq, hours=hours), author=author)
        for seq, (role, author, text, hours) in enumerate(said, start=1)
    )


def p_k(true: Sequence[int], found: Sequence[int], length: int) -> float:
    """Return Pk (Beeferman, Berger and Lafferty 1999): how often two messages are wrongly together or apart."""
    width: int = max(1, round(length / (len(true) + 1) / 2))
    starts = range(length - width)
    together: list[list[bool]] = [
        [not any(start < at <= start + width for at in ends) for start in starts] for ends in (true, found)
    ]
    expected, got = together
    wrong = sum(one != other for one, other in zip(expected, got, strict=True))
    return wrong / max(1, len(starts))


def hits(true: Sequence[int], found: Sequence[int], near: int) -> int:
    """Return how many boundaries were found, each by one of its own."""
    free = list(found)
    for at in true:
        nearest = min(free, key=lambda one: abs(one - at), default=None)
        if nearest is not None and abs(nearest - at) <= near:
            free.remove(nearest)
    return len(found) - len(free)


def astray(model: OfflineLanguageModel, talk: Talk, filed: Sequence[Placement]) -> int:
    """Return how many messages are filed in another area than all of their subject would be by itself."""
    alone = {}
    for subject in dict.fromkeys(talk.subjects):
        said = tuple(one for one, about in zip(talk.messages, talk.subjects, strict=True) if about == subject)
        placed = model.place(replace(talk.segment, messages=said), Outline())
        alone[subject] = _area(max(placed, key=lambda one: one.last_message - one.first_message))
    areas = [_area(one) for one in filed for _ in range(one.first_message, one.last_message + 1)]
    return sum(bool(area) and area != alone[about] for area, about in zip(areas, talk.subjects, strict=True))


def _area(placed: Placement) -> str:
    return placed.steps[0].name if placed.steps else ""


def figures(found: Sequence[tuple[Talk, list[int], int]]) -> list[str]:
    """Return Pk, the shares of boundaries found and right, of messages astray, and of talks that rightly stay whole."""
    several = [(talk, ends) for talk, ends, _ in found if talk.boundaries]
    single = [ends for talk, ends, _ in found if not talk.boundaries]
    messages = sum(len(talk.messages) for talk, _ in several)
    true = sum(len(talk.boundaries) for talk, _ in several)
    right = sum(hits(talk.boundaries, ends, NEAR.get(talk.kind, 1)) for talk, ends in several)
    proposed = sum(len(ends) for _, ends in several)
    error = sum(p_k(talk.boundaries, ends, len(talk.messages)) for talk, ends in several)
    return [
        str(len(found)),
        number(error / len(several)) if several else "–",
        number(right / true) if true else "–",
        number(right / proposed) if proposed else "–",
        number(sum(strays for *_, strays in found) / messages) if several and found[0][0].kind != "meetings" else "–",
        f"{sum(not ends for ends in single)} of {len(single)}" if single else "–",
    ]


def measured(model: OfflineLanguageModel, talk: Talk) -> tuple[Talk, list[int], int]:
    """Return a talk with the positions at which the model begins another part, and how many messages are astray."""
    filed = model.place(talk.segment, Outline())
    strays = astray(model, talk, filed) if talk.boundaries and talk.kind != "meetings" else 0
    return talk, [one.first_message - 1 for one in filed][1:], strays


def run(bench: Bench) -> Section:
    """Measure both halves with the local embedder and without."""
    embedder = NeurigraphEmbedder()
    rows = []
    for half in ("development", "held out"):
        several = talks(half)[:: 8 if bench.quick else 1]
        for name, model in (("vectors", OfflineLanguageModel(embedder)), ("words", OfflineLanguageModel(None))):
            found = [measured(model, talk) for talk in several]
            for kind in dict.fromkeys(talk.kind for talk in several):
                rows.append([half, name, kind, *figures([one for one in found if one[0].kind == kind])])
            told = [one for one in found if one[0].kind != "meetings"]
            rows.append([half, name, "all but meetings", *figures(told)])
    header = ("half", "with", "talks", "number", "Pk", "found", "precision", "astray", "whole")
    return Section("Changes of subject", _METHOD, table(header, rows))


_METHOD = """Conversations of several subjects: written ones and short ones in German, Spanish, French and Italian
(`samples/subjects.toml`), pieces of labelled ones in a row and in turns, and QMSum's meetings, with its topics, where
the data folder is there. A boundary counts as found within one message (five in meetings). `astray`: messages filed in
another area of life than all messages of their subject are by themselves, for a new user; those at the root are not
counted. `whole`: conversations of one subject, and beginnings of labelled ones, that stay whole."""


def main() -> None:
    half = sys.argv[1]
    model = OfflineLanguageModel(NeurigraphEmbedder())
    for talk in talks(half):
        _, ends, _ = measured(model, talk)
        print(talk.kind, talk.name, "true", talk.boundaries, "found", ends)
        if talk.titles:
            bounds = [0, *talk.boundaries, len(talk.messages)]
            for first, last, title in zip(bounds, bounds[1:], talk.titles, strict=False):
                print("   ", title, "|", model.summarize(talk.segment.within(first + 1, last), 120).title)


if __name__ == "__main__":
    main()
