"""Texts do not depend on Python's hash seed, by which sets of strings are in another order in each process.

Kernels are kept on disk by their texts, so another order would compile them anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("texts_of_families.py")


def digests(seed: int) -> list[str]:
    """The families' digests in a process with this hash seed."""
    path = os.pathsep.join(filter(None, [str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_texts_are_the_same_for_every_hash_seed() -> None:
    # Seeds for which sets of a few strings are in different orders.
    first, *others = (digests(seed) for seed in (0, 4, 7))
    assert len(first) == 6
    for other in others:
        assert other == first
