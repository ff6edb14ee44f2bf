"""Running what is recorded: values to a plan (cached), steps on the device, buffers into leaves.

An observation runs the values it needs and every other pending value of a live array, in record order: a running
metric that nobody reads cannot grow without bound, and kernels do not depend on which value is looked at first.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.config import config
from numloom.base.dtypes import BOOL, DTYPES, F64, I64, ITEMSIZES, code_of, native
from numloom.base.errors import DeviceError
from numloom.base.later import load
from numloom.device.interface import Backend
from numloom.device.ordering import gpu_of
from numloom.device.registry import (
    Forked,
    apart,
    before_change,
    beside,
    current,
    get,
    holder,
    home,
    in_use,
    is_mixed,
    many,
    on,
    passing,
    placed,
    several,
    when_several,
)
from numloom.engine.direct import clear_direct, find_direct, learn_direct, run_direct
from numloom.engine.guard import Guard, guard, refused, warn_of_threads
from numloom.engine.look import array as array_seen
from numloom.engine.look import carried, is_near, is_shared, operand, wait
from numloom.engine.look import number as number_seen
from numloom.engine.owners import device_of, elsewhere_than, gather, lenders_of, mixed, owner_of, together
from numloom.engine.placement import MIRRORED, begins_on_host, bring, bring_all, looked
from numloom.engine.reference import dense_array, flat_bytes, run_reference
from numloom.engine.state import count_flush, counters, note_copy, watchers
from numloom.engine.tape import Tape, is_compiled, run_plan
from numloom.engine.unplanned import last_regret, leave_to_plan, run_one, run_unplanned, side
from numloom.engine.verify import VerificationError, check_computed, computed_apart
from numloom.engine.walk import Walk, end_walk, is_under_way, pending_roots, run_only, walk, walk_pending
from numloom.graph.again import learning, lose, made
from numloom.graph.build import copied, host_cast, leaf
from numloom.graph.build import view as _view
from numloom.graph.layout import Layout, extent_of, is_dense_order, k_strides
from numloom.graph.node import (
    CAST,
    FILL,
    LEAF,
    OP,
    REDUCE,
    ROUTINE,
    SCALAR,
    UPDATE,
    VIEW,
    Node,
    hold,
    leave_live,
    live_nodes,
    register,
    unhold,
)  # fmt: skip
from numloom.graph.tree import concrete, refuse_trees

Host = np.ndarray[Any, Any]

_BYTES = np.dtype(np.uint8)
_RESIZED = "numloom.engine.resized"
"""Makes plans; imported for the first."""
_guard: Guard = guard
_register = register
_counters = counters
"""The same, found faster by what is compiled here."""
_plans: dict[Any, dict[int, Tape]] = {}
"""Plans by the first half of their keys, for each device, exact and with fast math; the second half is the plan's."""
_PLANS_KEPT = 8192
_STEPS_KEPT = 1 << 15
"""Steps of all plans that are kept, about 3 KB each, and as much again for a text that is not compiled."""
_steps = 0
_device: Any = None
_device_plans: dict[int, Tape] = {}
_host: Backend | None = None
"""The host beside the device, and its plans."""
_host_plans: dict[int, Tape] = {}
_RECENT = 256
_recent: list[Any] = [None] * _RECENT
"""Plans used last, by the first bits of their keys: found without a number object for the key."""
ELEMENTS = 4096
"""Of an array whose pending writes run when one of its elements is read: that costs no fusion."""
_limit = config.max_pending
_staying = False
"""Whether values that nothing says the device of belong to the current one, not to the process's."""
_STEPS = 4
_WRITES = 64
"""Pending writes, one after another, behind which the memory that they change is looked for."""
_reference = config.executor == "reference"
_verify = config.verify
_verifying = False
"""Whether values are being computed both ways, under the guard."""


def _set_executor(name: str) -> None:
    global _reference
    _reference = name == "reference"


def _set_verify(value: bool) -> None:
    global _verify
    _verify = value


config.listen("executor", _set_executor)
config.listen("verify", _set_verify)


