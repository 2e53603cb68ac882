"""How the time of each extractor and each offline step grows with its input.

Runs every step on inputs of growing size and of hostile shapes, and prints a line for each as it goes: the growth
exponent (1 is linear, 2 is quadratic) and the seconds of the largest input. ``python -m benchmarks.growth [STEP ...]``
exits with 1 if a step grows faster than ``MOST_EXPONENT`` or takes longer than ``MOST_SECONDS`` for a megabyte, or if
the time was not enough. A step that looks too fast-growing is measured again, longer, before it counts.
"""

from __future__ import annotations

import argparse
import io
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from types import FrameType
from uuid import UUID

from benchmarks.hostile_inputs import TEXTS, Reader, cycled, documents, name_of, tails
from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.inbox.redaction import redact_message
from neurigraph_pipelines.ingestion.assign import file_segment
from neurigraph_pipelines.ingestion.embed import RecordTexts
from neurigraph_pipelines.ingestion.segmentation import Sizes, Turn, split_tail
from neurigraph_pipelines.lifecycle.quarantine.suggestions import looks_like_instruction
from neurigraph_pipelines.model import (
    Message,
    NewMessage,
    Outline,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.hygiene import validate_message
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import Layout, TranscriptWriter
from resources.offline.language_model import OfflineLanguageModel
from resources.redaction import PatternRedactor
from resources.tokens.tokenizer import EstimatedCounter

MOST_EXPONENT = 1.35
MOST_SECONDS = 60.0
"""Seconds for a megabyte from which a step is reported, however it grows."""

SMALLEST, LARGEST, STEP = 1 << 15, 1 << 19, 4
"""Bytes of the smallest and largest input, and how much larger each input is than the one before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to measure, in seconds of processor time.

    Attributes:
        shortest: Shorter measurements say nothing about growth.
        enough: After a measurement of this length no larger input is tried.
        longest: A measurement ends here: a quadratic step needs no more proof.
    """

    shortest: float
    enough: float
    longest: float


QUICK = Limits(shortest=0.03, enough=0.15, longest=20.0)
CAREFUL = Limits(shortest=0.25, enough=7.0, longest=20.0)
MINUTES = 60.0
"""Longest time of everything, by the clock on the wall."""

PART_CHARACTERS = 4_000
START = datetime(2024, 5, 1, tzinfo=UTC)
Work = Callable[[], object]
Layouts = Callable[[str], Segment]


def segment_of(text: str, characters: int | None, authors: int = 0) -> Segment:
    """Return a segment of one message, or of messages with so many characters each."""
    cuts = range(0, max(1, len(text)), characters or max(1, len(text)))
    tokens = EstimatedCounter()
    messages = tuple(
        Message(
            number,
            Role.ASSISTANT if number % 2 == 0 and not authors else Role.USER,
            piece,
            tokens.count(piece),
            START + timedelta(seconds=number),
            author=f"{name_of(number % authors)} {name_of(number % authors // 3)}" if authors else None,
        )
        for number, piece in enumerate((text[start : start + (characters or len(text))] for start in cuts), start=1)
    )
    ref = SegmentRef(
        UUID(int=1),
        UUID(int=2),
        "bob",
        SourceKind.CONVERSATION,
        UUID(int=3),
        None,
        None,
        TriggerType.CONVERSATION_END,
        1,
        len(messages),
        sum(message.token_count for message in messages),
        0,
    )
    return Segment(ref, messages)


def _segment_steps() -> dict[str, Callable[[Segment], object]]:
    model, tokens, lexer = OfflineLanguageModel(None), EstimatedCounter(), Lexer()
    writer = TranscriptWriter(tokens, 200, 65_536, 6)
    redactor = PatternRedactor(("email", "card", "key"))
    phones = PatternRedactor(("phone",), "US")

    def passages(segment: Segment) -> list[str]:
        return list(RecordTexts(UUID(int=4), "", list(writer.passages(segment))))

    def lexemes(segment: Segment) -> None:
        for passage in writer.passages(segment):
            lexer.count(passage.text)

    def redact(with_redactor: PatternRedactor, segment: Segment) -> None:
        for message in segment.messages:
            redact_message(with_redactor, NewMessage(message.role, message.content, author=message.author))

    return {
        "assign": lambda s: file_segment(s, model.place(s, Outline()), Outline(), 0.75),
        "summarise": lambda s: model.summarize(s, 200),
        "keywords": lambda s: model.extract_keywords(s),
        "passages": passages,
        "lexemes": lexemes,
        "transcript": lambda s: sum(map(len, writer.members(s, Layout()))),
        "tokens": lambda s: [tokens.count(m.content) for m in s.messages],
        "hygiene": lambda s: [
            validate_message(NewMessage(m.role, m.content, author=m.author), "repair", 1 << 30) for m in s.messages
        ],
        "voices": lambda s: voices_of(s.messages, s.ref.source_kind, s.ref.user_slug),
        "statement keys": lambda s: [statement_key(m.content) for m in s.messages],
        "disguises": lambda s: [undisguised(m.content) for m in s.messages],
        "suggestions": lambda s: [looks_like_instruction(m.content) for m in s.messages],
        "redaction": lambda s: redact(redactor, s),
        "redaction of phones": lambda s: redact(phones, s),
    }


LAYOUTS: dict[str, Callable[[str], Segment]] = {
    "one message": lambda text: segment_of(text, None),
    "messages": lambda text: segment_of(text, PART_CHARACTERS),
}
SMALL_LAYOUTS: dict[str, Callable[[str], Segment]] = {
    "short messages": lambda text: segment_of(text, 20),
    "many speakers": lambda text: segment_of(text, 20, authors=max(1, len(text) // 40)),
}
OF_MANY_MESSAGES = ("prose", "words", "name run", "projects", "topics", "one letter")


@lru_cache(maxsize=8)
def _made(layout: Layouts, make: Callable[[int], str], size: int) -> Segment:
    """Return the same segment to all steps, which follow each other: making it can take longer than a step."""
    return layout(cycled(make, size))


def _of_text(step: Callable[[Segment], object], layout: Layouts, make: Callable[[int], str], size: int) -> Work:
    segment = _made(layout, make, size)
    return lambda: step(segment)


def _of_tail(tail: Callable[[int], list[Turn]], ended: bool, size: int) -> Work:
    turns = tail(size // 20)
    return lambda: split_tail(turns, Sizes(480_000, 500_000, 620_000), ended=ended)


def _of_document(read: Reader, document: Callable[[int], bytes], size: int) -> Work:
    content = document(size)
    return lambda: sum(len(text) for _, text, _ in read(io.BytesIO(content), {}))


def _cases() -> Iterator[tuple[str, str, Callable[[int], Work]]]:
    """Yield step, shape, and a function from a size in bytes to the work."""
    steps = _segment_steps()
    for shape, make in TEXTS.items():
        layouts = {**LAYOUTS, **(SMALL_LAYOUTS if shape in OF_MANY_MESSAGES else {})}
        for name, layout in layouts.items():
            for step, work in steps.items():
                yield step, f"{shape}, {name}", partial(_of_text, work, layout, make)
    for shape, tail in tails().items():
        yield "segmentation", shape, partial(_of_tail, tail, False)
        yield "segmentation", f"{shape}, ended", partial(_of_tail, tail, True)
    for shape, (read, document) in documents().items():
        yield "extractor", shape, partial(_of_document, read, document)


class _TooSlow(BaseException):
    """The measurement took longer than its limit."""


def _seconds(work: Work, longest: float) -> float:
    """Return the processor time of one call; infinity beyond the limit."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, longest)
    started = time.process_time()
    try:
        work()
    except _TooSlow:
        return math.inf
    except Exception as error:  # a reader may refuse a hostile file: it has decided nevertheless
        print(f"    {type(error).__name__}: {error}"[:160], file=sys.stderr)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - started


@dataclass(frozen=True, slots=True)
class Growth:
    """What was measured of one step and shape.

    Attributes:
        exponent: Of the time; ``None`` if all sizes were faster than the shortest useful measurement.
        seconds: Processor time of the largest input.
        size: Bytes of the largest input.
    """

    exponent: float | None
    seconds: float
    size: int

    @property
    def is_wrong(self) -> bool:
        """Whether it grows too fast or is too slow."""
        return (self.exponent or 0.0) > MOST_EXPONENT or self.seconds / self.size * 1_000_000 > MOST_SECONDS


def measure(make: Callable[[int], Work], largest: int, limits: Limits) -> Growth:
    """Measure growing inputs until one takes long enough."""
    times: list[tuple[int, float]] = []
    size = SMALLEST
    while size <= largest:
        work = make(size)
        taken = min(_seconds(work, limits.longest) for _ in range(2 if size == SMALLEST else 1))
        times.append((size, taken))
        if taken > limits.enough:
            break
        size *= STEP
    slow = [(n, t) for n, t in times if t >= limits.shortest]
    exponent = None
    if slow and not math.isfinite(slow[-1][1]):
        exponent = math.inf
    elif len(slow) >= 2:
        (n, t), (m, u) = slow[-2:]
        exponent = math.log(u / t) / math.log(m / n)
    return Growth(exponent, times[-1][1], times[-1][0])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="default: all")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes of the largest input")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="stop after so many minutes")
    chosen = parser.parse_args()
    cases = [case for case in _cases() if not chosen.steps or case[0] in chosen.steps]
    deadline = time.monotonic() + 60 * chosen.minutes
    found: list[tuple[str, Growth]] = []
    print("| step | input | growth | seconds | of bytes |\n| --- | --- | --- | --- | --- |")
    for step, shape, make in cases:
        if time.monotonic() > deadline:
            break
        growth = measure(make, chosen.largest, QUICK)
        if growth.is_wrong:
            growth = measure(make, chosen.largest, CAREFUL)
        found.append((step, growth))
        exponent = "fast" if growth.exponent is None else f"{growth.exponent:.2f}"
        mark = " **" if growth.is_wrong else ""
        print(f"| {step} | {shape} | {exponent} | {growth.seconds:.2f} | {growth.size:,} |{mark}", flush=True)
    print(f"\n{_summary(found)}")
    bad = sum(growth.is_wrong for _, growth in found)
    print(f"\n{bad} of {len(found)} grow faster than n^{MOST_EXPONENT} or take more than {MOST_SECONDS:g} s a megabyte")
    if len(found) < len(cases):
        print(f"{len(cases) - len(found)} of {len(cases)} were not measured: the time was not enough")
    sys.exit(bool(bad) or len(found) < len(cases))


def _summary(found: list[tuple[str, Growth]]) -> str:
    """Return a table with one line for each step, of its worst shapes."""
    lines = [
        "| step | inputs | of them fast | highest growth | most seconds for a megabyte |",
        "| --- |" + " --- |" * 4,
    ]
    for step in dict.fromkeys(step for step, _ in found):
        measured = [growth for name, growth in found if name == step]
        exponents = [growth.exponent for growth in measured if growth.exponent is not None]
        slowest = max(growth.seconds / growth.size * 1_000_000 for growth in measured)
        highest = f"{max(exponents):.2f}" if exponents else ""
        lines.append(f"| {step} | {len(measured)} | {len(measured) - len(exponents)} | {highest} | {slowest:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
