"""Programs of many fields, a statement a line, for NumPy and for us alike.

A statement does one thing: after a fault in it every array holds what it held before, or what it holds afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

import numloom as nl


@dataclass(frozen=True)
class Program:
    """Lines, and whether NumPy runs them too."""

    lines: tuple[str, ...]
    plain: bool = True

    def names(self, module: Any, folder: str) -> dict[str, Any]:
        """What the lines begin with."""
        return {"np": module, "nl": nl, "numpy": numpy, "folder": folder}


def _of(text: str, plain: bool = True) -> Program:
    return Program(tuple(line.strip() for line in text.strip().splitlines()), plain)


PROGRAMS: dict[str, Program] = {
    "elementwise": _of("""
        a = np.arange(300.0)
        b = np.asarray(numpy.linspace(1, 2, 300))
        c = np.sqrt(a) * b + a / b
        d = np.exp(-c) - a
        e = np.where(d > 0, c, d)
        f = (a > 100) & (b < 1.5)
        g = np.maximum(e, 0).astype(np.float32)
    """),
    "stencil": _of("""
        u = np.zeros((24, 24))
        u[0] = 1
        v = u[1:-1]
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        w = u.copy()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u[::2] += 1
        u[:, 1:] = u[:, :-1]
        s = float(u.sum())
        u[3] = u[4] * w[5] + v[2]
    """),
    "reductions": _of("""
        a = np.asarray(numpy.arange(600.0).reshape(20, 30) % 17)
        s = a.sum()
        m = a.mean(axis=0)
        v = a.std(axis=1)
        b = a - m
        i = b.argmax(axis=1)
        k = np.any(b > 5, axis=0)
        p = np.prod(1 + a / 1000, axis=1)
        q = b.max() - b.min()
        n = np.linalg.norm(a)
    """),
    "softmax": _of("""
        x = np.asarray(numpy.sin(numpy.arange(480.0)).reshape(12, 40))
        e = np.exp(x - x.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        z = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        l = -np.log(p[:, 3]).mean()
        y = p * z
    """),
    "sorting": _of("""
        x = np.asarray((numpy.arange(400) * 7919 % 401).astype(float))
        s = np.sort(x)
        i = np.argsort(x)
        u = np.unique(np.floor(x / 10))
        m = np.median(x)
        q = np.percentile(x, [10, 50, 90])
        t = x[i] - s
        k = np.searchsorted(s, u)
        x.sort()
        r = x[::-1] * 2
    """),
    "running sums": _of("""
        x = np.asarray(numpy.cos(numpy.arange(300.0)).reshape(10, 30))
        c = np.cumsum(x, axis=1)
        d = np.cumprod(1 + x[:4] / 9)
        e = np.diff(c, axis=0)
        f = np.add.accumulate(x[:, 0])
        g = c[:, ::-1] + np.cumsum(x)[:30]
        h = np.maximum.accumulate(x, axis=0)
    """),
    "masks": _of("""
        x = np.asarray(numpy.sin(numpy.arange(500.0)))
        m = x > 0.2
        y = x[m]
        x[m] = 0
        x[~m] *= 2
        n = np.count_nonzero(x)
        k = np.nonzero(x > -1)[0]
        z = np.where(m, x, -x)
        x[x < -1] = -1
        c = np.compress(m[:20], x[:20])
    """),
    "scatter": _of("""
        x = np.zeros(100)
        i = np.asarray(numpy.arange(250) * 37 % 100)
        w = np.asarray(numpy.arange(250.0))
        np.add.at(x, i, w)
        y = x[i]
        x[i[:50]] = 3
        np.put(x, [1, 5, 7], [9, 8, 7])
        h = np.bincount(i, weights=w, minlength=120)
        t = np.take(x, i.reshape(10, 25), axis=0)
        np.maximum.at(x, i, w / 2)
        x[i[:9]] += 1
    """),
    "transforms": _of("""
        t = np.arange(128) / 16
        x = np.sin(t) + np.cos(3 * t)
        f = np.fft.rfft(x)
        f[10:] = 0
        y = np.fft.irfft(f, 128)
        g = np.fft.fft2(x.reshape(8, 16))
        p = np.abs(g) ** 2
        z = np.fft.fftshift(p)
        e = float(z.sum())
    """),
    "linear algebra": _of("""
        a = np.asarray(numpy.sin(numpy.arange(144.0)).reshape(12, 12))
        s = a @ a.T + 12 * np.eye(12)
        l = np.linalg.cholesky(s)
        b = np.ones(12)
        x = np.linalg.solve(s, b)
        r = s @ x - b
        d = np.linalg.det(s / 12)
        i = np.linalg.inv(s)
        w = np.linalg.eigvalsh(s)
        k = np.einsum("ij,jk,kl->il", a, s, i)
        t = np.tensordot(a, s, 1) + np.outer(b, x)
        c = np.trace(s)
    """),
    "products": _of("""
        a = np.asarray(numpy.arange(600.0).reshape(4, 10, 15) / 100)
        b = np.asarray(numpy.arange(300.0).reshape(15, 20) / 50)
        c = a @ b
        d = np.einsum("bij,bkj->bik", a, a)
        e = np.matmul(c, np.ones(20))
        f = np.dot(b.T, b) + 1
        g = np.vdot(e, e)
        h = np.inner(a[0], a[1])
        k = np.kron(f[:2, :2], b[:3, :3])
        c[1] = c[2] * 2
        m = np.tanh(c).sum(axis=2)
    """),
    "draws": _of("""
        rng = nl.random.default_rng(7)
        a = rng.random(200)
        b = rng.normal(size=(20, 10))
        c = rng.integers(0, 10, 50)
        d = a[:20] + b[:, 0]
        e = rng.permutation(30)
        b *= 2
        f = rng.exponential(size=10).sum()
    """, plain=False),
    "users' kernels": _of("""
        axpy = nl.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y", "axpy")
        total = nl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
        x = nl.arange(200.0)
        y = nl.ones(200)
        z = axpy(x, y, 3.0)
        s = total(z)
        t = total(z.reshape(10, 20), axis=1)
        y[5:] = z[:-5]
        w = axpy(y, z, 0.5) - s
    """, plain=False),
    "raw kernels": _of("""
        body = "{ int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] *= 2; }"
        twice = nl.RawKernel('extern "C" __global__ void twice(double* x, int n) ' + body, "twice")
        x = nl.arange(200.0)
        y = x + 1
        twice((4,), (64,), (y, numpy.int32(200)))
        z = y - x
        twice((4,), (64,), (z, numpy.int32(200)))
        s = z.sum()
    """, plain=False),
    "files": _of("""
        x = np.asarray(numpy.arange(60.0).reshape(6, 10))
        y = x * 2
        np.save(folder + "/y.npy", y)
        z = np.load(folder + "/y.npy")
        np.savez(folder + "/xy.npz", x=x, y=y)
        w = np.load(folder + "/xy.npz")["x"] + 1
        np.savetxt(folder + "/x.txt", x)
        t = np.loadtxt(folder + "/x.txt")
        y[2] = z[1] + t[0]
    """),
    "joining": _of("""
        a = np.arange(30.0).reshape(5, 6)
        b = np.ones((5, 6))
        c = np.concatenate([a, b], axis=1)
        d = np.stack([a, b, a - b])
        e = np.tile(a[0], (3, 2))
        f = np.pad(a, 2)
        g = np.roll(c, 3, axis=1)
        h = np.repeat(a, 2, axis=0)
        k = np.split(c, 3, axis=1)[1] + 1
        l = np.flip(d, 0).transpose(2, 0, 1).copy()
        m = np.insert(a[0], 2, 9.0)
    """),
    "results given": _of("""
        x = np.asarray(numpy.sin(numpy.arange(200.0)))
        o = np.zeros(200)
        np.exp(x, out=o)
        m = x > 0
        np.multiply(x, 3, out=o, where=m)
        s = np.sum(x, where=m)
        np.add(o[:-1], x[1:], out=o[1:])
        np.copyto(o, x, where=~m)
        np.cumsum(x, out=o)
        np.clip(o, -1, 1, out=o)
        p = np.zeros((10, 10))
        np.matmul(x.reshape(10, 20), o.reshape(20, 10), out=p)
    """),
    "growing sizes": _of("\n".join(
        ["x = np.arange(5.0)"]
        + [f"y{k} = np.concatenate([x, x * {k}]); x = (y{k} - y{k}.mean()) / (1 + y{k}.std())" for k in range(5)]
        + [f"z{k} = np.exp(-x[:{5 + 9 * k}]).sum()" for k in range(8)]
    )),
    "called again": _of("\n".join(
        ["x = np.asarray(numpy.arange(90.0).reshape(9, 10))", "a = x * 0"]
        + ["a = a + np.clip(x, 1, 50) / 2", "m = np.mean(a, axis=1) + x.max(axis=1)", "b = np.diff(a)[:, :3]"] * 4
        + ["x[2:5] = x[5:8] - 1", "q = np.quantile(a, [0.25, 0.75], axis=0)"] * 3
    )),
    "numbers": _of("""
        s = np.asarray(0.0)
        x = np.arange(20.0)
        s = s + x[3] * 2
        s += 1
        t = float(s)
        y = x[int(t) % 20]
        x[4] = s
        x[5] = x[4] + y
        s = np.sqrt(s) if bool(x[5] > 1) else -s
        x *= s
        z = x.sum() / x.size
        n = x[2:4].tolist()
    """),
    "histograms": _of("""
        x = np.asarray(numpy.sin(numpy.arange(500.0)))
        h = np.histogram(x, bins=12)[0]
        g = np.digitize(x, np.linspace(-1, 1, 9))
        k = np.bincount(g)
        i = np.interp(np.linspace(-1, 1, 40), np.linspace(-1, 1, 9), np.arange(9.0))
        c = np.convolve(x[:50], np.ones(5) / 5, "same")
        t = np.trapezoid(x)
        v = np.correlate(x[:30], x[:7])
        p = np.polyval(np.asarray([1.0, 2.0, 3.0]), x)
    """),
    "records of state": _of("""
        x = np.zeros((3, 50))
        x[0] = np.linspace(0, 1, 50)
        x[1] = x[0] ** 2
        x[2] = x[0] + x[1]
        v = x[1]
        v += 1
        x[:, 0], old = 7, x[:, 0].copy()
        w = x[1].copy()
        x[1] = x[0]
        x[0] = w
        y = x.T[::-1]
        y[3:9] = 0
        x[2, ::3] = x[0, ::3]
        m = x.mean(axis=1)
    """),
}  # fmt: skip
