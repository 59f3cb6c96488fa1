# Reading what was recorded: entries, plans and names, as plain Python objects.

import inspect as _inspect


def argument_names(f, Py_ssize_t count):
    """What the positional arguments of a function are called: as in its signature, else args[k]."""
    names = []
    try:
        parameters = _inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.kind == parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}[{k}]" for k in range(count - len(names))]
            break
        names.append(parameter.name)
    return (names + [f"args[{k}]" for k in range(len(names), count)])[:count]


def leaves(Structure structure, names):
    """What arguments of these names consist of: a list of (offset, size, shape, path).

    Offsets count numbers. The shape is None for a list or tuple of numbers, which is one leaf.
    """
    found = []
    for node, name in zip(structure.nodes, names):
        add_leaves(found, <Node>node, name)
    return found


cdef int add_leaves(list found, Node node, path) except -1:
    if node.shape == MAPPING:
        for key, child in zip(node.original, node.children):
            add_leaves(found, <Node>child, f"{path}[{key!r}]")
    elif node.shape == SEQUENCE:
        fields = getattr(node.original, "_fields", None)
        for k, child in enumerate(node.children):
            add_leaves(found, <Node>child, f"{path}[{k}]" if fields is None else f"{path}.{fields[k]}")
    else:
        shape = None if node.shape == ROW else node.leaf_shape()
        found.append((node.offset, node.size, shape, path))
    return 0


def element_name(leaf, Py_ssize_t offset):
    """The name of the number at an offset, which lies in the leaf."""
    first, _, shape, path = leaf
    if shape is None:
        return f"{path}[{offset - first}]"
    return path + index_text(unravel(offset - first, shape))


def unravel(Py_ssize_t k, tuple shape):
    """The index of the k-th element in C order."""
    index = []
    for length in reversed(shape):
        index.insert(0, k % length)
        k //= length
    return tuple(index)


def index_text(tuple index):
    return f"[{', '.join(map(str, index))}]" if index else ""


def operation_names():
    """The name of each operation by its code, and how many operands it has."""
    names = [cad_op_info[op].name.decode() for op in range(<int>CAD_OP_COUNT)]
    return names, [cad_op_info[op].arity for op in range(<int>CAD_OP_COUNT)]


cdef object rule_name(object rule):
    """What the user calls the operation of a rule."""
    return getattr(getattr(rule, "operation", rule), "_name", type(rule).__name__)


def watch_shapes():
    """A context in which the shapes of arrays are noted that this thread records."""
    return ShapeWatch()


@cython.final
cdef class ShapeWatch:
    cdef Watch watch

    def __enter__(self):
        self.watch = begin_watch(cad_current_tape())
        return self

    def __exit__(self, *_):
        end_watch(self.watch)


def snapshot(Recording recording, list outputs):
    """Copy what was recorded, after a sweep from the sum of all outputs.

    Values are those that the operations computed, before anything was assigned to them.
    """
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base()
    cdef size_t begin = recording.begin()
    cdef size_t i, low, high, n = tape.n_entries - begin, n_slots = tape.n_slots - base
    cdef size_t first_plan = recording.first_plan()
    cdef size_t plan_words = tape.n_plan_words - first_plan
    cdef cnp.ndarray entries = np.empty((n, 4), np.uint32)
    cdef cnp.ndarray shape_numbers = np.zeros(n, np.uint32)
    cdef cnp.ndarray plans = np.empty(plan_words, np.int64)
    cdef cnp.ndarray values = np.empty(n_slots)
    cdef cnp.ndarray adjoints = np.empty(n_slots)
    cdef uint32_t *numbers = <uint32_t *>cnp.PyArray_DATA(shape_numbers)
    cdef size_t end = recording.clear(outputs)
    cdef Watch watch = watches[<size_t>tape]
    cdef RuleCall call
    for output in outputs:
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), np.ones(output.shape) if output.shape else 1.0)
    cad_sweep(tape, begin, end, end, False)
    cad_tape_read_adjoints(tape, base, tape.n_slots, <double *>cnp.PyArray_DATA(adjoints))
    cad_sweep_undo(tape, begin, tape.n_entries)
    memcpy(cnp.PyArray_DATA(values), tape.values + base, n_slots * sizeof(double))
    cad_sweep_redo(tape, begin, tape.n_entries)
    memcpy(cnp.PyArray_DATA(entries), tape.entries + begin, n * sizeof(CadEntry))
    if plan_words:  # else there may be none at all, and memcpy does not take NULL
        memcpy(cnp.PyArray_DATA(plans), tape.plans + first_plan, plan_words * sizeof(int64_t))
    rules = {}
    outer = {}
    writes = []
    for i in range(n):
        numbers[i] = cad_tape_origin(tape, begin + i).shape
        if cad_entry_target(tape, tape.entries[begin + i], &low):
            cad_tape_allocation(tape, low, &low, &high)
            writes.append((i, low, high))
        if CAD_IS_ARRAY_ENTRY(tape.entries[begin + i]):
            if cad_entry_is_rule(tape.entries[begin + i]):
                call = rule_call(tape, begin + i)
                rules[i] = rule_name(call.rule), [place[:2] for place in call.outs]
        elif tape.entries[begin + i].a < base or tape.entries[begin + i].b < base:
            if <int>CAD_CODE_OP(tape.entries[begin + i].code) != CAD_OP_LEAF:
                for slot in (tape.entries[begin + i].a, tape.entries[begin + i].b):
                    if slot < base:
                        outer[slot] = tape.values[slot]
    vars = recording.inputs if recording.block is None else [recording.block]
    return {
        "base": base,
        "inputs": [(CAD_VAR(var).slot, np.size(plain_value(var))) for var in vars],
        "n_input_entries": recording.n_inputs(),
        "entries": entries,
        "plans": plans,
        "plan_base": first_plan,
        "values": values,
        "adjoints": adjoints,
        "shapes": list(watch.shapes),
        "shape_numbers": shape_numbers,
        "rules": rules,
        "outer": outer,
        "writes": np.array(writes, np.int64).reshape(-1, 3),
        "outputs": np.array([
            CAD_VAR(output).slot if on_tape(output, tape, base) else -1 for output in outputs
        ], np.int64),
    }


def read_plan(cnp.ndarray plans, Py_ssize_t at):
    """A plan that was copied: its shape, views as (slot, strides), the passive ones as bits, where
    its indices stand (or -1), and what else it holds."""
    cdef CadPlan *plan = <CadPlan *>(<int64_t *>cnp.PyArray_DATA(plans) + at)
    cdef int64_t *view
    cdef int ndim = plan.ndim
    views = []
    for k in range(plan.n_views):
        view = cad_plan_view(plan, k)
        views.append((view[0], tuple([view[1 + i] for i in range(ndim)])))
    shape = tuple([cad_plan_shape(plan)[i] for i in range(ndim)])
    extra = [cad_plan_extra(plan)[i] for i in range(plan.n_extra)]
    return shape, views, plan.passive, plan.index, extra
