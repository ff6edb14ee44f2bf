#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.0.2, 2.2.6, 2.3.5): isnan, isinf, isfinite and signbit of float32 and float64, with out= an array of bools
# whose elements do not lie side by side, leave most of the result as it was, from 16 elements on.
#
# Expected: a ufunc writes every element of out=, whatever its strides.
# Seen on x86-64 with AVX-512 and, by NPY_DISABLE_CPU_FEATURES, without: of 64 elements 48 (float32) or 56 (float64) are not
# written.
# What works: out= that lies side by side, or no out= and an assignment.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6
"$work/venv/bin/python" - <<'PY'
import numpy as np

print("numpy", np.__version__)
for dtype, expected in (("f4", 48), ("f8", 56)):
    for function in (np.isnan, np.isinf, np.isfinite, np.signbit):
        memory = np.full(128, 7, "u1")  # No bool is 7.
        function(np.ones(64, dtype), out=memory.view("?")[::2])
        left = int((memory[::2] == 7).sum())
        print(f"{function.__name__}({dtype}) into every other bool: {left} of 64 not written")
        assert left == expected, "the behaviour has changed"
        dense = np.full(64, 7, "u1")
        function(np.ones(64, dtype), out=dense.view("?"))
        assert not (dense == 7).any()
PY
