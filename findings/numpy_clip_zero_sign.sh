#!/usr/bin/env bash
# NumPy 2.4.6: the sign of a zero that np.clip gives depends on whether the bounds are numbers or arrays.
#
# Expected: np.clip(x, 0.0, 1.0) and np.clip(x, zeros, ones) with arrays of the same bounds give the same bits.
# Seen: where an element equals a bound but for its sign, -0.0 beside a bound of 0.0,
#   - with bounds that are one number each the element stays: -0.0 (float16, float32, float64),
#   - with bounds that are arrays, or only one bound, float32 and float64 give the bound: 0.0. float16 still gives -0.0.
# Dividing by the result shows it: 1 / -0.0 is -inf, 1 / 0.0 is inf. So clip cannot be held to NumPy's bits by
# dtype and values alone: which inner loop was taken counts as well.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "numpy==2.4.6"
"$work/venv/bin/python" - <<'PY'
import numpy as np

print("numpy", np.__version__)
for dtype, of_arrays in (("f2", True), ("f4", False), ("f8", False)):
    for count in (1, 3, 1000):
        x, low, high = np.full(count, -0.0, dtype), np.zeros(count, dtype), np.ones(count, dtype)
        found = [
            bool(np.signbit(clipped).all())
            for clipped in (np.clip(x, 0.0, 1.0), np.clip(x, low, high), np.clip(x, 0.0, None))
        ]
        print(dtype, count, "negative zero by numbers, arrays, one number alone:", *found)
        assert found == [True, of_arrays, of_arrays], (dtype, count, found)
PY
