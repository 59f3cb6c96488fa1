"""Graphs as bytes, which is how they are pickled."""

import copyreg
import struct
import sys
import zlib

import numpy as np

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from . cimport c_numpy as cnp
from .c_graph cimport *
from .c_numbers cimport *
from .c_entries cimport *
from .codes cimport as_steps
from .graphs cimport Graph

_GRAPH_HEADER = struct.Struct("<8s11Q")
_GRAPH_MAGIC = b"cadgrf01"


_NODE_NAMES = [cad_op_info[op].name.decode() for op in range(<int>CAD_OP_COUNT)]
_NODE_NAMES += ["_constant", "_input", "_constants", "_pack", "_add_to", "_call",
                "_take", "_add_by"]


def version_here():
    """The version of the package, for messages to people."""
    return getattr(sys.modules.get("cadiff"), "__version__", "unknown")


cdef bytes graph_as_bytes(Graph graph):
    """A header with the counts of all parts, the parts, and a checksum; little-endian.

    Parts: the version that wrote it and the names of the operations, one a line; outputs; guards:
    numbers, outcomes, whether they rest on equality; then those of CadGraphParts. Operations are
    written as the index of their name. Derivatives are left out.
    """
    cdef CadGraphParts parts
    cdef cnp.ndarray nodes, arrays, words, lists, constants
    cdef size_t k
    memset(&parts, 0, sizeof(parts))
    parts.n_nodes = graph.kept_nodes
    parts.n_arrays = graph.kept_arrays
    cad_graph_measure(graph.graph, &parts)
    nodes = np.empty((parts.n_nodes, 4), dtype=np.uint32)
    arrays = np.empty((parts.n_arrays, 4), dtype=np.uint32)
    words = np.empty(parts.n_words, dtype=np.int64)
    lists = np.empty(parts.n_lists, dtype=np.uint32)
    constants = np.empty(parts.n_constants)
    point_to_parts(&parts, nodes, arrays, words, lists, constants)
    cad_graph_write(graph.graph, &parts)
    used = np.union1d((<object>nodes)[:, 0], (<object>arrays)[:, 0])
    for table in (nodes, arrays):
        table[:, 0] = np.searchsorted(used, table[:, 0])
    text = "\n".join([version_here(), *[_NODE_NAMES[op] for op in used]]).encode()
    ids = [graph.graph.guards[k].id for k in range(graph.kept_guards)]
    outcomes = [graph.graph.guards[k].value for k in range(graph.kept_guards)]
    outputs = [graph.outputs[k] for k in range(<size_t>graph.n_outputs)]
    header = _GRAPH_HEADER.pack(
        _GRAPH_MAGIC, len(text), graph.graph.optimize, graph.n_recorded, len(graph.sizes),
        graph.n_outputs, len(ids), parts.n_nodes, parts.n_arrays, parts.n_words, parts.n_lists,
        parts.n_constants,
    )
    body = b"".join([
        header,
        text,
        np.array(outputs, dtype="<u4").tobytes(),
        np.array(ids, dtype="<u4").tobytes(),
        np.array(outcomes, dtype="<f8").tobytes(),
        np.array(graph.guards or (), dtype="u1").tobytes(),
        nodes.astype("<u4").tobytes(),
        arrays.astype("<u4").tobytes(),
        words.astype("<i8").tobytes(),
        lists.astype("<u4").tobytes(),
        constants.astype("<f8").tobytes(),
    ])
    return body + zlib.crc32(body).to_bytes(4, "little")


cdef void point_to_parts(CadGraphParts *parts, cnp.ndarray nodes, cnp.ndarray arrays,
                         cnp.ndarray words, cnp.ndarray lists, cnp.ndarray constants) noexcept:
    parts.nodes = <uint32_t *>cnp.PyArray_DATA(nodes)
    parts.arrays = <uint32_t *>cnp.PyArray_DATA(arrays)
    parts.words = <int64_t *>cnp.PyArray_DATA(words)
    parts.lists = <CadId *>cnp.PyArray_DATA(lists)
    parts.constants = <double *>cnp.PyArray_DATA(constants)


