"""How CuPy's names differ here, and why some are not there: what tools/cupy_names.py makes docs/cupy-names.md of.

A key is a name, or a pattern for several; of patterns the first one that fits is taken.
"""

from numloom.cupyx.scipy.table import LACKED

_HANDLE = "a handle of a library that numloom calls itself: use numloom.linalg, fft, random and sparse"
_GRAPH = "plans of several launches become CUDA graphs by themselves; arrays do not stay at fixed addresses"
_LOW = "a call of CUDA's that arrays do not need here; cuda.bindings.runtime has it, for handles of streams and memory"
_PROTOCOL = "a part of CuPy's way to launch kernels: RawKernel takes arrays, numbers and structs"
_FIRST = "the first parameter has NumPy's name: give it by place"
_FUSED = "a kernel is compiled with what it fuses with: `numloom.explain(x, source=True)` shows the text"

BETTER: dict[str, str] = {
    "cupy.ElementwiseKernel": "what only computes its outputs fuses with the rest of the program",
    "cupy.RawKernel": "also on the CPU; arguments are checked against the kernel's parameters; linked sources",
    "cupy.RawModule": "also on the CPU; several sources are linked; headers of the files' folders are found",
    "cupy.ReductionKernel": "results are the same in every run, and what is mapped fuses with the rest",
    "cupy.fuse": "everything fuses, with it and without it",
    "cupy.vectorize": "the function is compiled where it can be, and else runs as Python; keywords of NumPy's too",
    "cupy.cuda.memory_hooks.LineProfileHook": "each_line=True counts at the line that asks for memory",
    "cupy.cuda.Stream": "what another stream computes is waited for by itself",
    "cupy.cuda.is_available": "streams, events and pools work without a GPU, too",
    "cupy.random.Generator": "all of NumPy's draws; the same numbers on every device",
    "cupy.show_config": "also says what is missing and how to get it",
}
"""What does more than in CuPy."""

DIFFERS: dict[str, str] = {
    "cupy.ndarray": "strides and order are given by name; not to be subclassed",
    "cupy.flatiter": "made by x.flat",
    "cupy.ndarray.argmax": "NumPy's parameters; CuPy's with cupy.members(), and those of cupy.argmax",
    "cupy.ndarray.argmin": "NumPy's parameters; CuPy's with cupy.members(), and those of cupy.argmin",
    "cupy.testing.numpy_cupy_allclose": "whether results are dense is not compared",
    "cupy.testing.numpy_cupy_array_equal": "strides are not compared",
    "cupy.testing.parameterize": "of classes: one class for each set of values, in the class's module",
    "cupy.ufunc": "a class of our own over NumPy's type rules; ElementwiseKernel makes new operations",
    "cupy.ufunc.at": "arguments by place, as in NumPy",
    "cupy.linalg.cholesky": _FIRST,
    "cupy.linalg.matrix_power": _FIRST,
    "cupy.linalg.matrix_rank": _FIRST,
    "cupy.linalg.matrix_transpose": _FIRST,
    "cupy.random.MRG32k3a": "numbers come from numloom's Philox whatever the name",
    "cupy.random.Philox4x3210": "numbers come from numloom's Philox whatever the name",
    "cupy.random.XORWOW": "numbers come from numloom's Philox whatever the name",
    "cupy.random.RandomState": "one stream, on every device; another one than cuRAND's",
    "cupy.fft.config.*plan_cache*": "plans are numloom's own and hold no memory; limits are noted",
    "cupy.fft.config.enable_nd_planning": "noted: several axes are one plan where cuFFT can describe it",
    "cupy.fft.config.use_multi_gpus": "noted: a transform runs on one GPU",
    "cupy.cuda.PinnedMemoryPointer": "an array of NumPy's with the attribute ptr; made by alloc_pinned_memory",
    "cupy.cuda.pinned_memory.PinnedMemoryPointer": "an array of NumPy's with the attribute ptr",
    "cupy.cuda.memory.PooledMemory": "made by pools",
    "cupy.cuda.MemoryAsyncPool": "the driver's default pool alone",
    "cupy.cuda.cub": "its flag `available` alone, which is False: reductions need no library",
    "cupy.cuda.thrust": "its flag `available` alone, which is False: sorts need no library",
    "cupy.cublas.*gesv_limit": "noted: which routine solves does not depend on it",
    "cupy.cuda.Event": "not between processes",
    "cupy.cuda.ExternalStream.*capture": "refused: " + _GRAPH,
    "cupy.cuda.Stream.*_capture": "refused: " + _GRAPH,
    "cupy.cuda.Module": "loads files; RawModule takes sources, too",
    "cupy.cuda.function.Module": "loads files; RawModule takes sources, too",
    "cupy.cuda.compiler.CompileException": "numloom.CompileError, which shows the line that is wrong",
    "cupy.cuda.compiler.HIPCCException": "numloom.CompileError, as there is one compiler",
    "cupy.cuda.compiler.JitifyException": "numloom.CompileError, as there is one compiler",
    "cupy.cuda.compiler.NVCCException": "numloom.CompileError, as there is one compiler",
    "cupy.cuda.driver": "versions and the error alone: cuda.bindings.driver has the functions",
    "cupy.cuda.nvrtc": "the version and the error alone: cuda.bindings.nvrtc has the functions",
    "cupy.cuda.nccl.NcclCommunicator": "without config=; NCCL's environment variables say the same",
    "cupy.cuda.runtime.getDeviceProperties": "the usual ones; of the host few",
    "cupy.cuda.runtime.memcpyAsync": "done on return",
    "cupy.cuda.runtime.memcpyPeerAsync": "done on return",
    "cupyx.errstate": "linalg is always raise",
    "cupyx.seterr": "linalg is always raise",
    "cupyx.distributed.NCCLBackend": "made by init_process_group",
    "cupyx.scipy.special.btdtr": "give a, b and x by place",
    "cupyx.scipy.special.btdtri": "give a, b and p by place",
    "cupyx.scipy.special.round": "SciPy's: whole numbers only; cupy.round has decimals",
}
"""What is there and differs beyond what docs/howto-cupy.md says of all names."""

