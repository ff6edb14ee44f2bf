# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Small work without a plan, by ready-made loops: see ``unplanned.py`` for when, ``_ready.pyx`` for single operations.

Nothing of Python runs while the marks of a walk are read, since other threads record meanwhile: what is not known of an
operation is asked for first, and the walk is done again.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport PyObject
from libc.stdint cimport intptr_t, uint64_t
from libc.string cimport memcpy

from numloom.device.cpu._hostview cimport put_number_at
from numloom.device.memory cimport Pool
from numloom.engine._ready cimport (
    BY_LOOP, BY_REDUCER, REFUSED, Known, Size, StridedSpace, compute_node, copy_all, count_bools, count_up, counts, dot,
    dots, fill_memory, find, forget_operations,
    learn, multiply_row, pack, product, simplify, take_shape, take_strides,
)
from numloom.engine.guard cimport Guard, get_ident
from numloom.engine.walk cimport Walk
from numloom.graph.node cimport Node, become_leaf

import numpy

from numloom.base.dtypes import DTYPES, I64, code_of
from numloom.device.cpu.hostview import array_at
from numloom.engine.guard import guard as _guard
from numloom.engine.interpret import apply, cast
from numloom.engine.reference import gathered, physical_axes
from numloom.graph import node as _node
from numloom.ops.reduction_tree import reduce_axes

cdef int LEAF = _node.LEAF, SCALAR = _node.SCALAR, FILL = _node.FILL, IOTA = _node.IOTA, VIEW = _node.VIEW
cdef int OP = _node.OP, CAST = _node.CAST, REDUCE = _node.REDUCE, GATHER = _node.GATHER, UPDATE = _node.UPDATE

cdef enum:
    MOST_NODES = 1 << 16
    TIMES = 1 << 14
    MOST_KINDS = 40  # that 64 bits tell apart; of more every node is taken for another one
    RATHER_COPIED = 512  # elements that are copied for a write rather than that other work is looked for
    FILLED = 1 << 20  # elements that one number is stored in
    LOOP = 200  # nanoseconds of a node, beside those of its elements
    DOTTED = 1 << 20  # products that are added up and not stored
    WAITING = 1 << 18  # elements of values that run here while their kernels are compiled

cdef struct Spent:
    uint64_t key
    Py_ssize_t time  # nanoseconds, by counting nodes and elements: what is run never depends on a clock

cdef struct SmallValue:
    char* memory
    Py_ssize_t left  # nodes of the walk that still read it
    Py_ssize_t args  # where the numbers of its arguments begin
    bint free  # nobody but the walk needs its memory
    bint stored  # it becomes a leaf
    bint done
    bint fused  # products that the sum which reads them computes
    Py_ssize_t follows  # the write, counted from 1, that it was last found to depend on
    double scratch[2]  # for a number

cdef Guard guard = _guard
cdef int INT64 = I64
cdef Py_ssize_t HAS_KERNELS = <Py_ssize_t>1 << 60  # spent by what its plan runs
cdef Spent met[TIMES]
cdef int sizes[32]
for _code, _dtype in enumerate(DTYPES):
    sizes[_code] = _dtype.itemsize
cdef object device_of_known = None
cdef object device_pool = None
cdef bint interprets = False
cdef Py_ssize_t asked = 0  # runs since the device had no loops
cdef Py_ssize_t limit = 0
cdef Py_ssize_t base_limit = 1 << 24
cdef Py_ssize_t worth = 5000000, planning = 300000, loading = 50000000  # nanoseconds
cdef Py_ssize_t all_spent = 0  # by work of all keys
cdef bint loaded = False  # what makes plans

def set_limit(Py_ssize_t value):
    """Elements of values that run here; 0: none do."""
    global limit
    limit = value


def set_worth(Py_ssize_t of_key, Py_ssize_t of_node, Py_ssize_t of_first):
    """Nanoseconds that work of one symbolic key takes here before it is planned, and for each of its nodes.

    And those of all work before the first plan.
    """
    global worth, planning, loading
    worth = of_key
    planning = of_node
    loading = of_first


