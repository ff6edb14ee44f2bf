"""Arguments of ``cupyx.scipy.ndimage`` that are CuPy's alone, or that SciPy has no right answer for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.cupyx.scipy import ndimage

scipys = pytest.importorskip("scipy.ndimage")
IMAGE = np.random.default_rng(2).random((6, 7)) > 0.3


def host(array: Any) -> Any:
    return nl.asnumpy(array)


@pytest.mark.parametrize("structure", [2, (3, 1), (1, 3), np.int64(3)])
@pytest.mark.parametrize("name", ["erosion", "dilation", "opening", "closing", "propagation", "fill_holes"])
def test_a_structure_is_told_by_its_shape(name: str, structure: Any) -> None:
    ours, theirs = getattr(ndimage, f"binary_{name}"), getattr(scipys, f"binary_{name}")
    shape = structure if isinstance(structure, tuple) else (structure,) * 2
    expected = theirs(IMAGE, structure=np.ones(shape))
    np.testing.assert_array_equal(host(ours(nl.asarray(IMAGE), structure=structure)), expected)
    np.testing.assert_array_equal(host(ours(nl.asarray(IMAGE), structure)), expected)


def test_structures_of_their_own_elements() -> None:
    line = nl.asarray(IMAGE[0])
    expected = scipys.binary_dilation(IMAGE[0], (1, 0, 1))
    np.testing.assert_array_equal(host(ndimage.binary_dilation(line, (1, 0, 1))), expected)
    np.testing.assert_array_equal(host(ndimage.binary_dilation(line, nl.array([1, 0, 1]))), expected)
    both = ndimage.binary_hit_or_miss(nl.asarray(IMAGE), 2, (1, 3))
    np.testing.assert_array_equal(host(both), scipys.binary_hit_or_miss(IMAGE, np.ones((2, 2)), np.ones((1, 3))))
    rows = ndimage.binary_erosion(nl.asarray(IMAGE), 3, axes=1)
    np.testing.assert_array_equal(host(rows), scipys.binary_erosion(IMAGE, np.ones((1, 3))))
    with pytest.raises(RuntimeError, match="dimensionality"):
        ndimage.binary_erosion(nl.asarray(IMAGE), (3, 3, 3))
    with pytest.raises(TypeError, match="multiple values"):
        ndimage.binary_erosion(nl.asarray(IMAGE), 3, structure=3)


def test_distances_in_single_precision() -> None:
    expected, places = scipys.distance_transform_edt(IMAGE, (2, 1), return_indices=True)
    single = ndimage.distance_transform_edt(nl.asarray(IMAGE), (2, 1), float64_distances=False)
    assert single.dtype == "f4"
    np.testing.assert_allclose(host(single), expected, rtol=1e-6)
    both = ndimage.distance_transform_edt(nl.asarray(IMAGE), sampling=(2, 1), return_indices=True)
    assert [each.dtype for each in both] == ["f8", "i4"]
    np.testing.assert_array_equal(host(both[0]), expected)
    np.testing.assert_array_equal(host(both[1]), places)


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8"])
def test_distances_and_indices_go_to_arrays(dtype: str) -> None:
    expected, places = scipys.distance_transform_edt(IMAGE, return_indices=True)
    far, near = nl.zeros(IMAGE.shape, "f4"), nl.zeros((2, *IMAGE.shape), dtype)
    given = {"distances": far, "indices": near, "return_indices": True, "float64_distances": False}
    assert ndimage.distance_transform_edt(nl.asarray(IMAGE), **given) is None
    np.testing.assert_allclose(host(far), expected, rtol=1e-6)
    np.testing.assert_array_equal(host(near), places)
    left = ndimage.distance_transform_edt(nl.asarray(IMAGE), indices=near, return_indices=True)
    np.testing.assert_array_equal(host(left), expected)


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (RuntimeError, {"distances": nl.zeros((6, 7)), "float64_distances": False}),
        (RuntimeError, {"distances": nl.zeros((6, 7), "i4")}),
        (RuntimeError, {"distances": nl.zeros((6, 8))}),
        (RuntimeError, {"distances": nl.zeros((6, 7)), "return_distances": False, "return_indices": True}),
        (RuntimeError, {"indices": nl.zeros((2, 6, 7), "i4")}),
        (RuntimeError, {"indices": nl.zeros((2, 6, 7), "i1"), "return_indices": True}),
        (RuntimeError, {"indices": nl.zeros((2, 6, 7)), "return_indices": True}),
        (RuntimeError, {"indices": nl.zeros((6, 7), "i4"), "return_indices": True}),
        (RuntimeError, {"return_distances": False}),
        (ValueError, {"block_params": (1, 3, 1)}),
        (ValueError, {"block_params": (0, 1, 1)}),
        (ValueError, {"block_params": (1, 1)}),
    ],
)
def test_distances_that_are_refused(error: type[Exception], given: dict[str, Any]) -> None:
    with pytest.raises(error):
        ndimage.distance_transform_edt(nl.asarray(IMAGE), **given)


def test_an_edge_that_integers_cannot_hold() -> None:
    x, y = nl.arange(9).reshape(3, 3), nl.eye(2)
    calls = {
        ndimage.shift: (x, 1), ndimage.zoom: (x, 1), ndimage.rotate: (x, 0), ndimage.affine_transform: (x, y),
        ndimage.map_coordinates: (x, nl.ones((2, 3))),
    }  # fmt: skip
    for function, args in calls.items():
        for output in (None, "i4", np.int32, nl.dtype("u1")):
            with pytest.raises(NotImplementedError, match="output=float"):
                function(*args, output=output, order=1, cval=np.nan)
        function(*args, output=float, order=1, cval=np.nan)
        function(*args, order=1, mode="nearest", cval=np.inf)
    out = nl.zeros((3, 3), "i4")
    with pytest.raises(NotImplementedError, match="cval=inf"):
        ndimage.shift(x, 1, out, cval=np.inf)
    assert np.isnan(host(ndimage.shift(x * 1.0, 1, order=0, cval=np.nan))).sum() == 5


def test_what_a_texture_cannot_hold() -> None:
    x = nl.eye(4, dtype="f4")
    expected = ndimage.affine_transform(x, nl.eye(2), order=1)
    assert (ndimage.affine_transform(x, nl.eye(2), order=1, texture_memory=True) == expected).all()
    for image in (x.astype("f8"), nl.ones(4, "f4"), nl.ones((2, 2, 2, 2), "f4")):
        with pytest.raises(ValueError, match="texture_memory"):
            ndimage.affine_transform(image, nl.eye(image.ndim), texture_memory=True)


def test_indices_of_values_in_the_smallest_integers() -> None:
    for shape, dtype in (((5, 6), "i1"), ((3, 200), "i2")):
        labels = np.random.default_rng(3).integers(0, 4, shape)
        expected = scipys.value_indices(labels, ignore_value=2)
        for adaptive in (False, True):
            found = ndimage.value_indices(nl.asarray(labels), ignore_value=2, adaptive_index_dtype=adaptive)
            assert found.keys() == expected.keys() == {0, 1, 3}
            for value, places in found.items():
                for one, other in zip(places, expected[value], strict=True):
                    assert one.dtype == (dtype if adaptive else "i8")
                    np.testing.assert_array_equal(host(one), other)
