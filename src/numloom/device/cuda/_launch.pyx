"""cuLaunchKernel through its address: no link to the driver, no CUDA header at build time."""

from cpython cimport array

ctypedef int (*launch_type)(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**
) noexcept nogil


def launch(
    size_t address, size_t function, unsigned blocks, unsigned blocks_y, unsigned threads, unsigned shared,
    size_t stream, array.array words,
):
    """Launch a kernel whose one parameter is the block `words`; the driver's result code."""
    cdef void* parameters[1]
    parameters[0] = words.data.as_voidptr
    return (<launch_type><void*>address)(
        <void*>function, blocks, blocks_y, 1, threads, 1, 1, shared, <void*>stream, parameters, NULL
    )
