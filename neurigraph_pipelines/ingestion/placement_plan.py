"""The plan of a batch: nodes that several of its segments will need, thought out before each is placed.

Segments are placed at the same time by a model that answers over a network. Without a plan each would name the same
subject in its own way. Pure functions, apart from the one call of the model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from neurigraph_pipelines.graph.entities import as_outline_node
from neurigraph_pipelines.graph.naming import display_name, is_presentable, name_key
from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    NodeProposal,
    Outline,
    Placement,
    PlannedNode,
    Segment,
)
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.text.hygiene import storable

LEAST_SEGMENTS = 3
"""Fewer segments of a user are not worth a call."""

MOST_NODES = 60

Plan = dict[tuple[str, ...], PlannedNode]
"""Nodes by the keys of the names on their path."""

_log = logging.getLogger(__name__)


def plan_batch(model: LanguageModel, segments: Sequence[Segment], outline: Outline) -> Plan:
    """Return the nodes that a model plans for some segments of one user; none if it fails, or if there are few.

    A plan only helps: whatever is wrong with the provider shows when the segments are placed.
    """
    if len(segments) < LEAST_SEGMENTS:
        return {}
    try:
        return enriched("plan of a batch", lambda: _plan(model, segments, outline), dict)
    except NeurigraphError as error:
        _log.warning("a batch is placed without a plan (%s)", type(error).__name__)
        return {}


def _plan(model: LanguageModel, segments: Sequence[Segment], outline: Outline) -> Plan:
    planned = storable(model.plan(segments, outline))
    existing = {_key(node.path) for node in outline.nodes}
    plan: Plan = {}
    for node in sorted(planned, key=lambda node: len(node.path))[:MOST_NODES]:
        if not 0 < len(node.path) <= MAX_LAYER_DEPTH or not all(map(is_presentable, node.path)):
            continue
        if len(node.path) > 1 and _key(node.path[:-1]) not in existing | plan.keys():
            continue
        if _key(node.path) not in existing:
            plan.setdefault(_key(node.path), replace(node, path=tuple(map(display_name, node.path))))
    return plan


def with_plan(outline: Outline, plan: Plan) -> Outline:
    """Return the outline that a model is shown: the nodes that exist, and those that are planned."""
    existing = {_key(node.path) for node in outline.nodes}
    planned = [as_outline_node(node) for key, node in plan.items() if key not in existing]
    return replace(outline, nodes=(*outline.nodes, *planned)) if planned else outline


def as_planned(placements: Sequence[Placement], plan: Plan, threshold: float) -> list[Placement]:
    """Return placements whose planned steps are named as in the plan, and sure enough for a node of their own."""
    return [replace(placement, steps=_as_planned(placement.steps, plan, threshold)) for placement in placements]


def _as_planned(steps: Sequence[NodeProposal], plan: Plan, threshold: float) -> tuple[NodeProposal, ...]:
    found = []
    for depth, step in enumerate(steps, start=1):
        node = plan.get(_key([one.name for one in steps[:depth]]))
        if node is not None:
            step = replace(
                step,
                name=node.path[-1],
                kind=node.kind,
                confidence=max(step.confidence, threshold),
                summary=step.summary or node.summary,
                keywords=step.keywords or node.keywords,
            )
        found.append(step)
    return tuple(found)


def _key(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(name_key, path))
