"""Dask arrays whose chunks are ours: small programs, beside the same programs on NumPy's chunks."""

from __future__ import annotations

import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.convert import host_array
from numloom.array.ndarray import bind
from numloom.device.registry import current
from numloom.engine.state import counters

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
tokenize = dask.base.tokenize

DRAW = np.random.default_rng(0)
H, S, V, B, T = (DRAW.normal(size=shape) for shape in ((20, 12), (12, 12), 30, 12, (6, 8, 10)))
I = DRAW.integers(0, 9, size=(20, 12))
N = np.where(I > 7, np.nan, H)
N[:, 2] = np.nan

PROGRAMS = """
da.linalg.solve(w.p, w.b)
da.linalg.solve(w.p, w.s)
da.linalg.solve(w.p, w.b, assume_a="pos")
da.linalg.solve_triangular(da.triu(w.p), w.b)
da.linalg.solve_triangular(da.tril(w.p), w.b, lower=True)
da.linalg.inv(w.p)
da.linalg.lstsq(w.tall, w.h[:,0].rechunk(7))
da.linalg.svd(w.tall)[1]
(lambda u,s,v: (u*s)@v)(*da.linalg.svd(w.tall))
(lambda u,s,v: (u*s)@v)(*da.linalg.svd(w.wide))
(lambda u,s,v: (u*s)@v)(*da.linalg.svd_compressed(w.h, 12, seed=1))
da.linalg.svd_compressed(w.h, 3, seed=1)[1]
da.linalg.svd_compressed(w.h, 3, n_power_iter=2, seed=1)[1]
da.linalg.svd_compressed(w.h, 3, iterator="QR", n_power_iter=2, seed=1)[1]
da.linalg.svd_compressed(w.h, 3, compute=True, seed=1)[1]
(lambda q,r: q@r)(*da.linalg.qr(w.tall))
(lambda q,r: q@r)(*da.linalg.tsqr(w.tall))
da.linalg.qr(w.tall)
da.linalg.cholesky(w.p)
da.linalg.cholesky(w.p, lower=True)
da.linalg.lu(w.p)
da.linalg.norm(w.h)
da.linalg.norm(w.h, axis=0)
da.linalg.norm(w.h, ord=1)
da.linalg.norm(w.tall, ord=2)
da.linalg.norm(w.tall, ord="nuc")
da.linalg.norm(w.h, ord=np.inf, axis=1)
da.linalg.norm(w.h, ord=3, axis=1)
da.linalg.norm(w.v)
da.diagonal(w.s)
da.diagonal(w.h, 1)
da.diagonal(w.t, axis1=1, axis2=2)
da.diag(w.s)
da.diag(w.b)
da.diag(w.b, 2)
da.diag(w.s, 1)
da.diag(w.s, -1)
w.h[w.h>0]
w.h[w.m]
w.h[w.h[:,0]>0]
w.v[w.v>0]
w.v[w.v>0].sum()
w.v[w.v>0].mean()
w.h[:, w.h[0]>0]
w.h[w.conv(H[:,0]>0)]
w.v[w.conv(np.array([1,3,5]))]
w.v[w.conv(V>0)]
w.v[da.from_array(w.conv(np.array([1,3,5])), chunks=2)]
w.h[[1,2,5]]
w.h[:, ::-1]
w.h[2]
w.h[2,3]
w.h[..., None]
w.h.vindex[[1,2],[3,4]]
w.h.vindex[w.conv(np.array([1,2])), w.conv(np.array([3,4]))]
w.h.blocks[1,1]
w.h.partitions[0]
da.map_overlap(lambda b: b*2, w.h, depth=1, boundary="reflect")
da.map_overlap(lambda b: b*2, w.h, depth=1, boundary="none")
da.map_overlap(lambda b: b*2, w.h, depth=1, boundary="periodic")
da.map_overlap(lambda b: b*2, w.h, depth=1, boundary="nearest")
da.map_overlap(lambda b: b*2, w.h, depth=1, boundary=0)
w.h.map_overlap(lambda b: b.cumsum(0), depth={0:2,1:1}, boundary={0:"reflect",1:3.0})
da.overlap.overlap(w.h, depth=1, boundary=0)
da.overlap.trim_internal(da.overlap.overlap(w.h, depth=1, boundary=0), {0:1,1:1})
w.h.sum()
w.h.sum(axis=0)
w.h.sum(axis=0, keepdims=True)
w.i.sum(axis=1)
w.i.mean()
w.f.mean(axis=1)
w.f.mean()
w.c.mean()
w.c.sum(axis=0)
w.h.prod(axis=0)
w.h.max()
w.h.min(axis=1)
w.m.any(axis=0)
w.m.all()
w.h.std()
w.h.std(axis=0, ddof=1)
w.h.var(axis=1)
w.c.var()
w.f.var(axis=0)
w.h.moment(3)
w.h.moment(3, axis=0)
w.h.argmax()
w.h.argmin(axis=0)
w.h.argmax(axis=1, keepdims=True)
da.nanargmax(w.h, axis=1)
da.nanargmin(w.h)
da.nansum(w.n)
da.nansum(w.n, axis=0)
da.nanmean(w.n, axis=1)
da.nanmean(w.n)
da.nanstd(w.n, axis=1)
da.nanvar(w.n)
da.nanmax(w.n, axis=1)
da.nanmin(w.n)
da.nanprod(w.n, axis=1)
da.nancumsum(w.n, axis=1)
da.nancumprod(w.n, axis=0)
da.nanmedian(w.n, axis=1)
da.nanquantile(w.n, 0.3, axis=1)
da.nanpercentile(w.n, 30, axis=1)
da.median(w.h, axis=0)
da.median(w.h, axis=(0,1))
da.quantile(w.tall, 0.3, axis=1)
da.quantile(w.tall, [0.3,0.6], axis=1)
da.cumsum(w.h, axis=0)
da.cumsum(w.h, axis=1, method="blelloch")
da.cumprod(w.h, axis=0)
da.cumsum(w.v)
da.cumprod(w.v, method="blelloch")
w.v.cumsum(axis=0)
da.count_nonzero(w.i)
da.count_nonzero(w.i, axis=0)
da.ptp(w.h, axis=0)
da.average(w.h, axis=0)
da.average(w.h, axis=0, weights=w.h[:,0]**2)
da.average(w.h, axis=0, returned=True)
da.percentile(w.v, [10,50,90])
da.percentile(w.v, 50)
da.percentile(w.v, [10,50], method="nearest")
da.percentile(w.v, [10,50], method="midpoint")
da.percentile(w.v, [10,50], method="higher")
da.percentile(w.v, w.conv(np.array([10.,50])))
da.percentile(w.f[:,0], [10,50])
da.percentile(w.i[:,0], [10,50])
da.percentile(w.i[:,0], [10,50], method="nearest")
da.percentile(w.v.rechunk(30), [10,50])
da.histogram(w.v, bins=5, range=(-2,2))
da.histogram(w.v, bins=np.array([-2.,0,1,2]))
da.histogram(w.v, bins=da.from_array(w.conv(np.array([-2.,0,1,2]))))
da.histogram(w.v, bins=5, range=(-2,2), density=True)
da.histogram(w.v, bins=5, range=(-2,2), weights=w.v**2)
da.histogram(w.v, bins=5, range=[w.v.min(), w.v.max()])
da.histogram2d(w.v, w.v**2, bins=[3,4], range=((-2,2),(0,4)))
da.histogramdd(da.stack([w.v,w.v**2],axis=1).rechunk((7,2)), bins=(3,4), range=((-2,2),(0,4)))[0]
da.histogramdd((w.v, w.v**2), bins=(3,4), range=((-2,2),(0,4)))[1]
da.topk(w.v, 3)
da.topk(w.v, -3)
da.topk(w.h, 2, axis=0)
da.argtopk(w.v, 3)
da.argtopk(w.h, -2, axis=1)
w.v.topk(4)
w.v.argtopk(-4)
da.einsum("ij,kj->ik", w.h, w.h)
da.einsum("ij,ij->", w.h, w.h)
da.einsum("ii", w.s)
da.einsum("ij,jk,kl->il", w.h, w.s, w.s)
da.einsum("ij->ji", w.h)
da.einsum("ij,kj->ik", w.h, w.h, dtype="float32", casting="unsafe")
da.einsum("ij,kj", w.h, w.h, optimize=True)
da.einsum("ij,kj->ik", w.i, w.i, order="C")
da.tensordot(w.h, w.h, axes=((0,),(0,)))
da.tensordot(w.h, w.s, axes=1)
da.tensordot(w.t, w.t, axes=([1,2],[1,2]))
da.tensordot(w.h, w.h, axes=2)
da.dot(w.h, w.s)
da.dot(w.v, w.v)
da.vdot(w.v, w.v)
da.vdot(w.c, w.c)
w.h @ w.s
w.h.T @ w.h
w.h @ w.b
da.matmul(w.t, w.t.transpose(0,2,1))
da.outer(w.v, w.b)
da.stack([w.h,w.h])
da.stack([w.h,w.h], axis=-1)
da.concatenate([w.h,w.h])
da.concatenate([w.h,w.i], axis=1)
da.vstack([w.h,w.h])
da.hstack([w.h,w.h])
da.dstack([w.h,w.h])
da.vstack([w.v,w.v])
da.block([[w.h,w.h],[w.h,w.h]])
da.append(w.v, w.v)
da.append(w.v, [1.,2])
w.h.rechunk((10,6))
w.h.rechunk((20,12))
w.h.rechunk(-1)
w.h.reshape(240)
w.h.reshape((2,10,12))
w.h.ravel()
w.h.flatten()
w.h.T
w.t.transpose(2,0,1)
da.moveaxis(w.t,0,2)
da.rollaxis(w.t,2)
da.rot90(w.h)
da.flip(w.h,0)
da.roll(w.h,3,axis=0)
da.roll(w.h,3)
da.expand_dims(w.h,0)
da.broadcast_to(w.b,(3,12))
da.broadcast_arrays(w.h,w.b)
da.repeat(w.h,2,axis=0)
da.tile(w.h,(2,1))
da.tile(w.v,2)
da.pad(w.h,1,mode="constant",constant_values=3)
da.pad(w.h,1,mode="edge")
da.pad(w.h,2,mode="reflect")
da.pad(w.h,2,mode="symmetric")
da.pad(w.h,2,mode="wrap")
da.pad(w.h,2,mode="mean")
da.pad(w.h,2,mode="maximum")
da.pad(w.h,2,mode="linear_ramp",end_values=0)
da.pad(w.h,2,mode="empty")[2:-2,2:-2]
da.pad(w.h,1,mode=lambda v,p,i,k: v.__setitem__(slice(0,p[0]),9.) or v)
da.diff(w.h)
da.diff(w.h,n=2,axis=0)
da.diff(w.v,prepend=0,append=w.v[:1])
da.ediff1d(w.v)
da.ediff1d(w.v, to_begin=0)
da.gradient(w.h)
da.gradient(w.v, 0.5)
da.gradient(w.v, w.conv(np.arange(30.)**1.5))
da.where(w.h>0, w.h, 0)
da.where(w.h>0, 1, 0)
da.where(w.h>0)
da.where(True, w.h, w.h)
da.nonzero(w.i)
da.flatnonzero(w.i)
da.argwhere(w.i)
w.i.nonzero()
da.unique(w.i)
da.unique(w.v)
da.unique(w.i, return_counts=True)
da.unique(w.i, return_index=True)
da.unique(w.i, return_inverse=True)
da.isin(w.i, [1,2])
da.isin(w.i, w.conv(np.array([1,2])))
da.isin(w.i, [1,2], invert=True)
da.union1d(w.i, w.i+1)
da.bincount(w.i[:,0])
da.bincount(w.i[:,0], minlength=12)
da.bincount(w.i[:,0], weights=w.h[:,0])
da.digitize(w.v, np.array([-1.,0,1]))
da.digitize(w.v, w.conv(np.array([-1.,0,1])))
da.searchsorted(w.sorted, w.v)
da.searchsorted(w.sorted, w.v, side="right")
da.choose(w.i%2, [w.h, w.h+1])
da.select([w.h>0,w.h<-1],[w.h,w.h*2],0)
da.piecewise(w.h, [w.h<0,w.h>=0],[-1,1])
da.piecewise(w.h, [w.h<0,w.h>=0],[lambda x: -x,lambda x: x])
da.compress([True,False,True], w.h, axis=0)
da.compress(w.conv(H[:,0]>0), w.h, axis=0)
da.extract(w.h>0, w.h)
da.take(w.h,[1,2],axis=1)
da.take(w.h,w.conv(np.array([1,2])),axis=1)
da.clip(w.h,-1,1)
w.h.clip(-1,1)
w.h.clip(min=0)
w.h.round(2)
w.c.real
w.c.imag
da.angle(w.c)
w.c.conj()
da.isnan(w.n)
da.isclose(w.h,w.h)
da.allclose(w.h,w.h)
da.isreal(w.c)
da.isfinite(w.n)
da.nan_to_num(w.n)
da.i0(w.h)
da.sinc(w.h)
da.cov(w.tall)
da.cov(w.h)
da.corrcoef(w.h)
da.tril(w.s)
da.triu(w.s,1)
da.triu_indices_from(w.s)
da.tril_indices_from(w.s,-1)
da.apply_along_axis(lambda v: v.sum(), 0, w.h)
da.apply_along_axis(lambda v: v*2, 1, w.h)
da.apply_over_axes(lambda a,ax: a.sum(axis=ax,keepdims=True), w.h, (0,1))
da.apply_gufunc(lambda x: x.mean(-1), "(i)->()", w.tall)
da.apply_gufunc(lambda x: x.mean(-1), "(i)->()", w.tall, output_dtypes=float)
da.apply_gufunc(lambda x: (x.mean(-1),x.std(-1)), "(i)->(),()", w.tall, output_dtypes=2*(float,))
da.gufunc(lambda x: x.mean(-1), signature="(i)->()", output_dtypes=float)(w.tall)
da.sin(w.h)
np.sin(w.h)
np.add(w.h,1)
np.sum(w.h)
np.concatenate([w.h,w.h])
np.mean(w.h,axis=0)
np.where(w.h>0,w.h,0)
np.linalg.norm(w.h)
w.xp.sin(w.h)
w.xp.add(w.h, w.conv(B))
w.conv(B)+w.h
w.h+w.conv(B)
w.h*B
B*w.h
w.h@w.conv(S)
w.conv(H.T)@w.h
w.h**2+1j
w.h>w.conv(B)
divmod(w.i,3)
w.i//3
w.i%3
~w.m
-w.h
abs(w.h)
da.frexp(w.h)
da.modf(w.h)
da.ldexp(w.h,2)
da.fix(w.h)
da.maximum(w.h,0)
da.logaddexp(w.h,w.h)
da.add.outer(w.v,w.b)
w.h.astype("float32")
w.h.astype(int)
w.h.view("int64")
w.u.view("int8")
w.h.map_blocks(lambda b: b+1)
w.h.map_blocks(lambda b: b.sum(axis=0,keepdims=True), chunks=((1,1,1),(5,5,2)))
w.h.map_blocks(lambda b: b[:,0], drop_axis=1)
w.h.map_blocks(lambda b, block_info=None: b*block_info[0]["num-chunks"][0], dtype=float)
w.h.map_blocks(lambda b, block_id=None: b*block_id[0], dtype=float)
da.map_blocks(lambda a,b: a+b, w.h, w.h)
da.map_blocks(lambda a,b: a+b, w.h, w.conv(np.array(2.0)))
da.blockwise(lambda a,b: a+b, "ij", w.h, "ij", w.h, "ij", dtype=float)
da.blockwise(lambda a: a.T, "ji", w.h, "ij", dtype=float)
da.reduction(w.h, chunk=total, aggregate=total, dtype=float)
da.reductions.reduction(w.h, chunk=np.sum, aggregate=np.sum, dtype=float, axis=0)
da.coarsen(np.mean, w.h, {0:2,1:3}, trim_excess=True)
da.coarsen(np.sum, w.h.rechunk((10,6)), {0:2,1:3})
da.ones_like(w.h)
da.zeros_like(w.h)
da.empty_like(w.h)*0
da.full_like(w.h,3)
da.ones_like(w.h,dtype=int)
da.zeros_like(w.h,shape=(3,3))
da.asarray(w.conv(H))
da.asanyarray(w.conv(H))
da.array(w.conv(H))
da.asarray(w.h)
da.asarray([w.h,w.h])
da.asarray(H, like=w.conv(B))
da.array(H, like=w.h)
da.arange(5, like=w.conv(B))
da.from_array(w.conv(H))
da.from_array(w.conv(H), asarray=False)
da.from_array(w.conv(H), name=False)
da.from_array(w.conv(H), inline_array=True)
da.from_array(w.conv(H), lock=True)
da.from_array(w.conv(H), fancy=False, chunks=5)[[1,2]]
da.from_array(w.conv(H), chunks=5, meta=w.conv(np.empty((0,0))))
da.from_array(w.conv(H), getitem=lambda a,b,**k: a[b])
da.from_delayed(dask.delayed(w.conv)(H), shape=H.shape, meta=w.conv(np.empty((0,0))))
da.concatenate([da.from_delayed(dask.delayed(w.conv)(H), shape=H.shape, meta=w.conv(np.empty((0,0)))),w.h])
da.meshgrid(w.v,w.b)
da.ravel_multi_index(da.stack([w.i[:,0],w.i[:,1]]), (9,9))
da.unravel_index(w.i[:,0], (3,3))
da.insert(w.v,2,9.,axis=0)
da.insert(w.v,w.conv(np.array([2,3])),da.from_array(w.conv(np.array([1.,2]))),axis=0)
da.delete(w.v,w.conv(np.array([2,3])),axis=0)
da.insert(w.h,1,w.b,axis=0)
da.delete(w.v,[1,2],axis=0)
da.delete(w.h,slice(1,4),axis=0)
da.squeeze(w.h[:1])
da.atleast_2d(w.v)
da.atleast_3d(w.v)
da.atleast_1d(w.sc)
da.roll(w.h,(1,2),axis=(0,1))
w.h.compute()
w.h.persist()
w.h.compute_chunk_sizes()
w.v[w.v>0].compute_chunk_sizes()
w.sc+1
w.sc
w.h.sum().compute()
list(w.v[:3])
[x for x in w.h[:2]]
w.v.dot(w.v)
w.h.trace()
w.h.repeat(2,axis=1)
da.apply_along_axis(np.sort,0,w.h)
da.linalg.norm(w.c)
da.fft.fft(w.tall)
da.fft.rfft(w.tall)
da.fft.irfft(w.tall)
da.fft.ifft(w.tall)
da.fft.fft2(w.f1)
da.fft.fftn(w.f1)
da.fft.rfft2(w.f1)
da.fft.fftshift(w.h)
da.fft.ifftshift(w.h)
da.fft.hfft(w.tall)
da.fft.fft_wrap(np.fft.fft)(w.tall)
after(w.h.copy(), (slice(0,3),),0.)
after(w.h.copy(), w.h>0,0.)
after(w.h.copy(), w.h>0,5)
after(w.h.copy(), (slice(None),2),w.h[:,1])
after(w.h.copy(), (slice(None),2),w.conv(H[:,1]))
after(w.v.copy(), [1,4,9],w.conv(np.array([1.,2,3])))
after(w.v.copy(), da.from_array(w.conv(np.array([1,4]))),7.)
after(w.h.copy(), (slice(0,3),),np.nan)
after(w.v.copy(), w.conv(V>0),1.)
w.h.compute().sum()
dask.compute(w.h.sum(),w.v.max())
dask.persist(w.h)[0]
dask.delayed(lambda a: a*2)(w.conv(B)).compute()
dask.delayed(lambda a: a.sum())(w.h).compute()
da.apply_gufunc(lambda a,b: a@b,"(i,j),(j)->(i)",w.f1,w.b.rechunk(12),output_dtypes=float)
da.as_gufunc("(i)->()",output_dtypes=float)(lambda x: x.max(-1))(w.tall)
da.stack([w.h, da.from_array(H,chunks=(7,5))])
da.concatenate([da.from_array(H+1,chunks=(7,5)), w.h])
da.from_array(H+1,chunks=(7,5)) + w.h
w.h + da.from_array(H+1,chunks=(7,5))
da.from_array(H,chunks=(7,5)) + w.h
w.h + da.from_array(H,chunks=(7,5))
da.ones((20,12),chunks=(7,5))*w.h
da.where(w.h>0, np.float32(1), w.f)
da.tri(4)*w.s[:4,:4]
da.eye(12,chunks=4)@w.s
da.linspace(0,1,12,chunks=4)*w.h
da.random.default_rng(1).permutation(w.v)
da.random.default_rng(1).choice(w.v, 4)
da.random.RandomState(1).permutation(w.v)
da.random.RandomState(1).choice(w.v, 4)
w.h.sum(split_every=2)
w.h.mean(axis=0, split_every=2)
w.h.max(axis=(0,1))
w.h.sum(dtype="float32")
w.i.sum(dtype="float64",axis=0)
w.u.sum()
w.u.mean(axis=0)
w.u.std()
w.m.sum()
w.m.mean()
w.h.any()
"""
"""What `w` holds is in `world`: Dask arrays of the arrays above, and what makes chunks of arrays."""


