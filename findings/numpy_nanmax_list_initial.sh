#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.0.2, 2.2.6): np.nanmax and np.nanmin with initial=, where no element is chosen by where=, give the initial
# value for an array and NaN for the same numbers in a list or as a NumPy scalar ("All-NaN slice encountered"), without a NaN
# anywhere. Expected: a list means the array of it. np.max of all of them gives the initial value.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'END'
import numpy as np

print("NumPy", np.__version__)
for function, plain, initial in ((np.nanmax, np.max, -1.0), (np.nanmin, np.min, 1.0)):
    for given in (np.array([3.0, 4.0]), [3.0, 4.0], np.float64(3)):
        nobody = np.zeros(np.shape(given), bool)
        value = function(given, where=nobody, initial=initial)
        print(function.__name__, "of", type(given).__name__, "with initial", initial, "gives", value)
        assert value == initial if isinstance(given, np.ndarray) else np.isnan(value)
        assert plain(given, where=nobody, initial=initial) == initial
END
