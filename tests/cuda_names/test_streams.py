"""Devices, streams and events, on whatever device arrays live."""

import threading
import time

import numpy
import pytest

import numloom as np
from numloom.base.errors import DeviceError
from numloom.cuda import runtime
from numloom.device import registry

GPU = registry.current().discrete


def test_devices():
    device = np.cuda.Device()
    assert int(device) == device.id == np.cuda.get_device_id() == runtime.getDevice()
    assert device == np.cuda.Device(device) and hash(device) == hash(np.cuda.Device(device.id))
    assert runtime.getDeviceCount() >= 1
    with device as entered:
        assert entered is device
    device.use()
    free, total = device.mem_info
    assert 0 < free <= total and (free, total)[1] == runtime.memGetInfo()[1]
    assert device.attributes["MultiProcessorCount"] > 0
    assert device.compute_capability.isdigit()
    assert runtime.getDeviceProperties(device.id)["major"] == int(device.compute_capability[:-1])
    with pytest.raises(DeviceError, match="no device 99: the numbers here are"):
        np.cuda.Device(99)
    assert np.cuda.is_available() or not GPU


def test_streams_are_entered_and_left():
    null = np.cuda.Stream.null
    assert np.cuda.get_current_stream() == null
    first, second = np.cuda.Stream(), np.cuda.Stream(non_blocking=True, priority=-1)
    assert first != second and first == first and len({first, second, first}) == 2
    with first:
        assert np.cuda.get_current_stream() is first
        with second:
            x = np.arange(5.0) * 2
            assert np.cuda.get_current_stream() is second
        assert np.cuda.get_current_stream() is first
    assert np.cuda.get_current_stream() == null
    with pytest.raises(KeyError), first:
        raise KeyError
    assert np.cuda.get_current_stream() == null
    first.use()
    assert np.cuda.get_current_stream() is first
    null.use()
    assert x.tolist() == [0, 2, 4, 6, 8]
    second.synchronize()
    assert second.done and second.query()
    with pytest.raises(ValueError, match="not both"):
        np.cuda.Stream(null=True, ptds=True)


def test_the_current_stream_is_a_threads_own():
    found = []
    with np.cuda.Stream():
        thread = threading.Thread(target=lambda: found.append(np.cuda.get_current_stream()))
        thread.start()
        thread.join()
    assert found == [np.cuda.Stream.null]


def test_streams_of_others():
    class Theirs:
        def __cuda_stream__(self):
            return (0, 1)

    class Torch:
        cuda_stream = 2

    assert np.cuda.from_external(Theirs()).ptr == 1 and np.cuda.from_external(Torch()).ptr == 2
    with np.cuda.ExternalStream(1) as stream:
        assert np.cuda.get_current_stream() is stream
        assert float((np.arange(3.0) + 1).sum()) == 6
    with pytest.raises(TypeError, match="is no stream"):
        np.cuda.from_external(3.5)


def test_events_take_times():
    start, end = np.cuda.Event(), np.cuda.Event()
    start.record()
    if not GPU:
        time.sleep(0.02)
    x = np.arange(100_000.0).reshape(100, 1000)
    y = (x @ x.T).sum()
    end.record()
    end.synchronize()
    assert end.done and end.query()
    elapsed = np.cuda.get_elapsed_time(start, end)
    assert elapsed > 0 and (GPU or elapsed >= 20)
    assert float(y) > 0
    fresh = np.cuda.Event()
    with pytest.raises(ValueError, match="end event has no time: record it"):
        np.cuda.get_elapsed_time(start, fresh)
    untimed = np.cuda.Event(disable_timing=True)
    untimed.record()
    with pytest.raises(ValueError, match="disables timing"):
        np.cuda.get_elapsed_time(start, untimed)


def test_recorded_work_belongs_to_what_is_asked_of_a_stream():
    stream, other = np.cuda.Stream(), np.cuda.Stream()
    kernel = np.RawKernel(
        'extern "C" __global__ void twice(float* x, int n) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }",
        "twice",
    )
    with stream:
        x = np.arange(1000, dtype=np.float32) + 1
        kernel((8,), (128,), (x, 1000), stream=stream)
        event = stream.record()
    other.wait_event(event)
    with other:
        y = x + 1
    other.synchronize()
    numpy.testing.assert_array_equal(y.get(), (numpy.arange(1000, dtype="f4") + 1) * 2 + 1)


def test_host_functions_are_called_in_order():
    stream = np.cuda.Stream()
    called = []
    stream.launch_host_func(called.append, 1)
    stream.add_callback(lambda stream, status, arg: called.append((status, arg)), "x")
    stream.synchronize()
    assert called == [1, (0, "x")]


def test_what_cannot_be_captured_says_so():
    with pytest.raises(NotImplementedError, match="by themselves"):
        np.cuda.Stream().begin_capture()


def test_benchmark():
    x = np.arange(1000.0)
    found = np.cuda.benchmark(lambda a: a + 1, (x,), n_repeat=4, n_warmup=1, name="plus")
    assert found.cpu_times.shape == (4,) and found.gpu_times.shape == (1, 4)
    assert (found.cpu_times > 0).all() and (found.gpu_times > 0).all()
    assert str(found).startswith("plus") and "GPU-0" in str(found) and "GPU" not in found.to_str()
    with pytest.raises(ValueError, match="args must be a tuple"):
        np.cuda.benchmark(abs, [1])
    with pytest.raises(ValueError, match="at least 1"):
        np.cuda.benchmark(abs, (1,), n_repeat=0)


def test_memory_is_copied_by_address():
    host = numpy.arange(10.0)
    pointer = np.cuda.alloc(80)
    runtime.memcpy(pointer.ptr, host.ctypes.data, 80, runtime.memcpyHostToDevice)
    back = numpy.zeros(10)
    runtime.memcpy(back.ctypes.data, pointer.ptr, 80, runtime.memcpyDeviceToHost)
    assert (back == host).all()
    runtime.memset(pointer.ptr, 0, 80)
    runtime.memcpy(back.ctypes.data, pointer.ptr, 80, runtime.memcpyDeviceToHost)
    assert not back.any()