@functools.cache
def world(chunk: Any) -> SimpleNamespace:
    """Dask arrays over chunks that `chunk` makes."""

    def made(values: Any, chunks: Any) -> Any:
        return da.from_array(chunk(values), chunks=chunks)

    return SimpleNamespace(
        b=made(B, 4),
        c=made(H + 1j * I, (7, 5)),
        conv=chunk,
        f=made(H.astype("float32"), (7, 5)),
        f1=made(H, (20, 12)),
        h=made(H, (7, 5)),
        i=made(I, (7, 5)),
        m=made(I > 4, (7, 5)),
        n=made(N, (7, 5)),
        p=made(S @ S.T + 12 * np.eye(12), (4, 4)),
        s=made(S, (4, 4)),
        sc=made(np.array(3.0), ()),
        sorted=made(np.sort(V), 7),
        t=made(T, (3, 4, 5)),
        tall=made(H, (7, 12)),
        u=made(I.astype("uint8"), (7, 5)),
        v=made(V, 7),
        wide=made(H.T.copy(), (12, 7)),
        xp=np if chunk is np.asarray else nl,
    )


def after(array: Any, index: Any, value: Any) -> Any:
    """The array after a store."""
    array[index] = value
    return array


def total(x: Any, axis: Any, keepdims: bool) -> Any:
    """A sum as Dask asks chunks for it."""
    return x.sum(axis=axis, keepdims=keepdims)


