"""Compiled functions: trees that are called with values, and that update shared variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from numloom.api.profile import Profile
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of
from numloom.array.storage import set_value
from numloom.base.config import config
from numloom.base.dtypes import DTYPES
from numloom.base.nesting import deeper
from numloom.base.tracebacks import public
from numloom.base.wording import counted
from numloom.compiled.calls import Called, CallState, Known, in_form, run_fast, wrap_all
from numloom.compiled.deferred import Deferred, parts_of, resolved, symbols_of
from numloom.compiled.draws import give_back, refuse_lost_draws
from numloom.compiled.given import is_open, opened
from numloom.compiled.orders import laid_out
from numloom.compiled.pickling import packed, twin, unpacked
from numloom.compiled.program import TreeProgram, pending_may_fail
from numloom.compiled.shared import SharedPlaceholder, shared_of
from numloom.compiled.structure import flat, like
from numloom.compiled.symbols import symbol_of
from numloom.compiled.tree import places_of, refuse_hidden, whole
from numloom.device.registry import current
from numloom.engine.evaluate import evaluate, leaf_memory
from numloom.engine.explain import structure
from numloom.engine.look import check as check_values
from numloom.engine.state import counters
from numloom.engine.verify import is_unset, same_value
from numloom.graph.build import cast, copied
from numloom.graph.node import FILL, LEAF, SCALAR, SYMBOL, VIEW, Node, tracing
from numloom.graph.tree import Placeholder, rebuilt, recording

Array = Any
_MISSING = object()
SPECIALISATIONS = 64
"""Combinations of shapes that a function of unknown extents is kept ready for: those called last."""


class In:
    """An input of a compiled function, and how it is taken.

    Parameters
    ----------
    variable : ndarray
        The symbol.
    value : array_like, optional
        What it is where a call gives nothing.
    name : str, optional
        Its name in calls, else the symbol's.
    borrow, mutable : bool
        Theano's permissions to use the caller's memory and to overwrite it. numloom reads arrays of its own where they
        lie and overwrites nothing, so they change nothing.
    strict : bool
        Whether what is given must be an array of exactly this dtype.
    allow_downcast : bool
        Whether what is given may be rounded to the symbol's dtype.
    """

    def __init__(
        self, variable: Array, value: Any = _MISSING, name: str | None = None, borrow: bool = True,
        mutable: bool = False, strict: bool = False, allow_downcast: bool = False,
    ) -> None:  # fmt: skip
        self.variable = variable
        self.value = value
        self.borrow = borrow
        self.mutable = mutable
        self.strict = strict
        self.allow_downcast = allow_downcast
        if isinstance(variable, Deferred):
            if variable.call is not None:
                raise TypeError("an input of a function must be a symbol, not an expression")
            self.placeholder: Placeholder | None = None
            self.name = name or variable.name
            return
        node = node_of(variable) if type(variable) is ndarray else None
        if node is None or node.kind != SYMBOL or isinstance(node.attr, SharedPlaceholder):
            what = "a shared variable, which is read without being one" if shared_of(variable) else repr(variable)
            raise TypeError(f"an input of a function must be a symbol (nl.symbol), not {what}")
        self.placeholder = node.attr
        self.name = name or node.attr.name

    def options(self) -> dict[str, Any]:
        """What it was made with beside the symbol."""
        given = {} if self.value is _MISSING else {"value": self.value}
        return {
            **given, "name": self.name, "borrow": self.borrow, "mutable": self.mutable, "strict": self.strict,
            "allow_downcast": self.allow_downcast,
        }  # fmt: skip

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The symbol's."""
        variable = self.variable
        extents: tuple[int | None, ...] = variable.extents if isinstance(variable, Deferred) else variable.shape  # type: ignore[assignment]
        return extents

    @property
    def dtype(self) -> np.dtype[Any]:
        """The symbol's."""
        return self.variable.dtype  # type: ignore[no-any-return]


