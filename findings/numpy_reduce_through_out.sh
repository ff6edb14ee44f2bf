#!/usr/bin/env bash
# NumPy 2.4.6: `ufunc.reduce(x, out=o)` takes its running result through the dtype of `o`, not only the final one. The
# largest of -3, 2 and 127 (int8) in a uint8 result is 253: -3 is stored as 253, which then beats 127. A guess from the
# documentation (the result is computed in the loop's dtype, and cast to `out` in the end) gives 127.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import numpy as np

print("NumPy", np.__version__)
x = np.array([-3, 2, 127], "i1")
out = np.zeros((), "u1")
np.maximum.reduce(x, out=out)
print("maximum of", x.tolist(), "in uint8:", int(out), "and cast afterwards:", int(x.max().astype("u1")))
assert int(out) == 253 and int(x.max().astype("u1")) == 127
np.minimum.reduce(x, out=out)
print("minimum of", x.tolist(), "in uint8:", int(out), "and cast afterwards:", int(x.min().astype("u1")))
assert int(out) == 2 and int(x.min().astype("u1")) == 253
END