def results(found: Any) -> list[Any]:
    """What a program gives, one by one."""
    return [one for part in found for one in results(part)] if isinstance(found, (tuple, list)) else [found]


@pytest.fixture(params=["seen", "unseen"])
def memory(request: Any) -> Iterator[None]:
    """Memory as it is, and memory that does not become NumPy's by itself, as on a GPU."""
    if request.param == "unseen":
        if current().discrete:
            pytest.skip("this device's memory is so anyway")

        def refuse(*args: Any) -> Any:
            raise TypeError("numloom arrays on a GPU do not become NumPy arrays by themselves")

        bind(host_array=refuse)
    with dask.config.set(scheduler="synchronous"):
        yield
    bind(host_array=host_array)


BY_THE_HOST = ("vindex[w.conv", "nanquantile", "nanpercentile", "diff(w.v,prepend")
"""Programs in which Dask makes NumPy's arrays of ours, by itself."""


@pytest.fixture
def copies() -> Iterator[None]:
    """Arrays on a device go to the host where somebody asks, as they do unless `config.host_copy` says otherwise."""
    with nl.config(host_copy="allow"):
        yield


@pytest.mark.usefixtures("memory")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS.split("\n")[1:-1])
def test_chunks_of_ours_give_ours_and_numpys_values(program: str, request: Any) -> None:
    if any(part in program for part in BY_THE_HOST):
        request.getfixturevalue("copies")
    mine, theirs = (results(eval(program, {**globals(), "w": world(chunk)})) for chunk in (nl.asarray, np.asarray))
    for my, their in zip(mine, theirs, strict=True):
        if isinstance(their, da.Array):
            assert type(my._meta) is nl.ndarray, "Dask takes chunks for others than ours"
            assert my.dtype == their.dtype == my._meta.dtype and my.ndim == their.ndim == my._meta.ndim
            my, their = my.compute(), their.compute()
            assert type(my) is nl.ndarray, type(my)
        elif type(their).__module__ == "numpy":
            assert type(my) is nl.ndarray, type(my)
        my, their = nl.asnumpy(my), nl.asnumpy(their)
        assert my.dtype == their.dtype and my.shape == their.shape
        few = my.dtype.char in "fF"
        np.testing.assert_allclose(my, their, rtol=1e-5 if few else 1e-9, atol=1e-5 if few else 1e-11)


