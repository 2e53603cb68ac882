"""The model card: what the encoder is, what it was trained on under which licences, its figures and its limits."""

from __future__ import annotations

import hashlib
from pathlib import Path

from benchmarks.report import RESULTS, tables_of
from resources.minilm.embedder import OwnEmbedder
from training.measures import Measured

_CARD = """# Model card: {model}

The local embedder, trained on conversations. `python -m training card` writes this page.

| | |
| --- | --- |
| architecture | all-MiniLM-L6-v2: BERT with 6 layers, 384 dimensions, 12 heads; mean over tokens; 256 tokens a window |
| file | `{name}`, 8 bits, {size:.1f} MB, SHA-256 `{digest}` |
| tokeniser | `resources/minilm/tokenizer.json`, that of all-MiniLM-L6-v2 |
| runs on | onnxruntime on a processor; no torch and no network |
| licence of the weights | Apache-2.0, as the weights that it began with |

## What it reads

A question, a remark, a fact or a summary is read as it is. A message is read as `Speaker: text`. It may stand behind
the ends of the two messages before it (`text/in_context.py`): the model reads both, and the vector is
the mean over the message's own tokens. A text of more than 256 tokens is read in windows.

## Training

`python -m training train` starts from the published weights and takes pairs of a question and a message that answers
it, and of a remark and an earlier message that explains it. Each pair has the other messages of its batch as negatives,
and one that BM25 finds in the same talk. Beside that it keeps the cosines of plain sentences, in the languages of the
talks and in rows of frequent words of 58, near those of the published model, and those of such sentences and
the subjects of filing. The weights are a mean of published and tuned ones: {share:.0%} are tuned.{again}

{counts}

The meetings and talks that measure the result are not among them.

| source | licence |
| --- | --- |
| `talks`: `training/talks`, written for Neurigraph; people and companies are invented | Apache-2.0 |
| `friendsqa`: FriendsQA (SIGDIAL 2019), emorynlp/FriendsQA, development and test part: a series | Apache-2.0 |
| `qmsum-train`: QMSum (NAACL 2021), Yale-LILY/QMSum, train part | MIT |
| rows of frequent words: stopwordsiso | MIT |
| the weights it began with: sentence-transformers/all-MiniLM-L6-v2 | Apache-2.0 |

{apart}

## Figures

Recall of the messages that hold the answer, by cosine alone, over all messages of one user; 8 bits before and after.
`talks` are written talks that were held out; their remarks are statements that an earlier message explains.

{figures}{product}

## Limits

- The vocabulary is that of English BERT. Other languages with Latin letters are read in pieces of words, and Chinese,
  Japanese, Korean, Arabic or Hindi in characters, many of them unknown: search by words serves these better.
- It was trained to find messages of conversations. Code, tables and long articles are no part of its data.
- It does not tell a statement from one with another figure, name or day: words and figures decide what is a duplicate.
- It knows no facts, and a cosine is no probability: compare cosines of one question only.
- A message behind others is found by their words, too: "Yes, both of them" is near the question that it answers.
- Vectors of different models cannot be compared: a user moves by a backfill.
"""

_AGAIN = """
A second run with the same seed took 21 minutes of one core. Its loss differs in the third digit at most, because sums
come in another order, and its vectors of 600 questions have a mean cosine of 0.998 with those of the shipped graph."""

_APART = """LoCoMo, BEAM and everything in `samples/` are used to measure only; a test checks that no sentence of them
is in the training data. Arabic, Chinese, Dutch, Hindi, Korean, Polish, Russian and Turkish have one talk each, which
measures, too: no talk in them is trained on."""

_OWN = """\
`own` and talks of yours have the licence that you give them. The weights learned from them: share the file with those
who may read them."""

_PRODUCT = """

Every other language than English has one held-out talk of fewer than 50 messages, with 18 questions and 8 remarks,
which tell little. Questions in Chinese, Dutch, French, Portuguese and Russian and remarks in Arabic are found less
often among ten by messages behind others.

The shipped weights in the whole product, beside the published ones: [duplicates and
documents](../benchmarks/RESULTS.md#duplicates-and-documents), by `python -m benchmarks encoder`.

"""


def model_card(counts: str, figures: Measured, graph: Path, share: float, *, is_own: bool) -> str:
    """Return the page as Markdown.

    Args:
        counts: A table of the data.
        figures: What was measured.
        graph: The file of the weights.
        share: Share of the tuned weights.
        is_own: The weights are a user's own, so nothing that was measured of the shipped ones holds for them.
    """
    content = graph.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return _CARD.format(
        model=OwnEmbedder(graph).model if is_own else graph.stem,
        name=graph.name,
        size=len(content) / 1e6,
        digest=digest,
        counts=counts,
        figures=figures.table(),
        product="" if is_own else _PRODUCT + tables_of(RESULTS.read_text(encoding="utf-8"), "encoder"),
        apart=_OWN if is_own else _APART,
        again="" if is_own else _AGAIN,
        share=share,
    )
