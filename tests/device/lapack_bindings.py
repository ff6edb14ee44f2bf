"""cuSOLVER's and cuBLAS's functions over host memory, by SciPy's LAPACK: parameters are those of nvmath's bindings.

They hold callers to the libraries' rules: matrices by columns, leading dimensions, triangles, workspace as asked for.
"""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.linalg import get_lapack_funcs

from numloom.device.cpu.hostview import array_at

KINDS = {0: "f", 1: "d", 4: "F", 5: "D"}
LETTERS = {"s": "f", "d": "d", "c": "F", "z": "D"}
WORK = 64, 32  # bytes of workspace that every 64-bit function asks for
LOWER = 0


def lapack(name, char):
    return get_lapack_funcs((name,), dtype=np.dtype(char))[0]


def matrix(pointer, rows, columns, lead, char):
    assert lead >= max(rows, 1)
    size = np.dtype(char).itemsize
    return array_at(pointer, (rows, columns), (size, lead * size), np.dtype(char))


def vector(pointer, count, char):
    return array_at(pointer, (count,), (np.dtype(char).itemsize,), np.dtype(char))


def pointers(pointer, count):
    return vector(pointer, count, "q").tolist()


def report(pointer, value):
    ctypes.c_int32.from_address(pointer).value = value


def real_of(char):
    return char.lower()


def unitary(char):
    return "un" if char in "FD" else "or"