def evaluate(nodes: list[Node]) -> None:
    """Run these values and everything else that is pending in live arrays; do not wait.

    Raises
    ------
    Exception
        Why one of `nodes` cannot be computed. An error belongs to the value that has it: of other values it is raised
        when they are asked for.
    """
    if _register.trees and any_tree(nodes):
        refuse_trees(nodes)
    owned = _guard
    owned.take()
    between = owned.running
    owned.running = True
    if not cython.compiled:
        warn_of_threads()
    try:
        if between:
            run_between(nodes)
        elif several():
            run_by_devices(nodes)
        else:
            if many():
                current().enter()
            run_here(nodes)
    finally:
        owned.running = between
        owned.give()


def evaluate_one(node: Node) -> None:
    """`evaluate` for what is done with a value at once; of other pending work it need not run more than that reads."""
    others = _register.oldest is not node or node.newer is not None
    if others and node.size <= ELEMENTS and not (_reference or _verify or _guard.running or several() or many()):
        _guard.take()
        try:
            if not _counters.watched and current() is _device and _run_one(node):
                return
        finally:
            _guard.give()
    evaluate([node])


def _run_one(node: Node) -> bool:
    """`run_one` on the host."""
    host = beside(_device)
    ran = run_one(node, _device if host is None else host, host is not None)
    if ran:
        _counters.flushes += 1
        _counters.kernels += 1
    return ran


def run_here(nodes: list[Node]) -> None:
    """Run what `evaluate` runs, on the current device."""
    try:
        if _verify and not _verifying:
            run_verified(nodes)
        elif _counters.watched or not run_alone(nodes):
            run_pending(nodes)
    except VerificationError:
        raise
    except Exception as error:
        run_apart(nodes, error)


def run_by_devices(nodes: list[Node]) -> None:
    """Run what `evaluate` runs, where there are several devices: each value on the one that it belongs to."""
    before = run_only(None)
    try:
        run_groups(nodes)
    finally:
        run_only(before)


def run_groups(nodes: list[Node]) -> None:
    """`run_by_devices` of all that is pending."""
    groups: dict[Any, list[Node]] = {}
    failed: dict[int, Exception] = {}
    wanted = {id(node) for node in nodes}
    for root in pending_roots(nodes):
        try:
            # Work is left out of a run only where it shares no memory with the rest.
            device = placed(device_of([root]) or (current() if _staying and id(root) in wanted else home()))
        except DeviceError as error:
            failed[id(root)] = error
            leave_live(root)
        else:
            groups.setdefault(device, []).append(root)
    errors: list[Exception] = [failed[id(node)] for node in nodes if id(node) in failed]
    for device, roots in groups.items():
        with on(device):
            gather(roots, device)
        with on(device, lenders_of(roots, device)):
            run_only(roots)
            try:
                run_here([root for root in roots if id(root) in wanted])
            except VerificationError:
                raise
            except Exception as error:
                errors.append(error)
            finally:
                run_only(None)
    if errors:
        raise errors[0]


def any_tree(nodes: list[Node]) -> bool:
    """Whether one of these belongs to a tree."""
    for node in nodes:  # noqa: SIM110  (compiled)
        if node.tree:
            return True
    return False


def run_verified(nodes: list[Node]) -> None:
    """Run what `evaluate` runs, and compare it with what each value is when it is computed alone."""
    global _verifying
    _verifying = True
    device = current()
    roots = pending_roots(nodes)
    # Another thread may write to its array meanwhile: what the array held must be there until it has been compared.
    held = [root for root in roots if root.storages]
    for root in held:
        hold(root)
    try:
        expected = computed_apart(roots, device, leaf_memory)
        if _counters.watched or not run_alone(nodes):
            run_pending(nodes)
        check_computed(roots, expected, device, leaf_memory)
    finally:
        _verifying = False
        for root in held:
            unhold(root)


def run_apart(wanted: list[Node], error: Exception) -> None:
    """Go on after a failure: run each pending value on its own, and raise what keeps one of `wanted` from running.

    What cannot be computed is left out of later runs until somebody asks for it.
    """
    failed: dict[int, Exception] = {}
    roots = [node for node in pending_roots(wanted) if node.buffer is None]
    if not roots:
        raise error
    for root in roots:
        if root.buffer is None:
            try:
                if len(roots) == 1:
                    raise error
                run_roots([root])
            except Exception as own:
                failed[id(root)] = own
                leave_live(root)
    # An index out of range, told by work that had been launched, keeps its own values from being looked at.
    if not failed and not isinstance(error, MemoryError | IndexError):
        warnings.warn(f"values that run one by one did not run together: {error!r}", RuntimeWarning, stacklevel=2)
    for node in wanted:
        if id(node) in failed:
            raise failed[id(node)]


