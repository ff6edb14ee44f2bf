"""Everyday uses of arrays with the real libraries: plots, tables, files, SciPy, scikit-learn, the standard library.

Each is evaluated under NumPy first, then under ours: on the host, and on the stand-in for a GPU (`apart`), where arrays
become NumPy's by a copy.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from uses import SETUP, USES

import numloom as nl
from apart import stand_in
from numloom.array import hostcopy
from numloom.array.members import set_compiled
from numloom.base.errors import HostCopyWarning
from numloom.device import registry

REFUSED = {
    "json 0d": "float(x): the encoder asks for Python's own float",
    "statistics mean ours": "x.mean(), or x.tolist()",
    "Fraction": "Fraction(float(x)); Python 3.14 takes it",
    "Decimal 0d": "Decimal(float(x))",
    "timedelta": "float(x)",
    "time.sleep": "float(x)",
    "h5py mask": "x.to_numpy()",
    "cv2 blur": "x.to_numpy(): OpenCV takes no class but NumPy's own",
    "cv2 filter": "x.to_numpy(), of a kernel as well",
}
"""What cannot work, since it asks for the type itself: an error each, and what to write."""
COPIES = {
    "plt colors": "x.get(): a colour's parts must be numbers, which those of a GPU do not claim to be",
    "Fraction int": "Fraction(int(x))",
    "scipy wav": "x.get(): it asks for the memory's bytes, which the host does not see",
    "sklearn KMeans": "x.get(): it writes to the array that it got, and a copy cannot be written to",
}
"""Likewise where memory is a GPU's."""
CLAIMS = {"isinstance Number", "isinstance Real", "isinstance Integral"}
"""What numbers of the host's memory are, and those of a GPU are not: libraries copy what is a scalar to them."""
CASES = [(name, setup, code) for setup, uses in USES.items() for name, code in uses]


@pytest.fixture(scope="module", params=["host", "GPU"])
def side(request: Any, device: str) -> Iterator[str]:
    if request.param == "host":
        if registry.current().discrete:
            pytest.skip("the device is a GPU, or stands for one")
        yield "host"
    elif registry.current().discrete:
        with nl.config(host_copy="warn"):
            yield "GPU"
    elif device == "reference":
        pytest.skip("the reference executor has the host's memory")
    else:
        with stand_in(), nl.config(host_copy="warn"):
            yield "GPU"


def value(module: Any, setup: str, code: str) -> Any:
    """What an expression gives, as numbers and lists of Python."""
    names = {"np": module}
    exec(SETUP, names)
    exec(setup, names)
    return plain(eval(code, names))


def plain(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return [plain(one) for one in found]
    return found.tolist() if isinstance(found, (nl.ndarray, np.ndarray, np.generic)) else found


def alike(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(alike, mine, theirs))
    if isinstance(mine, (int, float, complex)) and isinstance(theirs, (int, float, complex)):
        return bool(np.isclose(mine, theirs, rtol=1e-7, atol=1e-12, equal_nan=True))
    return bool(mine == theirs)


def missing(setup: str) -> str | None:
    """A library that a use needs and that is not installed."""
    wanted = re.findall(r"(?:^|; |, )(?:from|import) (\w+)|, (\w+)(?: as|\.|;|,|$)", setup)
    names = [one or other for one, other in wanted]
    return next((name for name in names if name.islower() and find_spec(name) is None), None)


def own_errors(setup: str) -> tuple[type[Exception], ...]:
    """Errors of libraries that are no errors of Python's."""
    return (sys.modules["cv2"].error,) if setup.startswith("import cv2") else ()


@pytest.mark.parametrize(("name", "setup", "code"), CASES, ids=[case[0] for case in CASES])
def test_everyday(name: str, setup: str, code: str, side: str) -> None:
    lacking = missing(setup)
    if lacking:
        pytest.skip(f"{lacking} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = value(np, setup, code)
        except Exception as error:
            pytest.skip(f"this version's library refuses NumPy's arrays, too: {error!r}")
        try:
            if name in REFUSED or (side == "GPU" and name in COPIES):
                if name == "Fraction" and sys.version_info >= (3, 14):
                    return
                with pytest.raises((TypeError, ValueError, AttributeError, *own_errors(setup))):
                    value(nl, setup, code)
            elif side == "GPU" and name in CLAIMS:
                assert value(nl, setup, code) is False
            else:
                mine = value(nl, setup, code)
                assert alike(mine, theirs), f"{mine} for {theirs}"
        finally:
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")


def test_copies_are_counted_and_a_line_that_copies_much_is_named(side: str) -> None:
    x = nl.arange(4.0)
    hostcopy.copies.clear()
    if side == "host":
        shared = np.asarray(x)
        shared[0] = 5.0
        assert float(x[0]) == 5.0 and not hostcopy.copies
        return
    one = np.asarray(x)
    assert not one.flags.writeable and [line[0] for line in hostcopy.copies.values()] == [1]
    with pytest.raises(ValueError, match="copy"):
        x.__array__(copy=False)
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 1.0
    assert x.__array__(copy=True).flags.writeable and x.to_numpy().flags.writeable
    with pytest.warns(HostCopyWarning, match="1000 times") as told:
        for _ in range(2000):
            np.asarray(x)
    assert len(told) == 1
    with nl.config(host_copy="raise"), pytest.raises(TypeError, match=r"x\.get\(\)"):
        np.asarray(x)
    with nl.config(host_copy="allow"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(1100):
            np.asarray(x)


@pytest.mark.skipif(set_compiled is None, reason="a class written in Python cannot claim another")
def test_numbers_are_numbers_and_arrays_are_not(side: str) -> None:
    import numbers

    if side == "GPU":
        assert not isinstance(nl.ones(3)[0], numbers.Number)
        return

    for dtype, kind in (("f4", numbers.Real), ("i8", numbers.Integral), ("c16", numbers.Complex)):
        x = nl.ones(3, dtype)
        assert isinstance(x[0], kind) and not isinstance(x, numbers.Number)
        assert isinstance(x[0], nl.ndarray) and not isinstance(x[0], (float, int, complex, np.generic))
        assert not isinstance(nl.ones((), dtype), numbers.Number)  # An array of no dimensions, as in NumPy.
    assert not isinstance(nl.ones(3, bool)[0], numbers.Number)
    assert nl.arange(3.0)[1].is_integer() and nl.asarray([0.5])[0].as_integer_ratio() == (1, 2)
    for name in ("is_integer", "as_integer_ratio", "numerator", "_mpmath_"):
        assert not hasattr(nl.arange(3.0), name)
    assert not hasattr(nl.ones(2, "c8")[0], "is_integer")