def graph_from_bytes(given, steps=()):
    """The Graph that some bytes stand for, with its calls; ValueError if they were not written by
    one, or by another one."""
    cdef Graph result
    cdef CadGraphParts parts
    cdef cnp.ndarray nodes, arrays, words, lists, constants
    cdef CadStatus status
    cdef Py_ssize_t k
    complaint = "these are not the bytes of a recorded function"
    if not isinstance(given, bytes):
        raise TypeError(f"expected the bytes of a recorded function, not {type(given).__name__}")
    counts = counts_of_graph(given, complaint)
    n_text, optimize, n_recorded, n_inputs, n_outputs, n_guards, n_nodes, n_arrays = counts[:8]
    version, *names = given[_GRAPH_HEADER.size : _GRAPH_HEADER.size + n_text].decode().split("\n")
    begin = _GRAPH_HEADER.size + n_text
    taken = []
    for kind, native, count in parts_in_order(counts):
        taken.append(np.frombuffer(given, kind, count, begin).astype(native))
        begin += count * np.dtype(kind).itemsize
    outputs, ids, outcomes, equalities, all_nodes, all_arrays, words, lists, constants = taken
    nodes = all_nodes.reshape(-1, 4)
    arrays = all_arrays.reshape(-1, 4)
    codes = np.array(codes_of_names(names, version), dtype=np.uint32)
    for table in (nodes, arrays):
        if (table[:, 0] >= len(codes)).any():
            raise ValueError(f"{complaint}: an operation has no name")
        table[:, 0] = codes[table[:, 0]]
    memset(&parts, 0, sizeof(parts))
    parts.n_nodes, parts.n_arrays, parts.n_words, parts.n_lists, parts.n_constants = counts[6:]
    point_to_parts(&parts, nodes, arrays, words, lists, constants)

    result = Graph.__new__(Graph)
    result.graph = cad_graph_new(optimize != 0)
    result.inputs = <CadId *>cad_memory_resize(NULL, n_inputs, sizeof(CadId))
    result.outputs = <CadId *>cad_memory_resize(NULL, n_outputs, sizeof(CadId))
    if result.graph == NULL or result.inputs == NULL or result.outputs == NULL:
        check(CAD_NO_MEMORY)
    result.own_calls()
    result.steps = as_steps(list(steps))
    status = cad_graph_restore(result.graph, &parts, n_inputs)
    if status == CAD_RAISED:
        raise ValueError(f"{complaint}: an operation is none, or has operands that it cannot have")
    check(status)
    if not are_calls_known(result):
        raise ValueError(f"{complaint}: a call is none of its steps")
    for number in (*outputs, *ids):
        if not cad_graph_has(result.graph, number):
            raise ValueError(f"{complaint}: a result is a number that is not there")
    for k in range(n_inputs):
        result.inputs[k] = result.graph.arrays[k].first
    for k in range(n_outputs):
        result.outputs[k] = outputs[k]
    for k in range(n_guards):
        check(cad_graph_guard(result.graph, ids[k], outcomes[k]))
    result.sizes = [result.graph.arrays[k].size for k in range(<Py_ssize_t>n_inputs)]
    result.n_outputs = n_outputs
    result.n_recorded = n_recorded
    result.n_arrays = n_arrays
    result.guards = tuple([bool(equality) for equality in equalities])
    result.keep()
    return result


cdef bint are_calls_known(Graph graph) except -1:
    """Whether each call is one of the steps, with as many operands and results."""
    cdef CadArray array
    cdef CadPlan *plan
    cdef int64_t number
    cdef size_t k
    for k in range(graph.graph.n_arrays):
        array = graph.graph.arrays[k]
        if array.op == CAD_ARRAY_CALL:
            plan = cad_graph_plan(graph.graph, &array)
            number = cad_plan_extra(plan)[0]
            if number >= len(graph.steps):
                return False
            n_operands, n_results = graph.steps[number].sizes()
            if cad_plan_shape(plan)[0] != n_operands or array.size != max(n_results, 1):
                return False
    return True


cdef list counts_of_graph(bytes given, str complaint):
    """What the header says."""
    if given[:6] == _GRAPH_MAGIC[:6] and given[:8] != _GRAPH_MAGIC:
        raise ValueError(
            f"{complaint} in the format of cadiff {version_here()}: compile the function anew"
        )
    if len(given) < _GRAPH_HEADER.size + 4 or given[:8] != _GRAPH_MAGIC:
        raise ValueError(complaint)
    end = len(given) - 4
    if zlib.crc32(given[:end]).to_bytes(4, "little") != given[end:]:
        raise ValueError(f"{complaint}, or were damaged: the checksum is wrong")
    _, *counts = _GRAPH_HEADER.unpack_from(given)
    sizes = [count * np.dtype(kind).itemsize for kind, _, count in parts_in_order(counts)]
    if counts[0] + sum(sizes) != end - _GRAPH_HEADER.size or not 1 <= counts[3] <= counts[7]:
        raise ValueError(f"{complaint}: its parts are not of the lengths it says")
    if counts[2] > sys.maxsize:
        raise ValueError(f"{complaint}: it says that it has {counts[2]} operations")
    return counts


cdef list parts_in_order(counts):
    """The dtypes of the parts, in the bytes and in memory, and how many items there are."""
    _, _, _, _, n_outputs, n_guards, n_nodes, n_arrays, n_words, n_lists, n_constants = counts
    return [
        ("<u4", np.uint32, n_outputs),
        ("<u4", np.uint32, n_guards),
        ("<f8", np.float64, n_guards),
        ("u1", np.uint8, n_guards),
        ("<u4", np.uint32, 4 * n_nodes),
        ("<u4", np.uint32, 4 * n_arrays),
        ("<i8", np.int64, n_words),
        ("<u4", np.uint32, n_lists),
        ("<f8", np.float64, n_constants),
    ]


cdef list codes_of_names(list names, str version):
    codes = {name: code for code, name in enumerate(_NODE_NAMES)}
    for name in names:
        if name not in codes:
            raise ValueError(
                f"a function that cadiff {version} recorded has an operation {name!r}, which "
                f"cadiff {version_here()} does not have: compile the function anew"
            )
    return [codes[name] for name in names]


def reduced_graph(Graph graph):
    """A Graph as pickle wants it; without derivatives."""
    return graph_from_bytes, (graph_as_bytes(graph), graph.steps[: graph.kept_steps])


copyreg.pickle(Graph, reduced_graph)