NOT: dict[str, str] = {
    "cupy.make_aligned_dtype": "use numpy.dtype(fields, align=True)",
    "cupy.ndarray.cstruct": _PROTOCOL,
    "cupy.ndarray.mdspan": _PROTOCOL,
    "cupy.ufunc.name": "use `__name__`",
    "cupy.ElementwiseKernel.cached_code*": _FUSED,
    "cupy.ReductionKernel.cached_code*": _FUSED,
    "cupy.fft.config.devices": "a transform runs on one GPU",
    "cupy.fft.config.set_cufft_gpus": "a transform runs on one GPU",
    "cupy.fft.config.*callback*": "what surrounds a transform is a kernel of its own",
    "cupy.typing.NBitBase": "NumPy is removing it: use numloom.typing.NDArray",
    "cupy.cuda.*Graph*": _GRAPH,
    "cupy.cuda.graph.*": _GRAPH,
    "cupy.cuda.*CFunctionAllocator*": "use PythonFunctionAllocator",
    "cupy.cuda.jitify": "RawModule finds headers by its options",
    "cupy.cuda.cu*": _HANDLE,
    "cupy.cuda.*cu*_handle": _HANDLE,
    "cupy.cuda.device.get_*_handle": _HANDLE,
    "cupy.cuda.device.get_cusolver_sp_handle": _HANDLE,
    "cupy.cuda.device.Handle": _HANDLE,
    "cupy.cuda.device.from_pointer": "x.device says it",
    "cupy.cuda.MemoryAsyncPool.*limit": "MemoryPool has a limit; the driver's pool has none",
    "cupy.cuda.MemoryAsyncPool.n_free_blocks": "the driver does not tell; CuPy does not either",
    "cupy.cuda.Module.load": "RawModule(path=...) and load_file load a file",
    "cupy.cuda.memory.PythonFunctionAllocatorMemory": "PythonFunctionAllocator makes it",
    "cupy.cuda.memory.SingleDeviceMemoryPool": "MemoryPool is one",
    "cupy.cuda.memory.*ystem*": "use managed memory (malloc_managed), or arrays on the host",
    "cupy.cuda.pinned_memory.PooledPinnedMemory": "PinnedMemoryPool makes it",
    "cupy.cuda.pinned_memory.is_memory_pinned": "copies choose by themselves",
    "cupy.cuda.function.*": _PROTOCOL,
    "cupy.cuda.compiler.compile_using_*": "RawModule compiles",
    "cupy.cuda.nccl.*": "NCCL's environment variables say the same; errors are NcclError",
    "cupy.cuda.runtime.*": _LOW,
    "cupyx.cusolver": _HANDLE,
    "cupyx.cusparse": _HANDLE,
    "cupyx.cutensor": _HANDLE,
    "cupyx.optimizing*": "the shapes of launches are chosen by themselves",
    "cupyx.GeneralizedUFunc": "use numloom.vmap or numloom.vectorize(signature=...)",
    "cupyx.get_runtime_info": "use cupy.show_config()",
    "cupyx.profiler.load_ipython_extension": "use %timeit with cupyx.profiler.benchmark",
    "cupyx.scipy.signal.[*]": "import the names that you use",
    "cupyx.scipy.spatial.distance.MetricInfo": "a part of CuPy's way to choose a metric: give its name",
    **{f"cupyx.scipy.{module}.{name}": why for module, names in LACKED.items() for name, why in names.items()},
}
"""Why a name is not there."""