# ---------------------------------------------------------------- when


cdef inline Py_ssize_t* spent_for(uint64_t key) noexcept:
    cdef Spent* slot = &met[(key * <uint64_t>0x9E3779B97F4A7C15) >> 50]
    if slot.key != key:
        slot.key = key
        slot.time = 0
    return &slot.time


cdef inline bint is_due(Py_ssize_t spent, Walk found) noexcept:
    """Whether work took about as long here as making its plan would; the first one loads what makes them, too."""
    if spent < worth or not (loaded or all_spent >= loading):
        return False
    return found is None or spent >= (planning >> 3) * found.count and spent >= planning_of(found)


cdef Py_ssize_t planning_of(Walk found) noexcept:
    """Nanoseconds that making a plan takes; what repeats itself, as loops of Python do, is met with what was found."""
    cdef Py_ssize_t place, kinds = 0
    cdef uint64_t met_kinds = 0, kind
    cdef Node node
    for place in range(found.count):
        node = <Node>found.nodes[place]
        kind = (<uint64_t><void*>node.op_def ^ <uint64_t>node.size << 3 ^ <uint64_t>node.kind) * <uint64_t>0x9E3779B97F4A7C15
        met_kinds |= <uint64_t>1 << (kind >> 58)
    while met_kinds:
        met_kinds &= met_kinds - 1
        kinds += 1
    if kinds > MOST_KINDS:
        kinds = found.count
    return planning * kinds + (planning >> 3) * (found.count - kinds)


cdef int meet(object device) except -2:
    """Another device, or one that has loops now."""
    global device_of_known, interprets, asked, device_pool
    forget_operations()
    asked = 1 if device.interprets and device.loops is None else 0
    device_pool = device.pool
    interprets = device.interprets and device_pool.error_at != 0
    device_of_known = device
    return -1


cpdef int run(Walk found, list wanted, object device, bint planned) except -2:
    """Run a walk if that is due: 1 if so, 0 if it must be planned, -1 if the walk must be done again first."""
    global asked, due, all_spent, loaded
    if due:
        due = False
        if not planned:
            loaded = True
            return 0
    if limit <= 0:
        return 0
    if device is not device_of_known or asked > 1000:
        return meet(device)
    if not interprets:
        return 0
    if asked:
        asked += 1
    cdef Py_ssize_t* spent = spent_for(found.first)
    if found.count >= MOST_NODES:
        return 0
    if not planned and is_due(spent[0], found):
        loaded = True
        return 0
    cdef list unknown = []
    cdef Py_ssize_t time = measure(found, wanted, max(limit, WAITING) if planned else limit, False, unknown)
    if time < 0:
        loaded = loaded or not planned
        return 0
    if not unknown:
        spent[0] += time
        all_spent += time
        Run(found, wanted, device).go_on()
        return 1
    # From here on Python runs, and other threads.
    find_out(unknown, device)
    return -1


cdef object find_out(list unknown, object device):
    """How operations are done that were not met before."""
    loops = device.loops
    for node in unknown:
        learn(node, loops)


cdef inline Py_ssize_t time_of(Node node, Known* how) noexcept:
    """Nanoseconds that an operation takes beyond what is counted for any node."""
    cdef Py_ssize_t size = (<Node>node.args[0]).size if node.kind == REDUCE else node.size
    return (size * how.price >> 3) - (node.size >> 1)


