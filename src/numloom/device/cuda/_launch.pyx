"""cuLaunchKernelEx and graphs through their addresses: no link to the driver, no CUDA header at build time."""

cimport cython
import atexit
import os

from cpython cimport array
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from numloom.device.memory cimport Buffer, Pool

cdef enum:
    EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    PROGRAMMATIC = 1  # CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
    NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT

cdef struct Attribute:  # CUlaunchAttribute
    int id
    int pad
    int value
    char rest[60]

cdef struct LaunchConfig:  # CUlaunchConfig
    unsigned blocks
    unsigned blocks_y
    unsigned blocks_z
    unsigned threads
    unsigned threads_y
    unsigned threads_z
    unsigned shared
    void* stream
    Attribute* attributes
    unsigned count

cdef struct GraphNode:  # CUDA_KERNEL_NODE_PARAMS_v2
    void* function
    unsigned blocks
    unsigned blocks_y
    unsigned blocks_z
    unsigned threads
    unsigned threads_y
    unsigned threads_z
    unsigned shared
    void** parameters
    void** extra
    void* kernel
    void* context

cdef struct Edge:  # CUgraphEdgeData
    unsigned char from_port
    unsigned char to_port
    unsigned char kind
    unsigned char reserved[5]

ctypedef int (*launch_type)(const LaunchConfig*, void*, void**, void**) noexcept nogil
ctypedef int (*create_type)(void**, unsigned) noexcept nogil
ctypedef int (*add_type)(void**, void*, void**, size_t, const GraphNode*) noexcept nogil
ctypedef int (*depend_type)(void*, void**, void**, const Edge*, size_t) noexcept nogil
ctypedef int (*instantiate_type)(void**, void*, unsigned long long) noexcept nogil
ctypedef int (*set_type)(void*, void*, const GraphNode*) noexcept nogil
ctypedef int (*run_type)(void*, void*) noexcept nogil
ctypedef int (*destroy_type)(void*) noexcept nogil
ctypedef int (*current_type)(void**) noexcept nogil
ctypedef int (*enter_type)(void*) noexcept nogil


@cython.final
cdef class Launch:
    """``launch(kernel, params, geometry)`` of a device; what is not plain success goes to ``failed``.

    A thread that has no context yet gets the device's without Python between, since another thread could then fill the
    block of parameters that this one is about to launch with.

    Attributes
    ----------
    address, stream : int
        Of cuLaunchKernelEx, and the stream's handle.
    early : bool
        Whether kernels that wait themselves are launched before the work before them is done.
    prepare : callable
        ``prepare(kernel, shared)`` before the first launch with more than 48 KiB of shared memory.
    failed : callable
        ``failed(kernel, params, geometry, code)`` where the driver refuses.
    current, set_current : int
        Addresses of cuCtxGetCurrent and cuCtxSetCurrent; 0 where threads need no context.
    context : int
        The device's context.
    """

    cdef size_t address
    cdef size_t stream
    cdef bint early
    cdef object prepare
    cdef object failed
    cdef size_t current
    cdef size_t set_current
    cdef size_t context
    cdef int process

    def __init__(
        self, size_t address, size_t stream, bint early, prepare, failed, size_t current=0, size_t set_current=0,
        size_t context=0,
    ):
        self.address = address
        self.stream = stream
        self.early = early
        self.prepare = prepare
        self.failed = failed
        self.current = current
        self.set_current = set_current
        self.context = context
        self.process = os.getpid()

    cpdef bint enter(self):
        """Whether this thread has the device's context, by now. (To change a node of a graph without one ends the
        process; another GPU's is what other libraries leave.)"""
        cdef void* context = NULL
        if self.current == 0:
            return True
        if (<current_type><void*>self.current)(&context) == 0 and <size_t>context == self.context:
            return True
        return self.take_context()

    cdef bint take_context(self):
        """Make the device's context current in this thread, if that can be."""
        if self.set_current == 0 or os.getpid() != self.process:
            return False
        return (<enter_type><void*>self.set_current)(<void*>self.context) == 0

    cdef int start(self, LaunchConfig* config, void* function, void* block):
        """Launch with a block of parameters; the driver's code."""
        cdef void* parameters[1]
        cdef int code
        parameters[0] = block
        code = (<launch_type><void*>self.address)(config, function, parameters, NULL)
        if code == NO_CONTEXT and self.take_context():
            code = (<launch_type><void*>self.address)(config, function, parameters, NULL)
        return code

    cdef configure(self, LaunchConfig* config, Attribute* early, kernel, geometry):
        """Everything about a launch but the kernel and its parameters."""
        config.blocks = geometry.blocks
        config.blocks_y = geometry.blocks_y
        config.blocks_z = config.threads_y = config.threads_z = 1
        config.threads = geometry.threads
        config.shared = geometry.shared
        config.stream = <void*>self.stream
        config.attributes = early
        config.count = 1 if self.early and kernel.waits else 0
        memset(early, 0, sizeof(Attribute))
        early.id = EARLY
        early.value = 1
        if config.shared > 49152:
            self.prepare(kernel, config.shared)

    def __call__(self, kernel, array.array params, geometry):
        cdef LaunchConfig config
        cdef Attribute early
        cdef size_t function = kernel.function
        cdef int code
        self.configure(&config, &early, kernel, geometry)
        code = self.start(&config, <void*>function, params.data.as_voidptr)
        if code:
            self.failed(kernel, params, geometry, code)

    def bound(self, kernel, array.array params, geometry):
        """A launch whose arguments are known: calling it launches."""
        return BoundKernel(self, kernel, params, geometry)


