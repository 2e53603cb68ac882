"""The weights of the ranking, in one place. ``rank`` mixes the signals."""

from __future__ import annotations

WEIGHTS = {
    "window_lexical": 0.30,
    "dense": 0.70,
    "speaker": 0.15,
    "user": 0.07,
    "period": 0.45,
    "answer": 0.05,
    "time": 0.10,
    "asked": 0.10,
    "part": -0.08,
    "summary": 0.10,
    "number": 0.40,
    "best_passage": 0.55,
    "segment_lexical": 0.21,
    "summary_dense": 0.12,
    "summary_lexical": 0.12,
    "name": 0.10,
}
"""The weights of the signals, set on LoCoMo, BEAM and QMSum; 30 % more or less of any changes little. ``python -m
benchmarks.fitting`` fits those of messages again, and hardly moves them. The first two make a message's score. The
next nine are added to messages by somebody whom the question is about, by the user, in a time that the question names,
after a question of another person (and taken from such a question), with a word for a time if the question begins with
"when", by the share of the asked words in the question that stands before them, to parts of long messages, in records
whose summaries hold its words, and with a number that few hold: to an encoder, sentences about two orders are alike. A
record's score mixes its best message, all of its passages together, and its summary; ``name`` is added to the records
of a node that the question names."""

IMPORTANCE = 0.05
"""Share of its score that a record of importance 1 gains, and one of importance 0 loses. It decides between records
that answer a question about equally well."""

ASSISTANTS = 0.8
"""Share of its score that is left to what an assistant said, unless the question is about its words: a long answer
repeats the words of the person who asked, and that person wrote the memories."""

NEAR = 0.3
"""The cosine that scales to 1 if no other is higher: then the nearest is noise, and no answer."""

COMPARED = 300
"""Of estimated passages so many of the best are compared exactly, and two for each message that is wanted, with the
nearest by estimate, since the best of each signal scales it. On LoCoMo and QMSum recall is the same as when all are
compared; of noise less than one in a hundred is missed (docs/adr/0024-search.md)."""

COMPARED_SHARE, LEAST_COMPARED = 8, 100
"""Of few passages only one in eight is compared exactly, and at least a hundred."""

READ, READ_SHARE, LEAST_READ = 200, 16, 50
"""The same for vectors that are read for the question: reading one takes fifty times as long as comparing it."""

COMPARED_OF_MANY, MOST_COMPARED = 50, 1_000
"""Of very many passages one in fifty is compared exactly, and at most a thousand."""

SIGNALS = ("window_lexical", "dense")
BOOSTS = ("speaker", "user", "period", "answer", "asked", "part", "time", "summary", "number")


def compared_of(passages: int, *, are_read: bool = False) -> int:
    """Return how many of so many estimated passages are compared exactly, besides those for each message wanted.

    Args:
        are_read: Whether vectors are read for the question, because they are not in memory.
    """
    least, most, share = (LEAST_READ, READ, READ_SHARE) if are_read else (LEAST_COMPARED, COMPARED, COMPARED_SHARE)
    few = max(least, min(most, passages // share))
    return max(few, min(MOST_COMPARED, passages // COMPARED_OF_MANY))
