"""Streams and events: work on a stream, timed, ordered after another stream, and memory of one's own."""

import cupy
import numpy

device = cupy.cuda.Device()
pinned = cupy.cuda.alloc_pinned_memory(8 * 1000)
host = numpy.frombuffer(pinned, numpy.float64, 1000)
host[...] = numpy.arange(1000.0)

stream = cupy.cuda.stream.Stream(non_blocking=True)
other = cupy.cuda.stream.Stream()
start, end = cupy.cuda.Event(), cupy.cuda.Event()
called = []

with stream:
    start.record()
    x = cupy.asarray(host, blocking=False)
    y = cupy.sqrt(x) * 2
    end.record(stream)
other.wait_event(end)
with other:
    z = y + 1
    assert cupy.cuda.get_current_stream() == other
stream.launch_host_func(called.append, "done")
stream.synchronize()
other.synchronize()
device.synchronize()
assert stream.done and end.done and called == ["done"]
assert cupy.cuda.get_elapsed_time(start, end) >= 0
assert cupy.cuda.get_current_stream() == cupy.cuda.Stream.null
numpy.testing.assert_allclose(z.get(stream=other), numpy.sqrt(host) * 2 + 1)

memory = cupy.cuda.alloc(800)
own = cupy.ndarray((100,), cupy.float64, memory)
own[...] = 3
assert own.data.ptr == memory.ptr and float(own.sum()) == 300
out = numpy.empty(100)
assert own.get(out=out) is out and (out == 3).all()
print("streams: done on device", device.id)
