"""``python -m training``: train the local embedder on conversations, measure it, and write its model card.

Each step has a command of its own, too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from benchmarks.bench import PROJECT_ROOT
from neurigraph_pipelines.model.errors import NeurigraphError
from resources.files import write_whole
from resources.minilm.embedder import MiniLmEmbedder, OwnEmbedder, model_folder, read_weights
from resources.minilm.graph import build_graph
from training.card import model_card
from training.material import material_of, read_all
from training.measures import Measured, Set, measure, public_sets, talk_sets
from training.own import own_talks
from training.plan import Plan
from training.talks import PUBLIC, TALKS, Talk, TalkError

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
    parser.add_argument("--card", type=Path, help=f"the model card; default: {CARD}, or beside the graph that you name")
    parser.add_argument("--questions", type=Path, help="your own questions, in the format of `neurigraph eval`")
    parser.add_argument("--user", help="whose graph they are about; default: as `neurigraph eval`")
    parser.add_argument("--every-talk", action="store_true", help="hold out none of the talks and of your questions")
    parser.add_argument(
        "--epochs", type=_passes, default=Plan().epochs, help="passes over all pairs; default: %(default)s"
    )
    commands = parser.add_subparsers(dest="command", title="one step only; default: train, then card")
    commands.add_parser("check", help="read all talks, and count what they hold")
    commands.add_parser("train", help="train, and write the graph: twenty minutes a pass on one core")
    commands.add_parser("evaluate", help="print what the graph finds of what was held out, beside MiniLM as published")
    commands.add_parser("card", help="evaluate, and write the model card")
    chosen = parser.parse_args()
    chosen.card = chosen.card or (CARD if chosen.graph is None else chosen.graph.with_suffix(".md"))
    chosen.graph = chosen.graph or (GRAPH if chosen.command in (None, "train") else SHIPPED)
    try:
        talks, held = read_all(chosen.talks, chosen.public, every_talk=chosen.every_talk)
        own = [] if chosen.questions is None else own_talks(chosen.questions, chosen.user, chosen.every_talk)
        if chosen.command == "check":
            print(_counts([*talks, *held, *own]))
            return
        if chosen.command in (None, "train"):
            _train(chosen, [*talks, *own[:1]])
        if chosen.command != "train":
            figures = _evaluate(chosen.graph, [*talk_sets(own[1:])] if own else [*public_sets(), *talk_sets(held)])
            print(figures.table())
            if chosen.command != "evaluate":
                is_own = chosen.questions is not None or chosen.graph.name != GRAPH.name
                card = model_card(_counts([*talks, *own[:1]]), figures, chosen.graph, Plan().share, is_own=is_own)
                chosen.card.write_text(card, encoding="utf-8")
    except (TalkError, NeurigraphError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped: a graph is written at the end of the training only, and whole")


def _passes(text: str) -> float:
    if not 0 < (passes := float(text)) <= 100:
        raise ValueError("out of range")
    return passes


def _train(chosen: argparse.Namespace, talks: Sequence[Talk]) -> None:
    if chosen.graph.is_dir():
        raise TalkError(f"{chosen.graph} is a folder: name a file with --graph")
    chosen.graph.parent.mkdir(parents=True, exist_ok=True)
    TemporaryFile(dir=chosen.graph.parent).close()  # fails now, and not at the end
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from training.tuning import tune  # loads torch
    except ModuleNotFoundError as error:
        raise TalkError(f"{error}: training needs torch, so install it: pip install -e '.[training]'") from error

    plan = Plan(epochs=chosen.epochs)
    published = read_weights(model_folder())
    material = material_of(talks, plan.seed)
    if not material.pairs:
        raise TalkError("there is nothing to learn: no question or remark of a talk that is not held out has sources")
    tuned = tune(published, material, plan)
    weights = {name: plan.share * value + (1 - plan.share) * published[name] for name, value in tuned.items()}
    graph = build_graph(weights, quantised=True)
    if len(graph) > LARGEST:
        sys.exit(f"the graph has {len(graph):,} bytes and the limit is {LARGEST:,}: quantise it")
    write_whole(chosen.graph, graph)


def _evaluate(graph: Path, sets: Sequence[Set]) -> Measured:
    with TemporaryDirectory() as folder:
        return measure(MiniLmEmbedder(Path(folder)).embed, OwnEmbedder(graph).embed, sets)


def _counts(talks: Sequence[Talk]) -> str:
    """Return a Markdown table of the talks, their messages, questions and remarks by source and language."""
    rows = ["| source | language | talks | messages | questions | with sources | remarks |", f"|{' --- |' * 7}"]
    for source, language in sorted({(talk.source, talk.language) for talk in talks}):
        some = [talk for talk in talks if (talk.source, talk.language) == (source, language)]
        asked = [one for talk in some for one in talk.asked]
        questions = [one for one in asked if not one.is_remark]
        answered = sum(bool(one.sources) for one in questions)
        by_name = {talk.name: len(talk.messages) for talk in some}
        messages = sum(by_name.values())
        rows.append(
            f"| {source} | {language} | {len(by_name)} | {messages:,} | {len(questions):,} | {answered:,} | "
            f"{len(asked) - len(questions):,} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
