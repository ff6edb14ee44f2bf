"""Plans of simple expressions: how many kernels, what each stores, and that planning changes no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from numloom.base.dtypes import BOOL, F16, F32, F64, I64, ITEMSIZES
from numloom.device.memory import Buffer
from numloom.engine.walk import walk
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import Node, hold, register, unhold
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS
from numloom.plan.group import MAX_LOADS, MAX_OUTPUTS
from numloom.plan.plan import make_plan
from numloom.plan.program import Program
from numloom.plan.step import Plan, Step


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    """What a test records must not make others run."""
    before = register.recorded
    yield
    register.recorded = before


def leaf(*shape: int, code: int = F64) -> Node:
    strides = c_strides(shape, ITEMSIZES[code])
    return build.leaf(Buffer(4096, int(np.prod(shape)) * ITEMSIZES[code]), code, shape, strides)


def op(name: str, *args: Any) -> Node:
    return build.elementwise(ELEMENTWISE[name], args)


def reduce(name: str, x: Node, *axes: int, keepdims: bool = False, out: int = F64) -> Node:
    return build.reduce(REDUCTIONS[name], x, axes or tuple(range(len(x.shape))), keepdims, out)


def sliced(x: Node, start: int, stop: int) -> Node:
    """A range of a vector."""
    itemsize = ITEMSIZES[x.code]
    return build.view(x, x.code, start * itemsize, (stop - start,), (itemsize,))


def written(x: Node, value: Node, start: int, stop: int) -> Node:
    """A vector with a range written."""
    itemsize = ITEMSIZES[x.code]
    return build.update(x, value, start * itemsize, (stop - start,), (itemsize,), x.code)


FIELDS = ("kind", "op_def", "args", "code", "shape", "strides", "size", "attr", "buffer", "readers", "storages")


@pytest.mark.parametrize(("count", "code", "cluster", "kernels"), [
    (100000, F64, 1, 3), (100000, F64, 4, 3), (100000, F64, 8, 1), (131073, F64, 8, 3), (393216, F32, 8, 1),
    (393217, F32, 8, 3), (393216, F16, 8, 1), (393217, F16, 8, 3), (65536, F16, 1, 1), (65537, F16, 1, 3),
])  # fmt: skip
def test_rows_that_multiprocessors_share_are_one_kernel(count: int, code: int, cluster: int, kernels: int) -> None:
    x = leaf(4, count, code=code)
    e = op("exp", op("subtract", x, reduce("max", x, 1, keepdims=True, out=code)))
    found = walk([root := op("divide", e, reduce("sum", e, 1, keepdims=True, out=code))])
    plan = make_plan(found.nodes, [root.number], cluster=cluster)
    assert len(plan.steps) == kernels
    assert plan.steps[-1].program is not None and plan.steps[-1].program.cluster == (cluster if kernels == 1 else 1)


@pytest.mark.parametrize(("shape", "cluster", "kernels"), [
    ((4096, 64), 1, 2), ((4096, 64), 8, 1), ((8192, 32), 8, 1), ((8193, 32), 8, 2), ((100, 31), 8, 2),
    ((9, 500, 40), 8, 1),
])  # fmt: skip
def test_columns_that_stay_on_the_chip_are_one_kernel(shape: tuple[int, ...], cluster: int, kernels: int) -> None:
    x = leaf(*shape)
    found = walk([root := op("subtract", x, reduce("mean", x, len(shape) - 2, keepdims=True))])
    assert len(make_plan(found.nodes, [root.number], cluster=cluster).steps) == kernels


def planned(*roots: Node) -> Plan:
    """The plan of some values; planning leaves every one of them as it was."""
    found = walk(list(roots))
    before = [[getattr(node, name) for name in FIELDS] for node in found.nodes]
    plan = make_plan(found.nodes, [root.number for root in roots])
    assert [[getattr(node, name) for name in FIELDS] for node in found.nodes] == before
    again = make_plan(found.nodes, [root.number for root in roots])
    assert again == plan, "planning twice gives the same"
    check(plan, found.nodes, [root.number for root in roots])
    return plan


def check(plan: Plan, nodes: list[Node], roots: list[int]) -> None:
    """Whether a plan's steps can run in their order."""
    have = {node.number for node in nodes if node.buffer is not None}
    gone: set[int] = set(plan.drop)
    for step in plan.steps:
        assert tuple(n for n, _ in (*step.allocate, *step.adopt)) == step.computed
        assert not gone & set(step.numbers())
        for binding in step.bindings:
            assert binding.number in have or binding.number in step.computed
        for number, nbytes in step.allocate:
            assert nbytes == nodes[number].size * ITEMSIZES[nodes[number].code]
        for _, base in step.adopt:
            assert base in have
        if step.program is not None:
            assert len(step.program.operands) == len(step.bindings)
            assert len(step.program.params) == len(step.params)
        have |= set(step.computed)
        gone |= set(step.release)
    assert have >= set(roots)


