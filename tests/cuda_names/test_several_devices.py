"""Several devices in one process: arrays stay where they are, work follows them, and nothing is mixed."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import threading

import numpy
import pytest

import numloom as np
from apart import stand_in
from numloom.array.storage import pin
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.registry import holder
from numloom.engine.owners import name_of

LARGE = 100_000


def pairs():
    """The current device with each other one; without a GPU a stand-in with the host."""
    count = registry.gpu_count()
    others = [*[f"cuda:{number}" for number in range(1, count)], "cpu"] if count else ["cpu"]
    return others


@pytest.fixture(params=pairs())
def devices(request):
    """Names of the current device and of another one."""
    with contextlib.ExitStack() as stack:
        if not registry.current().discrete:
            stack.enter_context(stand_in())
        here = registry.current()
        if here.name == "stand-in":
            registry._devices[name_of(here)] = here
            stack.callback(registry._devices.pop, name_of(here))
        yield name_of(here), request.param
        np.synchronize()
    gc.collect()
    registry.count_devices()
    assert len(registry.in_use()) > 1 or not registry.several()


def lies_on(array):
    """The device whose memory an array has."""
    np.evaluate(array)
    return name_of(holder(array.storage.value.buffer))


def both(devices, values):
    return [np.asarray(values, device=name) for name in devices]


@pytest.mark.parametrize("size", [3, LARGE])
def test_arrays_stay_and_work_follows(devices, size):
    host = numpy.arange(size) + 0.5
    for name in devices:
        x = np.asarray(host, device=name)
        assert x.device == name
        for result, right in (
            (x * 2 + 1, host * 2 + 1),
            (x.sum(keepdims=True), host.sum(keepdims=True)),
            (np.sort(x[::-1]), host),
            (np.cumsum(x), host.cumsum()),
            (x[x > 2], host[host > 2]),
            (np.concatenate([x, x]), numpy.concatenate([host, host])),
            (np.where(x > 2, x, 0), numpy.where(host > 2, host, 0)),
            (x[:, None] * numpy.ones(2), host[:, None] * numpy.ones(2)),
            (numpy.ones(size) - x, 1 - host),
            (np.stack([x, numpy.ones(size)]), numpy.stack([host, numpy.ones(size)])),
            (np.zeros_like(x) + 1, numpy.ones(size)),
            (x.astype("f4"), host.astype("f4")),
            (x.reshape(1, -1) @ x.reshape(-1, 1), host.reshape(1, -1) @ host.reshape(-1, 1)),
            (np.fft.fft(x), numpy.fft.fft(host)),
            (copy.copy(x), host),
        ):
            assert result.device == name, result
            assert lies_on(result) == name
            numpy.testing.assert_allclose(result.get(), right, rtol=1e-10)
        assert float(x.max()) == host.max() and x[2].item() == host[2] and x.tolist()[:3] == host[:3].tolist()
        assert str(x) == str(host) and bool((x > 0).all()) and len(pickle.dumps(x)) > 8 * size
        x[1:3] = numpy.ones(2)
        x[0] = 7
        x += 1
        host_now = host.copy()
        host_now[1:3], host_now[0] = 1, 7
        assert x.device == name
        numpy.testing.assert_array_equal(x.get(), host_now + 1)
        for stored in (host, 3, numpy.float32(2), np.zeros(size), np.asarray(host, device=name)):
            x[:] = stored
            assert x.device == lies_on(x) == name
            np.copyto(x, stored)
            assert x.device == lies_on(x) == name
            numpy.testing.assert_array_equal(x.get(), stored.get() if type(stored) is np.ndarray else stored)
        np.add(x, numpy.ones(size), out=x)
        assert x.device == lies_on(x) == name and float(x[1]) == 2.5
    assert np.zeros(3).device == devices[0]


@pytest.mark.parametrize("size", [3, LARGE])
def test_arrays_of_two_devices_are_refused(devices, size):
    one, other = both(devices, numpy.arange(float(size)))
    for mixed in (
        lambda: (one + other).get(),
        lambda: np.concatenate([one, other]).get(),
        lambda: np.where(one > 2, one, other).get(),
        lambda: np.dot(one, other).item(),
        lambda: one[other > 1].get(),
        lambda: np.sort(one * other).get(),
        lambda: np.take(one, np.zeros(2, int, device=devices[1])).get(),
    ):
        with pytest.raises(DeviceError, match="bring them to one device"):
            mixed()
    # What is wrong stays with who asked for it.
    right = one + 1
    for store in (
        lambda: one.__iadd__(other),
        lambda: one.__setitem__(slice(1), other[:1]),
        lambda: one.__setitem__([0], other[:1]),
        lambda: np.copyto(one, other),
        lambda: np.add(one, 1, out=other),
        lambda: np.put(one, [0], other[:1]),
    ):
        with pytest.raises(DeviceError, match="bring them to one device"):
            store()
    for array in (one, other):
        numpy.testing.assert_array_equal(array.get(), numpy.arange(size))
    numpy.testing.assert_array_equal(right.get(), numpy.arange(size) + 1)
    numpy.testing.assert_array_equal((one + other.to_device(devices[0])).get(), 2 * numpy.arange(size))
    one[:] = 5
    numpy.testing.assert_array_equal(other.get(), numpy.arange(size))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (300, 400), (3, 0, 2)])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_to_device(devices, shape, dtype):
    host = (numpy.arange(numpy.prod(shape, dtype=int)) % 5).reshape(shape).astype(dtype)
    here, there = devices
    x = np.asarray(host)
    y = x.to_device(there)
    assert x.device == here and y.device == there and lies_on(y) == there
    assert x.to_device(here) is x and y.to_device(there) is y
    assert y.dtype == x.dtype and y.shape == x.shape and y.strides == x.strides
    numpy.testing.assert_array_equal(y.get(), host)
    if shape:
        numpy.testing.assert_array_equal(x.T[..., ::-1].to_device(there).get(), host.T[..., ::-1])
        y[...] = 0
        numpy.testing.assert_array_equal(x.get(), host)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, device=there, copy=False)
    with pytest.raises(ValueError, match="there is no device"):
        x.to_device("tpu")


def test_every_way_to_make_one(devices):
    for name in devices:
        for made in (
            np.empty((2, 3), device=name), np.zeros(4, device=name), np.ones((2, 2), "f4", device=name),
            np.full(3, 7, device=name), np.arange(5, device=name), np.linspace(0, 1, 7, device=name),
            np.eye(3, device=name), np.empty_like(numpy.ones(3), device=name), np.zeros_like([1, 2], device=name),
            np.ones_like([1, 2], device=name), np.full_like([1, 2], 3, device=name), np.asarray(3, device=name),
            np.asarray([1, 2], device=name), np.astype(np.zeros(2), "f4", device=name),
            np.fft.fftfreq(5, device=name), np.fft.rfftfreq(5, device=name),
            np.from_dlpack(numpy.arange(3), device=name),
        ):  # fmt: skip
            np.evaluate(made)
            assert made.device == name
    numpy.testing.assert_array_equal(np.arange(5, device=devices[1]).get(), numpy.arange(5))
    numpy.testing.assert_array_equal(np.eye(3, device=devices[1]).get(), numpy.eye(3))


def test_a_chosen_device_is_the_threads(devices):
    here, there = devices
    other = registry.get(there)
    found = {}

    def in_a_thread():
        before = registry.choose(other)
        x = np.ones(LARGE) * 3
        found["made"], found["value"] = x.device, float(x.sum())
        found["random"] = np.random.default_rng(3).normal(size=5).device
        found["kept"] = x
        registry.choose(before)
        found["after"] = np.zeros(2).device

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    mine = [np.ones(LARGE) * k for k in range(20)]
    thread.join()
    kept = found.pop("kept")
    assert found == {"made": there, "value": 3.0 * LARGE, "random": there, "after": here}
    assert {x.device for x in mine} == {here} and [float(x.max()) for x in mine] == [float(k) for k in range(20)]
    assert lies_on(kept + 1) == there


def test_pending_work_of_several_devices(devices):
    host = numpy.arange(float(LARGE))
    one, other = both(devices, host)
    waiting = []
    for k in range(5):
        waiting += [(one * k + 1, host * k + 1), (other - k, host - k)]
    one[3] = -1.0
    for array, right in reversed(waiting):
        numpy.testing.assert_array_equal(array.get(), right)
    assert [array.device for array, _ in waiting] == list(devices) * 5
    np.synchronize()


def test_the_setting_may_change(devices):
    here, there = devices
    x = np.arange(float(LARGE))
    y = x * 2
    with np.config(device=there):
        z = np.asarray(numpy.ones(LARGE))
        assert z.device == there and y.device == here
        assert float(y[5]) == 10.0 and float(x.sum()) == LARGE * (LARGE - 1) / 2
        with pytest.raises(DeviceError):
            (z + y).get()
    assert z.device == there and float(z.sum()) == LARGE


def test_users_kernels_follow(devices):
    scale = np.ElementwiseKernel("T x, T a", "T y", "y = a * x + 1", "scale")
    total = np.ReductionKernel("T x", "T y", "x * 2", "a + b", "y = a", "0", "twice")
    raw = np.RawKernel(
        'extern "C" __global__ void add(const double* x, double* y, int n) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + 3; }",
        "add",
    )
    host = numpy.arange(1000.0)
    for name in [name for name in devices if not name.startswith("stand-in")]:  # which compiles nothing
        with np.config(cpu_compile="wait" if name == "cpu" else np.config.cpu_compile):
            x = np.asarray(host, device=name)
            assert lies_on(scale(x, 2.0)) == name and lies_on(total(x)) == name
            numpy.testing.assert_array_equal(scale(x, 2.0).get(), 2 * host + 1)
            assert total(x).item() == 2 * host.sum()
            y = np.zeros_like(x)
            raw((4,), (256,), (x, y, 1000))
            numpy.testing.assert_array_equal(y.get(), host + 3)
            assert y.device == name


def test_memory_whose_address_is_asked_for_stays(devices):
    """Also where it is a copy of numbers that are known, made since another array shares the value."""
    for name in devices:
        x = np.zeros(LARGE, device=name)
        y = x.copy()
        assert lies_on(x) == lies_on(y) == name
        with registry.on(holder(x.storage.value.buffer)):
            assert pin(x.storage).buffer.ptr != pin(y.storage).buffer.ptr
        assert lies_on(x) == lies_on(y) == name
        y += 1
        assert float(y.sum()) == LARGE and float(x.sum()) == 0


def test_compiled_functions_follow(devices):
    x = np.symbol("x", (LARGE,))
    function = np.function([x], [np.exp(-x) + 1, x.sum()])
    gradient = np.grad(lambda v: (v * v * v).sum())
    host = numpy.linspace(0, 1, LARGE)
    for turn in range(8):
        for name in devices:
            given = np.asarray(host + turn, device=name)
            found, total = function(given)
            assert lies_on(found) == name
            numpy.testing.assert_allclose(found.get(), numpy.exp(-(host + turn)) + 1, rtol=1e-12)
            numpy.testing.assert_allclose(total.item(), (host + turn).sum(), rtol=1e-12)
            numpy.testing.assert_allclose(gradient(given).get(), 3 * (host + turn) ** 2, rtol=1e-12)


OPERATIONS = {
    "add": lambda xp, x, y: x + y,
    "scaled": lambda xp, x, y: x * 0.5 - 1,
    "host": lambda xp, x, y: x + numpy.arange(float(x.size)).reshape(x.shape),
    "turned": lambda xp, x, y: x[::-1].copy(),
    "sorted": lambda xp, x, y: xp.sort(x, axis=0),
    "running": lambda xp, x, y: xp.cumsum(x, axis=0) * 1e-3,
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "centred": lambda xp, x, y: x - x.mean(axis=0),
    "product": lambda xp, x, y: x @ (y.T @ x) * 1e-4 if x.ndim == 2 else x * y * 0.1,
    "filled": lambda xp, x, y: xp.full_like(x, 2) + y,
    "joined": lambda xp, x, y: xp.concatenate([x, y])[: len(x)],
    "rolled": lambda xp, x, y: xp.roll(x, 3, axis=0),
}


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(devices, seed):
    """Arrays on both devices, written and read at any moment, in small and large sizes, beside NumPy."""
    random = numpy.random.default_rng(seed)
    shape = [(7,), (60, 50), (5000,), (3,)][seed % 4]
    names = [name for name in devices for _ in range(3)]
    twins = [random.normal(size=shape) for _ in names]
    arrays = [np.asarray(twin, device=name) for twin, name in zip(twins, names, strict=True)]
    for _ in range(60):
        k = int(random.integers(len(names)))
        same = [m for m in range(len(names)) if names[m] == names[k]]
        m = int(random.choice(same))
        kind = random.integers(10)
        if kind < 6:
            name = str(random.choice(list(OPERATIONS)))
            arrays[k], twins[k] = (
                OPERATIONS[name](np, arrays[k], arrays[m]),
                OPERATIONS[name](numpy, twins[k], twins[m]),
            )
        elif kind < 8:
            begin = int(random.integers(shape[0]))
            arrays[k][begin:] = arrays[m][: shape[0] - begin] * 2
            twins[k][begin:] = twins[m][: shape[0] - begin] * 2
        elif kind == 8:
            numpy.testing.assert_allclose(float(arrays[k].sum()), twins[k].sum(), rtol=1e-9, atol=1e-6)
        else:
            to = str(random.choice(devices))
            arrays[k], twins[k], names[k] = arrays[k].to_device(to), twins[k].copy(), to
            arrays[k] = arrays[k] * 1
    for array, twin, name in zip(arrays, twins, names, strict=True):
        assert array.device == name
        numpy.testing.assert_allclose(array.get(), twin, rtol=1e-9, atol=1e-6)


def test_what_waits_runs_with_what_it_reads(devices):
    """Fills that are written to, and read before and after, none of which says its device."""
    np.asarray(numpy.ones(LARGE), device=devices[1])
    x, y = np.full(300, 1, "i1"), numpy.full(300, 1, "i1")
    found, right = [], []
    for array, results in ((x, found), (y, right)):
        for step in range(3):
            part = array[10 + step : 250 : 2]
            value = -part if step else part + 1
            results.append(value == part)
            part[:] = value
            array += 3
            results.append(array[::-1] == array)
    for one, other in zip(reversed(found), reversed(right), strict=True):
        numpy.testing.assert_array_equal(one.get(), other)
    numpy.testing.assert_array_equal(x.get(), y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_reads_no_gpu(devices):
    """The cure that our error names is to compute on the CPU there: what a GPU holds is refused, not read."""
    x = np.arange(float(LARGE)) + 1
    np.evaluate(x)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            np.config.device = "cpu"
            if float((np.ones(LARGE) * 2).sum()) == 2 * LARGE:
                for look in (lambda: x[5].item(), x.get, lambda: (x + 1).get(), lambda: float(x.sum()), x.tolist):
                    try:
                        look()
                        status = 2
                        break
                    except DeviceError:
                        status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
