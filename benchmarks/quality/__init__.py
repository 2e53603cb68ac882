"""Whether a search finds the evidence of real questions: recall, with no model as judge and no clock.

Belongs here: real conversations and their questions, asking them over HTTP, and counting what came back. Not here: how
long a search takes (``benchmarks.retrieval``).
"""

from benchmarks.quality.measure import run

__all__ = ["run"]
