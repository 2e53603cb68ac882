"""``python -m training``: train the local embedder on conversations, measure it, and write its model card."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench import PROJECT_ROOT
from neurigraph_pipelines.model.errors import NeurigraphError
from resources.minilm.embedder import MiniLmEmbedder, OwnEmbedder, model_folder, read_weights
from resources.minilm.graph import build_graph
from training.card import model_card
from training.material import material_of, read_all
from training.measures import Measured, Set, measure, public_sets, talk_sets
from training.own import own_talk
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
    parser.add_argument("--questions", type=Path, help="your own questions, in the format of `neurigraph eval`")
    parser.add_argument("--user", help="whose graph they are about; default: as `neurigraph eval`")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="read all talks, and count what they hold")
    train = commands.add_parser("train", help="train, and write the graph: ten minutes a pass on one core")
    train.add_argument("--every-talk", action="store_true", help="hold out none of the talks")
    train.add_argument("--epochs", type=float, help="passes over all pairs")
    commands.add_parser(
        "evaluate",
        help="print what the graph finds beside MiniLM as it was published, of your own questions if you give some",
    )
    card = commands.add_parser("card", help="evaluate, and write the model card")
    card.add_argument("--card", type=Path, default=CARD, help=f"the page to write; default: {CARD}")
    chosen = parser.parse_args()
    chosen.graph = chosen.graph or (GRAPH if chosen.command == "train" else SHIPPED)
    try:
        own = [] if chosen.questions is None else [own_talk(chosen.questions, chosen.user)]
        if chosen.command == "check":
            print(_counts([*read_public(chosen.public), *read_talks(chosen.talks), *own]))
        elif chosen.command == "train":
            _train(chosen, own)
        else:
            talks, held = read_all(chosen.talks, chosen.public, every_talk=False)
            figures = _evaluate(chosen.graph, [*talk_sets(own)] if own else [*public_sets(), *talk_sets(held)])
            if chosen.command == "card":
                chosen.card.write_text(
                    model_card(_counts(talks), figures, chosen.graph, Plan().share), encoding="utf-8"
                )
            print(figures.table())
    except (TalkError, NeurigraphError) as error:
        sys.exit(str(error))


def _train(chosen: argparse.Namespace, own: Sequence[Talk]) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from training.tuning import tune  # loads torch
    except ModuleNotFoundError as error:
        raise TalkError(f"{error}: training needs torch, so install it: pip install -e '.[training]'") from error

    talks, _ = read_all(chosen.talks, chosen.public, every_talk=chosen.every_talk)
    plan = Plan() if chosen.epochs is None else Plan(epochs=chosen.epochs)
    published = read_weights(model_folder())
    material = material_of([*talks, *own], plan.seed)
    if not material.pairs:
        raise TalkError("there is nothing to learn: no question or remark of a talk that is not held out has evidence")
    tuned = tune(published, material, plan)
    weights = {name: plan.share * value + (1 - plan.share) * published[name] for name, value in tuned.items()}
    graph = build_graph(weights, quantised=True)
    if len(graph) > LARGEST:
        sys.exit(f"the graph has {len(graph):,} bytes and the limit is {LARGEST:,}: quantise it")
    chosen.graph.parent.mkdir(parents=True, exist_ok=True)
    chosen.graph.write_bytes(graph)


def _evaluate(graph: Path, sets: Sequence[Set]) -> Measured:
    with TemporaryDirectory() as folder:
        return measure(MiniLmEmbedder(Path(folder)).embed, OwnEmbedder(graph).embed, sets)


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
