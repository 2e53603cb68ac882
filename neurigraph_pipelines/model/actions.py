"""Vocabulary of actions and standards: what somebody has to decide about, how it stands, and who may do what."""

from __future__ import annotations
