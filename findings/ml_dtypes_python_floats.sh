#!/usr/bin/env bash
# ml_dtypes 0.7.0 beside 0.6.0: two changes of what the same line with bfloat16 gives.
#
# Expected: a minor release leaves dtypes and values of `x - 3.14` and `x.astype(bfloat16)` as they were.
# Seen, with NumPy 2.4.6:
#   - x - 3.14 (x: bfloat16) is float32 with 0.6.0, and bfloat16 with 0.7.0: there Python's floats are weak, as they are
#     for NumPy's own dtypes. With 0.6.0 numpy.result_type(x, 3.14) says float64 of the same pair.
#   - float64 to bfloat16 (and to float8) goes by way of float32 in 0.6.0 and so rounds twice: 1 + 2**-8 + 2**-52 gives
#     1.0. 0.7.0 rounds once: 1.0078125, the nearest number.
# So code that holds results to either version's bits, or compiles such casts itself, must know which one is there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in 0.6.0 0.7.0; do
  python3 -m venv "$work/$version"
  "$work/$version/bin/pip" install -q --disable-pip-version-check "ml_dtypes==$version" "numpy==2.4.6"
  "$work/$version/bin/python" - <<'PY'
import ml_dtypes
import numpy as np

version = ml_dtypes.__version__
x = np.arange(4).astype(ml_dtypes.bfloat16)
beside = np.array([np.nextafter(1 + 2.0**-8, 2)])  # a little nearer to 1.0078125 than to 1
found = ((x - 3.14).dtype.name, np.result_type(x, 3.14).name, float(beside.astype(ml_dtypes.bfloat16)[0]))
print(version, *found)
expected = {"0.6.0": ("float32", "float64", 1.0), "0.7.0": ("bfloat16", "bfloat16", 1.0078125)}[version]
assert found == expected, (version, found, expected)
PY
done
