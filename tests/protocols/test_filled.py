"""Arrays of ours that functions of SciPy and scikit-image are given for their results are filled, as NumPy's are."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.command.run import run
from numloom.interop.filling import FILLED

ndimage = pytest.importorskip("scipy.ndimage")
distance = pytest.importorskip("scipy.spatial.distance")

FLOATS = np.random.default_rng(0).random((6, 7)) + 0.5
MASK = FLOATS > 0.7
BYTES = (FLOATS * 100).astype("u1")
MARKERS = np.zeros((6, 7), "i2")
MARKERS[0, 0], MARKERS[5, 6] = 1, 2


def shifted(place: tuple[int, ...]) -> tuple[float, ...]:
    return place[0] - 0.5, place[1]


def gradient(input: Any, axis: int, output: Any, mode: str, cval: float) -> Any:
    return ndimage.sobel(input, axis, output, mode, cval)


def laplace(input: Any, axis: int, output: Any, mode: str, cval: float) -> Any:
    return ndimage.correlate1d(input, [1, -2, 1], axis, output, mode, cval, 0)


def mean_of_lines(line: Any, out: Any) -> None:
    out[...] = line[1:-1] + line.mean()


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("laplace", "prewitt", "sobel", "spline_filter", "spline_filter1d"), (FLOATS,)),
    **dict.fromkeys(
        ("gaussian_filter", "gaussian_filter1d", "gaussian_laplace", "gaussian_gradient_magnitude", "zoom"),
        (FLOATS, 1.5),
    ),
    **{f"fourier_{name}": (FLOATS, 2.0) for name in ("gaussian", "shift", "uniform", "ellipsoid")},
    **{
        f"{name}{of}": (FLOATS, 3)
        for name in ("uniform_filter", "minimum_filter", "maximum_filter")
        for of in ("", "1d")
    },
    **{f"grey_{name}": (FLOATS, 3) for name in ("erosion", "dilation", "closing", "opening")},
    **{name: (FLOATS, 3) for name in ("morphological_gradient", "morphological_laplace", "white_tophat")},
    **{name: (FLOATS, 3) for name in ("black_tophat", "median_filter")},
    **dict.fromkeys(("convolve", "correlate"), (FLOATS, [[0, 1, 2], [1, 0, 1], [3, 1, 0]])),
    **dict.fromkeys(("convolve1d", "correlate1d"), (FLOATS, [1, 2, 4])),
    **{f"binary_{name}": (MASK,) for name in ("erosion", "dilation", "opening", "closing", "hit_or_miss")},
    **{f"binary_{name}": (MASK,) for name in ("propagation", "fill_holes")},
    "affine_transform": (FLOATS, [[1, 0.5], [0, 1]]),
    "generic_filter": (FLOATS, np.ptp, 3),
    "generic_filter1d": (FLOATS, mean_of_lines, 3),
    "generic_gradient_magnitude": (FLOATS, gradient),
    "generic_laplace": (FLOATS, laplace),
    "geometric_transform": (FLOATS, shifted),
    "label": (MASK,),
    "map_coordinates": (FLOATS, [[1.5, 2], [3, 2.5]]),
    "percentile_filter": (FLOATS, 30, 3),
    "rank_filter": (FLOATS, 2, 3),
    "rotate": (FLOATS, 30),
    "shift": (FLOATS, 1.5),
    "vectorized_filter": (FLOATS, np.max),
    "watershed_ift": (BYTES, MARKERS),
}
OPTIONS = {"vectorized_filter": {"size": 3}}


def outputs(name: str) -> list[str]:
    return [each for each in inspect.signature(getattr(ndimage, name)).parameters if each in FILLED]


WITH_OUTPUT = [name for name in dir(ndimage) if inspect.isfunction(getattr(ndimage, name)) and outputs(name)]
DISTANCES = [name for name in WITH_OUTPUT if name.startswith("distance_transform")]


def test_the_walk_meets_every_function() -> None:
    assert set(WITH_OUTPUT) - set(DISTANCES) <= set(ARGUMENTS)
    assert len(WITH_OUTPUT) > 50


def poisoned(like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Other numbers than the result's in every place."""
    return ~like if like.dtype == bool else (like + 1 + like.size).astype(like.dtype)


