"""Routines that are queued again, with other addresses and numbers, give what they give in full."""

import numpy as np
import pytest
from cuda_emulation import told
from test_cuda_routines import back, operand, random

from numloom.base.dtypes import F64, code_of
from numloom.device.cuda.routines import BOUND, ROUTINES, compaction, scattering
from numloom.device.cuda.routines.counting import _counted
from numloom.device.cuda.routines.kernels import address
from numloom.device.cuda.routines.order import _flagged
from numloom.device.cuda.routines.recording import BasePointer, PlannedBuffer, ScriptRecorder, Unrecorded
from numloom.device.cuda.routines.scans import scan
from numloom.device.cuda.routines.scripts import CHANGES, Launch, Remembered, Script, recorded
from numloom.device.interface import Strided
from numloom.plan.program import Select

pytestmark = pytest.mark.skipif(Launch is None, reason="the core is not compiled")


def scripts_of(remembered):
    return [script for script in remembered.known.entries.values() if type(script) is Script]


@pytest.mark.parametrize("shape, axes, count", [((50,), (0,), 30), ((9, 7), (0, 1), 80), ((40, 3), (0,), 100)])
@pytest.mark.parametrize("op", ["", "add", "maximum", "multiply"])
@pytest.mark.parametrize("number", [False, True])
def test_stores_again(runner, shape, axes, count, op, number):
    scatter = Remembered(scattering.scatter, "location")
    for turn in range(5):
        before, indices = random(shape, "d", turn), []
        for axis in axes:
            indices.append(np.random.default_rng(turn + axis).integers(-shape[axis], shape[axis], count))
        whole = (count, *shape[len(axes) :])
        value = random((), "d", turn + 9) if number else random(whole, "d", turn + 9)
        expected = before.copy()
        if op:
            getattr(np, op).at(expected, tuple(indices), value)
        else:
            expected[tuple(indices)] = value
        target = operand(runner, before)
        options = {"axes": axes, "position": 0, "op": op, "loop": (F64, F64, F64) if op else (), "location": turn + 1}
        scatter(runner, target, operand(runner, np.asarray(value)), *(operand(runner, i) for i in indices), **options)
        np.testing.assert_allclose(back(runner, target), expected, rtol=1e-15)
    assert len(scripts_of(scatter)) == 1


@pytest.mark.parametrize("op, value_shape", [("", (60,)), ("", ()), ("add", (60,)), ("subtract", (60,))])
def test_stores_again_by_addresses(runner, op, value_shape):
    """The target may begin anywhere in its memory; it, the operands and the location are other ones each time."""
    options = {"axes": (0,), "position": 0, "op": op, "loop": (F64, F64, F64) if op else ()}
    script = None
    for turn in range(4):
        before, value = random((300,), "d", turn), random(value_shape, "d", turn + 9)
        indices = np.random.default_rng(turn).integers(-40, 40, 60)
        expected = before.copy()
        if op:
            getattr(np, op).at(expected[100:200:2], indices, value)
        else:
            expected[100:200:2][indices] = value
        target, whole = operand(runner, before), [operand(runner, value), operand(runner, indices)]
        part = Strided(target.buffer, 100, (50,), (2,), target.dtype)
        if script is None:
            scattering.scatter(runner, part, *whole, **options, location=1)
            script = BOUND["scatter"](runner, part, *whole, **options, location=CHANGES)
        else:
            assert script(address(part), *map(address, whole), turn + 1) is True
        np.testing.assert_allclose(back(runner, target), expected, rtol=1e-15)


@pytest.mark.parametrize("char", "?fd")
@pytest.mark.parametrize("shape", [(2000,), (30, 41), (5, 6, 7)])
def test_selections_again(runner, shape, char):
    compaction._launched.cache_clear()
    for turn in range(6):
        flags = (random(shape, "d", turn) > (0.0, 5.0, -5.0)[turn % 3]).astype(char)
        found = ROUTINES["nonzero"](runner, operand(runner, flags))
        for one, expected in zip(found, np.nonzero(flags), strict=True):
            np.testing.assert_array_equal(back(runner, one), expected)
        values = random(shape, "f", turn + 3)
        got = ROUTINES["compress"](runner, operand(runner, values), operand(runner, flags != 0))
        np.testing.assert_array_equal(back(runner, got), values[flags != 0])
        rows = random((*shape, 3), "f", turn)
        got = ROUTINES["compress"](runner, operand(runner, rows), operand(runner, flags != 0))
        np.testing.assert_array_equal(back(runner, got), rows[flags != 0])
    kept = compaction._launched(runner, code_of(np.dtype(char)), int(np.prod(shape)), True, Select(2, axes=len(shape)))
    assert type(kept.script) is Script


