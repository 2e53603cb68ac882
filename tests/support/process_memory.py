"""The resident memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Literal

_STATUS = Path("/proc/self/status")


def resident(when: Literal["now", "peak"]) -> float:
    """Resident memory of this process in MB, now or at most since its program was started.

    Where the kernel shows neither, the peak: ``ru_maxrss``, which on Linux would count the parent's memory too.
    """
    if _STATUS.exists():
        lines = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="ascii").splitlines())
        return int(lines["VmRSS" if when == "now" else "VmHWM"].split()[0]) / 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1_024)
