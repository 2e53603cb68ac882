"""Facts of seeded worlds with known truth, compared in the order in which they arrive, without a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from uuid import UUID

from benchmarks.bench import Bench
from benchmarks.report import number, table
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from resources.offline import verdicts
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import ModelProvider
from tests.support.told_facts import STORIES, World, reconciled, score, superseding_of, world_of

FACTS, QUICK_FACTS = 10_000, 400
SEEDS = (1, 2, 3)

METHOD = f"""**Seeded worlds.** {FACTS:,} facts with known truth a seed: moves, quits, corrections, lies of low
authority, late arrivals, returns, counts, negations, suppositions, second jobs, namesakes. They are judged as they
arrive, by rule and by a provider on loopback that reads more wordings than the rules and errs in 2 % of the pairs.
*Wrong* is the share of automatic supersessions that are not true, *found* the share of outdated facts that something
true supersedes. Both depend on the generator: two of three of its wordings have a form that the rules read."""

_Judge = Callable[[Sequence[Pair]], Sequence[Judgement]]


def tables(bench: Bench) -> Iterator[str]:
    """Yield the table of all seeds, and that of the first seed by story."""
    seeds, count = (SEEDS[:1], QUICK_FACTS) if bench.quick else (SEEDS, FACTS)
    rows: list[list[str]] = []
    stories: dict[str, list[str]] = {}
    for seed in seeds:
        world = world_of(seed, count)
        for name, by_model in (("by rule", False), ("by model", True)):
            bench.say(f"seed {seed}: a world of {count:,} facts, {name}")
            started = time.process_time()
            with _judge(by_model=by_model) as judge:
                pairs = superseding_of(list(reconciled(world, judge, by_model=by_model)))
            seconds = time.process_time() - started
            rows.append([str(seed), name, *_scored(world, pairs), number(seconds * 1_000 / len(world.facts))])
            for story, part in world.by_story().items() if seed == seeds[0] else ():
                stories.setdefault(story, []).extend(_scored(part, pairs))
    yield table(["seed", "judged", "superseded", "wrong", "found", "processor ms a fact"], rows)
    header = ["by rule: superseded", "wrong", "found", "by model: superseded", "wrong", "found"]
    yield table([f"seed {seeds[0]}", *header], [[story, *stories[story]] for story in STORIES if story in stories])


def _scored(world: World, pairs: set[tuple[UUID, UUID]]) -> list[str]:
    ours = {told.fact_id for told in world.facts}
    found = score(world, {pair for pair in pairs if pair[0] in ours})
    recall = f"{found.recall:.3f}" if found.replaced else "–"
    return [f"{found.made:,}", f"{found.wrong_share:.2%}" if found.made else "–", recall]


@contextmanager
def _judge(*, by_model: bool) -> Iterator[_Judge]:
    """Yield the rules, or the adapter of a model whose provider runs on loopback."""
    if not by_model:
        yield lambda pairs: [verdicts.judge(pair) for pair in pairs]
        return
    with ModelProvider() as provider, closing(make_client(provider)) as client:
        yield make_model(client).judge
