#!/usr/bin/env bash
# NumPy 2.4.6: np.unique(x, axis=0) sorts rows with NaN last for float32 and float64, and first for float16. Expected: one order
# for all floats, as np.sort and np.unique without axis= have it (NaN last). Whoever takes the last row, or searches the
# rows as sorted, gets other answers after astype("f2").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import numpy as np

print("NumPy", np.__version__)
rows = np.array([[3, 1], [np.nan, 2], [1, 2]])
for dtype, first in (("f2", True), ("f4", False), ("f8", False)):
    found = np.unique(rows.astype(dtype), axis=0)
    print(dtype, found.tolist(), "flat:", np.unique(rows.astype(dtype)).tolist())
    assert np.isnan(found[0 if first else -1, 0])
    assert np.isnan(np.unique(rows.astype(dtype))[-1])
END
