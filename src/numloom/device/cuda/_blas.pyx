"""cuBLAS's products through the addresses of its functions: no link to the library, no header at build time."""

cimport cython

ctypedef int (*one_type)(
    void*, int, int, long long, long long, long long, const void*, const void*, int, long long, const void*, int,
    long long, const void*, void*, int, long long, int, int
) noexcept nogil
ctypedef int (*many_type)(
    void*, int, int, long long, long long, long long, const void*, const void*, int, long long, long long, const void*,
    int, long long, long long, const void*, void*, int, long long, long long, long long, int, int
) noexcept nogil


@cython.final
cdef class Gemm:
    """Products of matrices of one form: called with the addresses of operands and result, it queues them.

    Attributes
    ----------
    addresses : tuple of int
        Of cublasGemmEx_64 and cublasGemmStridedBatchedEx_64.
    handle : int
        The library's.
    product : numloom.device.cuda.routines.products.GemmLayout
        How the matrices lie.
    config : Config
        The settings.
    failed : callable
        Asked for the same where the library refuses; raises its error.
    """

    cdef size_t one_address, many_address, handle, one, zero
    cdef int b_turned, a_turned, kind, out_kind, compute, fast
    cdef long long m, n, k, b_lead, a_lead, out_lead, b_step, a_step, out_step, batch, b_begin, a_begin, out_begin
    cdef object config, failed

    def __init__(self, tuple addresses, size_t handle, product, config, failed):
        self.one_address, self.many_address = addresses
        self.handle = handle
        (
            self.b_turned, self.a_turned, self.m, self.n, self.k, self.kind, self.out_kind, self.b_lead, self.a_lead,
            self.out_lead, self.b_step, self.a_step, self.out_step, self.batch, self.b_begin, self.a_begin,
            self.out_begin, self.one, self.zero, self.compute, self.fast,
        ) = product
        self.config = config
        self.failed = failed

    def __call__(self, size_t a, size_t b, size_t out):
        cdef int compute = self.compute
        cdef int code
        cdef void* x = <void*>(b + self.b_begin)
        cdef void* y = <void*>(a + self.a_begin)
        cdef void* z = <void*>(out + self.out_begin)
        if self.fast != compute and self.config.tf32:
            compute = self.fast
        with nogil:  # The first call of a kind loads the library's kernels.
            if self.batch == 1:
                code = (<one_type><void*>self.one_address)(
                    <void*>self.handle, self.b_turned, self.a_turned, self.m, self.n, self.k, <void*>self.one, x,
                    self.kind, self.b_lead, y, self.kind, self.a_lead, <void*>self.zero, z, self.out_kind,
                    self.out_lead, compute, -1
                )
            else:
                code = (<many_type><void*>self.many_address)(
                    <void*>self.handle, self.b_turned, self.a_turned, self.m, self.n, self.k, <void*>self.one, x,
                    self.kind, self.b_lead, self.b_step, y, self.kind, self.a_lead, self.a_step, <void*>self.zero, z,
                    self.out_kind, self.out_lead, self.out_step, self.batch, compute, -1
                )
        if code:
            self.failed(a, b, out)
