"""How the time of each extractor and each offline step grows with its input.

Runs every step on inputs of n, 2n, 4n ... bytes of hostile shapes and prints the growth exponent (1 is linear, 2 is
quadratic) and the seconds for a megabyte. ``python -m benchmarks.growth [STEP ...]`` measures and exits with 1 if a
step grows faster than ``MOST_EXPONENT`` or takes longer than ``MOST_SECONDS`` for a megabyte.
"""

from __future__ import annotations

import argparse
import io
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from types import FrameType
from uuid import UUID

from benchmarks.hostile_inputs import TEXTS, Reader, cycled, documents, name_of, tails
from neurigraph_pipelines.ingestion.assign import file_segment
from neurigraph_pipelines.ingestion.embed import window_text
from neurigraph_pipelines.ingestion.redaction import redact_message
from neurigraph_pipelines.ingestion.segmentation import Sizes, Turn, split_tail
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
from neurigraph_pipelines.quarantine.suggestions import looks_like_instruction
from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.hygiene import validate_message
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import Layout, TranscriptWriter
from neurigraph_pipelines.voices import voices_of
from resources.offline.language_model import OfflineLanguageModel
from resources.redaction import PatternRedactor
from resources.tokens.tokenizer import EstimatedCounter

MOST_EXPONENT = 1.35
MOST_SECONDS = 60.0
"""Seconds for a megabyte from which a step is reported, however it grows."""

SMALLEST, LARGEST = 1 << 16, 1 << 22
SHORTEST_SECONDS = 0.25
"""Shorter measurements say nothing about growth."""

LONGEST_SECONDS = 20.0
"""Processor time after which one measurement ends: a quadratic step needs no more proof."""

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
        found = list(writer.passages(segment))
        return [window_text(found, index) for index in range(len(found))]

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


def _of_text(step: Callable[[Segment], object], layout: Layouts, make: Callable[[int], str], size: int) -> Work:
    segment = layout(cycled(make, size))
    return lambda: step(segment)


def _of_tail(tail: Callable[[int], list[Turn]], ended: bool, size: int) -> Work:
    turns = tail(size // 20)
    return lambda: split_tail(turns, Sizes(480_000, 500_000, 620_000), ended=ended)


def _of_document(read: Reader, document: Callable[[int], bytes], size: int) -> Work:
    content = document(size)
    return lambda: sum(len(text) for _, text, _ in read(io.BytesIO(content), {}))


def _cases() -> Iterator[tuple[str, str, Callable[[int], Work]]]:
    """Yield step, shape, and a function from a size in bytes to the work."""
    for step, work in _segment_steps().items():
        for shape, make in TEXTS.items():
            layouts = {**LAYOUTS, **(SMALL_LAYOUTS if shape in OF_MANY_MESSAGES else {})}
            for name, layout in layouts.items():
                yield step, f"{shape}, {name}", partial(_of_text, work, layout, make)
    for shape, tail in tails().items():
        yield "segmentation", shape, partial(_of_tail, tail, False)
        yield "segmentation", f"{shape}, ended", partial(_of_tail, tail, True)
    for shape, (read, document) in documents().items():
        yield "extractor", shape, partial(_of_document, read, document)


class _TooSlow(BaseException):
    """The measurement took longer than its limit."""


def _seconds(work: Work) -> float:
    """Return the processor time of one call; infinity beyond the limit."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)
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


def measure(make: Callable[[int], Work], largest: int) -> tuple[float, float, int]:
    """Return the growth exponent (0 if all sizes are fast), the seconds of the largest size, and that size."""
    times: list[tuple[int, float]] = []
    size = SMALLEST
    while size <= largest:
        work = make(size)
        taken = min(_seconds(work), _seconds(work)) if size <= SMALLEST else _seconds(work)
        times.append((size, taken))
        if taken > LONGEST_SECONDS / 3:
            break
        size *= 2
    exponent = 0.0
    slow = [(n, t) for n, t in times if t >= SHORTEST_SECONDS]
    if len(slow) >= 2:
        (n, t), (m, u) = slow[max(0, len(slow) - 3)], slow[-1]
        exponent = math.log(u / t) / math.log(m / n) if math.isfinite(u) else math.inf
    elif slow and not math.isfinite(slow[0][1]):
        exponent = math.inf
    return exponent, times[-1][1], times[-1][0]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="default: all")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes of the largest input")
    parser.add_argument("--all", action="store_true", help="print fast and linear ones too")
    chosen = parser.parse_args()
    bad = 0
    print("| step | input | growth | seconds | of bytes |\n| --- | --- | --- | --- | --- |")
    for step, shape, make in _cases():
        if chosen.steps and step not in chosen.steps:
            continue
        exponent, seconds, size = measure(make, chosen.largest)
        per_megabyte = seconds / size * 1_000_000
        wrong = exponent > MOST_EXPONENT or per_megabyte > MOST_SECONDS
        bad += wrong
        if wrong or chosen.all:
            print(
                f"| {step} | {shape} | {exponent:.2f} | {seconds:.2f} | {size:,} |{' **' if wrong else ''}", flush=True
            )
    print(f"\n{bad} grow faster than n^{MOST_EXPONENT} or take more than {MOST_SECONDS:g} s for a megabyte")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
