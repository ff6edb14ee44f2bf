"""What `mechanisms.py` cannot see: rules of tables, which tables are no memory of results, and names that it counts.

A test looks for each name in the sources, and for a line here for each table that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY_OTHER = "a full one forgets every other entry"
EMPTIED = "emptied when full"
PLACES = "each place has what came last"
LAST_USED = "forgets what was used longest ago"
OLDEST = "forgets the oldest"
FULL = "a full one takes no more"
BY_NATURE = "no more than there are of what it is by"
FOR_GOOD = "nothing is forgotten"

OWN: dict[str, tuple[str, str]] = {
    "api/calling.py:Replayed.elsewhere": ("devices, by function", BY_NATURE),
    "api/conditions.py:_zero": ("devices", BY_NATURE),
    "api/profile.py:_ceilings": ("devices", BY_NATURE),
    "api/ufunc.py:ufunc._plain": ("dtypes", BY_NATURE),
    "array/hostcopy.py:copies": ("4,096", FULL),
    "array/subscript.py:Layouts.shapes": ("512", PLACES),
    "base/dtypes.py:_CODES": ("dtypes of NumPy met", FOR_GOOD),
    "base/progress.py:_earlier": ("kinds of waits", BY_NATURE),
    "command/serve/crossing.py:_foreign": ("types met", FOR_GOOD),
    "command/serve/namespace.py:Server._modules": ("modules", BY_NATURE),
    "command/serve/program.py:ServedProgram._known": ("modules and files of a program", BY_NATURE),
    "compiled/function.py:Function._ready": ("64", LAST_USED),
    "compiled/patterns.py:Pattern._known": ("dtypes and axes met", FOR_GOOD),
    "cupy/names.py:memoize.decorate.kept": ("arguments met, until `clear_memo`", FOR_GOOD),
    "cupyx/jit.py:JitKernel._kernels": ("types of arguments met", FOR_GOOD),
    "device/cpu/loops.py:Loops._addresses": ("loops of the package", BY_NATURE),
    "device/cuda/routines/fourier.py:Cufft.plans": ("64", LAST_USED),
    "engine/_numbers.pyx:ways": ("2,048", PLACES),
    "engine/_ready.pyx:known": ("4,096", PLACES),
    "engine/_unplanned.pyx:met": ("16,384", PLACES),
    "engine/direct.py:DirectTable.slots": ("256", PLACES),
    "engine/evaluate.py:_plans": ("8,192 plans of 32,768 steps", EVERY_OTHER),
    "engine/evaluate.py:_recent": ("256", PLACES),
    "engine/kept_plans.py:_made": ("512", FULL),
    "engine/resized.py:_specialisations": ("2,048 keys of 32, 32,768 steps", EVERY_OTHER),
    "graph/build.py:_loops": ("operations and dtypes", BY_NATURE),
    "graph/build.py:_rules": ("operations and dtypes", BY_NATURE),
    "graph/slots.py:_slots": ("4,096", PLACES),
    "graph/node.py:_signatures": ("65,536, more if they are held", "forgets every other that nobody else has"),
    "graph/source_location.py:_locations": ("10,000", OLDEST),
    "kernels/elementwise.py:ElementwiseKernel._met": ("dtypes of arguments", BY_NATURE),
    "kernels/elementwise.py:ElementwiseKernel._ready": ("256", EMPTIED),
    "kernels/operation.py:Operation._met": ("256", EMPTIED),
    "kernels/python.py:PythonKernel._compiled": ("names of libraries", BY_NATURE),
    "kernels/raw.py:RawKernel._geometries": ("256", EMPTIED),
    "kernels/raw.py:RawModule._compiled": ("devices", BY_NATURE),
    "kernels/reduction.py:ReductionKernel._met": ("dtypes of arguments", BY_NATURE),
}
"""Bound and rule of tables of their own kind."""

_REGISTRY = "written at import"
_LIVE = "what there is now, not what was found"
_BRIEF = "belongs to one call, plan, tree or text"
_PART = "belongs to another table"
_ROOM = "room to compute in"

APART: dict[str, str] = {
    "engine/_numbers.pyx:codes": _REGISTRY,
    "array/_short.pyx:listed": _ROOM,
    "array/_short.pyx:whole": _ROOM,
    "array/ndarray.py:_bound": _REGISTRY,
    "array/subscript.py:Layouts.counts": _PART,
    "cupy/fft/config.py:_settings": _LIVE,
    "array/subscript.py:Layouts.kept": _PART,
    "array/subscript.py:Layouts.strides": _PART,
    "base/_tracebacks.pyx:functions": _REGISTRY,
    "engine/doubts.py:Within.known": _PART,
    "engine/doubts.py:_open": _LIVE,
    "engine/doubts.py:_unclaimed": _LIVE,
    "engine/doubts.py:_untold": _LIVE,
    "base/forking.py:_locks": _LIVE,
    "base/forking.py:_passes": _LIVE,
    "base/forking.py:_taken": _LIVE,
    "base/lasting.py:WeakValues._known": _LIVE,
    "base/lasting.py:_rests": _LIVE,
    "base/memo.py:Memo.entries": _PART,
    "base/tracebacks.py:_waiting": _REGISTRY,
    "command/notebook.py:_servers": _LIVE,
    "command/serve/crossing.py:Crossing._crossed": _BRIEF,
    "command/serve/ledger.py:Ledger.seconds": _LIVE,
    "compiled/batching_values.py:Batch._dense": _BRIEF,
    "compiled/batching_values.py:Batch._examples": _BRIEF,
    "compiled/gradient_branches.py:Flows._branches": _BRIEF,
    "compiled/gradient_branches.py:Flows._flows": _BRIEF,
    "compiled/gradient_of_loops.py:Plan.columns": _BRIEF,
    "compiled/gradient_of_loops.py:_Back._known.stacks": _BRIEF,
    "compiled/gradient_of_loops.py:_with_rows.made": _BRIEF,
    "compiled/gradient_of_loops.py:_with_rows.views": _BRIEF,
    "compiled/gradient_paths.py:Results._known": _BRIEF,
    "compiled/packing.py:pack_all.numbers": _BRIEF,
    "compiled/program.py:TreeProgram.__init__.numbers": _BRIEF,
    "compiled/program.py:TreeProgram.__init__.scalars": _BRIEF,
    "compiled/program.py:TreeProgram._kept_apart": _BRIEF,
    "compiled/program.py:TreeProgram.run_in_steps.kept": _BRIEF,
    "compiled/source.py:Source._known": _BRIEF,
    "compiled/source.py:Source.arguments": _BRIEF,
    "compiled/source.py:Source.kernels": _BRIEF,
    "base/lasting.py:Lasting._alive": _PART,
    "base/lasting.py:Lasting._held": _PART,
    "cuda/handles.py:_events": _LIVE,
    "cuda/handles.py:_streams": _LIVE,
    "cuda/hooks.py:_watched": _LIVE,
    "cuda/memory.py:MemoryPool._owners": _LIVE,
    "cuda/memory.py:MemorySource._owners": _LIVE,
    "cuda/memory.py:_sources": _LIVE,
    "cuda/memory_hooks.py:Usage.children": _LIVE,
    "cuda/nvtx.py:_open": _LIVE,
    "cuda/streams.py:_done": _LIVE,
    "cuda/streams.py:_waiting": _LIVE,
    "cupy/names.py:_memories": _PART,
    "cupyx/jit.py:JitKernel._sources": _PART,
    "cupyx/translating.py:Translation.declared": _BRIEF,
    "cupyx/translating.py:Translation.variables": _BRIEF,
    "cupyx/translating.py:Translation.pointers": _BRIEF,
    "cupyx/translating.py:Translation.roots": _BRIEF,
    "cupyx/scipy/host.py:call.copies": _BRIEF,
    "device/cpu/builder.py:_builders": _LIVE,
    "device/cuda/backend.py:CudaDevice._ahead": _LIVE,
    "device/cuda/backend.py:CudaDevice.lane.lent": _LIVE,
    "device/memory.py:Pool._count": _LIVE,
    "device/memory.py:Pool._kept": _LIVE,
    "device/memory.py:Pool._parts": _LIVE,
    "device/memory.py:Pool._spare": _LIVE,
    "device/memory.py:_pools": _LIVE,
    "device/registry.py:_devices": _LIVE,
    "device/registry.py:_hosts": _LIVE,
    "device/registry.py:_lanes": _LIVE,
    "device/registry.py:on.lenders": _LIVE,
    "device/temporary.py:_live": _LIVE,
    "device/temporary.py:_swept": _LIVE,
    "distributed/door.py:Door._strangers": _LIVE,
    "distributed/exchange.py:Mesh._calls": _LIVE,
    "distributed/exchange.py:Mesh._peers": _LIVE,
    "distributed/group.py:_groups": _LIVE,
    "distributed/rendezvous.py:RendezvousStore._values": _LIVE,
    "distributed/rendezvous.py:RendezvousStore.gone": _LIVE,
    "distributed/rendezvous.py:_Server._members": _LIVE,
    "distributed/rendezvous.py:_Server._values": _LIVE,
    "distributed/rendezvous.py:_Server._waiting": _LIVE,
    "emit/block.py:ParameterBlock._fields": _BRIEF,
    "engine/_drawing.pyx:amounts": _ROOM,
    "engine/_drawing.pyx:firsts": _ROOM,
    "engine/_drawing.pyx:keys": _ROOM,
    "engine/_drawing.pyx:numbers": _ROOM,
    "array/_indexing.pyx:alignments": _REGISTRY,
    "engine/_few.pyx:alignments": _REGISTRY,
    "engine/_indexing.pyx:sizes": _REGISTRY,
    "engine/_numbers.pyx:op_defs": _PART,
    "engine/_numbers.pyx:products": _ROOM,
    "engine/_looped.pyx:ALIGNMENTS": _REGISTRY,
    "engine/_looped.pyx:ITEMSIZES": _REGISTRY,
    "engine/_ready.pyx:alignments": _REGISTRY,
    "engine/_ready.pyx:numbers": _REGISTRY,
    "engine/_ready.pyx:op_defs": _PART,
    "engine/_ready.pyx:sizes": _REGISTRY,
    "engine/_unplanned.pyx:sizes": _REGISTRY,
    "engine/_unplanned.pyx:smalls": _ROOM,
    "engine/direct.py:Direct.parameters": _PART,
    "engine/direct.py:Direct.words": _PART,
    "engine/observed.py:Observer.places": _BRIEF,
    "engine/repeated.py:_taped.past": _BRIEF,
    "engine/tape.py:Frame.values": _ROOM,
    "engine/tape.py:_captured": _LIVE,
    "engine/profiling.py:ProfileRecorder.works": _LIVE,
    "engine/profiling.py:_parts.found": _BRIEF,
    "engine/state.py:watchers": _LIVE,
    "graph/build.py:_scaled._scales": _PART,
    "graph/build.py:_scales": _PART,
    "graph/again.py:TraceRecorder.met": _BRIEF,
    "graph/again.py:_traces": _LIVE,
    "graph/tree.py:_Values._held": _BRIEF,
    "graph/tree.py:_Values._reads": _BRIEF,
    "graph/tree.py:_Values.known": _BRIEF,
    "ops/elementwise.py:ELEMENTWISE": _REGISTRY,
    "ops/elementwise.py:OF_UFUNC": _REGISTRY,
    "ops/elementwise.py:_COMPLEX_HEADERS": _REGISTRY,
    "ops/reductions.py:REDUCTIONS": _REGISTRY,
    "ops/routines.py:ROUTINES": _REGISTRY,
    "ops/special.py:SPECIAL": _REGISTRY,
    "plan/rewrites.py:Numbering.aliases": _BRIEF,
    "plan/rewrites.py:Numbering.holders": _BRIEF,
    "plan/rewrites.py:Numbering.known": _BRIEF,
    "plan/rewrites.py:Numbering.mirrored": _BRIEF,
    "plan/rewrites.py:Numbering.operations": _BRIEF,
    "plan/rewrites.py:Numbering.plans": _BRIEF,
    "plan/sizes.py:GuardTrace._constants": _BRIEF,
    "plan/sizes.py:GuardTrace._known": _BRIEF,
    "random/_drawn.pyx:sums": _ROOM,
}
"""Tables that do not count, and why."""

EARLIER = (
    "compiled/packing.py:pack.numbers",
    "compiled/program.py:Program.__init__.numbers",
    "graph/tree.py:ran",
)
"""Tables of earlier trees that would not count either, so that trees can be compared."""


@dataclass(frozen=True)
class Named:
    """A function, a number or a setting in a file, what it says, and what it was called in earlier trees."""

    file: str
    name: str
    what: str
    earlier: str = ""


WARM_UP = (
    Named("base/config.py", "unplanned", "elements up to which work runs at once, without a plan"),
    Named("engine/unplanned.py", "WORTH", "nanoseconds of the same work before it gets a plan"),
    Named("engine/unplanned.py", "PLANNING", "nanoseconds a node before it gets a plan"),
    Named("engine/unplanned.py", "LOADING", "nanoseconds of all work before the first plan of a process"),
    Named("engine/_unplanned.pyx", "DOTTED", "products up to which their sum has no plan"),
    Named("engine/_unplanned.pyx", "WAITING", "elements up to which planned work runs by loops meanwhile"),
    Named("engine/link.py", "SOON", "work for which a kernel is waited for rather than interpreted"),
    Named(
        "engine/link.py",
        "FAST_TIER_MOST",
        "instructions of a launch up to which a GPU's code is made in haste first",
    ),
    Named("engine/tape.py", "WARM_UP_RUNS", "runs of a tape before its launches are captured"),
    Named("engine/tape.py", "LEAST_CAPTURED", "launches of a tape from which they are captured"),
    Named("graph/slots.py", "PATIENCE", "misses before something else takes a slot, or a tree's place", "_PATIENCE"),
    Named("graph/again.py", "_TRIES", "times that a call is traced in vain"),
    Named("compiled/calls.py", "TAPED", "the call of a compiled function that is recorded"),
    Named("compiled/steps.py", "WARM", "run of a loop's steps that is captured"),
    Named("compiled/steps.py", "TRIES", "times that a loop's step is observed in vain"),
    Named("compiled/loops.py", "LEARNS", "times that a loop is looked at for one launch"),
    Named("device/cuda/routines/compaction.py", "OFTEN", "launches from which a selection has code compiled in full"),
    Named(
        "device/cuda/routines/kernels.py",
        "FAST_TIER_MOST",
        "threads up to which a routine first has code made in haste",
    ),
)
"""Numbers that say when something gets a plan, is compiled or is learned."""

RECORD = (
    Named("graph/build.py", "elementwise", "in full, by NumPy's rules"),
    Named("graph/slots.py", "recall", "by slot: an operation or a cast like an earlier one"),
    Named("graph/slots.py", "known_view", "by slot: a view through a layout met before"),
    Named("graph/slots.py", "known_update", "by slot: a partial write through a layout met before"),
    Named("graph/again.py", "replay", "by trace: any call"),
    Named("graph/again.py", "replay_straight", "by trace: a reduction like the last one, without a list"),
    Named("api/calling.py", "_rewritten", "in place by trace: a function that writes to an array"),
)
"""Functions by which a call becomes nodes."""

RUN = (
    Named("engine/_numbers.pyx", "operate", "numbers, at once"),
    Named("engine/_few.pyx", "operate_on_few", "operations on few elements, at once"),
    Named("engine/_few.pyx", "run_few", "reductions of few elements, as soon as they are recorded"),
    Named("array/_making.pyx", "memory_of", "new arrays, at once"),
    Named("engine/_blocks.pyx", "dense_copy", "copies of blocks, at once"),
    Named("engine/_blocks.pyx", "listed", "lists of blocks, at once"),
    Named("array/_short.pyx", "product", "products of short vectors and few rows, at once", "dot"),
    Named("array/_short.pyx", "gathered", "arrays of lists of numbers, at once"),
    Named("array/_indexing.pyx", "read", "reads at indices and masks, at once"),
    Named("array/_indexing.pyx", "put", "writes at indices and masks, at once"),
    Named("array/_lent.pyx", "entered", "NumPy's functions on lent memory, at once"),
    Named("random/_drawn.pyx", "floats", "few draws, at once"),
    Named("engine/_unplanned.pyx", "run_one", "one pending value by loops, without a walk"),
    Named("engine/_unplanned.pyx", "run", "a walk by loops"),
    Named("engine/direct.py", "run_direct", "a tree met before: its one launch, without a walk"),
    Named("engine/tape.py", "run", "a tape (a plan, a compiled call, a step of a loop), step by step"),
    Named("engine/tape.py", "run_held", "a tape by one launch of its graph"),
    Named("engine/tape.py", "run_uncompiled", "a launch by loops, else by NumPy, until its kernel is there"),
    Named("engine/taped.py", "Captured", "a compiled function, or all steps of a loop, by one launch"),
    Named("compiled/calls.py", "run_recorded", "a compiled function by its trace"),
    Named("engine/routines.py", "call", "a routine, when it is called"),
    Named("engine/evaluate.py", "run_by_devices", "the work of several devices, each in turn"),
    Named("engine/evaluate.py", "run_apart", "each value on its own, after a failure"),
    Named("engine/evaluate.py", "run_verified", "twice, for `config.verify`"),
    Named("engine/reference.py", "run_reference", "values one by one through NumPy, for tests"),
)
"""Functions by which values get their numbers."""
