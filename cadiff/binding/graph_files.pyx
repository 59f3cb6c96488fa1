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

_GRAPH_HEADER = struct.Struct("<8s10Q")
_GRAPH_MAGIC = b"cadgrf02"


_OPERATIONS = [cad_op_info[op].name.decode() for op in range(<int>CAD_OP_COUNT)]


def version_here():
    """The version of the package, for messages to people."""
    return getattr(sys.modules.get("cadiff"), "__version__", "unknown")


cdef bytes graph_as_bytes(Graph graph):
    """A header with the counts of all parts, the parts, and a checksum; little-endian.

    Parts: the version that wrote it and the names of the operations, one a line; outputs; guards:
    numbers, outcomes, whether they rest on equality; then those of CadGraphParts, in which an
    operation is the index of its name. Derivatives are left out.
    """
    cdef CadGraphParts parts
    cdef cnp.ndarray records, words, lists, constants
    cdef size_t k
    memset(&parts, 0, sizeof(parts))
    parts.n_records = graph.kept_records - 1
    cad_graph_write(graph.graph, &parts)
    records = np.empty((parts.n_records, 4), dtype=np.uint32)
    words = np.empty(parts.n_words, dtype=np.int64)
    lists = np.empty(parts.n_lists, dtype=np.uint32)
    constants = np.empty(parts.n_constants)
    point_to_parts(&parts, records, words, lists, constants)
    cad_graph_write(graph.graph, &parts)
    kinds, operations, are_named = taken_apart(records)
    used = np.unique(operations[are_named])
    operations[are_named] = np.searchsorted(used, operations[are_named])
    (<object>records)[:, 0] = kinds << 16 | operations
    text = "\n".join([version_here(), *[_OPERATIONS[op] for op in used]]).encode()
    ids = [graph.graph.guards[k].id for k in range(graph.kept_guards)]
    outcomes = [graph.graph.guards[k].value for k in range(graph.kept_guards)]
    outputs = [graph.outputs[k] for k in range(<size_t>graph.n_outputs)]
    header = _GRAPH_HEADER.pack(
        _GRAPH_MAGIC, len(text), graph.graph.optimize, graph.n_recorded, len(graph.sizes),
        graph.n_outputs, len(ids), parts.n_records, parts.n_words, parts.n_lists,
        parts.n_constants,
    )
    body = b"".join([
        header,
        text,
        np.array(outputs, dtype="<u4").tobytes(),
        np.array(ids, dtype="<u4").tobytes(),
        np.array(outcomes, dtype="<f8").tobytes(),
        np.array(graph.guards or (), dtype="u1").tobytes(),
        records.astype("<u4").tobytes(),
        words.astype("<i8").tobytes(),
        lists.astype("<u4").tobytes(),
        constants.astype("<f8").tobytes(),
    ])
    return body + zlib.crc32(body).to_bytes(4, "little")


cdef tuple taken_apart(records):
    """The kinds of records, their operations, and which of them have one."""
    kinds, operations = records[:, 0] >> 16, records[:, 0] & 0xFFFF
    return kinds, operations, (kinds == CAD_RECORD_SINGLE) | (kinds == CAD_RECORD_MAP)


cdef void point_to_parts(CadGraphParts *parts, cnp.ndarray records, cnp.ndarray words,
                         cnp.ndarray lists, cnp.ndarray constants) noexcept:
    parts.records = <uint32_t *>cnp.PyArray_DATA(records)
    parts.words = <int64_t *>cnp.PyArray_DATA(words)
    parts.lists = <CadId *>cnp.PyArray_DATA(lists)
    parts.constants = <double *>cnp.PyArray_DATA(constants)