@pytest.mark.usefixtures("memory")
def test_ours_beside_numpys_of_equal_values_stay_ours() -> None:
    x = nl.asarray(H)
    mine, theirs = da.from_array(x, chunks=7), da.from_array(H, chunks=7)
    assert mine.name == da.from_array(x.copy(), chunks=7).name != theirs.name
    assert da.from_array(x, chunks=7, name="named").name == "named"
    for both in (
        mine + theirs,
        theirs + mine,
        da.stack([theirs, mine]),
        theirs[mine > 0],
        da.where(mine > 0, theirs, 0),
    ):
        assert type(both._meta) is type(both.compute()) is nl.ndarray
    assert type(theirs.sum().compute()) is not nl.ndarray and type((theirs + 1)._meta) is np.ndarray


@pytest.mark.parametrize(
    "values",
    [H, H.T, H[::-1, ::2], np.asfortranarray(H), I > 4, np.ones((0, 3)), np.array(2.0), H.astype("f2"), H + 1j],
)
def test_tokens_are_those_of_numpys_arrays(values: Any) -> None:
    assert tokenize(nl.asarray(values)) == tokenize(values) == tokenize(nl.asarray(values).copy("K"))
    assert tokenize([nl.asarray(values)], 1) == tokenize([values], 1)


@pytest.mark.parametrize(
    "view", [lambda x: x.T, lambda x: x[:, 1], lambda x: x[::-2], lambda x: x.T + 1, lambda x: x[0, 0]]
)
def test_tokens_of_views_and_numbers(view: Any) -> None:
    assert tokenize(view(nl.asarray(H))) == tokenize(view(H)) != tokenize(H)


