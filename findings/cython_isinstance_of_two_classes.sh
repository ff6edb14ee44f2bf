#!/usr/bin/env bash
# Cython 3.3.1: isinstance(x, (str, Other)) of a built-in and another class does not look whether the second test raised.
#
# Expected: what Python does, and what Cython does of isinstance(x, Other) alone: an error that x's __class__ raises comes out.
# Seen: the test counts as true, its branch runs, and the call ends in
#   SystemError: <cyfunction ...> returned a result with an exception set
# What works: two calls, isinstance(x, str) or isinstance(x, Other).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "cython==3.3.1" "setuptools==80.9.0"
cd "$work"
cat > tests_of_class.pyx <<'PYX'
class Other:
    pass


def alone(x):
    return isinstance(x, Other)


def one_by_one(x):
    return isinstance(x, str) or isinstance(x, Other)


def together(x):
    return isinstance(x, (str, Other))
PYX
cat > setup.py <<'PY'
from Cython.Build import cythonize
from setuptools import setup

setup(ext_modules=cythonize("tests_of_class.pyx", language_level=3))
PY
"$work/venv/bin/python" setup.py -q build_ext --inplace > build.log 2>&1 || { cat build.log; exit 1; }
"$work/venv/bin/python" - <<'PY'
import Cython
import tests_of_class as compiled


class Lazy:
    """A stand-in for something that can no longer be loaded."""

    @property
    def __class__(self):
        raise LookupError("its class is gone")


def raised(function, *args):
    try:
        return repr(function(*args))
    except Exception as error:
        return type(error).__name__


found = {
    "Python, both classes": raised(isinstance, Lazy(), (str, compiled.Other)),
    "Cython, the class alone": raised(compiled.alone, Lazy()),
    "Cython, one by one": raised(compiled.one_by_one, Lazy()),
    "Cython, both classes": raised(compiled.together, Lazy()),
}
print("Cython", Cython.__version__)
for name, what in found.items():
    print(f"{name}: {what}")
assert list(found.values()) == ["LookupError", "LookupError", "LookupError", "SystemError"], "the behaviour has changed"
PY
