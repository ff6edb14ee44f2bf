"""CUDA texts on the host: threads of a block are fibers that meet at barriers and warp operations.

Slow and exact: what the routines' kernels compute is tested without a GPU, and a barrier that not all threads
reach is found. `EmulatedDevice` stands in for `CudaDevice` where only memory and launches matter.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from compilers import SWITCHING, gxx
from numloom.base.errors import DeviceError
from numloom.device import complaints
from numloom.device.cuda.routines.radix import PEERS
from numloom.device.cuda.routines.scripts import Launch
from numloom.device.memory import Buffer, Pool

SHIM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef TOGETHER
#include <thread>
#include <vector>
#define PER_BLOCK static thread_local
#define LOOKED sched_yield()
#else
#define PER_BLOCK static
#define LOOKED
#endif
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ PER_BLOCK
#define __launch_bounds__(...)
#define __grid_constant__
struct dim { unsigned x, y, z; };
PER_BLOCK dim threadIdx, blockIdx, blockDim, gridDim;
namespace emulation {
constexpr size_t STACK = 1 << 15;
// SWITCHING
enum State { RUNS, WARP, BLOCK, DONE };
struct Fiber { void* context; State state; char* stack; };
PER_BLOCK Fiber fibers[1024];
PER_BLOCK void* scheduler;
PER_BLOCK unsigned current, count;
static bool backwards; // threads of a block take turns from the last one down
PER_BLOCK unsigned long long slots[64][32];
PER_BLOCK void (*body)();
PER_BLOCK const void* parameters;
static void wait(State state) {
    fibers[current].state = state;
    numloom_switch(&fibers[current].context, scheduler);
}
static void enter() { body(); wait(DONE); }
static void run_block(unsigned threads) {
    count = threads;
    for (unsigned t = 0; t < threads; ++t) {
        Fiber& f = fibers[t];
        if (!f.stack) f.stack = (char*)aligned_alloc(64, STACK);
        f.state = RUNS;
        f.context = fresh(f.stack + STACK, enter);
    }
    for (;;) {
        bool ran = false, all_done = true, all_block = true;
        for (unsigned turn = 0; turn < threads; ++turn) {
            const unsigned t = backwards ? threads - 1 - turn : turn;
            if (fibers[t].state == RUNS) {
                current = t;
                threadIdx.x = t;
                numloom_switch(&scheduler, fibers[t].context);
                ran = true;
            }
        }
        for (unsigned w = 0; w < threads; w += 32) {
            bool whole = true, any = false;
            for (unsigned t = w; t < w + 32 && t < threads; ++t) {
                if (fibers[t].state == WARP) any = true; else if (fibers[t].state != DONE) whole = false;
            }
            if (whole && any) {
                for (unsigned t = w; t < w + 32 && t < threads; ++t)
                    if (fibers[t].state == WARP) fibers[t].state = RUNS;
                ran = true;
            }
        }
        for (unsigned t = 0; t < threads; ++t) {
            all_done &= fibers[t].state == DONE;
            all_block &= fibers[t].state == BLOCK || fibers[t].state == DONE;
        }
        if (all_done) return;
        if (all_block) {
            for (unsigned t = 0; t < threads; ++t) if (fibers[t].state == BLOCK) fibers[t].state = RUNS;
            ran = true;
        }
        if (!ran) { fprintf(stderr, "threads wait for each other\n"); abort(); }
    }
}
template <class T> static T exchange(T value, int from) {
    const unsigned warp = current / 32, lane = current % 32;
    memcpy(&slots[warp][lane], &value, sizeof(T));
    wait(WARP);
    T result;
    memcpy(&result, &slots[warp][from], sizeof(T));
    wait(WARP);
    return result;
}
}
static void __syncthreads() { emulation::wait(emulation::BLOCK); }
static void __syncwarp() { emulation::wait(emulation::WARP); }
template <class T> T __shfl_sync(unsigned, T x, int from, int width = 32) {
    return emulation::exchange(x, ((threadIdx.x & 31) & ~(width - 1)) + (from & (width - 1)));
}
template <class T> T __shfl_up_sync(unsigned, T x, int d) {
    const int lane = emulation::current % 32;
    return emulation::exchange(x, lane >= d ? lane - d : lane);
}
template <class T> T __shfl_xor_sync(unsigned, T x, int mask) {
    const int lane = emulation::current % 32;
    return emulation::exchange(x, lane ^ mask);
}
static unsigned __ballot_sync(unsigned, bool flag) {
    const unsigned warp = emulation::current / 32, lane = emulation::current % 32;
    emulation::slots[warp][lane] = flag;
    emulation::wait(emulation::WARP);
    unsigned mask = 0;
    for (int l = 0; l < 32; ++l) mask |= (unsigned)(emulation::slots[warp][l] & 1) << l;
    emulation::wait(emulation::WARP);
    return mask;
}
static void __threadfence() {}
static unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int k = 0; k < 32; ++k, x >>= 1) r = r << 1 | (x & 1);
    return r;
}
static int __popc(unsigned x) { return __builtin_popcount(x); }
template <class T, class U> T atomicAdd(T* to, U x) { T old = *to; *to += x; return old; }
template <class T, class U> T atomicCAS(T* to, U was, U x) { T old = *to; if (old == (T)was) *to = (T)x; return old; }
template <class T, class U> T atomicMax(T* to, U x) { T old = *to; if ((T)x > old) *to = x; return old; }
template <class T, class U> T atomicMin(T* to, U x) { T old = *to; if ((T)x < old) *to = x; return old; }
template <class T, class U> T atomicOr(T* to, U x) { T old = *to; *to |= x; return old; }
template <class T, class U> T atomicAnd(T* to, U x) { T old = *to; *to &= x; return old; }
template <class T, class U> T atomicXor(T* to, U x) { T old = *to; *to ^= x; return old; }
static double __longlong_as_double(long long x) { double r; memcpy(&r, &x, 8); return r; }
"""