def test_a_sum_goes_to_numpys_where_it_is_asked() -> None:
    for made in (da.from_array(nl.asarray(H), chunks=7).sum(), da.from_array(nl.asarray(V), chunks=7)[2]):
        assert type(made.to_backend("numpy").compute()) is not nl.ndarray and made.to_backend("numloom") is made


@pytest.mark.usefixtures("copies")
def test_stores_change_a_target_of_either_kind() -> None:
    mine = da.from_array(nl.asarray(H), chunks=(7, 5))
    for target in (nl.zeros(H.shape), np.zeros(H.shape)):
        da.store(mine, target, scheduler="synchronous")
        np.testing.assert_array_equal(nl.asnumpy(target), H)


@pytest.mark.parametrize("change", ["where", "casting", "order", "dtype"])
def test_ufuncs_of_dask_arrays_are_dasks(change: str) -> None:
    theirs = da.from_array(nl.asarray(H), chunks=7)
    assert type(nl.sin(theirs)) is type(nl.add(theirs, nl.asarray(B))) is da.Array
    options = {"where": theirs > 0, "casting": "safe", "order": "C", "dtype": "float64"}
    if change in ("casting", "order"):
        with pytest.raises(TypeError, match=change):
            nl.sin(theirs, **{change: options[change]})
    else:
        out = {"out": da.zeros_like(theirs)} if change == "where" else {}
        assert type(nl.sin(theirs, **{change: options[change]}, **out)) is da.Array


