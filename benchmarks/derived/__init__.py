"""Derived content: what is made of labelled conversations, against what a careful person would write.

``labels`` reads the conversations of ``samples/labelled``, ``observe`` stores them and asks, ``scoring`` compares.
``python -m benchmarks.derived`` prints sentences and mistakes of one half, for people who write rules.
"""

from benchmarks.derived.measure import run

__all__ = ["run"]
