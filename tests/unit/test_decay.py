"""Decay: what is left of the weight of a fact."""

from __future__ import annotations

import math

import pytest

from neurigraph_pipelines.model.facts import HALF_LIVES, days_until, remaining
from neurigraph_pipelines.views.kinds import Impact


def test_half_lives() -> None:
    assert {Impact.HIGH: math.inf, Impact.MEDIUM: 365, Impact.LOW: 90} == HALF_LIVES
    assert remaining(Impact.HIGH, 100_000) == 1
    assert remaining(Impact.MEDIUM, 365) == pytest.approx(0.5)
    assert remaining(Impact.LOW, 180) == pytest.approx(0.25)
    assert remaining(Impact.LOW, -5) == 1, "what is still to come has its whole weight"


def test_when_so_much_is_left() -> None:
    assert days_until(Impact.LOW, 0.05) == pytest.approx(388.97, abs=0.01)
    assert remaining(Impact.LOW, days_until(Impact.LOW, 0.05)) == pytest.approx(0.05)
