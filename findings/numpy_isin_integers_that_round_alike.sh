#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.0.2, 2.2.6): np.isin of large integers in enough floats finds integers that are in no list. Both are brought
# to float64 and sorted together, and two different integers that round to the same float64 stand side by side and count as a
# number found in the other array. Expected: at worst a wrong answer for an element close to one that is there; seen: True for
# 2**53 among halves, once 2**53 + 1 is asked about too. With few elements to look for (another way inside) all are False.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import numpy as np

print("NumPy", np.__version__)
halves = np.arange(0.5, 40)
for asked in (np.array([2**53, 2**53 + 1]), np.array([2**64 - 2, 2**64 - 1, 7], np.uint64)):
    found = np.isin(asked, halves)
    print(asked.dtype, asked.tolist(), "in halves up to 39.5:", found.tolist(), "; in three of them:", np.isin(asked, halves[:3]).tolist())
    assert found[0] and not found[1:].any()
    assert not np.isin(asked, halves[:3]).any()
alone = np.isin(np.array([2**53]), halves)
print("2**53 asked about alone:", alone.tolist())
assert not alone.any()
END