cdef Py_ssize_t measure(Walk found, list wanted, Py_ssize_t most, bint everywhere, list unknown) except -2:
    """Nanoseconds that a walk takes here, of values of at most so many elements; -1 if it is not for here.

    What runs `everywhere` with the same bits may run here in the place of a GPU. Operations that were not met before
    are added to `unknown`.
    """
    cdef list nodes = found.nodes
    cdef Py_ssize_t place, time = 0, ahead = 0  # products for a sum that adds them up
    cdef Py_ssize_t most_base = most if everywhere else base_limit
    cdef Node node, source
    cdef int kind
    cdef Known* how
    if found.count >= MOST_NODES:
        return -1
    for place in range(found.count):
        node = <Node>nodes[place]
        kind = node.kind
        if kind == LEAF or kind == SCALAR:
            continue
        time += LOOP + (node.size >> 1)
        if kind == OP or kind == CAST:
            if node.size > most:
                if everywhere or kind == CAST or node.op_def is not multiply_row or node.size > DOTTED:
                    return -1
                ahead += 1
        elif kind == REDUCE:
            source = <Node>node.args[0]
            if dots(node):
                time -= source.size >> 1
                ahead -= source.size > most
            elif source.size > most:
                return -1
        elif kind == UPDATE:
            source = <Node>node.args[1]
            if source.size > (FILLED if source.kind == FILL or source.kind == SCALAR else most):
                return -1
            if node.size > (base_limit if (<Node>node.args[0]).kind == LEAF else most_base):
                return -1
            time += ((<Node>node.args[1]).size >> 1) - (node.size >> 1)  # In place nothing else is touched.
            continue
        elif kind == VIEW:
            time -= node.size >> 1
            if node.storages or node.readers > node.seen:  # Later work reads the memory through it.
                return -1
            continue
        elif kind == GATHER or kind == FILL or kind == IOTA:
            if node.size > (most if kind == GATHER else most_base):
                return -1
            continue
        else:
            return -1
        if len(node.shape) > 32:
            return -1
        how = find(node)
        if how is NULL:
            unknown.append(node)
        elif how.way == REFUSED or everywhere and not how.same:
            return -1
        else:
            time += time_of(node, how)
    if ahead:
        return -1
    for node in wanted:
        if node.kind == VIEW:
            return -1
    return time


# ---------------------------------------------------------------- beside a GPU

cdef Py_ssize_t launching = 0, price_of_move = 0, rate_of_move = 1
cdef Py_ssize_t regret = 0

def set_prices(Py_ssize_t launch, Py_ssize_t move, Py_ssize_t rate):
    """Nanoseconds of a launch and of a move, and bytes that move in one."""
    global launching, price_of_move, rate_of_move
    launching = launch
    price_of_move = move
    rate_of_move = rate


cpdef int side(Walk found, list wanted, object host, int planned) except -2:
    """Where a walk runs beside a GPU: 1 on the host, 0 there, 2 more if values must move first; -1: walk again first.

    `planned` is 1 more if the GPU has a plan for it, 2 more if the host has. See `engine.placement` for the rule.
    """
    global due, regret
    cdef Py_ssize_t here, there, difference, place, leaves = 0, loops = 0, kernels = found.roots
    cdef Py_ssize_t to_host = 0, to_device = 0, price
    cdef Pool pool
    cdef Node node
    cdef Buffer buffer
    cdef bint near = False, far = False, fixed = False, on_host = False, often
    cdef list unknown = []
    regret = 0
    if limit > 0 and (host is not device_of_known or asked > 1000):
        return meet(host)
    pool = device_pool if limit > 0 else host.pool
    here = -1 if limit <= 0 else measure(found, wanted, max(limit, WAITING) if planned & 2 else limit, True, unknown)
    if here >= 0 and unknown:
        find_out(unknown, host)
        return -1
    for place in range(found.count):
        node = <Node>found.nodes[place]
        if node.kind != LEAF:
            loops += node.kind != SCALAR
            kernels += node.kind == UPDATE  # What it writes is read by later ones.
            continue
        leaves += 1
        buffer = node.buffer
        if buffer.pool is None or node.attr is None and buffer.pool is not pool:
            fixed = True
            continue
        price = price_of_move + buffer.nbytes // rate_of_move - buffer.debt
        if price < 0:
            price = 0
        if buffer.pool is pool:
            near = True
            to_device += price
        else:
            far = True
            to_host += price
    if here >= 0 and not fixed:
        there = launching + 1000 * (kernels - 1)
        often = due or is_due(spent_for(found.first)[0], found)
        if planned & 2 or often and not planned:  # A kernel for each root and write, not a loop for each node.
            here = min(here, here - LOOP * loops + 1000 * kernels)
        if planned or not often:
            on_host = here + to_host <= there + to_device + (0 if planned & 1 else planning_of(found))
        else:  # It comes often: its plan will be where it takes less time.
            on_host = here <= there
        difference = here - there if on_host else there - here
        regret = max(0, difference)
        if leaves > 1:
            difference //= leaves
        for place in range(found.count):
            node = <Node>found.nodes[place]
            if node.kind == LEAF:
                buffer = node.buffer
                buffer.debt = max(0, buffer.debt + difference)
    if far if on_host else near:  # What is decided now is decided again when they have moved.
        return 3 if on_host else 2
    if on_host:
        return 1
    due = False
    return 0


