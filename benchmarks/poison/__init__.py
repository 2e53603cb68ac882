"""Memory poisoning: what planted texts do to benign questions about an honest memory.

``world`` makes the honest memories and their questions, ``attacks`` plants texts against some of them, and ``measure``
counts. Everything comes from seeded templates of this package; no text is taken from an attack in the wild.
"""

from benchmarks.poison.measure import run

__all__ = ["run"]