def graph_from_bytes(given, steps=()):
    """The Graph that some bytes stand for, with its calls; ValueError if they were not written by
    one, or by another one."""
    cdef Graph result
    cdef CadGraphParts parts
    cdef cnp.ndarray records, words, lists, constants
    cdef CadStatus status
    cdef Py_ssize_t k
    complaint = "these are not the bytes of a recorded function"
    if not isinstance(given, bytes):
        raise TypeError(f"expected the bytes of a recorded function, not {type(given).__name__}")
    counts = counts_of_graph(given, complaint)
    n_text, optimize, n_recorded, n_inputs, n_outputs, n_guards = counts[:6]
    version, *names = given[_GRAPH_HEADER.size : _GRAPH_HEADER.size + n_text].decode().split("\n")
    begin = _GRAPH_HEADER.size + n_text
    taken = []
    for kind, native, count in parts_in_order(counts):
        taken.append(np.frombuffer(given, kind, count, begin).astype(native))
        begin += count * np.dtype(kind).itemsize
    outputs, ids, outcomes, equalities, all_records, words, lists, constants = taken
    records = all_records.reshape(-1, 4)
    codes = np.array(codes_of_names(names, version), dtype=np.uint32)
    kinds, operations, are_named = taken_apart(records)
    if (operations[are_named] >= len(codes)).any():
        raise ValueError(f"{complaint}: an operation has no name")
    operations[are_named] = codes[operations[are_named]]
    (<object>records)[:, 0] = kinds << 16 | operations
    memset(&parts, 0, sizeof(parts))
    parts.n_records, parts.n_words, parts.n_lists, parts.n_constants = counts[6:]
    point_to_parts(&parts, records, words, lists, constants)

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
    result.sizes = []
    for k in range(n_inputs):  # behind none and the constant 0
        result.inputs[k] = cad_graph_first(result.graph, 2 + k)
        result.sizes.append(cad_record_size(&result.graph.records[2 + k]))
    for k in range(n_outputs):
        result.outputs[k] = outputs[k]
    for k in range(n_guards):
        check(cad_graph_guard(result.graph, ids[k], outcomes[k]))
    result.n_outputs = n_outputs
    result.n_recorded = n_recorded
    result.n_arrays = result.graph.n_arrays
    result.guards = tuple([bool(equality) for equality in equalities])
    result.keep()
    return result


cdef bint are_calls_known(Graph graph) except -1:
    """Whether each call is one of the steps, with as many operands and results."""
    cdef const CadRecord *record
    cdef uint32_t number
    cdef size_t k
    for k in range(graph.graph.n_records):
        record = &graph.graph.records[k]
        if record.kind == CAD_RECORD_CALL:
            number = cad_graph_array(graph.graph, record).number
            if number >= len(graph.steps):
                return False
            n_operands, n_results = graph.steps[number].sizes()
            if (
                cad_plan_shape(cad_graph_plan(graph.graph, record))[0] != n_operands
                or cad_record_size(record) != max(n_results, 1)
            ):
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
    if counts[0] + sum(sizes) != end - _GRAPH_HEADER.size or not 1 <= counts[3] <= counts[6]:
        raise ValueError(f"{complaint}: its parts are not of the lengths it says")
    if counts[2] > sys.maxsize:
        raise ValueError(f"{complaint}: it says that it has {counts[2]} operations")
    return counts


cdef list parts_in_order(counts):
    """The dtypes of the parts, in the bytes and in memory, and how many items there are."""
    _, _, _, _, n_outputs, n_guards, n_records, n_words, n_lists, n_constants = counts
    return [
        ("<u4", np.uint32, n_outputs),
        ("<u4", np.uint32, n_guards),
        ("<f8", np.float64, n_guards),
        ("u1", np.uint8, n_guards),
        ("<u4", np.uint32, 4 * n_records),
        ("<i8", np.int64, n_words),
        ("<u4", np.uint32, n_lists),
        ("<f8", np.float64, n_constants),
    ]


cdef list codes_of_names(list names, str version):
    codes = {name: code for code, name in enumerate(_OPERATIONS)}
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