class Out:
    """An output of a compiled function, and how it is given.

    Parameters
    ----------
    variable : ndarray
        The tree.
    borrow : bool
        Whether an output that is an input or an array may have its memory, instead of a copy. Whoever writes to one of
        them gets memory of its own then, so this is seen in addresses alone, or where memory is written behind
        numloom's back.
    host : bool, optional
        Whether it is a NumPy array; else an array of numloom.
    """

    def __init__(self, variable: Array, borrow: bool = False, host: bool | None = None) -> None:
        self.variable = variable
        self.borrow = borrow
        self.host = host


def taken(given: In, value: Any) -> Node:
    """What a call gives for an input, as a value that is laid out as the symbol; an error that names the argument."""
    array = value if type(value) is ndarray else _converted(given, value)
    shape, dtype = given.shape, given.dtype
    if array.ndim != len(shape):
        raise ValueError(
            f"{given.name} must have {counted(len(shape), 'axis')}, not {array.ndim}".replace("axiss", "axes")
        )
    if array.shape != shape:
        for axis, (extent, wanted) in enumerate(zip(array.shape, shape, strict=True)):
            if wanted is not None and extent != wanted:
                raise ValueError(f"{given.name} must have extent {wanted} along axis {axis}, not {extent}")
    node = node_of(array)
    if array.dtype != dtype:
        if given.strict or not np.can_cast(array.dtype, dtype, "same_kind" if given.allow_downcast else "safe"):
            raise TypeError(
                f"{given.name} must have dtype {dtype.name}, not {array.dtype.name}: convert it by astype, or declare "
                f"In({given.name}, allow_downcast=True)"
            )
        node = cast(node, DTYPES.index(dtype))
    return node


def _converted(given: In, value: Any) -> Array:
    """What is no array of ours as one; Python's numbers, and lists of them, of the symbol's dtype if they have it."""
    if given.strict and not isinstance(value, np.ndarray):
        raise TypeError(f"{given.name} is strict and takes arrays of dtype {given.dtype.name} alone, not {value!r}")
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"{given.name} must be an array of dtype {given.dtype.name}, not {value!r}")
    if isinstance(value, (np.ndarray, np.generic)) or not isinstance(value, (bool, int, float, complex, list, tuple)):
        return asarray(value)
    host = np.asarray(value)
    kinds = "biufc"
    if host.dtype.kind not in kinds:
        raise TypeError(f"{given.name} must be an array of dtype {given.dtype.name}, not {value!r}")
    if given.dtype.kind not in kinds or kinds.index(host.dtype.kind) <= kinds.index(given.dtype.kind):
        if host.dtype.kind in "iu" and given.dtype.kind in "iu":
            limits = np.iinfo(given.dtype)
            if host.size and not (limits.min <= host.min() and host.max() <= limits.max):
                raise OverflowError(f"{given.name} must have dtype {given.dtype.name}, which has no {value!r}")
        host = host.astype(given.dtype)
    return asarray(host[()])  # A number is none in memory.


