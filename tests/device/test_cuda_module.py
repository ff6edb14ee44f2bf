"""Users' CUDA C++ on the GPU's side: what NVRTC makes of it (no GPU needed), and what a GPU does with it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from numloom.base.errors import CompileError, MissingDependencyError
from numloom.device import cache as cache_module
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda import module as cuda_module
from numloom.device.cuda.module import compile_module, header_folders
from numloom.device.headers import scan
from numloom.device.interface import MemorySpan

try:
    nvrtc.bindings()
except MissingDependencyError as error:
    pytest.skip(str(error), allow_module_level=True)

SCALE = "template <class T> __global__ void scale(T* x, T a, int n) { int i = threadIdx.x; if (i < n) x[i] *= a; }\n"
PLAIN = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n'


@pytest.fixture(autouse=True)
def folder(own_cache):
    return own_cache.parent


@pytest.fixture
def compiled(monkeypatch):
    """Sources that went to the compiler, not to the cache."""
    seen = []
    compile_one = cuda_module._compile

    def counted(name, *rest):
        seen.append(name)
        return compile_one(name, *rest)

    monkeypatch.setattr(cuda_module, "_compile", counted)
    return seen


def build(text, options=(), names=(), name="kernel.cu"):
    sources = text if isinstance(text, dict) else {name: text}
    return compile_module(sources, tuple(options), tuple(names), "sm_90")


def test_machine_code_and_names(compiled):
    names = ("scale<float>", "scale<double>")
    cubin, symbols = build(SCALE, names=names)
    assert cubin[:4] == b"\x7fELF"
    assert set(symbols) == set(names) and all(symbol.encode() in cubin for symbol in symbols.values())
    assert build(SCALE, names=names) == (cubin, symbols)
    assert compiled == ["kernel.cu"]


def test_options_and_names_make_other_entries(compiled):
    build(PLAIN)
    build(PLAIN, options=("-DN=2",))
    build(PLAIN, options=("-std=c++20",))
    build(PLAIN.replace("twice", "double_it"))
    build(SCALE, names=("scale<float>",))
    build(SCALE, names=("scale<int>",))
    build(PLAIN)
    assert len(compiled) == 6


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: cache_module.MAGIC + b"{}\n" + content[-100:],
        lambda content: b"\x7fELF" + os.urandom(200),
    ],
)
def test_damaged_and_foreign_entries_are_built_again(compiled, folder, damage):
    first = build(PLAIN)
    (entry,) = (folder / "cache").iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert build(PLAIN) == first
    assert len(compiled) == 2
    assert build(PLAIN) == first
    assert len(compiled) == 2


def test_an_entry_of_another_source_is_never_loaded(compiled, folder):
    build(PLAIN)
    (entry,) = (folder / "cache").iterdir()
    content = entry.read_bytes()
    other = PLAIN.replace("twice", "thrice")
    build(other)
    (second,) = [path for path in (folder / "cache").iterdir() if path != entry]
    second.write_bytes(content)
    assert b"thrice" in build(other)[0]
    assert len(compiled) == 3


def test_headers_are_part_of_the_key(compiled, folder):
    include = folder / "include"
    include.mkdir()
    (include / "deep.cuh").write_text("#define FACTOR 2\n")
    (include / "factor.cuh").write_text('#include "deep.cuh"\n')
    text = '#include "factor.cuh"\nextern "C" __global__ void f(float* x) { *x *= FACTOR; }\n'
    first = build(text, options=(f"-I{include}",))
    assert build(text, options=(f"-I{include}",)) == first
    assert len(compiled) == 1
    (include / "deep.cuh").write_text("#define FACTOR 3\n")
    assert build(text, options=(f"-I{include}",)) != first
    assert len(compiled) == 2


def test_an_include_that_cannot_be_read_is_not_kept(compiled, folder):
    (folder / "value.cuh").write_text("#define FACTOR 2\n")
    text = '#define WHICH "value.cuh"\n#include WHICH\nextern "C" __global__ void f(float* x) { *x *= FACTOR; }\n'
    build(text, options=(f"-I{folder}",))
    build(text, options=(f"-I{folder}",))
    assert len(compiled) == 2


def test_headers_found(folder):
    (folder / "a.h").write_text('#include "b.h" // and\n#include <cuda_fp16.h>\n/* #include "never.h" */\n')
    (folder / "b.h").write_text('#include "a.h"\n')
    found = scan({str(folder / "k.cu"): '  #  include "a.h"\n'}, [])
    assert [os.path.basename(path) for path, _ in found.files] == ["a.h", "b.h"]
    assert found.others == {"cuda_fp16.h"} and found.whole


def test_the_wrong_line_is_marked():
    text = '\n\nextern "C" __global__ void f(float* x) {\n    x[0] = y;\n}\n'
    with pytest.raises(CompileError, match=r'identifier "y" is undefined') as caught:
        build(text)
    assert ">     4 |     x[0] = y;" in str(caught.value)


def test_the_wrong_line_of_a_header_is_marked(folder):
    (folder / "wrong.cuh").write_text("\n__device__ int f() { return nothing; }\n")
    with pytest.raises(CompileError, match="nothing") as caught:
        build('#include "wrong.cuh"\n' + PLAIN, options=(f"-I{folder}",))
    assert "wrong.cuh" in str(caught.value) and ">     2 | __device__ int f()" in str(caught.value)


def test_the_wrong_one_of_several_sources_is_named():
    with pytest.raises(CompileError, match=r"second\.cu") as caught:
        build({"first.cu": PLAIN, "second.cu": "__device__ int f() {\n  return 1\n}\n"})
    assert "expected a" in str(caught.value)


def test_a_wrong_name_expression():
    with pytest.raises(CompileError, match="name expression"):
        build(SCALE, names=("scale<nothing>",))


def test_a_missing_header_has_a_cure(monkeypatch):
    monkeypatch.setattr(cuda_module, "header_folders", lambda: ())
    with pytest.raises(
        MissingDependencyError, match=r"cuda_fp16\.h is not installed: pip install 'numloom\[cuda13-core\]'"
    ):
        build("#include <cuda_fp16.h>\n" + PLAIN)
    with pytest.raises(CompileError, match=r"own\.h"):
        build('#include "own.h"\n' + PLAIN)


def has_header(name):
    return any(os.path.exists(os.path.join(folder, name)) for folder in header_folders())


@pytest.mark.parametrize(
    "header, text",
    [
        ("cuda_fp16.h", "__global__ void f(__half* x) { *x = __hadd(*x, *x); }"),
        ("cuda_bf16.h", "__global__ void f(__nv_bfloat16* x) { *x = *x * *x; }"),
        ("cuda/std/limits", "__global__ void f(float* x) { *x = cuda::std::numeric_limits<float>::max(); }"),
        (
            "cooperative_groups.h",
            "__global__ void f(float* x) { cooperative_groups::this_thread_block().sync(); *x = 1; }",
        ),
    ],
)
def test_headers_of_cuda(header, text):
    if not has_header(header) or (header == "cooperative_groups.h" and not has_header("nv/target")):
        pytest.skip(f"{header} is not installed")
    cubin, _ = build(f'#include <{header}>\nextern "C" {text}\n')
    assert cubin[:4] == b"\x7fELF"


def has_linker():
    try:
        from cuda.bindings import nvjitlink

        nvjitlink.destroy(nvjitlink.create(1, ["-arch=sm_90"]))
    except Exception:
        return False
    return True


LINKED = {
    "main.cu": "__device__ float half_of(float);\n__constant__ float shift = 1;\n"
    'extern "C" __global__ void f(float* x) { x[threadIdx.x] = half_of(x[threadIdx.x]) + shift; }\n',
    "part.cu": "__device__ float half_of(float x) { return x / 2; }\n",
}


@pytest.mark.skipif(not has_linker(), reason="needs nvJitLink, or a GPU's driver")
def test_several_sources_are_linked():
    cubin, _ = build(LINKED)
    assert cubin[:4] == b"\x7fELF"
    with pytest.raises(CompileError, match="half_of"):
        build({"main.cu": LINKED["main.cu"], "part.cu": ""})


WORKER = """
import sys
from numloom.base.config import config
from numloom.device.cuda.module import compile_module
config.cache_dir = sys.argv[1]
for number in range(3):
    text = 'extern "C" __global__ void f%d(float* x) { *x = %d; }' % (number, number)
    cubin, _ = compile_module({"kernel.cu": text}, (), (), "sm_90")
    assert b"f%d" % number in cubin