class Dense:
    """``nvmath.bindings.cusolverDn``."""

    def __init__(self):
        self.calls = []
        self.asked = None

    def create(self):
        return 1

    def set_stream(self, handle, stream_id):
        pass

    def create_params(self):
        return 2

    def create_gesvdj_info(self):
        return 3

    def ask(self, name, *arguments):
        self.asked = (name, *arguments)
        return WORK

    def given(self, name, space, on_device, host, on_host, *arguments):
        """A call after its question: the same arguments (addresses aside), and the workspace that was asked for."""
        self.calls.append(name)
        assert (on_device, on_host) == WORK
        assert self.asked is not None and self.asked[0] == name and len(self.asked) == 1 + len(arguments)
        for asked, now in zip(self.asked[1:], arguments, strict=True):
            assert asked == now or max(asked, now) > 1 << 20, (name, asked, now)
        for address, nbytes in ((space, on_device), (host, on_host)):
            ctypes.memset(address, 0xFF, nbytes)

    # ------------------------------------------------------------ 64-bit functions

    def xpotrf_buffer_size(self, handle, params, uplo, n, data_type_a, a, lda, compute_type):
        return self.ask("xpotrf", uplo, n, data_type_a, a, lda, compute_type)

    def xpotrf(
        self, handle, params, uplo, n, data_type_a, a, lda, compute_type, buffer_on_device,
        workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xpotrf", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            uplo, n, data_type_a, a, lda, compute_type,
        )  # fmt: skip
        self.cholesky(matrix(a, n, n, lda, KINDS[data_type_a]), uplo, info)

    def cholesky(self, a, uplo, info):
        factor, code = lapack("potrf", a.dtype.char)(a, lower=uplo == LOWER, clean=0)
        a[...] = factor
        report(info, code)

    def xgetrf_buffer_size(self, handle, params, m, n, data_type_a, a, lda, compute_type):
        return self.ask("xgetrf", m, n, data_type_a, a, lda, compute_type)

    def xgetrf(
        self, handle, params, m, n, data_type_a, a, lda, ipiv, compute_type, buffer_on_device,
        workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xgetrf", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            m, n, data_type_a, a, lda, compute_type,
        )  # fmt: skip
        a = matrix(a, m, n, lda, KINDS[data_type_a])
        factors, pivots, code = lapack("getrf", a.dtype.char)(a)
        a[...] = factors
        vector(ipiv, n, "q")[...] = pivots + 1
        report(info, code)

    def xgetrs(
        self, handle, params, trans, n, nrhs, data_type_a, a, lda, ipiv, data_type_b, b, ldb, info
    ):  # fmt: skip
        self.calls.append("xgetrs")
        assert data_type_a == data_type_b
        a, b = matrix(a, n, n, lda, KINDS[data_type_a]), matrix(b, n, nrhs, ldb, KINDS[data_type_b])
        b[...], code = lapack("getrs", a.dtype.char)(a, vector(ipiv, n, "q").astype("i") - 1, b, trans=trans)
        report(info, code)

    def xgeqrf_buffer_size(
        self, handle, params, m, n, data_type_a, a, lda, data_type_tau, tau, compute_type
    ):  # fmt: skip
        return self.ask("xgeqrf", m, n, data_type_a, a, lda, data_type_tau, tau, compute_type)

    def xgeqrf(
        self, handle, params, m, n, data_type_a, a, lda, data_type_tau, tau, compute_type, buffer_on_device,
        workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xgeqrf", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            m, n, data_type_a, a, lda, data_type_tau, tau, compute_type,
        )  # fmt: skip
        a = matrix(a, m, n, lda, KINDS[data_type_a])
        a[...], scales, _, code = lapack("geqrf", a.dtype.char)(a)
        vector(tau, min(m, n), KINDS[data_type_tau])[...] = scales
        report(info, code)

    def xsyevd_buffer_size(
        self, handle, params, jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type
    ):  # fmt: skip
        return self.ask("xsyevd", jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type)

    def xsyevd(
        self, handle, params, jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type, buffer_on_device,
        workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xsyevd", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type,
        )  # fmt: skip
        assert KINDS[data_type_w] == real_of(KINDS[data_type_a])
        self.hermitian(matrix(a, n, n, lda, KINDS[data_type_a]), vector(w, n, KINDS[data_type_w]), jobz, uplo, info)

    def hermitian(self, a, w, jobz, uplo, info):
        name = "heevd" if a.dtype.kind == "c" else "syevd"
        w[...], vectors, code = lapack(name, a.dtype.char)(a, compute_v=jobz, lower=uplo == LOWER)
        a[...] = vectors if jobz else np.nan
        report(info, code)

    def xsyev_batched_buffer_size(
        self, handle, params, jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type, batch_size
    ):  # fmt: skip
        return self.ask("xsyev_batched", jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type, batch_size)

    def xsyev_batched(
        self, handle, params, jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type, buffer_on_device,
        workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host, info, batch_size,
    ):  # fmt: skip
        self.given(
            "xsyev_batched", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host,
            workspace_in_bytes_on_host, jobz, uplo, n, data_type_a, a, lda, data_type_w, w, compute_type, batch_size,
        )  # fmt: skip
        char, real = KINDS[data_type_a], KINDS[data_type_w]
        size = np.dtype(char).itemsize
        for k in range(batch_size):
            self.hermitian(
                matrix(a + k * lda * n * size, n, n, lda, char),
                vector(w + k * n * np.dtype(real).itemsize, n, real), jobz, uplo, info + 4 * k,
            )  # fmt: skip

    def xgeev_buffer_size(
        self, handle, params, jobvl, jobvr, n, data_type_a, a, lda, data_type_w, w, data_type_vl, vl, ldvl,
        data_type_vr, vr, ldvr, compute_type,
    ):  # fmt: skip
        return self.ask(
            "xgeev", jobvl, jobvr, n, data_type_a, a, lda, data_type_w, w, data_type_vl, vl, ldvl, data_type_vr, vr,
            ldvr, compute_type,
        )  # fmt: skip

    def xgeev(
        self, handle, params, jobvl, jobvr, n, data_type_a, a, lda, data_type_w, w, data_type_vl, vl, ldvl,
        data_type_vr, vr, ldvr, compute_type, buffer_on_device, workspace_in_bytes_on_device, buffer_on_host,
        workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xgeev", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            jobvl, jobvr, n, data_type_a, a, lda, data_type_w, w, data_type_vl, vl, ldvl, data_type_vr, vr, ldvr,
            compute_type,
        )  # fmt: skip
        char = KINDS[data_type_a]
        assert jobvl == 0 and data_type_a == data_type_vl == data_type_vr == compute_type
        assert KINDS[data_type_w] == char.upper()
        found = lapack("geev", char)(matrix(a, n, n, lda, char), compute_vl=0, compute_vr=jobvr)
        values = found[0] if char in "FD" else found[0] + 1j * found[1]
        vector(w, n, char.upper())[...] = values
        if jobvr:
            matrix(vr, n, n, ldvr, char)[...] = found[-2]
        report(info, found[-1])

    def xgesvd_buffer_size(
        self, handle, params, jobu, jobvt, m, n, data_type_a, a, lda, data_type_s, s, data_type_u, u, ldu,
        data_type_vt, vt, ldvt, compute_type,
    ):  # fmt: skip
        return self.ask(
            "xgesvd", jobu, jobvt, m, n, data_type_a, a, lda, data_type_s, s, data_type_u, u, ldu, data_type_vt, vt,
            ldvt, compute_type,
        )  # fmt: skip

    def xgesvd(
        self, handle, params, jobu, jobvt, m, n, data_type_a, a, lda, data_type_s, s, data_type_u, u, ldu,
        data_type_vt, vt, ldvt, compute_type, buffer_on_device, workspace_in_bytes_on_device, buffer_on_host,
        workspace_in_bytes_on_host, info,
    ):  # fmt: skip
        self.given(
            "xgesvd", buffer_on_device, workspace_in_bytes_on_device, buffer_on_host, workspace_in_bytes_on_host,
            jobu, jobvt, m, n, data_type_a, a, lda, data_type_s, s, data_type_u, u, ldu, data_type_vt, vt, ldvt,
            compute_type,
        )  # fmt: skip
        assert m >= n and jobu == jobvt
        char, job = KINDS[data_type_a], chr(jobu)
        a = matrix(a, m, n, lda, char)
        values = vector(s, n, KINDS[data_type_s])
        if not np.isfinite(a).all():
            values[...] = np.nan
            report(info, 0)
            return
        left, values[...], right, code = lapack("gesvd", char)(a, compute_uv=job != "N", full_matrices=job == "A")
        if job != "N":
            matrix(u, m, left.shape[1], ldu, char)[...] = left
            matrix(vt, right.shape[0], n, ldvt, char)[...] = right
        report(info, code)

    # ------------------------------------------------------------ 32-bit functions

    def __getattr__(self, name):
        """``dorgqr`` and its like, for each of the four dtypes."""
        char = LETTERS.get(name[0])
        if char is None:
            raise AttributeError(name)
        if name[1:] in ("potrf_batched", "gesvdj_batched", "gesvdj_batched_buffer_size"):
            return lambda *arguments: getattr(self, f"_{name[1:]}")(char, *arguments)
        if name[1:] in (f"{unitary(char)}gqr", f"{unitary(char)}gqr_buffer_size"):
            return lambda *arguments: getattr(self, "_gqr" + name[6:])(char, *arguments)
        raise AttributeError(name)

    def _potrf_batched(self, char, handle, uplo, n, aarray, lda, info_array, batch_size):
        self.calls.append("potrf_batched")
        for k, pointer in enumerate(pointers(aarray, batch_size)):
            self.cholesky(matrix(pointer, n, n, lda, char), uplo, info_array + 4 * k)

    def _gqr_buffer_size(self, char, handle, m, n, k, a, lda, tau):
        assert m >= n >= k
        return 7

    def _gqr(self, char, handle, m, n, k, a, lda, tau, work, lwork, info):
        self.calls.append("gqr")
        assert lwork == 7
        ctypes.memset(work, 0xFF, lwork * np.dtype(char).itemsize)
        a = matrix(a, m, n, lda, char)
        a[...], _, code = lapack(unitary(char) + "gqr", char)(a, vector(tau, k, char))
        report(info, code)

    def _gesvdj_batched_buffer_size(
        self, char, handle, jobz, m, n, a, lda, s, u, ldu, v, ldv, params, batch_size
    ):  # fmt: skip
        assert params == 3
        return 5

    def _gesvdj_batched(
        self, char, handle, jobz, m, n, a, lda, s, u, ldu, v, ldv, work, lwork, info, params, batch_size
    ):  # fmt: skip
        self.calls.append("gesvdj_batched")
        assert max(m, n) <= 32 and lwork == 5 and params == 3
        size, real = np.dtype(char).itemsize, real_of(char)
        k = min(m, n)
        for i in range(batch_size):
            left, values, right = np.linalg.svd(matrix(a + i * lda * n * size, m, n, lda, char))
            vector(s + i * k * np.dtype(real).itemsize, k, real)[...] = values
            if jobz:
                matrix(u + i * ldu * m * size, m, m, ldu, char)[...] = left
                matrix(v + i * ldv * n * size, n, n, ldv, char)[...] = right.conj().T
            report(info + 4 * i, 0)