def only(plan: Plan) -> tuple[Step, Program]:
    """The only step of a plan, and its program."""
    (step,) = plan.steps
    assert step.program is not None
    return step, step.program


@pytest.fixture
def held() -> Iterator[Callable[[Node], Node]]:
    """Makes a value one that a live array holds."""
    nodes: list[Node] = []

    def keep(node: Node) -> Node:
        hold(node)
        nodes.append(node)
        return node

    yield keep
    for node in nodes:
        unhold(node)


def test_a_chain_is_one_kernel() -> None:
    x = leaf(1000)
    step, program = only(planned(op("add", op("maximum", 0, x), op("log1p", op("exp", op("negative", x))))))
    assert program.shape == (1000,)
    assert [operand.written for operand in program.operands] == [False, True]
    assert len(program.stores) == 1 and not program.reductions
    assert len(step.computed) == 1


def test_dense_dimensions_are_merged() -> None:
    _, program = only(planned(op("add", leaf(4, 5, 6), leaf(4, 5, 6))))
    assert program.shape == (120,)
    _, program = only(planned(op("add", leaf(4, 5, 6), leaf(6))))
    assert program.shape == (20, 6)


@pytest.mark.parametrize(("starts", "operands"), [((3, 3, 3), 2), ((3, 3, 4), 3), ((3, 4, 4), 3), ((3, 4, 5), 4)])
def test_views_that_begin_at_one_place_are_read_once(starts: tuple[int, ...], operands: int) -> None:
    x = leaf(100)
    a, b, c = (sliced(x, start, start + 50) for start in starts)
    program = only(planned(op("add", op("multiply", a, b), c)))[1]
    assert len(program.operands) == operands
    assert sum(instr.kind == "load" for instr in program.body) == operands - 1


def key_of(node: Node) -> tuple[int, int]:
    found = walk([node])
    return found.first, found.second


def test_views_nearby_are_known_to_be_one_array() -> None:
    x = leaf(100, 64)
    strides = x.strides

    def part(row: int, column: int) -> Node:
        return build.view(x, x.code, row * strides[0] + column * strides[1], (90, 32), strides)

    def both(*other: int) -> Node:
        return op("add", part(4, 8), part(*other))

    _, program = only(planned(both(3, 9)))
    assert [(operand.beside, operand.by) for operand in program.operands[:2]] == [(-1, ()), (0, (-1, 1))]
    assert [operand.beside for operand in only(planned(both(4, 30)))[1].operands[:2]] == [-1, -1]
    # How near they are is part of the key; where they begin, and how far apart, is not.
    keys = [key_of(both(*other)) for other in ((3, 9), (3, 10), (4, 30), (4, 26))]
    keys.append(key_of(op("add", part(5, 10), part(4, 11))))
    assert keys[0] != keys[1] and keys[0] != keys[2] and keys[1] != keys[2]
    assert keys[2] == keys[3] and keys[0] == keys[4]


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_filled_arrays_are_written_with_their_slice(value: float, held: Any) -> None:
    base = build.full(value, F64, (1000,))
    step, program = only(planned(written(base, op("exp", leaf(90)), 5, 95)))
    assert program.box is not None and program.box.fill >= 0 and program.shape == (1000,)
    assert not step.copy and len(program.operands) == 2
    # Somebody else has the filled array: it is written for both.
    seen = held(build.full(value, F64, (1000,)))
    assert planned(written(seen, op("exp", leaf(90)), 5, 95)).kernels == 2


@pytest.mark.parametrize(("begin", "kernels"), [(500, 1), (400, 2)])
def test_parts_that_are_apart_are_written_at_once(begin: int, kernels: int, held: Any) -> None:
    """Of what overlaps the later one stays."""
    a = leaf(500)
    last = held(written(written(leaf(1000), op("exp", a), 0, 500), op("sqrt", a), begin, begin + 500))
    plan = planned(last)
    assert plan.kernels == kernels
    assert sum(len(step.program.stores) for step in plan.steps if step.program is not None) == 2