@cython.final
cdef class BoundKernel:
    """A launch of one kernel with one parameter block."""

    cdef Launch launch
    cdef object kernel
    cdef array.array params
    cdef object geometry
    cdef void* function
    cdef void* block
    cdef LaunchConfig config
    cdef Attribute early

    def __init__(self, Launch launch, kernel, array.array params, geometry):
        self.launch = launch
        self.kernel = kernel
        self.params = params  # which must keep its size
        self.geometry = geometry
        self.function = <void*><size_t>kernel.function
        self.block = params.data.as_voidptr
        launch.configure(&self.config, &self.early, kernel, geometry)

    def __call__(self):
        self.queue()

    def on(self, size_t stream):
        """Launch on another stream than the device's: one on which launches are captured."""
        cdef void* own = self.config.stream
        self.config.stream = <void*>stream
        cdef int code = self.launch.start(&self.config, self.function, self.block)
        self.config.stream = own
        if code:
            raise RuntimeError(f"a launch cannot be captured (error {code})")

    cdef void describe(self, GraphNode* node, void** parameters):
        """Say what a node of a graph launches that is this, with parameters of its own."""
        memset(node, 0, sizeof(GraphNode))
        node.function = self.function
        node.blocks = self.config.blocks
        node.blocks_y = self.config.blocks_y
        node.blocks_z = node.threads_y = node.threads_z = 1
        node.threads = self.config.threads
        node.shared = self.config.shared
        node.parameters = parameters

    cdef int queue(self) except -1:
        cdef int code = self.launch.start(&self.config, self.function, self.block)
        if code:
            self.launch.failed(self.kernel, self.params, self.geometry, code)
        return 0