cpdef Py_ssize_t last_regret() noexcept:
    """Nanoseconds that the work of the last `side` would have taken less on the other one."""
    return regret


# ---------------------------------------------------------------- one value

cdef enum:
    MOST_SMALL = 24  # nodes of a value that runs by itself
    COUNTING = 98  # the kind of a sum that `counts`
    DOTTING = 99  # and of one that `dots`
    ARENA = 1 << 21  # bytes for what is computed on the way

cdef struct Small:
    PyObject* node
    int kind
    int args[5]
    char* memory
    double scratch[2]

cdef Small smalls[MOST_SMALL]
cdef char arena[ARENA]
cdef Py_ssize_t runs = 0
cdef bint beside_gpu = False
cdef bint due = False  # `run_one` has left a value to its plan
cdef uint64_t left_key = 0  # of what `run_one` has left so
cdef Py_ssize_t unbeaten = 0  # nanoseconds in `smalls` of loops over memory that no kernel outruns
cdef Node unknown_small = None  # of which it is not known yet how it is done
cdef Node wanted_small = None  # which others want, too, so that it is to be a value of its own


cdef int take_small(Node node, int count, uint64_t* key, Py_ssize_t* time) except -2:
    """Put a value and what it is computed from into `smalls` from `count` on; its place, or -1 if it is not for here."""
    global unbeaten, unknown_small, wanted_small
    cdef tuple args = node.args
    cdef Py_ssize_t k, n = len(args)
    cdef int kind = node.kind, place
    cdef int places[5]
    cdef Node arg
    cdef Known* how
    cdef Node source
    if n > 5 or count + n >= MOST_SMALL or len(node.shape) > 32:
        return -1
    if kind == OP or kind == CAST or kind == REDUCE:
        how = find(node)
        if how is NULL:
            unknown_small = node
            return -1
        if not BY_LOOP <= how.way <= BY_REDUCER or node.size > limit or not node.size:
            return -1
        if beside_gpu and not how.same:
            return -1
        key[0] = (key[0] ^ <uint64_t>how) * <uint64_t>0x9E3779B97F4A7C15 + <uint64_t>node.size
        time[0] += LOOP + (node.size >> 1) + time_of(node, how)
        if kind == REDUCE:
            source = <Node>args[0]
            if how.fastest and source.size <= how.fastest and (source.kind == LEAF or source.kind == VIEW):
                unbeaten += LOOP + (node.size >> 1) + time_of(node, how)
            elif source.size > (DOTTED if dots(node) else limit):
                return -1
            if not source.size:
                return -1
            if counts(node):
                args = source.args
                kind = COUNTING
            elif dots(node):
                args = source.args
                kind = DOTTING
            n = len(args)
    elif kind == GATHER:
        if node.size > limit or not node.size:
            return -1
        for k in range(1, n):
            if not 1 <= (<Node>args[k]).code <= 8:
                return -1
        key[0] = key[0] * 31 + <uint64_t>node.size
        time[0] += LOOP + (node.size >> 1)
    elif kind == VIEW:
        if (<Node>args[0]).kind != LEAF:
            return -1
        key[0] = key[0] * 31 + <uint64_t>node.size
    elif kind == FILL:
        if node.size != 1 and node.size > limit:
            return -1
    elif kind == IOTA:
        if node.size > limit or node.code != INT64 or len(node.shape) != 1 or not node.size:
            return -1
        key[0] = key[0] * 31 + <uint64_t>node.size
        time[0] += LOOP + (node.size >> 1)
    elif kind == LEAF:
        if beside_gpu and (<Buffer>node.buffer).pool is not device_pool:
            return -1
    elif kind != SCALAR:
        return -1
    for k in range(n):
        arg = <Node>args[k]
        if arg.kind >= OP and (arg.readers != 1 or arg.storages > 0):
            wanted_small = arg
            return -1
        place = take_small(arg, count, key, time)
        if place < 0:
            return -1
        places[k] = place
        count = place + 1
    if count >= MOST_SMALL:
        return -1
    smalls[count].node = <PyObject*>node
    smalls[count].kind = kind
    for k in range(n):
        smalls[count].args[k] = places[k]
    return count