def test_of_two_arguments_the_heavier_one_is_stored() -> None:
    """With the other one a kernel would have too many loads; that is a row, which is computed where it is read."""
    wide, row = leaf(90, 1000), leaf(1000)
    for _ in range(MAX_LOADS - 1):
        wide = op("add", wide, leaf(90, 1000))
    plan = planned(op("multiply", wide, op("maximum", op("absolute", op("floor", row)), 0.5)))
    assert [step.program and len(step.program.operands) for step in plan.steps] == [MAX_LOADS + 1, 3]


def test_two_results_share_a_kernel(held: Any) -> None:
    x = leaf(1000)
    e = op("exp", x)
    a, b = held(op("add", e, 1.0)), held(op("multiply", e, 2.0))
    step, program = only(planned(a, b))
    assert len(program.stores) == 2
    assert set(step.computed) == {a.number, b.number}
    assert [instr.op_def.name for instr in program.body if instr.kind == "op"].count("exp") == 1


def test_what_a_live_array_holds_is_stored_too(held: Any) -> None:
    e = held(op("exp", leaf(1000)))
    step, _ = only(planned(op("add", e, 1.0)))
    assert e.number in step.computed


def test_values_of_different_sizes_are_kernels_of_their_own() -> None:
    assert planned(op("exp", leaf(100_000)), op("exp", leaf(70_000))).kernels == 2


def test_numbers_are_parameters_and_not_text() -> None:
    x = leaf(1000)
    first, one = only(planned(op("multiply", x, 2.0)))
    second, two = only(planned(op("multiply", x, 3.0)))
    assert one == two and first.params == second.params
    assert one.params == (F64,)


def test_a_counter_is_no_input() -> None:
    _, program = only(planned(op("multiply", build.view(build.iota(1000), I64, 0, (10, 100), (800, 8)), 2)))
    assert [operand.written for operand in program.operands] == [True]


@pytest.mark.parametrize(("function", "steps"), [("sin", 2), ("negative", 1)])
def test_what_broadcasting_repeats_is_stored_if_it_is_costly(function: str, steps: int) -> None:
    for source in (build.iota(100), leaf(100)):
        before, after = (
            op(function, op("multiply", build.view(source, source.code, 0, (100, 1), (8, 8)), 0.5)),
            build.view(op(function, op("multiply", source, 0.5)), F64, 0, (100, 1), (8, 8)),
        )
        for column in (before, after):
            assert len(planned(op("multiply", column, leaf(1, 50))).steps) == steps
            assert len(planned(op("multiply", column, leaf(1, 3))).steps) == 1, "repeated too rarely"


@pytest.mark.parametrize("axes", [(), (0,), (1,)], ids=["all", "outer", "inner"])
def test_work_before_and_after_a_reduction_is_its_kernel(axes: tuple[int, ...]) -> None:
    x, y = leaf(30, 40), leaf(30, 40)
    d = op("subtract", x, y)
    total = op("sqrt", reduce("sum", op("multiply", d, d), *axes))
    _, program = only(planned(total))
    assert len(program.reductions) == 1
    assert [instr.op_def.name for instr in program.post if instr.kind == "op"] == ["sqrt"]
    assert program.fast == (axes != (0,))


def test_reductions_of_the_same_data_share_a_kernel(held: Any) -> None:
    x = leaf(30, 40)
    low, high = held(reduce("min", x, 1)), held(reduce("max", x, 1))
    _, program = only(planned(low, high))
    assert len(program.reductions) == 2


def softmax(x: Node) -> Node:
    e = op("exp", op("subtract", x, reduce("max", x, 1, keepdims=True)))
    return op("divide", e, reduce("sum", e, 1, keepdims=True))


def test_rows_go_through_stages_in_one_kernel() -> None:
    _, program = only(planned(softmax(leaf(30, 40))))
    assert program.by_rows
    assert program.stages().passes == 3
    assert [r.op_def.name for r in program.reductions] == ["max", "sum"]
    names = [instr.op_def.name for instr in program.body if instr.kind == "op"]
    assert names == ["subtract", "exp", "divide"], "the exponential is computed once"
    assert len([operand for operand in program.operands if not operand.written]) == 1


