#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.0.2, 2.2.6): np.histogram of complex numbers counts other numbers into a bin than lie between its edges.
# Expected: the counts that the returned edges give when they are handed in again (complex numbers are ordered by their real
# part first, and the edges are ordered so). Seen: others, since a number's bin is worked out by a complex division whose real
# part mixes in the imaginary one, and is put right by one bin only. Of real numbers both ways agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'END'
import numpy as np

print("NumPy", np.__version__)
z = np.array([-2.5 - 1.75j, -2 + 1.25j, -1.75 + 2.75j, -0.5 + 2.5j, -0.25 + 1j, -2.5j, 2.75j, 1.25 + 1.75j])
counts, edges = np.histogram(z, bins=4)
again, _ = np.histogram(z, bins=edges)
print("edges", edges.tolist())
print("counts", counts.tolist(), "and with these edges handed in", again.tolist())
assert counts.tolist() == [2, 1, 4, 1] and again.tolist() == [3, 0, 4, 1]
counts, edges = np.histogram(z.real, bins=4)
print("real parts", counts.tolist(), np.histogram(z.real, bins=edges)[0].tolist())
assert counts.tolist() == np.histogram(z.real, bins=edges)[0].tolist()
END