class Blas:
    """The batched functions of ``nvmath.bindings.cublas``."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        char = LETTERS.get(name[0])
        if char is None or name[1:] not in ("getrf_batched", "getrs_batched", "getri_batched"):
            raise AttributeError(name)
        return lambda *arguments: getattr(self, f"_{name[1:]}")(char, *arguments)

    def _getrf_batched(self, char, handle, n, a, lda, p, info, batch_size):
        self.calls.append("getrf_batched")
        for k, pointer in enumerate(pointers(a, batch_size)):
            x = matrix(pointer, n, n, lda, char)
            x[...], pivots, code = lapack("getrf", char)(x)
            vector(p + 4 * k * n, n, "i")[...] = pivots + 1
            report(info + 4 * k, code)

    def _getrs_batched(
        self, char, handle, trans, n, nrhs, aarray, lda, dev_ipiv, barray, ldb, info, batch_size
    ):  # fmt: skip
        self.calls.append("getrs_batched")
        factors, sides = pointers(aarray, batch_size), pointers(barray, batch_size)
        for k in range(batch_size):
            b = matrix(sides[k], n, nrhs, ldb, char)
            pivots = vector(dev_ipiv + 4 * k * n, n, "i") - 1
            b[...], _ = lapack("getrs", char)(matrix(factors[k], n, n, lda, char), pivots, b, trans=trans)
        report(info, 0)

    def _getri_batched(self, char, handle, n, a, lda, p, c, ldc, info, batch_size):
        self.calls.append("getri_batched")
        factors, results = pointers(a, batch_size), pointers(c, batch_size)
        for k in range(batch_size):
            pivots = vector(p + 4 * k * n, n, "i") - 1
            inverse, code = lapack("getri", char)(matrix(factors[k], n, n, lda, char), pivots)
            matrix(results[k], n, n, ldc, char)[...] = inverse
            report(info + 4 * k, code)
