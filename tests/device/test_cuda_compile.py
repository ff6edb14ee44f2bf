"""Texts that are compiled ahead, and which ones a call says it will need; no GPU is needed."""

import threading

import numpy as np
import pytest

from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import F32
from numloom.base.errors import CompileError
from numloom.device.cache import key_of, shared
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.routines import ROUTINES
from numloom.device.cuda.routines.kernels import empty
from numloom.device.memory import Buffer
from numloom.device.null.backend import NullDevice
from numloom.engine.execute import ReadyPlan
from numloom.engine.walk import walk
from numloom.graph import build
from numloom.plan.plan import make_plan

TEXT = 'extern "C" __global__ void store(int* x) {{ *x = {}; }}'


def written():
    """Wait until what compilers leave on the disk is there."""
    for thread in threading.enumerate():
        if thread.name == "numloom-nvrtc":
            thread.join()


@pytest.fixture
def compiler(own_cache):
    pytest.importorskip("cuda.bindings.nvrtc")
    yield
    written()


def test_texts_ahead_are_those_compiled_in_turn(compiler):
    texts = [TEXT.format(k) for k in range(3)]
    ahead = [nvrtc.Ahead(text, "sm_90") for text in texts]
    assert [each.cubin() for each in ahead] == [nvrtc.compile_cubin(text, "sm_90") for text in texts]
    written()
    where = nvrtc.origin("sm_90")
    assert [shared().get(key_of(text, where), where) for text in texts] == [each.cubin() for each in ahead]


def test_who_needs_a_wrong_text_is_told(compiler):
    ahead = nvrtc.Ahead(TEXT.format("misspelt"), "sm_90")
    for _ in range(2):
        with pytest.raises(CompileError, match="misspelt"):
            ahead.cubin()


class Recorder:
    """A null device that notes the texts that it is told to expect and those that are asked for."""

    def __init__(self):
        self.null = NullDevice()
        self.expected, self.asked = [], []

    def __getattr__(self, name):
        return getattr(self.null, name)

    def expect(self, texts):
        assert not self.asked  # all of them before the first one is waited for
        self.expected += texts

    def kernel(self, text, entry, *, wait):
        self.asked.append(text)
        return self.null.kernel(text, entry, wait=wait)

    def clear(self, buffer, nbytes):
        pass


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("sort", (1 << 20,), {"axis": 0}),
        ("sort", (10_000,), {"axis": 0}),
        ("weighted_bincount", (5000,), {"minlength": 10}),
        ("bin_edges", (5000,), {"bins": 10, "not_finite": 1, "not_apart": 2}),
    ],
)
def test_routines_expect_their_texts(name, shape, options):
    device = Recorder()
    x = empty(device, shape, np.float32)
    out = empty(device, shape, np.float32)
    operands = [empty(device, shape, np.int64), x] if name == "weighted_bincount" else [x]
    ROUTINES[name](device, *operands, out=out, **options)
    if name == "bin_edges":  # what is counted then
        ROUTINES["histogram"](device, x, empty(device, (11,), np.float32), uniform=True, out=out)
    assert list(dict.fromkeys(device.asked)) == device.expected
    assert len(device.expected) == 2


def test_a_plan_expects_the_texts_of_all_its_kernels():
    device = Recorder()
    x = wrap(build.leaf(Buffer(4096, 4 * 100 * 3), F32, (100, 3), (12, 4)))
    root = node_of((x - x.mean(0)) / x.std(0))
    found = walk([root])
    ReadyPlan(make_plan(found.nodes, [root.number]), device, found.second)
    assert device.asked == device.expected
    assert len(device.asked) == 2