def test_a_place_that_is_wrong_has_the_number_of_the_call(runner):
    scatter = Remembered(scattering.scatter, "location")
    for turn in range(1, 6):
        for index, error in ((3, 0), (9, turn)):
            target = operand(runner, np.zeros(5))
            scatter(
                runner, target, operand(runner, np.ones(2)), operand(runner, np.array([index, 1])), axes=(0,),
                position=0, op="", loop=(), location=turn,
            )  # fmt: skip
            assert told(runner) == error


def test_edges_again(runner):
    for values in ([1.0, 5.0], [np.nan, 1.0]):
        host = np.array(values)
        out = operand(runner, np.zeros(5))
        options = {"bins": 4, "not_apart": 7}
        ROUTINES["bin_edges"](runner, operand(runner, host), out=out, not_finite=5, **options)
        told(runner)
        script = BOUND["bin_edges"](runner, operand(runner, host), out=out, not_finite=CHANGES, **options)
        for number in (11, 12):
            x, result = operand(runner, host), operand(runner, np.zeros(5))
            assert script(address(x), address(result), number) is True
            assert told(runner) == (number if np.isnan(host).any() else 0)
            if not np.isnan(host).any():
                np.testing.assert_array_equal(back(runner, result), [1, 2, 3, 4, 5])


@pytest.mark.parametrize("length", [0, 1, 700])
def test_counts_and_distinct_values_again(runner, length):
    _counted.known.forget()
    _flagged.known.forget()
    for turn in range(5):
        host = np.random.default_rng(turn).integers(0, 40 + turn, length)
        got = ROUTINES["bincount"](runner, operand(runner, host), minlength=3)
        np.testing.assert_array_equal(back(runner, got), np.bincount(host, minlength=3))
        asked = {"index": True, "inverse": turn % 2 == 0, "counts": False}
        results = ROUTINES["unique"](runner, operand(runner, host), equal_nan=True, **asked)
        expected = np.unique(host, return_index=True, return_inverse=asked["inverse"])
        for one, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(back(runner, one), wanted)
    assert scripts_of(_counted) and (not length or scripts_of(_flagged))


def test_memory_that_is_aligned_otherwise_is_refused(runner):
    host = random((300,), "f")
    parts = [Strided(runner.upload(host), offset, (200,), (1,), host.dtype) for offset in (0, 1, 4, 0)]
    out = operand(runner, np.zeros(200, "f"))
    scan(runner, parts[0], op="add", axis=0, out=out)
    script = recorded(scan, runner, parts[0], out=out, op="add", axis=0)
    for part, offset in zip(parts, (0, 1, 4, 0), strict=True):
        result = operand(runner, np.zeros(200, "f"))
        assert script(address(part), address(result)) is (offset != 1)
        if offset != 1:
            np.testing.assert_allclose(back(runner, result), host[offset : offset + 200].cumsum(), rtol=1e-4, atol=1e-5)


def test_scratch_memory_goes_back(runner):
    host = random((20_000,), "f")
    x, out = operand(runner, host), operand(runner, np.zeros_like(host))
    ROUTINES["sort"](runner, x, axis=0, out=out)
    script = recorded(ROUTINES["sort"], runner, x, out=out, axis=0)
    script(address(x), address(out))
    used = runner.pool.used
    for _ in range(3):
        script(address(x), address(out))
        assert runner.pool.used == used
    np.testing.assert_array_equal(back(runner, out), np.sort(host))


def test_places_are_no_numbers():
    pointer = BasePointer(2, 5, 8)
    assert ((pointer + 3).offset, (3 + pointer).base, pointer % 16, pointer % 4, bool(pointer)) == (8, 2, 13, 1, True)
    for wrong in (int, range, lambda pointer: pointer * 2, lambda pointer: pointer < 5, lambda pointer: pointer | 1):
        with pytest.raises(TypeError):
            wrong(pointer)
    with pytest.raises(Unrecorded):
        pointer % 64


def test_what_takes_more_than_addresses_is_not_recorded(runner):
    recorder = ScriptRecorder(runner, 1)
    assert recorder.next(recorder, 5)[1].base == 3
    for wrong in (lambda: recorder.next(recorder, 5), lambda: recorder.download, lambda: recorder.told_of):
        with pytest.raises(Unrecorded):
            wrong()
    recorder.clear(PlannedBuffer(BasePointer(0), 8), 0)
    assert recorder.commands == []

    def looks(device, a, *, out):
        device.download(a.buffer, 0, 8)

    x = operand(runner, np.zeros(3))
    assert recorded(looks, runner, x, out=x) is None
    assert recorded(looks, runner, *[x] * 20, out=x) is None