@cython.final
cdef class Replay:
    """Bound launches in a row as one graph: calling it launches them all, with what their blocks hold now.

    The driver takes some 4 µs for a launch, 3 for a graph and 0.4 for a node whose block has changed. Where it refuses,
    the call gives False, and nothing was launched. It is a `Captured` of `numloom.device.interface`, without operands.

    Parameters
    ----------
    launches : list of BoundKernel
        Of one device. Raises RuntimeError where the driver makes no graph of them.
    capture : GraphCapture
        What took them down, which has the memory that is theirs.
    address_of : callable
        Address of a function of the driver, by name.
    """

    cdef object __weakref__
    cdef object capture
    cdef list launches
    cdef Py_ssize_t count
    cdef void* stream
    cdef void* graph
    cdef void* executable
    cdef void** handles
    cdef GraphNode* nodes
    cdef void** blocks
    cdef char** copies
    cdef set_type set_node
    cdef run_type run
    cdef destroy_type destroy_graph
    cdef destroy_type destroy_executable
    cdef int process

    def __init__(self, list launches, capture, address_of):
        """A class without this could not be called: see ``array._type.seal``."""

    def __cinit__(self, list launches, capture, address_of):
        cdef Py_ssize_t count = len(launches), i
        cdef BoundKernel bound
        self.capture = capture
        self.launches = launches
        self.count = count
        self.process = os.getpid()
        self.handles = <void**>calloc(count, sizeof(void*))
        self.nodes = <GraphNode*>calloc(count, sizeof(GraphNode))
        self.blocks = <void**>calloc(count, sizeof(void*))
        self.copies = <char**>calloc(count, sizeof(char*))
        if self.handles == NULL or self.nodes == NULL or self.blocks == NULL or self.copies == NULL:
            raise MemoryError
        for i in range(count):
            bound = launches[i]
            self.copies[i] = <char*>malloc(nbytes_of(bound))
            if self.copies[i] == NULL:
                raise MemoryError
            memcpy(self.copies[i], bound.block, nbytes_of(bound))
            self.blocks[i] = bound.block
            self.stream = bound.config.stream
            bound.describe(&self.nodes[i], &self.blocks[i])
        self.destroy_graph = <destroy_type><void*><size_t>address_of("cuGraphDestroy")
        self.destroy_executable = <destroy_type><void*><size_t>address_of("cuGraphExecDestroy")
        self.set_node = <set_type><void*><size_t>address_of("cuGraphExecKernelNodeSetParams")
        self.run = <run_type><void*><size_t>address_of("cuGraphLaunch")
        self.build(address_of)

    cdef build(self, address_of):
        cdef create_type create = <create_type><void*><size_t>address_of("cuGraphCreate")
        cdef add_type add = <add_type><void*><size_t>address_of("cuGraphAddKernelNode")
        cdef depend_type depend = <depend_type><void*><size_t>address_of("cuGraphAddDependencies")
        cdef instantiate_type instantiate = <instantiate_type><void*><size_t>address_of("cuGraphInstantiateWithFlags")
        cdef Edge edge
        cdef BoundKernel bound
        cdef Py_ssize_t i
        cdef int code = create(&self.graph, 0)
        for i in range(self.count):
            if code == 0:
                code = add(&self.handles[i], self.graph, NULL, 0, &self.nodes[i])
            if code == 0 and i > 0:
                bound = self.launches[i]
                memset(&edge, 0, sizeof(Edge))
                if bound.config.count:  # It waits itself.
                    edge.from_port = edge.kind = PROGRAMMATIC
                code = depend(self.graph, &self.handles[i - 1], &self.handles[i], &edge, 1)
        if code == 0:
            code = instantiate(&self.executable, self.graph, 0)
        if code:
            raise RuntimeError(f"the driver makes no graph of {self.count} kernels (error {code})")

    @property
    def nbytes(self):
        """Bytes of that memory."""
        return self.capture.nbytes

    def __call__(self, addresses):
        cdef Py_ssize_t i
        cdef size_t nbytes
        cdef BoundKernel bound
        cdef int code = 0 if (<BoundKernel>self.launches[0]).launch.enter() else 1
        for i in range(self.count):
            if code:
                break
            bound = <BoundKernel>self.launches[i]
            nbytes = nbytes_of(bound)
            if memcmp(self.copies[i], self.blocks[i], nbytes):
                code = self.set_node(self.executable, self.handles[i], &self.nodes[i])
                if code:
                    break
                memcpy(self.copies[i], self.blocks[i], nbytes)
        if code == 0:
            code = self.run(self.executable, self.stream)
        return code == 0  # Else each for itself knows what to do, and what to say.

    def __dealloc__(self):
        cdef Py_ssize_t i
        if not _over and os.getpid() == self.process:
            if self.executable != NULL:
                self.destroy_executable(self.executable)
            if self.graph != NULL:
                self.destroy_graph(self.graph)
        if self.copies != NULL:
            for i in range(self.count):
                free(self.copies[i])
        free(self.copies)
        free(self.blocks)
        free(self.nodes)
        free(self.handles)


cdef enum:
    LAUNCH, CLEAR, COPY, CALL
    NUMBERS = 24

cdef struct WordPatch:  # *word = number `base` + offset
    long long* word
    int base
    long long offset

cdef struct Command:
    int kind
    int first  # of its patches
    int last
    size_t nbytes
    long long words[2]

ctypedef int (*clear_type)(size_t, unsigned char, size_t, void*) noexcept nogil
ctypedef int (*copy_type)(size_t, size_t, size_t, void*) noexcept nogil