DRAWS = {
    "beta": (1, 2), "binomial": (5, 0.3), "chisquare": (3,), "exponential": (), "f": (2, 3), "gamma": (2.0,),
    "geometric": (0.3,), "gumbel": (), "hypergeometric": (5, 6, 4), "laplace": (), "logistic": (), "lognormal": (),
    "logseries": (0.3,), "negative_binomial": (3, 0.4), "noncentral_chisquare": (2, 1), "noncentral_f": (2, 3, 1),
    "normal": (), "pareto": (2,), "poisson": (3.0,), "power": (2,), "rayleigh": (), "standard_cauchy": (),
    "standard_exponential": (), "standard_gamma": (2,), "standard_normal": (), "standard_t": (3,),
    "triangular": (0, 1, 2), "uniform": (1, 2), "vonmises": (0, 1), "wald": (1, 1), "weibull": (2,), "zipf": (2.5,),
}  # fmt: skip


@pytest.fixture
def backend() -> Iterator[None]:
    with dask.config.set({"array.backend": "numloom", "scheduler": "synchronous"}):
        yield


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("maker", ["default_rng", "RandomState"])
@pytest.mark.parametrize("name", [*DRAWS, "integers"])
def test_draws_of_the_backend(maker: str, name: str) -> None:
    make = getattr(da.random, maker)
    arguments = DRAWS.get(name, (0, 1000))
    method = "randint" if (maker, name) == ("RandomState", "integers") else name
    first, again, other = (getattr(make(seed), method)(*arguments, size=(6, 4), chunks=(3, 2)) for seed in (1, 1, 2))
    assert first.name == again.name != other.name
    values = first.compute()
    assert type(values) is type(first._meta) is nl.ndarray and values.shape == (6, 4)
    theirs = getattr(getattr(np.random, maker)(1), method)(*arguments, size=2)
    assert values.dtype == first.dtype == theirs.dtype
    np.testing.assert_array_equal(values.get(), again.compute(scheduler="threads").get())
    if name == "normal":
        assert len(np.unique(values.get())) == 24
        kept = pickle.loads(pickle.dumps(first))
        np.testing.assert_array_equal(kept.compute().get(), values.get())


