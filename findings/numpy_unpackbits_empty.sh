#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.0.2, 2.2.6, 2.3.5): np.unpackbits of an axis without elements, with count=n, gives what its new memory happened to hold.
#
# Expected: zeros, as "a count larger than the available number of bits will add zero-padding to the output" says, and as one
# byte gives behind its bits. Seen: bytes of the array that had the memory before, which are no bits.
# What works: np.zeros where the axis is empty.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
for version in 2.0.2 2.2.6 2.3.5 2.4.6; do
    "$work/venv/bin/pip" install -q "numpy==$version"
    "$work/venv/bin/python" - <<'PY'
import numpy as np

print("numpy", np.__version__)
for shape, axis, expected in (((0,), None, 64), ((0,), 0, 64), ((8, 0), 1, 64)):
    empty = np.zeros(shape, np.uint8)
    before = np.full(64, 171, np.uint8)  # Of these few bytes NumPy keeps the memory for the next array of that size.
    del before
    found = np.unpackbits(empty, axis=axis, count=expected // (shape[0] or 1))
    left = int((found == 171).sum())
    print(f"unpackbits of shape {shape}, axis {axis}: {left} of {found.size} bytes not written")
    assert left == expected, "the behaviour has changed"
assert (np.unpackbits(np.zeros(1, np.uint8), count=64) == 0).all()
PY
done
