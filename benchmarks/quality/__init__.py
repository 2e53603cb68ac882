"""Search quality: recall of the sources of real questions, without a model as judge.

Real conversations are stored, their questions are asked over HTTP, and hits are counted. Search speed is in
``benchmarks.retrieval``.
"""

from benchmarks.quality.measure import run

__all__ = ["run"]