@pytest.mark.usefixtures("backend", "copies")
@pytest.mark.parametrize("maker", ["default_rng", "RandomState"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda r: r.permutation(10), lambda r: r.permutation(da.arange(10, chunks=3)), lambda r: r.choice(10, 4),
        lambda r: r.choice(10, 4, p=np.ones(10) / 10), lambda r: r.choice(10, 4, p=nl.ones(10) / 10),
        lambda r: r.choice(10, 4, replace=False), lambda r: r.choice(nl.arange(10.0), 4),
        lambda r: r.normal(da.ones((4, 4), chunks=2), 1.0), lambda r: r.normal(nl.ones((4, 4)), 1.0),
        lambda r: r.normal(loc=nl.ones((4, 4)), scale=nl.ones(4), chunks=2), lambda r: r.normal(1.0, 2.0),
        lambda r: r.multinomial(5, [0.2, 0.8], size=6, chunks=3),
    ],
)  # fmt: skip
def test_orders_choices_and_parameters(maker: str, draw: Any) -> None:
    made = draw(getattr(da.random, maker)(3))
    values = made.compute()
    assert type(values) is type(made._meta) is nl.ndarray and values.dtype == made.dtype
    assert values.shape == made.shape


@pytest.mark.usefixtures("copies")
def test_a_generator_draws_whatever_the_backend_says() -> None:
    rng = nl.random.default_rng(2)
    for seed in (rng, rng.bit_generator):
        assert type(da.random.default_rng(seed).normal(size=3).compute()) is nl.ndarray
    for theirs in (da.random.default_rng(1), da.random.RandomState(1)):
        assert type(theirs.normal(size=3).compute()) is np.ndarray
        assert type(theirs.normal(nl.asarray(V), 1.0).compute()) is nl.ndarray
    mine, theirs = (da.random.default_rng(1).choice(chunk(V), 4).compute() for chunk in (nl.asarray, np.asarray))
    np.testing.assert_array_equal(mine.get(), theirs)


