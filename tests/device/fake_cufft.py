"""cuFFT's plans, made by NumPy on memory of the host: what its advanced layout means, to the letter.

Stands in for `nvmath.bindings.cufft` beside `cuda_emulation.EmulatedDevice`. Transforms from half a spectrum spoil
what they read, and read imaginary parts that must be zero, as cuFFT may.
"""

from __future__ import annotations

import ctypes

import numpy as np

from numloom.device.cpu.hostview import array_at

CHARS = {0: "f", 1: "d", 4: "F", 5: "D"}


class FakeCufft:
    """The functions that `numloom.device.cuda.routines.fourier` calls; `made` and `runs` count."""

    def __init__(self):
        self.plans = {}
        self.work = {}
        self.made = self.runs = 0

    def create(self):
        self.made += 1
        self.plans[self.made] = None
        return self.made

    def destroy(self, handle):
        del self.plans[handle]

    def set_auto_allocation(self, handle, flag):
        assert flag == 0

    def set_stream(self, handle, stream):
        assert stream == 0

    def set_work_area(self, handle, address):
        self.work[handle] = address

    def xt_make_plan_many(
        self, handle, rank, n, inembed, istride, idist, source, onembed, ostride, odist, target, batch, execution
    ):
        assert rank == len(n) == len(inembed) == len(onembed) <= 3
        assert min(istride, idist, ostride, odist, batch) > 0
        assert CHARS[execution] in "FD"
        self.plans[handle] = (
            n,
            (inembed, istride, idist, CHARS[source]),
            (onembed, ostride, odist, CHARS[target]),
            batch,
        )
        return 64

    def xt_exec(self, handle, source, target, direction):
        assert self.work[handle]
        self.runs += 1
        n, of_source, of_target, batch = self.plans[handle]
        kinds = of_source[3].isupper(), of_target[3].isupper()
        half = (*n[:-1], n[-1] // 2 + 1)
        a = _side(source, n if kinds != (True, False) else half, batch, *of_source)
        out = _side(target, n if kinds != (False, True) else half, batch, *of_target)
        axes = tuple(range(1, len(n) + 1))
        count = np.prod(n)
        if kinds == (False, True):
            result = np.fft.rfftn(a, axes=axes)
        elif kinds == (True, False):
            assert not a[..., 0].imag.any() or len(n) > 1
            assert n[-1] % 2 or not a[..., -1].imag.any() or len(n) > 1
            result = np.fft.irfftn(a, n, axes) * count
            a[...] = np.nan
        else:
            result = np.fft.fftn(a, axes=axes) if direction == -1 else np.fft.ifftn(a, axes=axes) * count
        out[...] = result

    def addresses(self):
        """Of cufftSetWorkArea and cufftXtExec, which do the same."""

        def told(function):
            def call(*arguments):
                function(*arguments)
                return 0

            return call

        self._functions = _WORK(told(self.set_work_area)), _EXEC(told(self.xt_exec))
        return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in self._functions)

    @staticmethod
    def returning(code):
        """A function of the library that says this; it has an `address`."""
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(lambda handle, address: code)
        function.address = ctypes.cast(function, ctypes.c_void_p).value
        return function


_WORK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_EXEC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def _side(address, n, batch, embed, stride, distance, char):
    strides = [stride]
    for extent in reversed(embed[1:]):
        strides.insert(0, strides[0] * extent)
    dtype = np.dtype(char)
    assert address % dtype.itemsize == 0
    strides = tuple(step * dtype.itemsize for step in (distance, *strides))
    return array_at(address, (batch, *n), strides, dtype)
