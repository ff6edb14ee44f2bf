#!/usr/bin/env bash
# NumPy 2.2.6 and 2.4.6: np.negative of float64, int64 and uint64 takes wrong elements where the operand's elements lie 64 bytes
# apart and those of out= are not side by side either. NumPy 2.0.2 is right.
#
# Expected: -x, whatever the strides. Seen: from 2 elements on others' numbers, negated. One of both steps alone is right.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
for version in 2.0.2 2.2.6 2.4.6; do
    "$work/venv/bin/pip" install -q "numpy==$version"
    "$work/venv/bin/python" - <<'PY'
import numpy as np

for dtype in ("f8", "i8", "u8"):
    x = np.arange(128).astype(dtype)[::8]
    out = np.zeros(32, dtype)[::2]
    np.negative(x, out=out)
    right = bool((out == -x.copy()).all())
    print("numpy", np.__version__, dtype, "right" if right else f"wrong: {out[:4].tolist()} for {(-x.copy())[:4].tolist()}")
    assert right == (np.__version__ == "2.0.2"), "the behaviour has changed"
    assert (np.negative(x) == -x.copy()).all()
PY
done