def test_what_there_is_one_of_for_a_row_is_computed_once() -> None:
    x = leaf(30, 40)
    centred = op("subtract", x, reduce("mean", x, 1, keepdims=True))
    variance = reduce("mean", op("multiply", centred, centred), 1, keepdims=True)
    _, program = only(planned(op("divide", centred, op("sqrt", op("add", variance, 1e-5)))))
    assert "sqrt" not in [instr.op_def.name for instr in program.body if instr.kind == "op"]
    assert [instr.op_def.name for instr in program.post if instr.kind == "op"] == ["add", "sqrt"]


def test_rows_with_and_without_their_axis_share_a_kernel() -> None:
    x = leaf(30, 40)
    low = build.view(reduce("min", x, 1), F64, 0, (30, 1), (8, 0))
    high = reduce("max", x, 1, keepdims=True)
    _, program = only(planned(op("divide", op("subtract", x, low), op("subtract", high, low))))
    assert len(program.reductions) == 2 and program.by_rows


def test_held_results_of_rows_are_stored_by_their_kernel(held: Any) -> None:
    x = leaf(30, 40)
    mean = held(reduce("mean", x, 1, keepdims=True))
    step, program = only(planned(op("subtract", x, mean)))
    assert mean.number in step.computed and len(program.post_stores) == 1


@pytest.mark.parametrize(
    "shifted",
    [
        lambda x, m: op("subtract", x, build.view(m, F64, 29 * 8, (30, 1), (-8, 0))),
        lambda x, m: op("subtract", x, build.view(m, F64, 0, (1, 30), (0, 8))),
        lambda x, m: op("subtract", x, build.view(m, F64, 0, (30, 30), (0, 0))),
    ],
    ids=["reversed", "turned", "first"],
)
def test_results_of_other_rows_come_from_memory(shifted: Callable[[Node, Node], Node]) -> None:
    x = leaf(30, 30)
    plan = planned(shifted(x, reduce("mean", x, 1, keepdims=True)))
    assert plan.kernels == 2
    assert not any(step.program.by_rows for step in plan.steps if step.program is not None)


def test_long_rows_and_columns_are_not_kept_on_chip() -> None:
    assert planned(softmax(leaf(4, 16384))).kernels == 1
    assert planned(softmax(leaf(4, 16385))).kernels == 3
    x = leaf(30, 40)
    assert planned(op("subtract", x, reduce("mean", x, 0))).kernels == 2


def test_reductions_that_walk_in_other_orders_are_kernels_of_their_own(held: Any) -> None:
    x = leaf(30, 40)
    y = build.leaf(Buffer(4096, 9600), F64, (30, 40), (8, 240))
    sums = [held(reduce("sum", op("multiply", a, 2.0))) for a in (x, y)]
    assert planned(*sums).kernels == 2


def test_conditions_are_inline() -> None:
    x = leaf(100)
    positive = op("greater", x, 0.0)
    assert positive.code == BOOL
    _, program = only(planned(op("where", positive, x, 0.0)))
    assert len(program.stores) == 1


def test_a_gather_reads_its_source_from_memory() -> None:
    x, index = leaf(50, code=F32), leaf(20, code=I64)
    _, program = only(planned(op("add", build.gather(x, [index], (0,), 0), 1.0)))
    assert [instr.kind for instr in program.body].count("gather") == 1
    computed = op("exp", x)
    plan = planned(build.gather(computed, [index], (0,), 0))
    assert plan.kernels == 2


def test_a_part_written_runs_in_place_if_nobody_needs_the_old() -> None:
    old = leaf(1000)
    new = written(old, op("add", sliced(old, 10, 20), 1.0), 10, 20)
    step, program = only(planned(new))
    assert step.adopt == ((new.number, old.number),) and not step.allocate and step.copy is None
    assert program.shape == (10,)


def test_a_part_of_memory_that_begins_anywhere_is_written_element_by_element() -> None:
    for begin, aligned in ((4096, True), (4104, False)):
        base = leaf(8)
        base.buffer = Buffer(begin, 64)
        step, program = only(planned(written(base, op("add", leaf(2), leaf(2)), 0, 2)))
        assert step.adopt
        assert [operand.aligned for operand in program.operands if operand.written] == [aligned]


