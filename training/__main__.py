"""``python -m training``: train the local embedder on conversations, measure it, and write its model card."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench import PROJECT_ROOT
from resources.minilm.embedder import MiniLmEmbedder, OwnEmbedder, model_folder, read_weights
from resources.minilm.graph import build_graph
from training.card import model_card
from training.material import material_of, read_all
from training.measures import Measured, measure
from training.plan import Plan
from training.talks import PUBLIC, TALKS, Talk, TalkError, read_public, read_talks

GRAPH = PROJECT_ROOT / "build" / "neurigraph-minilm-1.onnx"
SHIPPED = PROJECT_ROOT / "resources" / "minilm" / GRAPH.name
CARD = PROJECT_ROOT / "training" / "model-card.md"
LARGEST = 25_000_000
"""Bytes of the graph, which stands in the wheel."""


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--talks", type=Path, default=TALKS, help=f"folder of talks, one file each; default: {TALKS}")
    parser.add_argument("--public", type=Path, default=PUBLIC, help=f"folder of public sets; default: {PUBLIC}")
    parser.add_argument("--graph", type=Path, help=f"the 8-bit graph; default: to write {GRAPH}, to read {SHIPPED}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="read all talks, and count what they hold")
    train = commands.add_parser("train", help="train, and write the graph: ten minutes a pass on one core")
    train.add_argument("--every-talk", action="store_true", help="hold out none of the talks")
    train.add_argument("--epochs", type=float, help="passes over all pairs")
    commands.add_parser("evaluate", help="print what the graph finds, beside MiniLM as it was published")
    card = commands.add_parser("card", help="evaluate, and write the model card")
    card.add_argument("--card", type=Path, default=CARD, help=f"the page to write; default: {CARD}")
    chosen = parser.parse_args()
    chosen.graph = chosen.graph or (GRAPH if chosen.command == "train" else SHIPPED)
    try:
        if chosen.command == "check":
            print(_counts([*read_public(chosen.public), *read_talks(chosen.talks)]))
        elif chosen.command == "train":
            _train(chosen)
        else:
            talks, held = read_all(chosen.talks, chosen.public, every_talk=False)
            figures = _evaluate(chosen.graph, held)
            if chosen.command == "card":
                chosen.card.write_text(
                    model_card(_counts(talks), figures, chosen.graph, Plan().share), encoding="utf-8"
                )
            print(figures.table())
    except TalkError as error:
        sys.exit(str(error))


def _train(chosen: argparse.Namespace) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from training.tuning import tune  # loads torch

    talks, _ = read_all(chosen.talks, chosen.public, every_talk=chosen.every_talk)
    plan = Plan() if chosen.epochs is None else Plan(epochs=chosen.epochs)
    published = read_weights(model_folder())
    tuned = tune(published, material_of(talks, plan.seed), plan)
    weights = {name: plan.share * value + (1 - plan.share) * published[name] for name, value in tuned.items()}
    graph = build_graph(weights, quantised=True)
    if len(graph) > LARGEST:
        sys.exit(f"the graph has {len(graph):,} bytes and the limit is {LARGEST:,}: quantise it")
    chosen.graph.parent.mkdir(parents=True, exist_ok=True)
    chosen.graph.write_bytes(graph)


def _evaluate(graph: Path, held: Sequence[Talk]) -> Measured:
    with TemporaryDirectory() as folder:
        return measure(MiniLmEmbedder(Path(folder)).embed, OwnEmbedder(graph).embed, held)


def _counts(talks: Sequence[Talk]) -> str:
    """Return a Markdown table of the talks, their messages, questions and remarks by source and language."""
    rows = ["| source | language | talks | messages | questions | with evidence | remarks |", f"|{' --- |' * 7}"]
    for source, language in sorted({(talk.source, talk.language) for talk in talks}):
        some = [talk for talk in talks if (talk.source, talk.language) == (source, language)]
        asked = [one for talk in some for one in talk.asked]
        questions = [one for one in asked if not one.is_remark]
        answered = sum(bool(one.evidence) for one in questions)
        messages = sum(len(talk.messages) for talk in some)
        rows.append(
            f"| {source} | {language} | {len(some)} | {messages:,} | {len(questions):,} | {answered:,} | "
            f"{len(asked) - len(questions):,} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