@cython.final
cdef class Script:
    """Commands in a row, whose addresses follow from the numbers that it is called with.

    Parameters
    ----------
    device : CudaDevice
        Gives scratch memory and inter-block flags, and is asked for what the driver refuses.
    residues : list of int
        What is left of the first numbers that it is called with, addresses, divided by 16. Where that is not so, the
        call gives False.
    given : int
        How many numbers it is called with.
    scratch : int
        Bytes of scratch memory: its address is the next number.
    flag_words : tuple of int or None
        Words of inter-block flags and launches that read it: address and number of the first launch are the last two numbers.
    commands : list of tuple
        As `numloom.device.cuda.routines.recording.Recorder` has them.
    address_of : callable
        Address of a function of the driver, by name.
    """

    cdef object device
    cdef Launch launch
    cdef Pool pool
    cdef object flag_words
    cdef list launches  # a Bound each, of calls what is called, else None
    cdef list blocks  # which must stay where they are
    cdef Py_ssize_t given, aligned, scratch
    cdef int count
    cdef size_t residues[NUMBERS]
    cdef Command* steps
    cdef WordPatch* patches
    cdef clear_type clear
    cdef copy_type copy
    cdef void* stream

    def __init__(self, device, residues, given, scratch, flag_words, commands, address_of):
        """A class without this could not be called: see ``array._type.seal``."""

    def __cinit__(self, device, list residues, Py_ssize_t given, Py_ssize_t scratch, flag_words, list commands, address_of):
        cdef Py_ssize_t i
        cdef int patch = 0
        cdef Command* step
        cdef array.array block
        cdef Launch launch = device.launch
        self.device = device
        self.launch = launch
        self.pool = device.pool
        self.aligned = len(residues)
        self.given = given
        self.scratch = scratch
        self.flag_words = flag_words
        self.count = len(commands)
        self.launches = []
        self.blocks = []
        self.stream = <void*>launch.stream
        for i in range(self.aligned):
            self.residues[i] = residues[i]
        self.steps = <Command*>calloc(self.count + 1, sizeof(Command))
        most = sum([len(command[1]) if isinstance(command[1], list) else 2 for command in commands])
        self.patches = <WordPatch*>calloc(most + 1, sizeof(WordPatch))
        if self.steps == NULL or self.patches == NULL:
            raise MemoryError
        for i, command in enumerate(commands):
            step = &self.steps[i]
            step.kind = kind_of(command)
            step.first = patch
            if step.kind == LAUNCH:
                kernel, words, grid = command
                block = array.array("q", [word if isinstance(word, int) else 0 for word in words])
                self.launches.append(launch.bound(kernel, block, grid))
                self.blocks.append(block)
                for place, word in enumerate(words):
                    if not isinstance(word, int):
                        self.patches[patch] = WordPatch(&block.data.as_longlongs[place], word.base, word.offset)
                        patch += 1
            elif step.kind == CALL:
                self.launches.append(command[0])
                for word in command[1]:
                    self.patches[patch] = WordPatch(NULL, word.base, word.offset)
                    patch += 1
            else:
                self.launches.append(None)
                step.nbytes = command[-1]
                for place, word in enumerate(command[:-1]):
                    self.patches[patch] = WordPatch(&step.words[place], word.base, word.offset)
                    patch += 1
                if step.kind == CLEAR:
                    self.clear = <clear_type><void*><size_t>address_of("cuMemsetD8Async")
                else:
                    self.copy = <copy_type><void*><size_t>address_of("cuMemcpyDtoDAsync")
            step.last = patch

    def __call__(self, *numbers):
        cdef size_t at[NUMBERS]
        cdef Py_ssize_t i, k
        cdef int code
        cdef WordPatch* patch
        cdef Command* step
        cdef Buffer work = None
        cdef Launch launch = self.launch
        for i in range(self.given):
            at[i] = numbers[i]
            if i < self.aligned and at[i] & 15 != self.residues[i]:
                return False
        # Whatever may run other Python code comes before a block is filled.
        if self.scratch:
            work = self.pool.allocate(self.scratch)
            at[self.given] = work.ptr
        if self.flag_words is not None:
            first, number = self.device.block_flags.next(self.device, self.flag_words[0], self.flag_words[1])
            at[self.given + 1] = first
            at[self.given + 2] = number
        for i in range(self.count):
            step = &self.steps[i]
            if step.kind == CALL:
                self.launches[i](*[at[self.patches[k].base] + self.patches[k].offset for k in range(step.first, step.last)])
                continue
            for k in range(step.first, step.last):
                patch = &self.patches[k]
                patch.word[0] = <long long>at[patch.base] + patch.offset
            if step.kind == LAUNCH:
                (<BoundKernel>self.launches[i]).queue()
                continue
            code = self.move(step)
            if code == NO_CONTEXT and launch.take_context():
                code = self.move(step)
            if code:  # The binding raises the driver's error.
                if step.kind == CLEAR:
                    self.device.clear(Buffer(step.words[0], step.nbytes), step.nbytes)
                else:
                    self.device.copy(Buffer(step.words[0], 0), 0, Buffer(step.words[1], 0), 0, step.nbytes)
        return True

    cdef int move(self, Command* step):
        """Queue a step that clears or copies; the driver's code."""
        if step.kind == CLEAR:
            return self.clear(<size_t>step.words[0], 0, step.nbytes, self.stream)
        return self.copy(<size_t>step.words[0], <size_t>step.words[1], step.nbytes, self.stream)

    def __dealloc__(self):
        free(self.steps)
        free(self.patches)


