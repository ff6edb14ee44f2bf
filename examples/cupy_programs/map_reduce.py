"""Map and reduce over streams: each takes a part, and the last one sums what they found."""

import cupy
import numpy

PARTS = 4
square_sum = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "square_sum")

streams = [cupy.cuda.Stream() for _ in range(PARTS)]
last = cupy.cuda.Stream()
rng = cupy.random.default_rng(5)
values = rng.standard_normal(100_000)
found, events = [], []
for stream, part in zip(streams, cupy.split(values, PARTS), strict=True):
    with stream:
        found.append(square_sum(part))
        events.append(stream.record())
with last:
    for event in events:
        last.wait_event(event)
    total = cupy.stack(found).sum()
last.synchronize()
expected = float((values.get() ** 2).sum())
numpy.testing.assert_allclose(float(total), expected, rtol=1e-12)

pool = cupy.cuda.MemoryPool()
cupy.cuda.set_allocator(pool.malloc)
again = values * 2
cupy.cuda.Stream.null.synchronize()
assert pool.used_bytes() >= again.nbytes
del again
cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
print("map-reduce over", PARTS, "streams")
