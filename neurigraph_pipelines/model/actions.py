"""Vocabulary of actions and standards: kinds and states of decisions, and rights."""

from __future__ import annotations
