"""What the offline model takes to read half a million tokens, beside the plainest reading there is: counting words."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.bench import Bench, in_turns
from benchmarks.growth import segment_of
from benchmarks.hostile_inputs import lives
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.model import Outline
from resources.offline.language_model import OfflineLanguageModel

CHARACTERS, QUICK_CHARACTERS = 2_000_000, 20_000
REPEATS, QUICK_REPEATS = 5, 1
MESSAGE_CHARACTERS, SUMMARY_WORDS = 300, 200

_METHOD = """A conversation of half a million tokens in messages of 300 characters, which states a fact in every third
sentence, is read by each step of the offline model, in turns with the baseline: finding all words of the same text
with a regular expression and counting them. All seconds are processor time. That each step grows no faster than its
input is shown by `tests/unit/test_linear_time.py` and [`python -m benchmarks.growth`](benchmarks/growth.md)."""


def run(bench: Bench) -> Section:
    """Measure each step and the baseline in turns."""
    text = lives(QUICK_CHARACTERS if bench.quick else CHARACTERS)
    segment = segment_of(text, MESSAGE_CHARACTERS)
    thousands = sum(message.token_count for message in segment.messages) / 1_000
    model, word = OfflineLanguageModel(None), re.compile(r"\w+")
    steps: dict[str, Callable[[], object]] = {
        "counting words": lambda: Counter(word.findall(text.lower())),
        "summary": lambda: model.summarize(segment, SUMMARY_WORDS),
        "keywords": lambda: model.extract_keywords(segment),
        "placement": lambda: model.place(segment, Outline()),
        "facts": lambda: model.extract_facts(segment),
    }
    repeats = QUICK_REPEATS if bench.quick else REPEATS
    taken = in_turns(list(steps.values()), repeats, clock=time.process_time)
    baseline = statistics.median(taken[0])
    rows = [
        [
            step,
            number(statistics.median(each)),
            spread([1_000 * seconds / thousands for seconds in each]),
            number(statistics.median(each) / baseline),
        ]
        for step, each in zip(steps, taken, strict=True)
    ]
    header = (f"{1_000 * thousands:,.0f} tokens", "s", "ms for 1,000 tokens", "÷ counting words")
    return Section("Reading by the offline model", _METHOD, table(header, rows))