def run_alone(nodes: list[Node]) -> bool:
    """Run what `evaluate` runs, if that is one value whose tree was met before."""
    r = _register
    node = r.oldest
    if node is None or node.newer is not None or _reference or current() is not _device or several():
        return False
    if nodes and (nodes[0] is not node or nodes[len(nodes) - 1] is not node):
        return False
    direct = find_direct(node)
    if direct is None:
        if not _run_one(node):
            return False
    elif counters.doubts and direct.tape.pool.error_at == 0:
        return False  # It does not ask what is in doubt.
    else:
        run_direct(direct, node)
    r.recorded = 0
    r.orphan_bytes = 0
    return True


def run_pending(nodes: list[Node]) -> None:
    """Run what `evaluate` runs, whatever it is; who profiles is told."""
    profiler = _counters.profiler
    if profiler is None or (not nodes and _register.oldest is None):
        run_whole(nodes)
        return
    span = profiler.begin_run()
    try:
        run_whole(nodes)
    finally:
        profiler.end(span)


def run_whole(nodes: list[Node]) -> None:
    """Run what `evaluate` runs, by a walk, or by the reference."""
    if _reference:
        roots = pending_roots(nodes)
        if roots:
            count_flush()
            run_reference(roots, current(), leaf_memory)
        return
    found = walk_pending(nodes)
    if found.roots:
        count_flush()
    while found.roots and not run_walk(found, nodes):  # Meanwhile others may have run it, or let go what was pending.
        end_walk(found)
        found = walk_pending(nodes)
    end_walk(found)


def run_walk(found: Walk, wanted: list[Node]) -> bool:
    """Compute what `walk_pending(wanted)` found; False if the walk must be done again first."""
    device = current()
    host = beside(device)
    if host is not None:
        plans_of(device)
        device = place_work(found, wanted, device, host)
        if device is None:
            return False
    elif is_mixed() and bring_all(found.nodes, found.count, device):
        return False
    plans = plans_of(device)
    slot = found.first & (_RECENT - 1)
    plan = _recent[slot]
    met = plan is not None and plan.first == found.first and plan.second == found.second and plan.device is device
    if not met:
        plan = plans.get(found.first)
        if plan is None or plan.second != found.second:
            ran = 0 if host is not None and device is not host else small_work(found, wanted, device, False)
            if ran:
                return ran > 0
            del found.nodes[found.count :]
            plan = new_plan(found, pending_roots(wanted), device)
        _recent[slot] = plan
    if plan.waits and (_counters.recorder is None or not _counters.recorder.plans):
        ran = 0 if host is not None and device is not host else small_work(found, wanted, device, True)
        if ran > 0:  # Python may run again, which is asked.
            plan.waits = not is_compiled(plan)
            return True
        if ran < 0:
            return False
        plan.waits = False
    elif met and found.roots == 1:
        learn_direct(found.nodes, found.count, plan, 0 if host is None else last_regret())
        leave_to_plan()
    run_plan(plan, found.nodes)
    return True


def small_work(found: Walk, wanted: list[Node], device: Any, planned: bool) -> int:
    """`run_unplanned`, told to who records and who profiles."""
    if not _counters.watched:
        return run_unplanned(found, wanted, device, planned)
    recorder, profiler = _counters.recorder, _counters.profiler
    if recorder is not None and recorder.plans:
        return 0
    span = None if profiler is None else profiler.begin_small(found.nodes, found.count)
    ran = 0
    try:
        ran = run_unplanned(found, wanted, device, planned)
    finally:
        if span is not None:
            profiler.end(span, ran > 0)
    if recorder is not None and ran > 0:
        recorder.ran_small()
    return ran


def place_work(found: Walk, wanted: list[Node], device: Any, host: Any) -> Any:
    """Where a walk runs: on the device, or on the host beside it. None if values moved: then it must be done again."""
    planned = 0
    plan = _device_plans.get(found.first)
    if plan is not None and plan.second == found.second:
        planned = 1
    plan = plans_of(host).get(found.first)
    if plan is not None and plan.second == found.second:
        planned += 2
    where = side(found, wanted, host, planned)
    if where < 0:
        return None
    chosen = host if where & 1 else device
    if where & 2:
        bring_all(found.nodes, found.count, chosen)
        return None
    return chosen


