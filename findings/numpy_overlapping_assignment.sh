#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.5.2): an assignment between views of one array that overlap is not always as if the right side had
# been copied first. Along one axis NumPy copies only where the strides have opposite signs; with strides of one sign but
# of different sizes it reads elements that it has already written: a[::-3] = a[11:22][::-1] and, in Fortran's order,
# v[-3:, 1] = v[-1, :]. The reader's guess (since 1.13 overlap makes no difference) holds for ufuncs, not here.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import numpy as np

print("NumPy", np.__version__)
v = np.arange(12).reshape(3, 4).T.copy("K")
right = v[-1, :].copy()
v[-3:, 1] = v[-1, :]
print("v[-3:, 1] is", v[-3:, 1].tolist(), "and the right side was", right.tolist())
assert v[-3:, 1].tolist() != right.tolist()

a = np.arange(33.0)
right = a[11:22][::-1].copy()
a[::-3] = a[11:22][::-1]
wrong = np.flatnonzero(a[::-3] != right)
print("a[::-3] differs from the right side at places", wrong.tolist())
assert len(wrong)

b = np.arange(33.0)
np.add(b[11:22][::-1], 0, out=b[::-3])
print("by a ufunc it does not:", bool((b[::-3] == right).all()))
assert (b[::-3] == right).all()
END
