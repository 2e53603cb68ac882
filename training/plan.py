"""How the weights are tuned: every number that was chosen."""

from __future__ import annotations

from dataclasses import dataclass

SEED = 20_261_129


@dataclass(frozen=True, slots=True)
class Plan:
    """How the weights are tuned.

    Attributes:
        epochs: Passes over all pairs.
        batch: Pairs of a step.
        sentences: Plain sentences of a step, and ``subjects`` of filing.
        rate: The learning rate after the warm-up, which falls to none.
        scale: What cosines are multiplied by: one divided by the temperature.
        remembering: What the difference of the cosines of plain sentences weighs.
        share: Share of the tuned weights in the shipped ones; the rest are published ones.
        bare: Share of the steps in which messages stand without what was said before.
    """

    epochs: float = 1
    batch: int = 48
    sentences: int = 48
    subjects: int = 24
    rate: float = 5e-5
    scale: float = 20
    remembering: float = 100
    bare: float = 0.35
    share: float = 0.7
    seed: int = SEED