INLINE = (
    ("extern __shared__ __align__(16) char memory[]", "alignas(16) PER_BLOCK char memory[1 << 18]"),
    (
        f'asm volatile("{PEERS}" : "+r"(peers) : "r"(bit));',
        "const u32 vote = __ballot_sync(0xffffffffu, bit != 0); peers &= bit ? vote : ~vote;",
    ),
    ('asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");', "x = *at; LOOKED;"),
    ('asm volatile("st.relaxed.gpu.b64 [%0], %1;" : : "l"(at), "l"(x) : "memory");', "*at = x;"),
    (
        'asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));',
        "typedef short v8 __attribute__((vector_size(16))); r = __builtin_ia32_vcvtph2ps((v8){(short)x.bits})[0];",
    ),
    (
        'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));',
        "typedef float v4 __attribute__((vector_size(16))); r.bits = __builtin_ia32_vcvtps2ph((v4){x}, 0)[0];",
    ),
)

TURN = """
extern "C" void emulate_backwards(bool flag) { emulation::backwards = flag; }
"""

RUNNER = """
#ifdef TOGETHER
extern "C" void emulate_{entry}(const void* words, unsigned blocks, unsigned, unsigned threads) {{
    std::vector<std::thread> all;
    for (unsigned x = blocks; x-- > 0;) all.emplace_back([=] {{
        gridDim = {{blocks, 1, 1}};
        blockDim = {{threads, 1, 1}};
        blockIdx = {{x, 0, 0}};
        emulation::parameters = words;
        emulation::body = [] {{ {entry}(*(const {struct}*)emulation::parameters); }};
        emulation::run_block(threads);
        for (unsigned t = 0; t < threads; ++t) free(emulation::fibers[t].stack);
    }});
    for (std::thread& block : all) block.join();
}}
#else
extern "C" void emulate_{entry}(const void* words, unsigned blocks, unsigned blocks_y, unsigned threads) {{
    gridDim = {{blocks, blocks_y, 1}};
    blockDim = {{threads, 1, 1}};
    emulation::parameters = words;
    emulation::body = [] {{ {entry}(*(const {struct}*)emulation::parameters); }};
    for (unsigned y = 0; y < blocks_y; ++y) for (unsigned x = 0; x < blocks; ++x) {{
        blockIdx = {{x, y, 0}};
        emulation::run_block(threads);
    }}
}}
#endif
"""

ENTRY = re.compile(r"__global__ void (?:__launch_bounds__\(.*?\) )?(\w+)\(const __grid_constant__ (\w+) p\)")


class EmulatedKernel:
    ready = True
    waits = False

    def __init__(self, function):
        self.call = function
        self.function = ctypes.cast(function, ctypes.c_void_p).value


@ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_uint), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
)
def launch_ex(config, function, parameters, extra):
    """cuLaunchKernelEx, of blocks and threads as the configuration begins with them."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint)(function)
    run(parameters[0], config[0], config[1], config[3])
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p)
def memset(to, value, nbytes, stream):
    ctypes.memset(to, value, nbytes)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
def memcpy(to, source, nbytes, stream):
    ctypes.memmove(to, source, nbytes)
    return 0


class EmulatedDriver:
    """The driver as far as modules go: counts what is loaded and unloaded, and refuses what would be a fault on a GPU.

    Launched work is under way until somebody waits for it.

    Attributes
    ----------
    loaded : dict
        Code by the handle of its module.
    unloaded : list
        Handles of modules in the order in which they were unloaded.
    under_way : set
        Modules that have been launched since somebody waited.
    waits : int
        How many times somebody did.
    """

    def __init__(self):
        self.loaded = {}
        self.unloaded = []
        self.under_way = set()
        self.waits = 0
        self.refuses = ""
        self._handles = itertools.count(1)

    def call(self, name, *args, doing=""):
        """`numloom.device.cuda.driver.call`."""
        if name == self.refuses:
            raise DeviceError(f"{doing} failed")
        return getattr(self, name)(*args)

    def cuModuleLoadData(self, code):
        handle = next(self._handles)
        self.loaded[handle] = code
        return handle

    def cuModuleGetFunction(self, module, name):
        assert module in self.loaded, "a function of a module that is unloaded"
        return module << 8

    def cuCtxSynchronize(self):
        self.under_way.clear()
        self.waits += 1

    def cuModuleUnload(self, module):
        assert module in self.loaded, "a module is unloaded twice"
        assert module not in self.under_way, "a module is unloaded while it runs"
        del self.loaded[module]
        self.unloaded.append(module)

    def launch(self, function):
        assert function >> 8 in self.loaded, "a launch of a module that is unloaded"
        self.under_way.add(function >> 8)


class EmulatedDevice:
    """Host memory, texts run by fibers; `texts` are those that ran.

    With `backwards` the threads between two barriers take turns from the last one down, which shows races. Blocks run
    one after the other; those of a device made with `together` all at once, the last one begins first.
    """

    name = "cuda"
    stream = 0
    discrete = fast_math = short_rows = True
    interprets = finishes = False
    cluster = 1
    dlpack = (2, 0)
    total_memory = 1 << 30

    def __init__(self, folder=None, together=False):
        self.together = together
        self.pool = Pool("emulated", self._raw_allocate, lambda address, nbytes: self._blocks.pop(address))
        self._blocks = {}
        self.folder = Path(folder or tempfile.mkdtemp(prefix="numloom-emulation-"))
        self.texts = {}
        self.backwards = False
        self._libraries = {}
        self._error = np.zeros(complaints.WORDS, np.int64)
        if Launch is not None:
            address = ctypes.cast(launch_ex, ctypes.c_void_p).value
            self.launch = Launch(address, 0, False, lambda kernel, shared: None, None)

    def allocate(self, nbytes):
        block = np.full(nbytes + 256, 0xA5, np.uint8)
        address = block.__array_interface__["data"][0]
        return Buffer(address + -address % 256, nbytes, None, block)

    def _raw_allocate(self, nbytes):
        block = self.allocate(nbytes)
        self._blocks[block.ptr] = block
        return block.ptr

    def upload(self, host):
        buffer = self.allocate(host.nbytes)
        ctypes.memmove(buffer.ptr, host.__array_interface__["data"][0], host.nbytes)
        return buffer

    def download(self, buffer, offset, nbytes):
        return np.frombuffer(ctypes.string_at(buffer.ptr + offset, nbytes), np.uint8)

    def copy(self, target, target_offset, source, source_offset, nbytes):
        ctypes.memmove(target.ptr + target_offset, source.ptr + source_offset, nbytes)

    def clear(self, buffer, nbytes):
        ctypes.memset(buffer.ptr, 0, nbytes)

    def view(self, buffer):
        return None

    def address_of(self, name):
        return ctypes.cast({"cuMemsetD8Async": memset, "cuMemcpyDtoDAsync": memcpy}[name], ctypes.c_void_p).value

    def resident(self, each):
        return 1  # Blocks run one after the other.

    def synchronize(self):
        pass

    def read_back(self, ask):
        word = np.full(1, -1, np.int64)
        ask(word.ctypes.data)
        return int(word[0])

    def error_address(self):
        return self._error.ctypes.data

    def take_complaints(self):
        return complaints.take(self.error_address())

    def kernel(self, text, entry, *, wait):
        self.texts[text] = True
        library = self._library(text)
        library.emulate_backwards(self.backwards)
        return EmulatedKernel(getattr(library, f"emulate_{entry}"))

    def expect(self, texts):
        pass

    def launch(self, kernel, params, geometry):
        kernel.call(ctypes.c_void_p(params.buffer_info()[0]), geometry.blocks, geometry.blocks_y, geometry.threads)

    def bound(self, kernel, params, geometry):
        return functools.partial(self.launch, kernel, params, geometry)

    def _library(self, text):
        library = self._libraries.get(text)
        if library is None:
            name = self.folder / hashlib.sha256(text.encode()).hexdigest()[:24]
            source = text
            for device, host in INLINE:
                source = source.replace(device, host)
            source = (
                SHIM.replace("// SWITCHING", SWITCHING)
                + source
                + TURN
                + "".join(RUNNER.format(entry=entry, struct=struct) for entry, struct in ENTRY.findall(text))
            )
            name.with_suffix(".cpp").write_text(source)
            flags = [
                "-O0",
                "-std=c++17",
                "-mf16c",
                "-fwrapv",
                "-w",
                "-fno-exceptions",
                "-shared",
                "-fPIC",
                "-Wl,-Bsymbolic",
            ]
            # Headers of C++ take longer than most kernels.
            flags += ["-DTOGETHER", "-pthread"] if self.together else ["-nostdinc++", "-nostdlib"]
            libraries = [] if self.together else ["-lm", "-lc", "-lgcc"]
            command = [gxx(), *flags, name.with_suffix(".cpp"), "-o", name.with_suffix(".so"), *libraries]
            subprocess.run(command, check=True)
            library = self._libraries[text] = ctypes.CDLL(str(name.with_suffix(".so")))
        return library


def told(device):
    """The number of a complaint that kernels had until now, 0 where they had none."""
    device.synchronize()
    found = device.take_complaints()
    return found[0].number if found else 0
