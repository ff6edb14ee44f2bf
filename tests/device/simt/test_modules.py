"""Names, variables, options and files of a module, and errors of the compiler."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
from sources import kernel

from numloom.base.config import config
from numloom.base.errors import CompileError, MissingDependencyError
from numloom.device.cpu.simt.elf import ElfFile

# ---------------------------------------------------------------- modules


def test_name_expressions_variables_and_several_sources(run, device):
    sources = {
        "main.cu": """
            __device__ float half_of(float);
            __constant__ float shift = 1;
            __device__ int table[3] = {1, 2, 3};
            static __device__ double hidden = 2.5;
            namespace space { __device__ short deep[5]; }
            namespace space { template <int N> __global__ void add(int* x) { x[threadIdx.x] += N; } }
            __global__ void plain(int* x) { x[threadIdx.x] = hidden; }
            extern "C" __global__ void f(float* x) { x[threadIdx.x] = half_of(x[threadIdx.x]) + shift + table[2]; }
            __shared__ int of_the_file[8];
        """,
        "part.cu": "extern __device__ int table[3];\n"
        "__device__ float half_of(float x) { return x / 2 + table[0] - 1; }\n",
    }
    names = ("space::add<3>", "space::add<-4>", "plain", "&space::deep", "hidden")
    module = device.module(sources, names=names)
    assert device.module(dict(sources), names=names) is module
    x = np.arange(32, dtype=np.float32)
    assert (run("", x, name="f", module=module) == x / 2 + 4).all()
    whole = np.arange(32, dtype=np.int32)
    assert (run("", whole, name="space::add<3>", module=module) == whole + 3).all()
    assert (run("", whole, name="space::add<-4>", module=module) == whole - 4).all()
    assert (run("", whole, name="plain", module=module) == 2).all()
    address, nbytes = module.variable("table")
    assert nbytes == 12 and address % 4 == 0
    values = (ctypes.c_int * 3).from_address(address)
    assert list(values) == [1, 2, 3]
    values[2] = 10
    assert (run("", x, name="f", module=module) == x / 2 + 11).all()
    assert module.variable("shift")[1] == 4 and module.variable("space::deep")[1] == 10
    assert ctypes.c_double.from_address(module.variable("hidden")[0]).value == 2.5
    for wrong in ("nothing", "table", "space::add"):
        with pytest.raises(KeyError):
            module.function(wrong)
    for wrong in ("nothing", "f", "numloom_entries_0"):
        with pytest.raises(KeyError):
            module.variable(wrong)
    with pytest.raises(CompileError, match="half_of"):
        device.module({"main.cu": sources["main.cu"], "part.cu": "__device__ int table_[3];"}, names=names)


def test_options_headers_and_files(run, device, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "factor.h").write_text("#pragma once\n#define FACTOR 7\n")
    (tmp_path / "beside.h").write_text('extern "C" __global__ void other(int* x) { x[0] = 5; }\n')
    code = """
    #include <factor.h>
    #include "beside.h"
    #define DEFINE(name) extern "C" __global__ void name(int* x) { x[threadIdx.x] = FACTOR * EXTRA + LONGER; }
    #if __cplusplus >= 202002L
    DEFINE(k)
    #endif
    """
    options = (f"-I{tmp_path / 'inner'}", "-DEXTRA=2", "-DLONGER=(1 + 1)", "-std=c++20", "-lineinfo", "-use_fast_math")
    source = {str(tmp_path / "kernels.cu"): code}
    module = device.module(source, options=options)
    assert (run("", np.zeros(32, "i4"), module=module) == 16).all()
    assert run("", np.zeros(1, "i4"), name="other", module=module, block=1)[0] == 5
    (tmp_path / "inner" / "factor.h").write_text("#define FACTOR 100\n")
    assert (run("", np.zeros(32, "i4"), module=device.module(source, options=options)) == 202).all()


@pytest.mark.slow
def test_modules_are_kept_on_disk(tmp_path, run):
    code = kernel("int* x", "    x[t] = 3;")
    program = (
        "import sys, numpy as np\n"
        "from numloom.base.config import config\n"
        "from numloom.device.cpu import compiler\n"
        "from numloom.device.cpu.backend import CpuDevice\n"
        "config.cache_dir = sys.argv[1]\n"
        "runs = []\n"
        "inner = compiler.Compiler._run\n"
        "compiler.Compiler._run = lambda self, *a: (runs.append(a), inner(self, *a))[1]\n"
        "device = CpuDevice()\n"
        f"device.module({{'kernel.cu': {code!r}}}).function('k')\n"
        "print(len(runs))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("NUMLOOM_CHECK", None)
    command = [sys.executable, "-c", program, str(tmp_path / "cache")]
    runs = [int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout) for _ in range(2)]
    assert runs[0] > 3 and runs[1] == 0
    with config(cache_dir=str(tmp_path / "cache")):
        for entry in (tmp_path / "cache").iterdir():  # damaged entries are built again
            entry.write_bytes(entry.read_bytes()[:-100])
        assert int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout) > 3


def test_attributes_sizes_and_limits(device):
    code = """
    template <class T> __global__ void f(T* x) { __shared__ T part[100]; part[threadIdx.x] = x[0]; __syncthreads();
        x[1] = part[3]; }
    extern "C" __global__ void k(float* x, char c, double d) { __shared__ float a[10]; __shared__ int b;
        a[threadIdx.x] = c; b = d; __syncthreads(); x[0] = a[1] + b; }"""
    module = device.module({"kernel.cu": code}, names=("f<double>",))
    function = module.function("k")
    assert function.attributes["shared_size_bytes"] == 44 and function.attributes["max_threads_per_block"] == 1024
    assert module.function("f<double>").attributes["shared_size_bytes"] == 800
    one = (1, 1, 1)
    good = [bytes(8), bytes(1), bytes(8)]
    with pytest.raises(TypeError, match="takes 3 arguments, 2 were given"):
        function.launch(one, one, good[:2])
    with pytest.raises(TypeError, match="argument 2 of kernel k has 4 bytes, its parameter takes 1"):
        function.launch(one, one, [bytes(8), bytes(4), bytes(8)])
    for grid, block, shared, message in [
        ((0, 1, 1), one, 0, "grid.x must be from 1 to 2147483647, got 0"),
        ((1, 65536, 1), one, 0, "grid.y must be from 1 to 65535"),
        (one, (2048, 1, 1), 0, "block.x must be from 1 to 1024"),
        (one, (1, 1, 65), 0, "block.z must be from 1 to 64"),
        (one, (32, 33, 1), 0, "32 x 33 x 1 threads has 1056, at most 1024"),
        (one, one, 232449, "232449 bytes of dynamic shared memory"),
        (one, one, -1, "-1 bytes of dynamic shared memory"),
    ]:
        with pytest.raises(ValueError, match=message):
            function.launch(grid, block, good, shared=shared)
    with pytest.raises(ValueError, match="all its blocks at once"):
        function.launch((100000, 1, 1), one, good, cooperative=True)
    with pytest.raises(ValueError, match="there is no check 'rases'"):
        device.module({"kernel.cu": code}, options=("--check=rases",))


def test_without_compiling(device):
    with config(cpu_compile="never"), pytest.raises(MissingDependencyError, match="switched off"):
        device.module({"kernel.cu": "// nothing of this kind was compiled before"})


def test_names_and_lines_in_binaries():
    with pytest.raises(ValueError, match="ELF"):
        ElfFile(b"MZ" + bytes(100))


# ---------------------------------------------------------------- errors of the compiler

WRONG = {
    "syntax": ("int* x", "    x[0] = ;", 3, "expected"),
    "a name": ("int* x", "    int i = 0;\n    x[i] = unknown_name;", 4, "unknown_name"),
    "assembly": ("int* x", '    int l;\n    asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));', 4,
    "inline PTX assembly runs on a GPU"),
    "texture": ("float* x, cudaTextureObject_t a", "    x[0] =\n        tex2DLod<float>(a, 1.f, 2.f, 0.f);", 4,
    "tex2DLod runs on a GPU only"),
    "a launch": ("int* x", "    k<<<1, 2>>>(x);", 3, "kernels that launch kernels"),
    "types": ("int* x", "    const char* s = x;", 3, "cannot convert|incompatible|cannot initialize"),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_errors_of_the_compiler_show_the_line(device, which):
    parameters, body, line, message = WRONG[which]
    with pytest.raises(CompileError, match=message) as caught:
        device.module({"kernel.cu": kernel(parameters, body)})
    shown = [text for text in str(caught.value).splitlines() if text.startswith(">")]
    assert shown == [f"> {line:5d} | {kernel(parameters, body).splitlines()[line - 1]}"]


def test_errors_in_headers_names_and_files(device, tmp_path):
    (tmp_path / "broken.h").write_text("int fine;\nint broken(;\n")
    with pytest.raises(CompileError, match=r"broken\.h.*\n.*\n.*\n> +2 \| int broken\(;"):
        device.module({"kernel.cu": '#include "broken.h"\n'}, options=(f"-I{tmp_path}",))
    with pytest.raises(CompileError, match="name expression 'gone<float>' does not fit"):
        device.module({"kernel.cu": "template <class T> __global__ void there(T* x) {}"}, names=("gone<float>",))
    with pytest.raises(CompileError, match=r"nowhere\.h"):
        device.module({"kernel.cu": "#include <nowhere.h>\n"})
    with pytest.raises(CompileError, match=r"one\.cu\)"):
        device.module({"one.cu": "int x = y;", "two.cu": ""})


# ---------------------------------------------------------------- forks

FORKING = """
import faulthandler, threading
import numpy
from numloom.base.config import config
from numloom.device import registry

faulthandler.dump_traceback_later(60, exit=True)
config.cpu_compile = "wait"
module = registry.get("cpu").module({"a.cu": 'extern "C" __global__ void f() {}'})
function = module.function("f")
launch = threading.Thread(target=function.launch, args=((1, 1, 1), (1, 1, 1), ()))
module.runtime.acquire()  # as whoever forks does
launch.start()
launch.join(0.2)
module.runtime.release()
launch.join()
"""


def test_a_launch_of_one_block_waits_for_a_fork_that_other_threads_need_python_for():
    ran = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