def test_a_part_written_is_written_to_a_copy_if_the_old_is_needed(held: Any) -> None:
    old = held(leaf(1000))
    new = written(old, op("add", sliced(old, 10, 20), 1.0), 10, 20)
    step, program = only(planned(new))
    assert step.copy == (new.number, old.number, 8000)
    assert program.shape == (10,)


def test_most_of_an_array_written_from_its_neighbours_is_one_kernel() -> None:
    old = leaf(1000)
    new = written(old, op("add", sliced(old, 0, 998), sliced(old, 2, 1000)), 1, 999)
    step, program = only(planned(new))
    assert program.box is not None and program.shape == (1000,)
    assert [number for number, _ in step.allocate] == [new.number]


def test_what_is_read_elsewhere_is_computed_before_it_is_overwritten() -> None:
    old = leaf(1000)
    new = written(old, op("negative", sliced(old, 5, 105)), 0, 100)
    plan = planned(new)
    last = plan.steps[-1]
    assert plan.kernels == 2
    assert last.adopt == ((new.number, old.number),)


def test_memory_is_released_after_its_last_use() -> None:
    x = leaf(300, 200)
    centred = op("subtract", x, reduce("mean", x, 0))
    plan = planned(reduce("max", op("exp", centred), 1))
    released = [number for step in plan.steps for number in step.release]
    assert len(released) == len(set(released))
    assert set(released) == {number for step in plan.steps for number in step.numbers()}


def test_large_expressions_are_cut() -> None:
    x = leaf(1000)
    for _ in range(3000):
        x = op("add", op("multiply", x, 1.5), 0.25)
    plan = planned(x)
    assert 10 < plan.kernels < 100
    for step in plan.steps:
        assert step.program is not None and len(step.program.body) < 1500


def test_many_inputs_are_several_kernels() -> None:
    total = leaf(1000)
    for _ in range(200):
        total = op("add", total, leaf(1000))
    plan = planned(total)
    assert plan.kernels >= 5
    assert all(step.program is not None and len(step.program.operands) <= 64 for step in plan.steps)


@pytest.mark.parametrize("count", [9, 1, 7, 8, 16, 17, 40])
def test_many_results_are_several_kernels(count: int, held: Any) -> None:
    """Kernels write up to so many values of the same input, and no fewer than that where there are more."""
    x = leaf(1000)
    plan = planned(*[held(op("add", x, float(number))) for number in range(count)])
    written = [sum(operand.written for operand in step.program.operands) for step in plan.steps if step.program]
    assert sum(written) == count and max(written) == min(count, MAX_OUTPUTS)
    assert len(written) == -(-count // MAX_OUTPUTS)


def test_nothing_is_computed_for_empty_values() -> None:
    plan = planned(op("exp", leaf(0, 5)))
    assert plan.kernels == 0
    assert [nbytes for step in plan.steps for _, nbytes in step.allocate] == [0]


@pytest.mark.parametrize("steps", [3, 9, 30])
def test_values_that_only_their_own_kernel_reads_are_no_outputs(steps: int) -> None:
    """A loop of two states that both read, with a count: however many values have several readers."""
    re, im, x, y, count = (leaf(100, 999) for _ in range(5))
    for _ in range(steps):
        x2, y2 = op("multiply", x, x), op("multiply", y, y)
        inside = op("less", op("add", x2, y2), 4.0)
        next_x = op("where", inside, op("add", op("subtract", x2, y2), re), x)
        y = op("where", inside, op("add", op("multiply", op("multiply", x, 2.0), y), im), y)
        x, count = next_x, op("add", count, inside)
    plan = planned(count)
    assert len(plan.steps) == 1 and plan.steps[0].program is not None
    assert sum(operand.written for operand in plan.steps[0].program.operands) == 1


def test_a_kernel_that_would_have_too_many_outputs_is_several(held: Any) -> None:
    """Values that others read are counted when all are grouped."""
    x = leaf(100, 999)
    shared = [held(op("add", op("multiply", x, float(number)), x)) for number in range(MAX_OUTPUTS + 1)]
    total = shared[0]
    for one in shared[1:]:
        total = op("add", total, one)
    plan = planned(total)
    counts = [sum(operand.written for operand in step.program.operands) for step in plan.steps if step.program]
    assert sum(counts) == MAX_OUTPUTS + 2 and max(counts) <= MAX_OUTPUTS