cpdef bint run_one(Node root, object device, bint beside, bint planned=True, Buffer given=None) except -1:
    """Run one value that is all there is to run, if it is small and its operations have loops; nothing of Python runs.

    The host may stand `beside` a GPU. What is not to be `planned` however often it comes is not counted. The result goes
    to memory that was `given`, if any.
    """
    global runs, due, left_key, beside_gpu, unbeaten, unknown_small, wanted_small, all_spent
    cdef uint64_t key = 0
    cdef Py_ssize_t time = 0, used = 0, nbytes, turn
    cdef long long asked
    cdef Py_ssize_t* spent
    cdef int place, count, k, done
    cdef Small* at
    cdef Node node
    cdef char* args[6]
    cdef Buffer buffer
    cdef Buffer leaf
    if limit <= 0 or device is not device_of_known or not interprets or root.kind > GATHER:
        return False
    if root.kind < OP and (root.kind != FILL and root.kind != IOTA or root.size < 2):
        return False
    if guard.owner and guard.owner != get_ident():  # Another thread's run may be at what this is made of.
        return False
    runs += 1
    turn = runs
    beside_gpu = beside
    unbeaten = 0
    count = take_small(root, 0, &key, &time)
    if count < 0:
        if wanted_small is not None:
            node = wanted_small
            wanted_small = None
            return run_one(node, device, beside, planned) and run_one(root, device, beside, planned)
        if unknown_small is None:
            return False
        node = unknown_small
        unknown_small = None
        learn(node, device.loops)  # Which runs Python, so that all begins anew.
        return find(node) is not NULL and run_one(root, device, beside, planned)
    if unbeaten:  # What is done with their results is worth a plan by its elements alone.
        time = max(0, time - unbeaten - LOOP * count)
    spent = spent_for(key)
    if planned and is_due(spent[0], None):  # It is due to get a plan; until that has its kernel most runs are done here.
        spent[0] += 1
        if spent[0] > HAS_KERNELS or spent[0] & 15 == 0:
            due = True
            left_key = key
            return False
        time = 0
    for place in range(count):  # What is to be there, before anything is computed.
        at = &smalls[place]
        node = <Node>at.node
        if at.kind == LEAF:
            leaf = <Buffer>node.buffer
            at.memory = <char*><intptr_t>leaf.ptr
        elif at.kind == VIEW:
            at.memory = smalls[at.args[0]].memory + <Py_ssize_t>node.attr
        elif (at.kind == SCALAR or at.kind == FILL) and not put_number_at(<intptr_t>at.scratch, node.code, node.attr):
            return False
        else:
            at.memory = <char*>at.scratch
            if at.kind != SCALAR and (at.kind != FILL or node.size > 1):
                nbytes = (node.size * sizes[node.code] + 63) & ~63
                if used + nbytes > ARENA:
                    return False
                at.memory = arena + used
                used += nbytes
    if root.kind == FILL and not put_number_at(<intptr_t>smalls[count].scratch, root.code, root.attr):
        return False
    if given is not None:
        buffer = given
    else:
        asked = (<Pool>device_pool).asked
        buffer = (<Pool>device_pool).allocate(root.size * sizes[root.code])
        if turn != runs:  # It collected garbage, whose end ran something else.
            return False
        if asked != (<Pool>device_pool).asked:  # Another thread may have computed some of these values, which are gone then.
            return root.buffer is None and run_one(root, device, beside, planned, buffer)
    smalls[count].memory = <char*><intptr_t>buffer.ptr
    for place in range(count + 1):
        at = &smalls[place]
        node = <Node>at.node
        if at.kind == COUNTING:
            done = count_bools(node, smalls[at.args[0]].memory, at.memory)
            if done <= 0:
                return False
        elif at.kind == DOTTING:
            for k in range(2):
                args[k] = smalls[at.args[k]].memory
            if dot(node, args, at.memory) <= 0:
                return False
        elif at.kind >= OP:
            for k in range(len(node.args)):
                args[k] = smalls[at.args[k]].memory
            done = compute_node(node, at.kind, args, at.memory)
            if done <= 0:  # Too long a reduction, or an index that is out of bounds: whoever does it in full says so.
                return False
        elif at.kind == FILL and node.size > 1:
            fill_memory(node, <char*>at.scratch, at.memory)
        elif at.kind == IOTA and not count_up(node, at.memory):
            return False
    spent[0] += time
    all_spent += time
    become_leaf(root, buffer)
    return True


