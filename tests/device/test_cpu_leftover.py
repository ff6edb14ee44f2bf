"""What a short program leaves uncompiled is compiled after its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from numloom.base.config import config
from numloom.device.cache import DiskCache, key_of
from numloom.device.cpu import leftover
from numloom.device.cpu.builder import Builder
from numloom.device.cpu.compiler import find

fcntl = pytest.importorskip("fcntl")
TEXT = 'extern "C" void f{0}(const void* p, long long a, long long b) {{ ((int*)p)[0] += {0}; }}\n'

needs_compiler = pytest.mark.skipif(find() is None, reason="no C++ compiler")


@needs_compiler
def test_kernels_that_the_cache_lacks_are_compiled(tmp_path):
    builder = Builder(DiskCache(str(tmp_path / "cache"), 1 << 20))
    texts = [(TEXT.format(number), f"f{number}") for number in range(3)]
    leftover.compile_all(texts, builder, time.monotonic() + 100)
    assert not builder.queued() and builder.compiles
    origin = builder.compiler.identity
    assert all(builder.cache.get(key_of(text, origin), origin) is not None for text, _ in texts)
    again = Builder(DiskCache(str(tmp_path / "cache"), 1 << 20))
    leftover.compile_all(texts, again, time.monotonic() + 100)
    assert not again.compiles


def test_nothing_is_left_where_nothing_waits_or_settings_forbid_it(monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "Popen", None)  # Nobody is begun.
    monkeypatch.setattr(leftover, "unfinished", list)
    assert not leftover.leave()
    monkeypatch.setattr(leftover, "unfinished", lambda: [("text", "f")])
    with config(cpu_compile="never", cache_dir=str(tmp_path)):
        assert not leftover.leave()
    with config(cpu_compile="background", cache_bytes=0, cache_dir=str(tmp_path)):
        assert not leftover.leave()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:  # Another process is at work for this cache.
        fcntl.flock(folder, fcntl.LOCK_EX)
        with config(cpu_compile="background", cache_dir=str(tmp_path)):
            assert not leftover.leave()
    finally:
        os.close(folder)


@needs_compiler
def test_a_short_program_has_its_kernels_in_the_next_run(tmp_path):
    script, cache = tmp_path / "short.py", tmp_path / "cache"
    script.write_text(
        "import numpy as np\nx = np.linspace(0, 1, 300_000).reshape(500, 600)\n"
        "print(float((np.exp(x) * x[::-1] + np.sqrt(x)).sum()))\n"
    )
    environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(cache), "NUMLOOM_DEVICE": "cpu"}
    environment.pop("NUMLOOM_CPU_COMPILE", None)
    line = [sys.executable, "-m", "numloom", "run", "--report", "none", str(script)]
    first = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    folder = os.open(cache, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # Waits for the compilers.
    os.close(folder)
    kept = len(list(cache.iterdir()))
    second = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    assert kept and first == second
    assert len(list(cache.iterdir())) == kept
