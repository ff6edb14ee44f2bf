"""No instance of a compiled class exists without what it needs."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import numloom as nl
from numloom.graph.node import signature_of

HEAP = 1 << 9  # a class of Python
CLASSES = sorted(
    {
        f"{member.__module__}.{member.__qualname__}": member
        for name, module in list(sys.modules.items())
        if name.startswith("numloom.") and str(getattr(module, "__file__", "")).endswith((".so", ".pyd"))
        for member in vars(module).values()
        if isinstance(member, type) and member.__module__ == name and not member.__flags__ & HEAP
    }.items()
)

compiled = pytest.mark.skipif(not CLASSES, reason="the core is not compiled")

# Takes what every class makes apart in a process of its own, and prints the names of those that did not end well.
POKE = """
import faulthandler, gc, importlib, os, sys, traceback
import numloom
import numloom.device.cuda.backend, numloom.compiled, numloom.kernels

def poke(made):
    for name in dir(made):
        try:
            found = getattr(made, name)
        except Exception:
            continue
        for arguments in ((), (1,), (1, 2)) if callable(found) else ():
            try:
                found(*arguments)
            except Exception:
                pass

def try_all(name):
    module, _, name = name.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    for make in (kind, lambda: kind.__new__(kind), lambda: object.__new__(kind)):
        try:
            made = make()
        except TypeError:
            continue
        poke(made)
        del made
    gc.collect()

faulthandler.enable()
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        code = 1
        try:
            try_all(name)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        print(name, os.waitstatus_to_exitcode(status))
"""


@compiled
@pytest.mark.parametrize("kind", [kind for _, kind in CLASSES], ids=[name for name, _ in CLASSES])
def test_new_gives_nothing_that_is_empty(kind):
    open_to_others = 1 << 10
    if not kind.__flags__ & open_to_others:
        with pytest.raises(TypeError):
            kind.__new__(kind)
    with pytest.raises(TypeError):
        object.__new__(kind)


@compiled
@pytest.mark.slow
def test_what_can_be_made_does_not_crash():
    names = [name for name, _ in CLASSES]
    done = subprocess.run([sys.executable, "-c", POKE, *names], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


@compiled
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_cells_and_values_are_not_copied_field_by_field(make):
    x = nl.arange(3.0) + 1
    for made in (x.storage, x.storage.value, signature_of(x.storage.value)):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            make(made)


def test_the_class_cannot_be_called_without_a_shape():
    for make in (nl.ndarray, lambda: nl.ndarray.__new__(nl.ndarray)):
        with pytest.raises(TypeError, match="shape"):
            make()


def test_kernels_are_pickled_by_their_source():
    source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    replay_one = pickle.loads(pickle.dumps(nl.RawKernel(source, "twice")))
    assert replay_one.name == "twice" and replay_one.source.sources == nl.RawKernel(source, "twice").source.sources