cpdef void leave_to_plan() noexcept:
    """The plan of what `run_one` has left last has its kernels: from now on `run_one` leaves it always."""
    global left_key
    if left_key:
        spent_for(left_key)[0] = HAS_KERNELS
        left_key = 0


# ---------------------------------------------------------------- how


cdef class Run:
    """One run over the nodes of a walk, whose marks it takes down first."""

    cdef list nodes
    cdef list buffers  # memory of what is computed
    cdef SmallValue* values
    cdef Py_ssize_t* places  # numbers of arguments
    cdef Py_ssize_t count
    cdef object device
    cdef Pool pool

    def __cinit__(self, Walk found, list wanted, object device):
        cdef Py_ssize_t count = found.count
        cdef Py_ssize_t place, total = 0, k
        cdef Node node
        cdef tuple args
        cdef SmallValue* value
        self.count = count
        self.nodes = found.nodes
        for place in range(count):
            total += len((<Node>self.nodes[place]).args)
        self.values = <SmallValue*>PyMem_Malloc(count * sizeof(SmallValue) + total * sizeof(Py_ssize_t))
        if self.values is NULL:
            raise MemoryError("memory for the values of small work")
        self.places = <Py_ssize_t*>(self.values + count)
        total = 0
        for place in range(count):
            node = <Node>self.nodes[place]
            args = node.args
            value = &self.values[place]
            value.memory = NULL
            value.args = total
            value.left = node.seen
            value.free = node.storages == 0 and node.readers <= node.seen
            value.stored = node.kind >= VIEW and not value.free
            value.done = value.fused = False
            value.follows = 0
            if node.kind == REDUCE and dots(node):
                self.values[(<Node>args[0]).number].fused = True
            for k in range(len(args)):
                self.places[total] = (<Node>args[k]).number
                total += 1
        for node in wanted:
            if node.buffer is None:
                self.values[node.number].stored = True
                self.values[node.number].fused = False
        self.device = device
        self.pool = device.pool
        self.buffers = [None] * count

    def __dealloc__(self):
        PyMem_Free(self.values)

    cdef object go_on(self):
        """Compute all nodes; each value that somebody needs becomes a leaf as soon as it is there."""
        cdef Py_ssize_t place
        for place in range(self.count):
            if not self.values[place].done:
                self.visit(place)

    cdef object run_readers(self, Py_ssize_t write, Py_ssize_t base):
        """Compute what still reads the base of a write and does not depend on that, so that it may be done in place."""
        cdef Py_ssize_t place, k, arg, last = -1
        cdef SmallValue* value
        cdef bint follows, reads
        for place in range(write + 1, self.count):
            value = &self.values[place]
            follows = reads = False
            for k in range(len((<Node>self.nodes[place]).args)):
                arg = self.places[value.args + k]
                follows = follows or arg == write or self.values[arg].follows == write + 1
                reads = reads or arg == base
                if (<Node>self.nodes[arg]).kind == VIEW and self.places[self.values[arg].args] == base:
                    reads = True
            if follows:
                value.follows = write + 1
            elif not value.done:
                if (<Node>self.nodes[place]).kind == GATHER:  # Which may fail, and is not to fail before the write.
                    return
                if reads:
                    last = place
        for place in range(write + 1, last + 1):
            if not self.values[place].done and self.values[place].follows != write + 1:
                self.visit(place)

    cdef object visit(self, Py_ssize_t place):
        """Compute one node."""
        cdef Node node = <Node>self.nodes[place]
        cdef int kind = node.kind
        cdef SmallValue* value = &self.values[place]
        value.done = True
        cdef Py_ssize_t k, args, count = len(node.args)
        cdef Buffer buffer
        if kind == LEAF:
            buffer = node.buffer
            self.buffers[place] = buffer
            value.memory = <char*><intptr_t>buffer.ptr
            return
        if kind == VIEW:
            value.memory = self.values[self.places[value.args]].memory + <Py_ssize_t>node.attr
            return
        args = value.args
        if kind == UPDATE:
            self.write(place, node)
        elif value.fused:
            return
        else:
            self.allocate(place, node)
            if node.size:
                if kind != REDUCE or not self.sum_products(place, node):
                    self.compute(place, node, kind)
            elif kind == GATHER:
                self.by_python(node, kind, [self.array(self.places[args + k]) for k in range(count)])  # may not fit
            if value.stored:
                become_leaf(node, self.buffers[place])
        for k in range(count):
            self.let_go(self.places[args + k])

    cdef object allocate(self, Py_ssize_t place, Node node):
        """Memory for a value."""
        cdef SmallValue* value = &self.values[place]
        cdef Buffer buffer
        if node.kind == SCALAR and not value.stored:
            value.memory = <char*>value.scratch
        else:
            buffer = self.pool.allocate((node.size if node.size else 1) * sizes[node.code])
            self.buffers[place] = buffer
            value.memory = <char*><intptr_t>buffer.ptr

    cdef bint sum_products(self, Py_ssize_t place, Node node) except -1:
        """Compute a sum of products that are not stored, if it is one and their memory allows it."""
        cdef Py_ssize_t whole = self.places[self.values[place].args]
        cdef SmallValue* products = &self.values[whole]
        cdef char* args[2]
        cdef Py_ssize_t k
        if not products.fused:
            return False
        for k in range(2):
            args[k] = self.values[self.places[products.args + k]].memory
        if dot(node, args, self.values[place].memory) > 0:
            return True
        self.allocate(whole, <Node>self.nodes[whole])
        self.compute(whole, <Node>self.nodes[whole], OP)
        return False

    cdef void let_go(self, Py_ssize_t place) noexcept:
        """One reader less."""
        cdef SmallValue* value = &self.values[place]
        value.left -= 1
        if value.left == 0:
            if value.fused:
                self.let_go(self.places[value.args + 1])
            if value.fused or (<Node>self.nodes[place]).kind == VIEW:
                self.let_go(self.places[value.args])
            if (<Node>self.nodes[place]).kind != VIEW:
                self.buffers[place] = None

    cdef object compute(self, Py_ssize_t place, Node node, int kind):
        cdef SmallValue* value = &self.values[place]
        cdef char* args[6]
        cdef Py_ssize_t k, count = len(node.args)
        cdef int done = 0
        if kind == SCALAR or kind == FILL:
            if not put_number_at(<intptr_t>value.scratch, node.code, node.attr):
                number = numpy.array(0 if node.attr is None else node.attr).astype(DTYPES[node.code])
                memcpy(value.scratch, <char*><intptr_t>number.ctypes.data, sizes[node.code])
            if kind == FILL or value.stored:
                fill_memory(node, <char*>value.scratch, value.memory)
            return
        if kind == IOTA:
            if count_up(node, value.memory):
                return
            counted = numpy.arange(node.size, dtype=numpy.int64).astype(DTYPES[node.code])
            self.array(place)[...] = counted.reshape(node.shape)
            return
        if count <= 5:
            for k in range(count):
                args[k] = self.values[self.places[value.args + k]].memory
            done = compute_node(node, kind, args, value.memory)
            if done < 0:
                raise node.op_def.error()
            if done:
                return
        given = [self.array(self.places[value.args + k]) for k in range(count)]
        with numpy.errstate(all="ignore"):
            self.array(place)[...] = self.by_python(node, kind, given)

    cdef object by_python(self, Node node, int kind, list args):
        """An operation, cast or reduction that has no loop here."""
        loops = self.device.loops
        codes = [arg.code for arg in node.args]
        if kind == OP:
            return apply(node.op_def, codes, node.code, args, loops)
        if kind == CAST:
            return cast(codes[0], node.code, args[0], loops)
        if kind == GATHER:
            try:
                return gathered(args[0], args[1:], node.attr[0], node.attr[1])
            except IndexError as error:
                raise node.op_def.error() from error
        axes, fast, keepdims = node.attr

        def operate(op, a, b):
            code = code_of(a.dtype)
            return numpy.asarray(apply(op, [code, code], code, [a, b], loops))

        found = reduce_axes(node.op_def, args[0], axes, physical_axes(node.args[0], axes), fast, keepdims, operate)
        return found.astype(DTYPES[node.code])

    cdef object write(self, Py_ssize_t place, Node node):
        """A partial write: in place where nobody else needs the base."""
        cdef SmallValue* value = &self.values[place]
        cdef Py_ssize_t base = self.places[value.args], given = self.places[value.args + 1]
        cdef SmallValue* whole = &self.values[base]
        cdef Node source = <Node>node.args[1]
        cdef Node old = <Node>node.args[0]
        cdef tuple attr = node.attr
        cdef tuple shape = attr[1], strides = attr[2]
        cdef int code = attr[3], axis
        cdef Py_ssize_t others = whole.left - 1
        cdef Buffer buffer = self.buffers[base]
        cdef Buffer copied
        cdef StridedSpace space
        cdef char* start[2]
        cdef Size low, high
        if others and whole.free and node.size > RATHER_COPIED:
            self.run_readers(place, base)
            others = whole.left - 1
        if others and self.values[given].left == 1 and source.kind == VIEW and self.places[self.values[given].args] == base:
            others -= 1  # which this write is the last to read
        if others or not whole.free or buffer is None or given == base:
            buffer = self.pool.allocate((node.size if node.size else 1) * sizes[node.code])
            if node.size:
                space.rank = len(node.shape)
                space.args = 2
                take_shape(&space, node)
                take_strides(&space, 0, old)
                take_strides(&space, 1, node)
                start[0] = whole.memory
                start[1] = <char*><intptr_t>buffer.ptr
                simplify(space)
                copy_all(sizes[node.code], start, space)
        value.memory = <char*><intptr_t>buffer.ptr
        if source.size:
            if source.code != code:
                array_at(buffer.ptr + <Py_ssize_t>attr[0], shape, strides, DTYPES[code], buffer)[...] = self.array(given)
            else:
                space.rank = len(shape)
                space.args = 2
                low = high = 0
                for axis in range(space.rank):
                    space.shape[axis] = <Size>shape[axis]
                    space.strides[1][axis] = <Size>strides[axis]
                take_strides(&space, 0, source)
                start[0] = self.values[given].memory
                start[1] = value.memory + <Py_ssize_t>attr[0]
                if source.kind == VIEW:  # It may be of the memory that is written.
                    copied = self.pool.allocate(product(&space) * sizes[code])
                    pack(&space, 0, sizes[code], start, <char*><intptr_t>copied.ptr)
                simplify(space)
                copy_all(sizes[code], start, space)
        self.buffers[place] = buffer
        # In place the old value is gone, so the new one must be there whatever fails later.
        if value.stored or buffer is self.buffers[base]:
            become_leaf(node, buffer)

    cdef object array(self, Py_ssize_t place):
        """A value as an array of NumPy."""
        cdef Node node = <Node>self.nodes[place]
        cdef char* memory = self.values[place].memory
        owner = self.buffers[place]
        return array_at(<intptr_t>memory, node.shape, node.strides, DTYPES[node.code], self if owner is None else owner)