def view(host: np.ndarray[Any, Any]) -> Any:
    """Ours of the same numbers, as every second row and column, backwards, of a larger array."""
    whole = nl.zeros([2 * n for n in host.shape], host.dtype)
    part = whole[tuple(slice(None, None, -2) for _ in host.shape)]
    part[...] = nl.asarray(host)
    return part


@pytest.fixture
def as_by_default() -> Iterator[None]:
    """SciPy reads arrays on a GPU by itself, as it may where nobody says otherwise (tests do)."""
    with nl.config(host_copy="allow"):
        yield


@pytest.mark.usefixtures("as_by_default")
@pytest.mark.parametrize("own", [np.asarray, nl.array], ids=["numpys input", "our input"])
@pytest.mark.parametrize("make", [nl.array, view], ids=["packed", "view"])
@pytest.mark.parametrize("name", [name for name in WITH_OUTPUT if name not in DISTANCES])
def test_outputs_are_filled(name: str, make: Callable[..., Any], own: Callable[..., Any]) -> None:
    function, (first, *more), options = getattr(ndimage, name), ARGUMENTS[name], OPTIONS.get(name, {})
    alone = function(first, *more, **options)
    alone = alone[0] if isinstance(alone, tuple) else alone
    expected, ours = poisoned(alone), make(poisoned(alone))
    theirs = function(first, *more, output=expected, **options)
    result = function(own(first), *more, output=ours, **options)
    np.testing.assert_array_equal(expected, alone)
    np.testing.assert_array_equal(nl.asnumpy(ours), expected)
    assert result is ours if isinstance(theirs, np.ndarray) else result == theirs
    place = list(inspect.signature(function).parameters).index("output")
    if place == len(more) + 1:
        again = make(poisoned(alone))
        function(first, *more, again)
        np.testing.assert_array_equal(nl.asnumpy(again), expected)


@pytest.mark.parametrize("which", [("distances",), ("indices",), ("distances", "indices")])
@pytest.mark.parametrize("name", DISTANCES)
def test_distances_and_indices_are_filled(name: str, which: tuple[str, ...]) -> None:
    function = getattr(ndimage, name)
    both = dict(zip(("distances", "indices"), function(MASK, return_indices=True), strict=True))
    poison = {
        each: 1000 + np.arange(both[each].size, dtype=both[each].dtype).reshape(both[each].shape) for each in which
    }
    ours = {each: nl.array(poison[each]) for each in which}
    theirs = {each: poison[each].copy() for each in which}
    result = function(MASK, **ours, return_indices=True)
    expected = function(MASK, **theirs, return_indices=True)
    for each in which:  # Two of the three read what lies in indices before they write them.
        assert not np.array_equal(theirs[each], poison[each])
        np.testing.assert_array_equal(nl.asnumpy(ours[each]), theirs[each])
    np.testing.assert_array_equal(result, expected)


DISTANCES_OF_ROWS: dict[str, Callable[..., Any]] = {
    "cdist": lambda x, out: distance.cdist(x, x[:4], out=out),
    "cdist of a metric": lambda x, out: distance.cdist(x, x[:4], "minkowski", p=3, out=out),
    "cdist of a function": lambda x, out: distance.cdist(x, x[:4], lambda u, v: abs(u - v).max(), out=out),
    "pdist": lambda x, out: distance.pdist(x, out=out),
    "pdist of a metric": lambda x, out: distance.pdist(x, "cosine", out=out),
    "pdist of a function": lambda x, out: distance.pdist(x, lambda u, v: abs(u - v).max(), out=out),
}


@pytest.mark.usefixtures("as_by_default")
@pytest.mark.parametrize("own", [np.asarray, nl.array], ids=["numpys input", "our input"])
@pytest.mark.parametrize("name", DISTANCES_OF_ROWS)
def test_distances_of_rows_are_filled(name: str, own: Callable[..., Any]) -> None:
    expected, ours = np.full((6, 4) if "cdist" in name else 15, 7.0), nl.full((6, 4) if "cdist" in name else 15, 7.0)
    assert DISTANCES_OF_ROWS[name](FLOATS, expected) is expected
    assert DISTANCES_OF_ROWS[name](own(FLOATS), ours) is ours
    np.testing.assert_array_equal(nl.asnumpy(ours), expected)