def run_roots(roots: list[Node]) -> None:
    """Compute `roots` on the current device."""
    device = current()
    if _reference:
        run_reference(roots, device, leaf_memory)
        return
    found = walk(roots)
    if is_mixed() and bring_all(found.nodes, found.count, device):
        found = walk(roots)
    plan = plans_of(device).get(found.first)
    if plan is None or plan.second != found.second:
        plan = new_plan(found, roots, device)
    run_plan(plan, found.nodes)


def new_plan(found: Walk, roots: list[Node], device: Backend) -> Tape:
    """A plan for a walk whose key was not met before."""
    global _steps
    plans = plans_of(device)
    profiler = counters.profiler
    span = None if profiler is None else profiler.begin("planning", "", "making plans and kernel texts")
    for root in roots:
        if root.kind == VIEW and not is_dense_order(root.shape, root.strides, ITEMSIZES[root.code]):
            raise SystemError(f"a view of strides {root.strides} has no memory of its own: this is a fault of numloom")
    plan = load(_RESIZED).plan_of(found, roots, device)
    if span is not None:
        profiler.end(span)
    assert plan is not None
    plan.first = found.first
    plan.waits = device.interprets
    full = len(plans) >= _PLANS_KEPT or _steps + len(plan.steps) > _STEPS_KEPT
    if load(_RESIZED).crowded(device) or full:
        _drop_half()
    plans[found.first] = plan
    _steps += len(plan.steps)
    return plan


def _drop_half() -> None:
    """Make room for plans: of those that come round, more than there is room for, about half are met again."""
    global _recent, _steps
    _recent = [None] * _RECENT
    for plans in _plans.values():
        for first in list(plans)[::2]:
            del plans[first]
    _steps = sum([len(plan.steps) for plans in _plans.values() for plan in plans.values()])


def plans_of(device: Backend) -> dict[int, Tape]:
    """The plans made for the current device, or for the host beside it."""
    global _device, _device_plans, _host, _host_plans, _recent
    if device is not current():
        if device is not _host:
            _host = device
            _host_plans = _plans.setdefault((device, False), {})
        return _host_plans
    if device is not _device:
        _device = device
        _recent = [None] * _RECENT
        clear_direct()
        _device_plans = _plans.setdefault((device, config.fast_math), {})
    return _device_plans


def plans_in_use() -> dict[int, Tape] | None:
    """The plans of the current device, where nothing but a plan is needed to run: nothing is pending, nobody records,
    and no setting wants more than that.
    """
    if _register.oldest is not None or _reference or _verify or _counters.recorder is not None or learning():
        return None
    return plans_by_settings()


def plans_by_settings() -> dict[int, Tape] | None:
    """The plans of the current device under the settings that hold; None before one was looked for."""
    return _device_plans if current() is _device else None


def run_between(nodes: list[Node]) -> None:
    """Compute values in the middle of a run, by themselves; RuntimeError of those that the run computes."""
    for node in nodes:
        if node.buffer is None:
            if is_under_way(node):
                raise refused()
            run_reference([node], current(), leaf_memory)


def leaf_memory(node: Node, device: Backend) -> Host:
    """The bytes of a computed value on the host (its own memory where the host can see it)."""
    return operand(device, node.buffer, 0, (node.size * ITEMSIZES[node.code],), (1,), _BYTES)


def keep_here(node: Node) -> None:
    """Compute a value that nothing says the device of on the current one."""
    global _staying
    _guard.take()
    before, _staying = _staying, True
    try:
        evaluate([node])
        owner = holder(node.buffer)
        if gpu_of(owner) is not gpu_of(current()):  # Another thread has run it meanwhile.
            with on(owner):
                host = carried(owner, node.buffer)
            node.buffer = current().upload(host)
    finally:
        _staying = before
        _guard.give()


def before_store(new: Node, old: Node) -> None:
    """Have the next value of an array on the device of the one before, whatever it is made of.

    Raises
    ------
    DeviceError
        If it is made of arrays of another device, or of several.
    """
    if new.tree or not apart():
        return
    there, device = owner_of(old), together(new)
    if there is None or device is there:
        return
    if device is None:
        with on(there):
            gather([new], there)
            keep_here(new)
    else:
        raise mixed((there, device))