def test_a_task_computes_its_chunks() -> None:
    """What a task gives is computed in it, also in tuples, lists and dicts, so errors are the task's."""
    x = nl.asarray(H)
    seen = []

    def look(given: Any) -> Any:
        for array in (
            given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else [given]
        ):
            seen.append(array.storage.value.buffer is not None)
        return given

    for scheduler in "synchronous", "threads":
        for make in (lambda: x + 1, lambda: (x + 1, x * 2), lambda: [x - 1], lambda: {"a": x / 2}):
            graph = {"made": (make,), "looked": (look, "made")}
            dask.get(graph, "looked") if scheduler == "synchronous" else dask.threaded.get(graph, "looked")
    assert len(seen) == 10 and all(seen)
    with pytest.raises(IndexError):
        dask.get({"made": (lambda: x[nl.asarray([99])],)}, "made")


@pytest.mark.skipif(current().discrete, reason="not settled after one run beside a device apart")
def test_like_tasks_have_one_plan_whatever_their_order() -> None:
    """Ten steps of a stencil: a second computation plans nothing but what is made of its result."""

    def stepped() -> Any:
        d = da.from_array(nl.asarray(np.ones((1200, 1200))), chunks=300)
        for _ in range(10):
            d = d.map_overlap(
                lambda b: b[:-2, 1:-1] + b[2:, 1:-1], depth=1, boundary="periodic", trim=False, dtype=float
            )
        return d.compute(scheduler="threads")

    def planned() -> int:
        before = counters.plans
        nl.evaluate(stepped())
        return counters.plans - before

    counts = [planned() for _ in range(5)]  # Threads that another process stops may take other ways once.
    assert min(counts[1:]) <= 1, counts


@pytest.mark.skipif(current().discrete, reason="the hook is the host's")
def test_threads_may_run_while_memory_is_allocated() -> None:
    """Tasks that have a pending value in common compute it in two threads: one used what the other had let go of."""
    folder = Path(
        pytest.importorskip("dask.array.tests", reason="the tests are not installed with Dask").__file__
    ).parent
    found = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), "-p", "dask_with_hook",
            "-p", "dask_as_cupy", "-p", "no:cacheprovider", "-k", "nanarg", str(folder / "test_cupy_reductions.py"),
        ],
        capture_output=True, text=True, timeout=400,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )  # fmt: skip
    assert not found.returncode, found.stdout[-3000:] + found.stderr[-1000:]


def test_dasks_own_tests_of_cupys_chunks() -> None:
    """They pass with ours but for those that `dask_as_cupy.py` names."""
    pytest.importorskip("dask.array.tests", reason="the tests are not installed with Dask")
    folder = Path(da.__file__).parent / "tests"
    found = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), "-p", "dask_as_cupy",
            "-p", "no:cacheprovider", "--tb=short", *map(str, sorted(folder.glob("test_cupy_*.py"))),
        ],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )  # fmt: skip
    assert not found.returncode, found.stdout[-3000:] + found.stderr[-1000:]
    counts = {kind: int(count) for count, kind in re.findall(r"(\d+) (passed|failed|xfailed|xpassed)", found.stdout)}
    assert counts["passed"] >= 344 and not counts.get("failed"), counts