@pytest.mark.usefixtures("as_by_default")
def test_an_output_in_place_and_one_that_is_refused() -> None:
    expected, ours = FLOATS.copy(), nl.array(FLOATS)
    ndimage.uniform_filter(expected, 3, output=expected)
    assert ndimage.uniform_filter(ours, 3, output=ours) is ours
    np.testing.assert_array_equal(nl.asnumpy(ours), expected)
    with pytest.raises(RuntimeError, match="shape"):
        ndimage.uniform_filter(FLOATS, 3, output=nl.zeros((2, 2)))
    fixed = nl.array(FLOATS)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ndimage.label(MASK, output=fixed)


@pytest.mark.usefixtures("as_by_default")
@pytest.mark.parametrize("output", [None, np.int32, nl.int64, np.dtype("u1"), nl.zeros(1, "i2").dtype, "f4", int])
def test_label_gives_two_things_but_for_an_array(output: Any) -> None:
    want, count = ndimage.label(MASK, output=output)
    for own in (np.asarray, nl.asarray):
        for found, number in (ndimage.label(own(MASK), output=output), ndimage.label(own(MASK), None, output)):
            assert found.dtype == want.dtype and number == count
            np.testing.assert_array_equal(nl.asnumpy(found), want)
        for make in (np.asarray, nl.asarray):
            given = make(poisoned(want))
            assert ndimage.label(own(MASK), output=given) == count
            np.testing.assert_array_equal(nl.asnumpy(given), want)


PROGRAM = """
import numpy as np
from scipy import ndimage
mask = np.arange(30).reshape(5, 6) % 7 > 2
labels, grown = np.full((5, 6), 9, np.int32), np.zeros((5, 6), bool)
print(ndimage.label(mask, output=labels), labels.tolist())
ndimage.binary_dilation(mask, output=grown)
print(grown.tolist())
for output in (np.int32, mask.astype("u1").dtype, "i8", None):
    found, number = ndimage.label(mask, output=output)
    print(found.dtype, found.tolist(), number)
places = np.full((2, 5, 6), -1, np.int32)
print(ndimage.distance_transform_edt(mask, indices=places, return_indices=True).tolist(), places.tolist())
"""


def test_programs_that_run_unchanged() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as theirs:
        exec(PROGRAM, {"__name__": "__main__"})
    with contextlib.redirect_stdout(io.StringIO()) as ours:
        assert run([PROGRAM], kind="code", report="none") == 0
    assert ours.getvalue() == theirs.getvalue() and "9, 9" not in ours.getvalue()


@pytest.mark.parametrize("setting", [{}, {"SCIPY_ARRAY_API": "1"}], ids=["plain", "standard"])
@pytest.mark.parametrize("order", ["import numloom, scipy.ndimage", "from scipy.ndimage import label; import numloom"])
def test_in_whatever_order_they_are_imported(order: str, setting: dict[str, str]) -> None:
    code = f"""{order}
import numpy
from scipy.ndimage import distance_transform_edt, label as again
label = globals().get("label", again)
mask, out = numpy.arange(12).reshape(3, 4) % 5 > 1, numloom.full((3, 4), 7, "i4")
print(label(numloom.asarray(mask), output=out), out.tolist() == again(mask)[0].tolist())
left = distance_transform_edt(numloom.asarray(mask), distances=numloom.zeros((3, 4)), return_indices=True)
print(type(left).__module__)
"""
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path), **setting},
    )  # fmt: skip
    assert found.stdout == f"2 True\n{'numloom' if setting else 'numpy'}\n"


@pytest.mark.usefixtures("as_by_default")
@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_scikit_image() -> None:
    """Its functions find objects by ``label`` into an array that is ours where the image is."""
    morphology = pytest.importorskip("skimage.morphology")
    mask = np.random.default_rng(0).random((40, 40)) > 0.6
    wanted, found = (morphology.remove_small_objects(of(mask), max_size=4) for of in (np.asarray, nl.asarray))
    np.testing.assert_array_equal(nl.asnumpy(found), wanted)
    for name in ("binary_erosion", "binary_dilation", "binary_opening", "binary_closing"):
        function, out = getattr(morphology, name), nl.full((40, 40), 7, "u1")
        assert function(nl.asarray(mask), out=out) is out
        np.testing.assert_array_equal(nl.asnumpy(out), function(mask))