def after_record(node: Node, now: bool = False) -> None:
    """Run what was recorded if eager mode or a budget asks for it (`now`: in any case)."""
    if apart() and not node.tree and together(node) is None and gpu_of(current()) is not home():
        keep_here(node)  # Nothing else says where it belongs.
        return
    over = register.recorded > _limit or register.orphan_bytes > register.orphan_limit
    if now or (over and not _guard.is_between()):
        if node.tree:  # Which waits, whatever is recorded.
            register.recorded = 0
        evaluate([] if node.tree else [node])


def _set_fast_math(value: bool) -> None:
    """What is recorded runs by the setting it was recorded under."""
    global _device
    if value != config.fast_math:
        evaluate([])
        _device = None


def _set_limits(**changed: Any) -> None:
    """Keep the register's budgets by the settings; eager mode is a budget of nothing."""
    global _limit
    eager = changed.get("eager", config.eager)
    _limit = -1 if eager else changed.get("max_pending", config.max_pending)
    register.limit = -1 if apart() else _limit  # Then each value is asked where it belongs.
    register.orphan_limit = changed.get("orphan_bytes", config.orphan_bytes)


config.listen("fast_math", _set_fast_math)
config.listen("eager", lambda value: _set_limits(eager=value))
config.listen("max_pending", lambda value: _set_limits(max_pending=value))
config.listen("orphan_bytes", lambda value: _set_limits(orphan_bytes=value))
_set_limits()
when_several(_set_limits)
before_change(lambda: evaluate(live_nodes()))


def synchronize() -> None:
    """Run everything that is recorded and wait for it; raise why a value that was not tried yet cannot be computed."""
    evaluate(live_nodes())
    if several():
        for device in in_use():
            with on(device):
                wait(device)
    else:
        wait(current())


# ---------------------------------------------------------------- between host and device


def leaf_from_host(host: Host, strides: tuple[int, ...] | None = None, stays: bool = False) -> Node:
    """A computed value with a copy of a host array, in the array's own K order (or `strides`).

    Where there are several devices it goes where it is used, unless it `stays` on the current one.
    """
    code = code_of(native(host.dtype))
    if host.dtype != DTYPES[code]:
        host = host.astype(DTYPES[code])
    flags = host.flags
    if strides is None:
        dense = flags.c_contiguous or is_dense_order(host.shape, host.strides, host.itemsize)
        strides = host.strides if dense and host.size else k_strides(host.shape, [host.strides], host.itemsize)
    if host.strides != strides or not flags.aligned:
        own = np.ndarray(host.shape, host.dtype, np.empty(max(host.nbytes, 1), np.uint8).data, 0, strides)
        own[...] = host
        host = own
    if host.ndim == 1:
        flat = host.view(np.uint8)
    else:
        flat = flat_bytes(host) if host.ndim else host.reshape(-1).view(np.uint8)
    if watchers:
        note_copy(True, flat.nbytes)
    device = current() if stays or not apart() else passing()
    near = beside(device)
    if near is not None and begins_on_host(host.size):
        device = near
    elif isinstance(device, Forked):
        # Nothing may be asked of a GPU here. Values that a pool of processes sends must arrive all the same: it starts
        # another worker for each that fails before its task, and never ends.
        device = get("cpu")
    if many():
        device.enter()
    profiler = _counters.profiler
    span = None if profiler is None else profiler.begin_transfer(True, host.shape, code)
    result = leaf(device.upload(flat), code, host.shape, strides)
    if span is not None:
        profiler.end(span)
    if 0 < flat.nbytes <= MIRRORED and not is_shared(device, result.buffer):
        # Coefficients, edges, shapes: what came from the host need not be fetched to be known there.
        result.attr = flat.copy().view(host.dtype)
    made(result)
    return result


def download_value(node: Node) -> Host:
    """A value as a host array in its own order (a copy); runs what is pending and waits."""
    if node.kind == VIEW:
        return download_layout(node.args[0], node.code, node.attr, node.shape, node.strides)
    return download_layout(node, node.code, 0, node.shape, node.strides)


