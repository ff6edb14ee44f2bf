"""How the names of ``cupyx.scipy`` take and give arrays, and what they refuse."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import numloom as nl
from numloom import cupyx
from numloom.cupyx.scipy.table import PLACED
from numloom.cupyx.scipy.telling import lists

pytest.importorskip("scipy")


def test_an_output_of_ours_is_filled_and_is_the_result() -> None:
    import numloom.cupyx.scipy.ndimage as ndimage

    x, out = nl.arange(12.0).reshape(3, 4), nl.zeros((3, 4), "float32")
    assert ndimage.gaussian_filter(x, 1, output=out) is out
    assert ndimage.sobel(x, 0, out) is out and (out.get() == 16).sum() + (out.get() == 32).sum() > 0
    squares = nl.zeros((3, 4))
    cupyx.scipy.spatial.distance.cdist(x, nl.zeros((4, 4)), "sqeuclidean", out=squares)
    numpy.testing.assert_allclose(squares.get()[:, 0], (x.get() ** 2).sum(1))


def test_outputs_of_a_ufunc_are_filled() -> None:
    x, places = nl.array([0.5, 2.0]), [nl.zeros(2) for _ in range(4)]
    sines, cosines = cupyx.scipy.special.sici(x, *places[:2])
    cupyx.scipy.special.sici(x, out=(places[2], places[3]))
    assert sines is places[0] and cosines is places[1]
    assert sines.tolist() == places[2].tolist() and cosines.tolist() == places[3].tolist() and sines[0] > 0.4


def test_an_array_that_is_given_twice_is_one() -> None:
    csd, x = cupyx.scipy.signal.csd, nl.arange(16.0) % 5
    for power in (csd(x, x, nperseg=16)[1], csd(x, y=x, nperseg=16)[1]):
        assert power.dtype == "f8" and (power == cupyx.scipy.signal.welch(x, nperseg=16)[1]).all()
    assert csd(x, x + 0, nperseg=16)[1].dtype == "c16"


def test_what_is_not_an_output_keeps_its_values() -> None:
    x = nl.array([3.0, 1.0, 2.0])
    cupyx.scipy.signal.detrend(x, overwrite_data=True)
    assert x.tolist() == [3, 1, 2]


def test_objects_of_scipy_are_held_and_answer_with_our_arrays() -> None:
    signal, interpolate = cupyx.scipy.signal, cupyx.scipy.interpolate
    system = signal.lti([1.0], nl.array([1.0, 2.0]))
    assert isinstance(system, signal.lti) and isinstance(system, signal.TransferFunction)
    assert isinstance(system.to_zpk().poles, nl.ndarray) and (system.to_ss() * 2).B.tolist() == [[2]]
    curve = interpolate.CubicSpline(nl.arange(4.0), nl.arange(4.0) ** 2)
    assert isinstance(curve, interpolate.PPoly) and curve(nl.array([1.5])).tolist() == pytest.approx([2.25])
    assert interpolate.PPoly.from_spline(interpolate.make_interp_spline(nl.arange(4.0), nl.arange(4.0)))(2.5) == 2.5
    far, index = cupyx.scipy.spatial.KDTree(nl.eye(3)).query(nl.eye(3)[1:])
    assert far.tolist() == [0, 0] and index.tolist() == [1, 2]


def test_parameters_of_cupy_alone() -> None:
    ndimage = cupyx.scipy.ndimage
    mask = nl.array([[1, 1, 0], [1, 1, 1]])
    far = ndimage.distance_transform_edt(image=mask, float64_distances=True)
    assert (far.get() == ndimage.distance_transform_edt(mask).get()).all() and far[0, 2].item() == 0
    shifted = ndimage.affine_transform(nl.eye(3), nl.eye(2), order=0, texture_memory=False, float64_coords=True)
    assert shifted.tolist() == numpy.eye(3).tolist()
    with pytest.raises(TypeError, match="plan"):
        cupyx.scipy.fftpack.fft(nl.arange(4.0), plan=object())
    assert cupyx.scipy.fftpack.fft(nl.arange(4.0), plan=None).tolist() == numpy.fft.fft(numpy.arange(4.0)).tolist()


def test_parameters_have_cupys_names() -> None:
    distance, ndimage = cupyx.scipy.spatial.distance, cupyx.scipy.ndimage
    assert distance.jensenshannon(u=nl.array([1.0, 0.0]), v=nl.array([1.0, 0.0])).item() == 0
    named = [*inspect.signature(ndimage.distance_transform_edt).parameters]
    assert named[:2] == ["image", "sampling"] and named[-2:] == ["block_params", "float64_distances"]
    assert [*inspect.signature(distance.jensenshannon).parameters][:2] == ["u", "v"]


def test_keywords_of_scipys_have_the_places_that_cupy_gives_them() -> None:
    signal, ndimage, distance = cupyx.scipy.signal, cupyx.scipy.ndimage, cupyx.scipy.spatial.distance
    bands = nl.array([0.0, 0.2, 0.4, 1.0]), nl.array([1.0, 1.0, 0.0, 0.0])
    weight = nl.array([1.0, 5.0])
    assert (signal.firls(5, *bands, weight) == signal.firls(5, *bands, weight=weight)).all()
    assert (signal.firls(5, *bands, weight, 2) != signal.firls(5, *bands)).any()
    assert (signal.firwin(5, 0.3, None, "hann") == signal.firwin(5, 0.3, window="hann")).all()
    x, out = nl.asarray(numpy.random.default_rng(1).random((4, 4))), nl.zeros((4, 4))
    along = ndimage.gaussian_filter(x, 1, 0, None, "reflect", 0.0, 4.0, None, (0,))
    assert (along == ndimage.gaussian_filter(x, 1, axes=(0,))).all()
    assert distance.cdist(x, x, "euclidean", out) is out and out[0, 1].item() > 0
    assert [*inspect.signature(signal.firls).parameters] == ["numtaps", "bands", "desired", "weight", "fs"]
    with pytest.raises(TypeError, match="multiple values for weight"):
        signal.firls(5, *bands, weight, weight=weight)
    with pytest.raises(TypeError, match="takes no 3 more"):
        signal.firls(5, *bands, weight, 2, 1)


def test_every_place_is_behind_those_of_scipy() -> None:
    for place, names in PLACED.items():
        module, _, name = place.rpartition(".")
        function = getattr(importlib.import_module(f"scipy.{module}"), name)
        known = inspect.signature(function).parameters.values()
        keywords = [each.name for each in known if each.kind is inspect.Parameter.KEYWORD_ONLY]
        assert tuple(keywords[: len(names)]) == names, place


def test_names_of_numlooms_own() -> None:
    special, linalg = cupyx.scipy.special, cupyx.scipy.linalg
    assert isinstance(special.erf, type(nl.special.erf)) and special.btdtr is special.betainc and linalg.kron is nl.kron
    assert linalg.svd is nl.linalg.svd


def test_names_that_are_not_there_say_what_to_use() -> None:
    for module, name, cure in (
        (cupyx.scipy.spatial.distance, "hellinger", "sqrt"),
        (cupyx.scipy.special, "sph_harm", "sph_harm_y"),
        (cupyx.scipy.ndimage, "gaussian_filte", "did you mean 'gaussian_filter'"),
        (cupyx.scipy, "optimize", "x.get"),
    ):
        with pytest.raises(AttributeError, match=cure):
            getattr(module, name)


def test_the_page_lists_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "howto-cupyx-scipy.md"
    assert page.read_text().endswith("## The names\n\n" + lists())


def test_programs_of_cupys_import_the_modules(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import cupy as cp\n"
        "import cupyx.scipy.ndimage\n"
        "from cupyx.scipy.ndimage import label\n"
        "from cupyx.scipy.signal.windows import hann\n"
        "from cupyx.scipy.spatial.distance import cdist\n"
        "print(label(cp.array([1, 0, 1]))[1], cupyx.scipy.ndimage.sum(cp.arange(4.0)))\n"
        "print(hann(3), cdist(cp.eye(2), cp.eye(2))[0, 0])\n"
    )
    command = [sys.executable, "-m", "numloom", "run", "--cupy", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "6.0", "[0.", "1.", "0.]", "0.0"]
