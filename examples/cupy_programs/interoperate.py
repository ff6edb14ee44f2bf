"""With other libraries: NumPy's functions and operators, DLPack, the CUDA array interface, pickle, array modules."""

import pickle

import cupy as cp
import numpy as np


class Borrowed:
    """An array of another library, which tells where its memory is."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__cuda_array_interface__ = interface


def softmax(x):
    """Works for both libraries."""
    xp = cp.get_array_module(x)
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_numpy():
    host = np.random.RandomState(1).normal(size=(4, 6))
    x = cp.asarray(host)
    np.testing.assert_allclose(softmax(x).get(), softmax(host), rtol=1e-12)
    assert isinstance(softmax(x), cp.ndarray) and isinstance(softmax(host), np.ndarray)
    assert cp.get_array_module(x, host) is cp and cp.get_array_module(host) is np
    for given in (np.sin(x), np.sum(x, axis=0), np.concatenate([x, x]), np.linalg.norm(x)):
        assert isinstance(given, cp.ndarray)
    again = pickle.loads(pickle.dumps(x))
    assert isinstance(again, cp.ndarray) and (again == x).all()
    assert cp.asnumpy(x, order="F").flags.f_contiguous


def by_dlpack():
    x = cp.arange(12, dtype=cp.float32).reshape(3, 4)
    y = cp.from_dlpack(x)
    y += 1
    assert (x == y).all() and float(x[0, 0]) == 1
    z = cp.from_dlpack(x[:, ::2])
    assert z.shape == (3, 2) and z.strides == (16, 8)
    kind, number = x.__dlpack_device__()
    assert number == x.device.id and int(kind) in (1, 2)
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        shared = torch.from_dlpack(x)
        shared.mul_(2)
        torch.cuda.synchronize()
        assert float(x[0, 0]) == 2 and (cp.from_dlpack(shared) == x).all()


def by_interface():
    x = cp.arange(12, dtype=cp.float64).reshape(3, 4)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is None:  # Without a GPU there is none.
        return
    assert interface["shape"] == (3, 4) and interface["typestr"] == "<f8"
    assert interface["data"] == (x.data.ptr, False)
    y = cp.asarray(Borrowed(x, dict(interface)))
    y *= 3
    assert y.data.ptr == x.data.ptr and x.tolist() == (3 * np.arange(12.0).reshape(3, 4)).tolist()
    column = cp.asarray(Borrowed(x, {**x[:, 1].__cuda_array_interface__}))
    assert column.tolist() == [3, 15, 27] and column.strides == (32,)


def by_address():
    x = cp.arange(6, dtype=cp.int64)
    memory = cp.cuda.UnownedMemory(x.data.ptr, x.nbytes, owner=x, device_id=x.device.id)
    view = cp.ndarray((2, 3), cp.int64, cp.cuda.MemoryPointer(memory, 0))
    view[1] = -1
    assert x.tolist() == [0, 1, 2, -1, -1, -1]
    stream = cp.cuda.Stream()
    with cp.cuda.ExternalStream(stream.ptr):
        total = x.sum()
    assert int(total) == 0
    out = np.empty(6, np.int64)
    x.get(out=out)
    assert out.tolist() == x.tolist()


def by_indices():
    """Scattered sums, views and copies as other libraries ask for them."""
    import cupyx

    x = cp.zeros(5)
    cupyx.scatter_add(x, cp.asarray([0, 0, 3]), cp.asarray([1.0, 2.0, 4.0]))
    x.scatter_add(cp.asarray([4]), 1.5)
    assert x.tolist() == [3, 0, 0, 4, 1.5]
    y = x.reshape(5, 1)[:, 0]
    assert y.base is not None and cp.shares_memory(x, y) and not cp.shares_memory(x, x.copy())
    assert cp.ascontiguousarray(y).flags.c_contiguous and x.reduced_view().shape == (5,)
    assert x.astype(cp.float32, copy=False).dtype == cp.float32 and x.view(cp.int64).itemsize == 8


if __name__ == "__main__":
    by_numpy()
    by_dlpack()
    by_interface()
    by_address()
    by_indices()
    print("other libraries: NumPy, DLPack, interfaces and addresses agree")
