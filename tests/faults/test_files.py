"""Files, compilers and the loader fail while a kernel is compiled and kept: it is there, or a typed error says why."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import tempfile
import threading
import warnings
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from injection import Faults, children

from numloom.base.config import config
from numloom.base.errors import CompileError, DeviceError
from numloom.device import cache as cache_module
from numloom.device import temporary
from numloom.device.cpu import compiler as compiler_module
from numloom.device.cpu import libraries
from numloom.device.cpu import process as process_module
from numloom.device.cpu.builder import Builder
from numloom.device.registry import get

TEXT = 'extern "C" void fault_%d(const void* p, long long b, long long e) { (*(double**)p)[0] += %d; }'
ENTRY = "fault_%d"


class Failing:
    """A module in which functions may fail; others are what they are."""

    def __init__(self, module: Any, faults: Faults, names: str) -> None:
        self._module = module
        for name in names.split():
            setattr(self, name, faults.before("file", getattr(module, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class FileFaults(Faults):
    """Faults of files, and of the loader."""

    def load(self, path: str) -> ctypes.CDLL:
        self.meet("file")
        return ctypes.CDLL(path)


@pytest.fixture
def faults(monkeypatch: Any) -> FileFaults:
    found = FileFaults()
    assert get("cpu").builder.drain(60)  # what other tests have compiled in the background meets no fault
    files = "open fdopen fstat mkdir makedirs listdir stat unlink rename fsync utime"
    monkeypatch.setattr(cache_module, "os", Failing(os, found, files))
    monkeypatch.setattr(libraries, "os", Failing(os, found, "fdopen memfd_create dup"))
    monkeypatch.setattr(temporary, "tempfile", Failing(tempfile, found, "mkdtemp mkstemp"))
    monkeypatch.setattr(temporary, "os", Failing(os, found, "open fstat stat scandir"))
    monkeypatch.setattr(temporary, "fcntl", Failing(temporary.fcntl, found, "flock"))
    monkeypatch.setattr(process_module, "subprocess", Failing(subprocess, found, "Popen"))
    loader = Failing(ctypes, found, "")
    loader.CDLL = found.load  # type: ignore[attr-defined]
    monkeypatch.setattr(libraries, "ctypes", loader)
    monkeypatch.setattr(Path, "write_text", found.before("file", Path.write_text))
    monkeypatch.setattr(Path, "read_bytes", found.before("file", Path.read_bytes))
    return found


@pytest.fixture
def made(monkeypatch: Any) -> Iterator[dict[Any, bytes]]:
    """What compilers made, so that each text is compiled once: the process is started and ends, for nothing."""
    known: dict[Any, bytes] = {}
    run = compiler_module.Compiler._run

    def once(self: Any, command: list[str], text: str, folder: str) -> None:
        target = Path(folder) / "kernel.so"
        if text in known:
            run(self, ["true"], text, folder)
            shutil.copyfile(known[text], target)
        else:
            run(self, command, text, folder)
            shutil.copyfile(target, kept / f"{len(known)}.so")
            known[text] = kept / f"{len(known)}.so"

    kept = Path(tempfile.mkdtemp())
    monkeypatch.setattr(compiler_module.Compiler, "_run", once)
    yield known
    shutil.rmtree(kept)


def works(builder: Builder, number: int) -> None:
    """The kernel of a number, from wherever it comes, adds it."""
    kernel = builder.kernel(TEXT % (number, number), ENTRY % number, wait=True)
    memory = np.array([1.0])
    words = array("q", [memory.ctypes.data])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel.address)(
        words.buffer_info()[0], 0, 1
    )
    assert memory[0] == 1 + number


def open_files() -> int:
    """How many there are, where what nobody has is closed."""
    gc.collect()
    libraries.close_idle()
    return len(os.listdir("/proc/self/fd"))


def lying_about(folder: str) -> list[str]:
    """Files that nobody deletes."""
    return os.listdir(folder)


@pytest.mark.parametrize("how", ["once", "on"])
@pytest.mark.parametrize("kept", [False, True], ids=["compiled", "from the cache"])
def test_files(faults: FileFaults, made: Any, tmp_path: Path, monkeypatch: Any, kept: bool, how: str) -> None:
    compiler = get("cpu").builder.compiler
    if compiler is None:
        pytest.skip("no compiler")
    folder_of_system = tmp_path / "temporary"
    folder_of_system.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder_of_system))

    def start(folder: str) -> Builder:
        builder = Builder()
        builder._compiler, builder._searched = compiler, True
        config.cache_dir = str(tmp_path / folder)
        return builder

    def attempt(at: int) -> bool:
        """Whether the operation of this number was met."""
        folder = "kept" if kept else f"cache{at}"
        cache_module._shared = None
        builder = start(folder)
        works(builder, 1)
        before = [open_files(), threading.active_count(), children()]
        if kept:
            builder = start(folder)
            works(start(folder), 2)
        error = None
        faults.arm(at, how)
        try:
            works(builder, 2)
        except Exception as raised:
            error = raised.with_traceback(None)
        faults.disarm()
        where = f"operation {at} of {len(faults.met)}: {error!r}"
        assert error is None or isinstance(error, (CompileError, DeviceError)), where
        if kept:
            assert error is None or how == "on", where
        assert not lying_about(str(folder_of_system)), where
        error = None
        # Neither this process nor the next one is the worse for it.
        works(builder, 2)
        works(builder, 3)
        works(start(folder), 2)
        assert not lying_about(str(folder_of_system)), where
        del builder  # A library that was loaded from no file keeps its descriptor as long as somebody has it.
        assert [open_files(), threading.active_count(), children()] == before, where
        return faults.hit is not None

    before = config.cache_dir
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            at = 1
            while attempt(at):
                at += 1
    finally:
        config.cache_dir = before
        cache_module._shared = None
    assert at > (3 if kept else 10)
    print(f"{at - 1} faults")