"""


def test_several_processes_at_once(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WORKER, str(folder / "shared")]
    workers = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert len(list((folder / "shared").iterdir())) == 3


# ---------------------------------------------------------------- with a GPU


def values(device, buffer, dtype, count):
    return device.download(buffer, 0, np.dtype(dtype).itemsize * count).view(dtype)


def span(buffer):
    return MemorySpan(buffer.ptr, buffer.ptr, buffer.ptr + buffer.nbytes)


@pytest.mark.cuda
def test_launch_variables_and_attributes(gpu):
    module = gpu.module(LINKED)
    assert gpu.module(LINKED) is module
    x = gpu.upload(np.arange(32, dtype=np.float32))
    function = module.function("f")
    function.launch((1, 1, 1), (32, 1, 1), [span(x)])
    assert values(gpu, x, np.float32, 32).tolist() == [i / 2 + 1 for i in range(32)]
    address, nbytes = module.variable("shift")
    assert address and nbytes == 4
    attributes = function.attributes
    assert attributes["num_regs"] > 0 and attributes["max_threads_per_block"] == 1024
    assert function.layout == ((0, 8),)
    with pytest.raises(KeyError):
        module.function("nothing")
    with pytest.raises(KeyError):
        module.variable("nothing")


@pytest.mark.cuda
def test_the_driver_links_too(gpu, monkeypatch):
    parts = {}

    def kept(given, architecture):
        parts.update(given)
        return cuda_module._link_by_driver(given)

    monkeypatch.setattr(cuda_module, "link", kept)
    text = {**LINKED, "other.cu": "__device__ int unused() { return 3; }\n"}
    module = gpu.module(text)
    x = gpu.upload(np.ones(32, np.float32))
    module.function("f").launch((1, 1, 1), (32, 1, 1), [span(x)])
    assert values(gpu, x, np.float32, 32).tolist() == [1.5] * 32
    assert set(parts) == set(text)


@pytest.mark.cuda
def test_wrong_sizes_are_refused_before_the_launch(gpu):
    function = gpu.module({"kernel.cu": PLAIN}).function("twice")
    with pytest.raises(TypeError, match="takes 1 argument, 2 were given"):
        function.launch((1, 1, 1), (1, 1, 1), [b"12345678", b"1234"])
    with pytest.raises(TypeError, match="has 4 bytes, its parameter takes 8"):
        function.launch((1, 1, 1), (1, 1, 1), [b"1234"])
    with pytest.raises(ValueError, match="shared memory"):
        function.launch((1, 1, 1), (1, 1, 1), [b"12345678"], shared=1 << 20)


@pytest.mark.cuda
def test_other_streams_keep_the_order(gpu):
    from numloom.device.cuda import driver

    text = """extern "C" __global__ void slow(int* x) {
        long long start = clock64();
        while (clock64() - start < 20000000) { }
        *x = *x * 2 + 1;
    }"""
    function = gpu.module({"kernel.cu": text}).function("slow")
    x = gpu.upload(np.zeros(1, np.int32))
    stream = int(driver.call("cuStreamCreate", 1))
    one = ((1, 1, 1), (1, 1, 1))
    function.launch(*one, [span(x)])
    function.launch(*one, [span(x)], stream=stream)
    function.launch(*one, [span(x)])
    assert values(gpu, x, np.int32, 1)[0] == 7
    driver.call("cuStreamDestroy", stream)


@pytest.mark.cuda
def test_a_cooperative_launch_that_is_too_large(gpu):
    function = gpu.module({"kernel.cu": PLAIN}).function("twice")
    with pytest.raises(ValueError, match="all its blocks on the GPU at once"):
        function.launch((1 << 20, 1, 1), (1024, 1, 1), [bytes(8)], cooperative=True)