cdef int kind_of(tuple command) except -1:
    """Which of a recorder's commands it is."""
    if isinstance(command[1], list):
        return CALL if len(command) == 2 else LAUNCH
    return CLEAR if len(command) == 2 else COPY


cdef inline size_t nbytes_of(BoundKernel bound):
    return len(bound.params) * 8


cdef bint _over = False


def _end():
    """At exit the driver may be gone before us."""
    global _over
    _over = True


atexit.register(_end)


@cython.final
cdef class NumberedNode:
    """A launch in a captured graph, of which some words are addresses or numbers that each run is given.

    Parameters
    ----------
    bound : BoundKernel
        What was launched, with what its block holds now.
    handle : int
        The node.
    rows : list of (word, place)
        Which words of the block are what a run is given, that many bytes behind it as they hold.
    address_of : callable
        Address of a function of the driver, by name.
    """

    cdef BoundKernel bound
    cdef list rows
    cdef array.array block
    cdef array.array offsets
    cdef void* handle
    cdef void* parameters[1]
    cdef GraphNode node
    cdef set_type set_node
    cdef bint stale

    def __init__(self, BoundKernel bound, handle, list rows, address_of):
        self.bound = bound
        self.rows = rows
        self.block = array.copy(bound.params)
        self.offsets = array.copy(bound.params)
        self.handle = <void*><size_t>int(handle)
        self.parameters[0] = self.block.data.as_voidptr
        bound.describe(&self.node, &self.parameters[0])
        self.set_node = <set_type><void*><size_t>address_of("cuGraphExecKernelNodeSetParams")
        self.stale = False

    cdef int update(self, void* executable, list given) except -1:
        """Have the node launch with what it is given; the driver's code."""
        cdef Py_ssize_t word, place
        cdef long long number
        cdef int code = 0
        for word, place in self.rows:
            number = given[place]
            number += self.offsets.data.as_longlongs[word]
            if self.block.data.as_longlongs[word] != number:
                self.block.data.as_longlongs[word] = number
                self.stale = True
        if self.stale:  # Until the driver has taken it.
            code = 1
            if self.bound.launch.enter():
                code = self.set_node(executable, self.handle, &self.node)
            self.stale = code != 0
        return code


@cython.final
cdef class CopiedGraph:
    """A captured graph between copies: of what a run is given to the graph's memory, and of results from there.

    Called with addresses it gives the driver's code of what failed first, or 0.

    Parameters
    ----------
    executable, stream : int
        Handles.
    operands, results : list of (place, address, bytes)
        Which address of those that it is called with is copied to memory of the graph, or from there.
    numbered : list of NumberedNode
        Launches with numbers that it is called with.
    address_of : callable
        Address of a function of the driver, by name.
    """

    cdef void* executable
    cdef void* stream
    cdef size_t* rows
    cdef Py_ssize_t before
    cdef Py_ssize_t count
    cdef list numbered
    cdef copy_type copy
    cdef run_type run

    def __init__(self, executable, stream, list operands, list results, list numbered, address_of):
        """A class without this could not be called: see ``array._type.seal``."""

    def __cinit__(self, executable, stream, list operands, list results, list numbered, address_of):
        cdef Py_ssize_t at = 0
        self.numbered = numbered
        rows = [row for row in operands if row[2]]
        self.before = len(rows)
        rows += [row for row in results if row[2]]
        self.count = len(rows)
        self.rows = <size_t*>calloc(3 * self.count + 1, sizeof(size_t))
        if self.rows == NULL:
            raise MemoryError
        for row in rows:
            for number in row:
                self.rows[at] = number
                at += 1
        self.executable = <void*><size_t>int(executable)
        self.stream = <void*><size_t>int(stream)
        self.copy = <copy_type><void*><size_t>address_of("cuMemcpyDtoDAsync")
        self.run = <run_type><void*><size_t>address_of("cuGraphLaunch")

    def __call__(self, list addresses):
        cdef Py_ssize_t i
        cdef size_t* row
        cdef size_t given
        cdef int code = 0
        for node in self.numbered:
            if code == 0:
                code = (<NumberedNode>node).update(self.executable, addresses)
        for i in range(self.before):
            row = self.rows + 3 * i
            given = addresses[row[0]]
            if code == 0:
                code = self.copy(row[1], given, row[2], self.stream)
        if code == 0:
            code = self.run(self.executable, self.stream)
        for i in range(self.before, self.count):
            row = self.rows + 3 * i
            given = addresses[row[0]]
            if code == 0:
                code = self.copy(given, row[1], row[2], self.stream)
        return code

    def __dealloc__(self):
        free(self.rows)