def download_layout(
    value: Node, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], alone: bool = False
) -> Host:
    """The memory of `value` seen through a layout, as a host array in K order; runs and waits.

    What else is pending runs, too, but if `alone`.
    """
    lose()
    if value.tree:
        value = concrete(value)
    if value.buffer is None:
        evaluate([value])
    elif register.oldest is not None and not alone:
        evaluate([])
    profiler = _counters.profiler
    if profiler is None:
        return copied_out(value, code, offset, shape, strides)
    profiler.wait()
    span = profiler.begin_transfer(False, shape, code)
    try:
        return copied_out(value, code, offset, shape, strides)
    finally:
        profiler.end(span)


def copied_out(value: Node, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Host:
    """`download_layout` of computed memory."""
    place = elsewhere_than(value.buffer)
    if place is not None:
        with place:
            return copied_out(value, code, offset, shape, strides)
    device = current()
    dtype = DTYPES[code]
    if 0 in shape:
        return np.empty(shape, dtype)
    buffer = value.buffer
    if is_shared(device, buffer):
        result = array_seen(device, buffer, offset, shape, strides, dtype).copy("K")
        if watchers:
            note_copy(False, result.nbytes)
        return result
    if value.kind == LEAF and type(value.attr) is np.ndarray:
        return np.ndarray(shape, dtype, value.attr.view(np.uint8).data, offset, strides).copy("K")
    itemsize = dtype.itemsize
    low, high = extent_of(Layout(offset, shape, strides), itemsize)
    size = 1
    for extent in shape:
        size *= extent
    if high - low > 4 * size * itemsize + 4096 and not any([at % itemsize for at in (offset, *strides)]):
        # A thin view of much memory: gather it on the device first.
        dense_strides = k_strides(shape, [strides], itemsize)
        from_leaf = leaf(value.buffer, value.code, value.shape, value.strides)
        from_view = copied(_view(from_leaf, code, offset, shape, strides), dense_strides, code)
        _guard.take()
        try:
            run_between([from_view]) if _guard.running else run_roots([from_view])
        finally:
            _guard.give()
        value, offset, strides = from_view, 0, dense_strides
    result = array_seen(device, value.buffer, offset, shape, strides, dtype)
    if value.attr is not None:
        looked(value, device)
    return result if is_dense_order(shape, strides, itemsize) else result.copy("K")


def element(value: Node, code: int, offset: int, alone: bool = False) -> Any:
    """The one element of `value` at a byte offset, as a NumPy scalar; runs what is pending and waits.

    Reading ``x[i]`` of a computed `x` needs no kernel. Small values are read whole, once. If nothing else is pending
    (or `alone` says so), ``x[i]`` stays so: as work of its own, it might fetch all of `x` to the host.
    """
    lose()
    if value.tree:
        value = concrete(value)
    base = value
    alone = alone or (register.oldest is value and value.newer is None)
    if value.buffer is None:
        if value.kind == FILL and value.code == code and value.attr is not None:
            return DTYPES[code].type(value.attr)
        source = value.args[0] if value.kind == CAST else value
        if value.code != code:  # The bytes are seen as another dtype.
            evaluate([value])
        elif source.kind == VIEW and not value.shape and source.code == code and _is_whole(source.args[0]):
            base = source.args[0]
            offset = source.attr
        elif value.kind == CAST and not value.shape and _is_computed(source):
            # What is asked of ``bool(x[0])`` and the like: the number is converted here, without a kernel.
            number = element(source, source.code, 0, alone)
            return DTYPES[code].type(host_cast(number.item(), source.code, code))
        else:
            evaluate([value])
    elif register.oldest is not None:
        evaluate([])
    if base.code == code and base.attr is not None:
        slot = offset // ITEMSIZES[code]
        if slot * ITEMSIZES[code] == offset:
            mirror = base.attr if type(base.attr) is np.ndarray else mirror_of(base)
            if mirror is not None:
                return mirror[slot]
    return download_layout(base, code, offset, (), (), alone and base is not value)[()]


def _is_whole(value: Node) -> bool:
    """Whether all of a value is in memory; what a routine makes, it makes whole, so an element needs no kernel then."""
    if value.kind == ROUTINE:
        evaluate([value])
    return value.kind == LEAF


def _is_computed(value: Node) -> bool:
    """Whether a 0-d value is known, or is one element of computed memory, maybe converted."""
    if value.kind == CAST and value.buffer is None:
        value = value.args[0]
    return value.kind in (LEAF, FILL) or (value.kind == VIEW and value.args[0].kind == LEAF)


def element_on_host(value: Node, code: int, offset: int) -> Any:
    """The element of a computed value at a byte offset as a Python number; None where it lies not on the host yet."""
    if value.kind != LEAF or value.code != code:
        return None
    mirror = value.attr
    if type(mirror) is np.ndarray:
        lose()
        slot = offset // ITEMSIZES[code]
        return mirror[slot].item() if slot * ITEMSIZES[code] == offset else None
    buffer = value.buffer
    if mirror is None or not is_near(buffer):
        return None
    return number_seen(current(), buffer, offset, code)


def element_at_once(value: Node, code: int, offset: int) -> Any:
    """`element_on_host`; a small array that waits for writes, or alone is pending, is computed for it on the host."""
    if (
        value.kind >= OP
        and value.size <= ELEMENTS
        and (value.kind == UPDATE or (register.oldest is value and value.newer is None))
        and not learning()
        and at_hand(value)
    ):
        evaluate([value])
    return element_on_host(value, code, offset)


def at_hand(value: Node) -> bool:
    """Whether a value's numbers are the host's, or will be: it waits for no GPU.

    Of pending work only the last steps are looked at, and writes before them.
    """
    if value.tree:
        return False
    device = current()
    if value.kind == FILL or value.kind == SCALAR:
        return True
    if beside(device) is None:
        return device.pool.error_at != 0
    for _ in range(_WRITES):
        if value.kind != UPDATE:
            return lies_near(value, _STEPS)
        if not lies_near(value.args[1], _STEPS):
            return False
        value = value.args[0]
    return False


def lies_near(value: Node, steps: int) -> bool:
    """Whether a value is known to the host, or few steps from values that are."""
    if value.kind == LEAF:
        return type(value.attr) is np.ndarray or is_near(value.buffer)
    if steps == 0 and value.args:
        return False
    for arg in value.args:  # noqa: SIM110  (compiled)
        if not lies_near(arg, steps - 1):
            return False
    return True


def number(value: Node, code: int, offset: int) -> Any:
    """`element` as a Python number."""
    if value.kind == FILL and value.code == code:
        known = value.attr
        kind = type(known)
        # Of others it may not be what they hold.
        if (kind is float and code == F64) or (kind is int and code == I64) or (kind is bool and code == BOOL):
            return known
    if value.tree:
        value = concrete(value)
    if value.buffer is None:
        if value.kind == OP or value.kind == REDUCE:
            evaluate([value])
    elif register.oldest is not None:
        evaluate([])
    if value.buffer is not None:
        found = element_on_host(value, code, offset)
        if found is not None:
            return found
    return element(value, code, offset).item()


def mirror_of(base: Node) -> Any:
    """A computed value's memory on the host, kept with it; None where it is large and the host cannot see it.

    Values never change, so what was read once stays right; memory whose address was given away does change, and its
    values have None as their attribute.
    """
    device = current()
    itemsize = ITEMSIZES[base.code]
    if base.size * itemsize > MIRRORED and not is_shared(device, base.buffer):
        return None
    base.attr = array_seen(device, base.buffer, 0, (base.size,), (itemsize,), DTYPES[base.code])
    return base.attr


def pin_value(pinned: Node, new: Node) -> None:
    """Compute `new`, the next value of memory whose address is exported, into that very memory."""
    place = elsewhere_than(pinned.buffer)
    if place is not None:
        with place:
            pin_value(pinned, new)
            return
    evaluate([new])
    bring(new, current())
    new.attr = None
    if new.buffer is not pinned.buffer:
        device = current()
        device.copy(pinned.buffer, 0, new.buffer, 0, new.size * ITEMSIZES[new.code])
        pinned.buffer.doubt = new.buffer.doubt
        new.buffer = pinned.buffer


__all__ = [
    "after_record", "at_hand", "before_store", "dense_array", "download_layout", "download_value", "element",
    "element_on_host", "evaluate", "leaf_from_host", "mirror_of", "number", "pin_value", "plans_by_settings",
    "plans_in_use", "synchronize",
]  # fmt: skip