class Function(Called):
    """A compiled function; called with values for its inputs, in turn or by name.

    Attributes
    ----------
    inputs : list of In
        What it takes.
    name : str
        Its name.
    profile : Profile or None
        Where the time of its calls goes, if asked for; a profile that is taken around a call has that instead.
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Any, updates: Any, givens: Any, profile: bool, name: str, host: bool
    ) -> None:
        self.name = name
        self.inputs = [given if isinstance(given, In) else In(given) for given in inputs]
        self.profile = Profile(name) if profile else None
        names = [given.name for given in self.inputs]
        for place, one in enumerate(names):
            if one in names[:place]:
                raise ValueError(f"{name} has two inputs of the name {one}")
        self._names = names
        self._host = host
        self._outputs = outputs
        self._updates = _pairs(updates, "updates")
        self._givens = _pairs(givens, "givens")
        self._ready: dict[Any, _Ready] = {}
        self.ready: _Ready | None = None
        _check_updates(self._updates)
        parts = parts_of([_variables(outputs), [new for _, new in self._updates], [new for _, new in self._givens]])
        there = {id(given.variable) for given in self.inputs} | {id(old) for old, _ in self._givens if is_open(old)}
        missing = sorted({one.name for part in parts for one in symbols_of(part) if id(one) not in there})
        if missing:
            which = f"{', '.join(missing)}, which {'are' if missing[1:] else 'is'}"
            raise TypeError(f"{name} depends on {which} not among its inputs")
        if all([isinstance(given.variable, ndarray) for given in self.inputs]):
            self.ready = _Ready(self, [given.variable for given in self.inputs], {})

    @public
    def _called(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call with any arguments."""
        profile = self.profile
        if counters.profiler is not None:
            profile = None  # One is being taken around it.
        elif profile is None:
            return self._run(args, named)
        with profile or nullcontext():
            profiler = counters.profiler
            if profiler is None:  # Another thread's is over.
                return self._run(args, named)
            span = profiler.begin("call", self.name, self.name)
            try:
                return self._run(args, named)
            finally:
                profiler.end(span)
                if profile is not None:
                    profile.calls += 1

    def _run(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The call itself."""
        inputs = self.inputs
        if named or len(args) != len(inputs):
            args = self._bound(args, named)
        ready = self.ready
        operands: list[Node] = []
        if ready is not None:
            for value, given, alike in zip(args, inputs, ready.likes, strict=True):
                if type(value) is ndarray and value.code == alike.code and value._shape == alike.shape:
                    operands.append(laid_out(node_of(value), alike))
                else:
                    operands.append(laid_out(taken(given, value), alike))
        else:
            nodes = [taken(given, value) for value, given in zip(args, inputs, strict=True)]
            ready = self._specialised(nodes)
            operands = [laid_out(node, alike) for node, alike in zip(nodes, ready.likes, strict=True)]
        if ready.call_state is not None and not tracing() and _settle(operands, ready.likes):
            arrays = ready.run_computed(operands)
            return arrays[0] if ready.plain else ready.given(arrays)
        return ready.call(operands)

    def _specialised(self, nodes: list[Node]) -> _Ready:
        """The function for operands of these shapes."""
        shapes = tuple([node.shape for node in nodes])
        ready = self._ready.pop(shapes, None)
        if ready is None:
            symbols = []
            known = {}
            for given, node in zip(self.inputs, nodes, strict=True):
                variable = given.variable
                if isinstance(variable, Deferred):
                    symbols.append(symbol_of(Placeholder(variable.name), node.code, node.shape))
                    known[id(variable)] = symbols[-1]
                else:
                    symbols.append(variable)
            ready = _Ready(self, symbols, known)
        self._ready[shapes] = ready  # The last one in turn is what was called last.
        while len(self._ready) > SPECIALISATIONS:
            self._ready.pop(next(iter(self._ready), shapes), None)
        return ready

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Values for all inputs."""
        if len(args) > len(self.inputs):
            raise TypeError(f"{self.name} takes {counted(len(self.inputs), 'argument')}, not {len(args)}")
        found: list[Any] = [*args, *([_MISSING] * (len(self.inputs) - len(args)))]
        for name, value in named.items():
            if name not in self._names:
                raise TypeError(f"{self.name} has no input {name!r}: its inputs are {', '.join(self._names) or 'none'}")
            place = self._names.index(name)
            if found[place] is not _MISSING:
                raise TypeError(f"{self.name} got two values for {name}")
            found[place] = value
        for place, given in enumerate(self.inputs):
            if found[place] is _MISSING:
                if given.value is _MISSING:
                    raise TypeError(f"{self.name} misses a value for {given.name}")
                found[place] = given.value
        return tuple(found)

    def explain(self, *args: Any, source: bool = False, **named: Any) -> str:
        """The plan of a call with these arguments, as text; nothing is updated, and nothing runs but routines.

        It says the device, and of each step what it computes, moves and does; with `source` also the kernels' text.
        """
        nodes = [taken(given, value) for value, given in zip(self._bound(args, named), self.inputs, strict=True)]
        ready = self.ready or self._specialised(nodes)
        operands = [laid_out(node, alike) for node, alike in zip(nodes, ready.likes, strict=True)]
        return ready.explain(operands, source)

    def __reduce__(self) -> tuple[Any, ...]:
        inputs = [(given.variable, given.options()) for given in self.inputs]
        outs = flat(self._outputs)
        lent = [(one.borrow, one.host) if isinstance(one, Out) else None for one in outs]
        outputs = like(self._outputs, [one.variable if isinstance(one, Out) else one for one in outs])
        trees = packed([inputs, outputs, self._updates, self._givens])
        return _unpickled, (trees, lent, self.profile is not None, self.name, self._host)

    def __deepcopy__(self, memo: Any) -> Function:
        found: Function = twin(self)
        return found

    def __repr__(self) -> str:
        return f"<compiled function {self.name}({', '.join(self._names)})>"


def _unpickled(trees: tuple[Any, ...], lent: list[Any], profile: bool, name: str, host: bool) -> Function:
    """The function that was pickled, with shared variables and streams of its own."""
    inputs, outputs, updates, givens = unpacked(*trees)
    outs = [one if options is None else Out(one, *options) for one, options in zip(flat(outputs), lent, strict=True)]
    given = [In(symbol, **options) for symbol, options in inputs]
    return Function(given, like(outputs, outs), updates, givens, profile, name, host)


class _Ready(Known):
    """A function for inputs of known shapes."""

    def __init__(self, function: Function, symbols: list[Array], known: dict[int, Array]) -> None:
        outputs = function._outputs
        news = [new for _, new in function._updates]
        givens = [pair for pair in function._givens if not is_open(pair[0])]
        with recording(watches="compiled function") as record:
            known = opened(function._givens, known)
            if callable(outputs) and not isinstance(outputs, (ndarray, Deferred)):
                outputs = outputs(*symbols)
            if known or isinstance(outputs, Deferred):
                # Together, so that calls are made in the order of the program.
                resolved([_variables(outputs), news, [new for _, new in givens]], known)
                outputs = _resolved_outputs(outputs, known)
                news = resolved(news, known)
                givens = [(old, resolved(new, known)) for old, new in givens]
        self.host = function._host
        self.shape_of_outputs = outputs
        self.outs = [one if isinstance(one, Out) else Out(one) for one in flat(outputs)]
        self.likes = [node_of(symbol) for symbol in symbols]
        self.shared = [shared_of(old) for old, _ in function._updates]
        roots = [_node(out.variable, f"an output of {function.name}", out.borrow) for out in self.outs]
        for (old, _), new in zip(function._updates, news, strict=True):
            roots.append(_updated(old, new))
        if givens:
            roots = _given(roots, givens)
            lent = [out.borrow for out in self.outs] + [False] * len(self.shared)
            roots = [root if borrow else _apart(root) for root, borrow in zip(roots, lent, strict=True)]
        refuse_lost_draws(roots, function.name)
        program = self.program = TreeProgram(roots, self.likes)
        self.count = len(self.outs)
        # What a run takes beside the inputs: values of shared variables, and blocks of random bits.
        self.rest = program.placeholders[len(self.likes) :]
        unknown = [one.name for one in self.rest if one.value is None]
        if unknown:
            raise TypeError(
                f"{function.name} depends on {', '.join(unknown)}, which {'are' if unknown[1:] else 'is'} not among "
                "its inputs and has no value"
            )
        # All draws of a function that was just called, in its order: a call takes the blocks that plain code would.
        used = [one for one in self.rest if one.stream is not None and one.stream[1] >= 0]
        # Before them those that trees had already, of which a call takes what it needs.
        drawn = record.draws
        before = [one for one in used if one not in drawn]
        self.draws = [*sorted(before, key=lambda one: one.value.attr), *drawn]  # type: ignore[union-attr]
        give_back(drawn)
        self.plain = type(outputs) is ndarray and not self.host
        self.nothing = outputs is None
        self.updated = [found.storage for found in self.shared if found is not None]
        self.storages = [one.storage if isinstance(one, SharedPlaceholder) else one for one in self.rest]
        self.call_state: Any = None
        if program.recorded is not None and not program.several:
            self.call_state = CallState(
                program.recorded, program.recorded.results or (), self.updated, self.likes, self.storages,
                program.may_fail, bool(self.draws), self.plain,
            )  # fmt: skip
        self.state = self.call_state if function.profile is None else None  # A profile of its own is told of each call.

    def operands(self, operands: list[Node], advance: bool) -> None:
        """Add what a run takes beside the inputs."""
        blocks: dict[int, Node] = {}
        keys: dict[int, Node] = {}
        for one in self.draws if advance else ():
            source, count = one.stream
            blocks[id(one)], keys[id(source)] = source.take(count)
        for one in self.rest:
            if one.stream is None or not advance:
                operands.append(one.value)  # type: ignore[arg-type]
            else:
                operands.append(keys[id(one.stream[0])] if one.stream[1] < 0 else blocks[id(one)])

    def draw(self, operands: list[Node]) -> None:
        """Add what a call takes beside the inputs: values of shared variables, and blocks of random bits of its own."""
        if self.draws:
            with recording(False):
                self.operands(operands, True)
        else:
            operands += [storage.value for storage in self.storages]  # type: ignore[misc]

    def call(self, operands: list[Node]) -> Any:
        trees = tracing()
        for node in operands:
            if node.tree:
                trees = True
        if trees:
            return self.call_within(operands)
        self.draw(operands)
        may_fail = self.updated and (self.program.may_fail or pending_may_fail(operands))
        expected = self.program.run_in_steps(operands) if config.verify else []
        results = self.program.run(operands)
        arrays = wrap_all(results)
        evaluate([array.storage.value for array in arrays if array.storage.value.kind != LEAF])
        settled = [_settled(array) for array in arrays[self.count :]]
        self.compare(arrays, expected)
        if may_fail or (self.updated and counters.doubts > 0):
            check_values([array.storage.value for array in arrays])
        for storage, node in zip(self.updated, settled, strict=True):
            set_value(storage, node)
        return arrays[0] if self.plain else self.given(arrays)

    def run_computed(self, operands: list[Node]) -> list[Array]:
        """Return arrays by the short way, of computed values that lie as the symbols do."""
        self.draw(operands)
        expected = self.program.run_in_steps(operands) if config.verify else []
        arrays: list[Array] = run_fast(self.call_state, operands)
        if expected:
            self.compare(arrays, expected)
        return arrays

    def compare(self, arrays: list[Array], expected: list[Node]) -> None:
        """Compare results with those of the full way, under `config.verify`."""
        for array, want in zip(arrays, expected, strict=False):
            if array.storage.value.kind == want.kind == LEAF and not is_unset(want):
                same_value(
                    array.storage.value,
                    want,
                    current(),
                    leaf_memory,
                    "a compiled function beside its values one by one",
                )

    def given(self, arrays: list[Array]) -> Any:
        """Outputs as they were asked for."""
        if self.nothing:
            return None
        results = []
        for array, out in zip(arrays[: self.count], self.outs, strict=True):
            host = self.host if out.host is None else out.host
            results.append(array.get() if host else array)
        return like(self.shape_of_outputs, results)

    def call_within(self, operands: list[Node]) -> Any:
        """The call as a part of another tree."""
        if self.shared:
            raise TypeError("a function with updates cannot be called within a tree: nothing would be updated")
        with recording():
            self.operands(operands, False)
            results = self.program.run(operands)
        return None if self.nothing else like(self.shape_of_outputs, wrap_all(results))

    def explain(self, operands: list[Node], source: bool) -> str:
        self.operands(operands, False)
        results = self.program.run(operands)
        names: dict[Node, str] = {}
        for number, node in enumerate(results):
            if node.kind != LEAF:
                update = number >= self.count
                what = f"the new {self.shared[number - self.count].name}" if update else f"output {number}"  # type: ignore[union-attr]
                names[node] = f"{names[node]}, {what}" if node in names else what
        lines = [f"device: {current().name}"]
        steps = structure(*names).steps if names else ()
        named = {node.number: name for node, name in names.items()}
        for place, step in enumerate(steps):
            computes = ", ".join([named.get(number, "a value between") for number in step.computes])
            lines.append(
                f"{place}: {step.mode} over {step.space}: {computes}; {step.bytes_read:,} bytes in, "
                f"{step.bytes_written:,} out, {step.operations:,} operations"
            )
            if source and step.text:
                lines += ["", step.text, ""]
        return "\n".join(lines)


def _same_form(node: Node, alike: Node) -> bool:
    """Whether a value is in memory or one number, and lies as a symbol does."""
    return node.kind in (LEAF, FILL) and (node.code, node.shape, node.strides) == (
        alike.code, alike.shape, alike.strides
    )  # fmt: skip


def _settle(operands: list[Node], likes: list[Node]) -> bool:
    """Have values lie in memory as symbols do; False where some would take longer than the long way."""
    waiting = [in_form(node, like) for node, like in zip(operands, likes, strict=True) if not _same_form(node, like)]
    if any([node is None for node in waiting]):
        return False
    if waiting:
        evaluate(waiting)  # type: ignore[arg-type]
    return all([_same_form(node, like) for node, like in zip(operands, likes, strict=True)])


def _settled(array: Array) -> Node:
    """The new value of a shared variable, computed: dense, and nobody else's."""
    node: Node = array.storage.value
    if node.kind != LEAF:  # A filled array, which nobody computes unasked.
        node = copied(node, node.strides, node.code)
        evaluate([node])
    return node


def _node(variable: Any, what: str, borrow: bool) -> Node:
    """The value of an output, as a value that a call may give."""
    if type(variable) is not ndarray:
        if isinstance(variable, (Deferred, Out)) or not isinstance(
            variable, (np.ndarray, np.generic, int, float, complex)
        ):
            raise TypeError(f"{what} must be an array or a tree, not {variable!r}")
        variable = asarray(variable)
    node = node_of(variable)
    if node.kind == VIEW:
        with recording():
            return copied(node, variable.copy("K").strides, node.code)
    return node if borrow else _apart(node)


def _apart(node: Node) -> Node:
    """A value, or a copy of what is an input's or a constant's, whose memory may be written unseen."""
    if (node.kind == SYMBOL and not _is_shared(node)) or (node.kind == LEAF and not node.tree):
        with recording():
            return copied(node, node.strides, node.code)
    return node


def _updated(old: Array, new: Any) -> Node:
    """The new value of a shared variable, with its dtype and shape and in its order."""
    found = shared_of(old)
    assert found is not None
    array = new if type(new) is ndarray else asarray(new)
    if array.shape != old.shape:
        raise ValueError(f"the update of {found.name} has shape {array.shape}, and the variable {old.shape}")
    node = node_of(array)
    with recording():
        if array.dtype != old.dtype:
            if not np.can_cast(array.dtype, old.dtype, "same_kind"):
                raise TypeError(f"the update of {found.name} has dtype {array.dtype}, and the variable {old.dtype}")
            if isinstance(new, ndarray) and array.dtype.kind != old.dtype.kind:
                raise TypeError(f"the update of {found.name} has dtype {array.dtype}, and the variable {old.dtype}")
            node = cast(node, node_of(old).code)
        there = node_of(old)
        if node.strides != there.strides or (node.kind in (VIEW, SYMBOL, LEAF, FILL, SCALAR) and not _is_shared(node)):
            node = copied(node, there.strides, node.code)
    return node


def _is_shared(node: Node) -> bool:
    """Whether a value is that of a shared variable: nobody writes to it, so that others may have it."""
    return node.kind == SYMBOL and isinstance(node.attr, SharedPlaceholder)


def _pairs(given: Any, what: str) -> list[tuple[Any, Any]]:
    """Updates or givens as pairs."""
    if not given:
        return []
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{what} must be pairs (old, new), not {pair!r}")
    return [(old, new) for old, new in pairs]


def _check_updates(updates: list[tuple[Any, Any]]) -> None:
    met: list[SharedPlaceholder] = []
    for old, _ in updates:
        found = shared_of(old)
        if found is None:
            raise TypeError(f"only shared variables (nl.shared) can be updated, not {old!r}")
        if found in met:
            raise ValueError(f"{found.name} is updated twice")
        met.append(found)


def _given(roots: list[Node], givens: list[tuple[Any, Any]]) -> list[Node]:
    """Trees over what `givens` say; these may depend on each other, but not in a circle."""
    for old, _ in givens:
        if type(old) is not ndarray:
            raise TypeError(f"givens replace symbols and trees, not {old!r}")
    news = [node_of(new if type(new) is ndarray else asarray(new, old.dtype)) for old, new in givens]
    there = whole([*roots, *news])
    with recording():
        known: dict[Node, Node] = {}
        waiting = [(places_of(old, there), new) for (old, _), new in zip(givens, news, strict=True)]
        for _ in givens:
            # Each turn resolves what depends on nothing that still waits.
            for pair in list(waiting):
                olds, new = pair
                if not _reads(new, [old for others, _ in waiting for old in others]):
                    known.update(dict.fromkeys(olds, rebuilt([new], known)[0]))
                    waiting.remove(pair)
        if waiting:
            ends = [olds[0] for olds, _ in waiting]
            names = ", ".join(sorted({str(old.attr.name) if old.kind == SYMBOL else repr(old) for old in ends}))
            raise ValueError(f"givens are circular: {names}")
        refuse_hidden(roots, list(known))
        return rebuilt(roots, known)


def _reads(root: Node, ends: list[Node]) -> bool:
    """Whether a tree depends on one of some values."""
    wanted = {id(end) for end in ends} | {id(end.attr) for end in ends if end.kind == SYMBOL}
    seen = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in wanted or (node.kind == SYMBOL and id(node.attr) in wanted):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack += node.args
    return False


def _variables(outputs: Any) -> Any:
    if callable(outputs) and not isinstance(outputs, (ndarray, Deferred)):
        return []
    return [one.variable if isinstance(one, Out) else one for one in flat(outputs)]


def _resolved_outputs(outputs: Any, known: dict[int, Array], depth: int = 0) -> Any:
    if isinstance(outputs, Out):
        return Out(resolved(outputs.variable, known), outputs.borrow, outputs.host)
    if isinstance(outputs, (list, tuple)):
        depth = deeper(depth)
        return type(outputs)([_resolved_outputs(one, known, depth) for one in outputs])
    if isinstance(outputs, dict):
        depth = deeper(depth)
        return {name: _resolved_outputs(one, known, depth) for name, one in outputs.items()}
    return None if outputs is None else resolved(outputs, known)


def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    profile: bool = False,
    name: str = "function",
    host: bool = False,
) -> Function:
    """Make a function of a tree: planned once, replayed by each call.

    Parameters
    ----------
    inputs : sequence of symbol or In
        What it takes.
    outputs : tree, Out, or (nested) list, tuple or dict of them, or callable, optional
        What it gives. A Python function is called with the symbols, and its results are the outputs.
    updates : sequence of (shared, tree), or dict of them, optional
        New values of shared variables, all of them computed from the old ones. If a call fails none is changed.
    givens : sequence of (symbol, tree), or dict of them, optional
        What stands in the place of symbols, or (in a sequence) of parts of the trees.
    profile : bool
        Whether it takes a profile of its calls, which then wait for the device: ``print(f.profile)``.
    name : str
        Its name, in errors.
    host : bool
        Whether outputs are NumPy arrays.

    Returns
    -------
    Function

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3,))
    >>> total = np.shared(0.0, "total")
    >>> add = np.function([x], x * 2, updates=[(total, total + x.sum())])
    >>> print(add([1, 2, 3]), total.get_value())
    [2. 4. 6.] 6.0
    """
    return Function(list(inputs), outputs, updates, givens, profile, name, host)


__all__ = ["Function", "In", "Out", "function", "taken"]
