"""What is pulled back through a recording: gradients, and cotangents of any kind.

Results are plain if outputs and seeds are plain and depend on nothing outside of the recording;
else they can be differentiated again: see recorded_sweeps.pyx.
"""

import numpy as np

from cpython.float cimport PyFloat_FromDouble

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .generated.sweeps cimport *
from .generated.tape cimport *
from .complexes cimport is_complex
from .trees cimport opened
from .tape cimport on_tape
from .atoms cimport carries, highest_tag, only_number, shape
from .arguments cimport ArgumentNode
from .recording cimport note_error, Recording
from .recorded_sweeps cimport pull_recorded

from . import foreign_names
from .atoms import join_lanes, lane_of, lanes_of, make_dual, split_dual


cdef int pull_plain(Recording recording, list outputs, list seeds) except -1:
    """Leave the cotangents of all inputs in the adjoints; seeds are plain."""
    cdef size_t end
    if recording.n > 0:
        end = recording.end(outputs)
        recording.clear(end)
        for output, seed in zip(outputs, seeds):
            if on_tape(output, recording.tape, recording.base()):
                cad_var_seed(CAD_VAR(output), seed)
        recording.sweep(end)
    return 0


cdef list plain_cotangents(Recording recording):
    """Of each atom: a float or an array."""
    if recording.block is not None:
        return recording.cut(
            adjoints_of(recording.tape, CAD_VAR(recording.block).slot, recording.n)
        )
    return [cad_var_adjoint(CAD_VAR(var)) for var in recording.inputs]


cdef object gradient(Recording recording, object number):
    """The gradient of one number, as a tuple with one entry for each argnum."""
    if CAD_IS_DUAL(number) or recording.block is None or not recording.is_closed([number]):
        cotangents = pull_atoms(recording, [number], [1.0])
        return tuple([(<ArgumentNode>node).from_cotangents(cotangents) for node in recording.nodes])
    return plain_gradient(recording, number, 1.0)


def pull_one(Recording recording, out: Var, seed: float | NDArray[np.float64]) -> tuple[Any, ...]:
    """The cotangents of all arguments for that of an output that depends on nothing else."""
    recording.check_alive()
    return plain_gradient(recording, out, seed)


cdef tuple plain_gradient(Recording recording, object out, object seed):
    """Cotangents of all arguments for one of an output, where nothing else is involved: a sweep
    writes the adjoints of large arrays straight into the results."""
    cdef CadSlot base = CAD_VAR(recording.block).slot
    cdef list leaves = recording.leaves or []
    cdef ArgumentNode leaf
    cdef size_t end
    try:
        if recording.n > 0:
            end = recording.end([out])
            recording.clear(end)
            for leaf in leaves:
                leaf.lend(recording.tape, base)
            if on_tape(out, recording.tape, base):
                cad_var_seed(CAD_VAR(out), seed)
            recording.sweep(end)
        for leaf in leaves:
            leaf.read_adjoints(recording.tape, base)
    finally:
        for leaf in leaves:
            leaf.take_back(recording.tape, base)
    return tuple([(<ArgumentNode>node).from_read() for node in recording.nodes])


cdef list pull_linear(Recording recording, list outputs, list seeds):
    """The cotangents of all inputs for seeds of any kind, where outputs depend on no captured
    variable: J is constant, so components of Duals are pulled one by one."""
    tag = highest_tag(seeds)
    if tag > 0:
        return by_components(recording, 
            [split_dual(seed, tag) for seed in seeds], tag,
            lambda part: pull_linear(recording, outputs, part),
        )
    for seed in seeds:
        if CAD_IS_VAR(seed):
            return pull_recorded(recording, outputs, seeds, True)
    pull_plain(recording, outputs, seeds)
    return plain_cotangents(recording)


cdef list pull_atoms(Recording recording, list outputs, list seeds):
    """The cotangents of all inputs for plain seeds, of outputs that may be Duals over this
    recording: a Dual's cotangents are the Duals of the cotangents of its components, since
    derivatives commute."""
    tag = highest_tag(outputs)
    if tag == 0:
        if recording.is_closed(outputs):
            return pull_linear(recording, outputs, seeds)
        return pull_recorded(recording, outputs, seeds)
    return by_components(recording, 
        [split_dual(output, tag) for output in outputs], tag,
        lambda part: pull_atoms(recording, part, seeds),
    )


cdef list by_components(Recording recording, list pairs, tag, pull, along=None):
    """Pull primals and tangents (lane by lane) one after the other; Duals of the results.

    along: pulls tangents, if that is not what `pull` does.
    """
    primals, tangents = [list(part) for part in zip(*pairs)]
    of_primals = pull(primals)
    along = along or pull
    lanes = lanes_of(primals, tangents)
    if lanes < 0:
        parts = along(tangents)
    else:
        columns = [
            along([lane_of(p, t, k) for p, t in zip(primals, tangents)]) for k in range(lanes)
        ]
        parts = [
            join_lanes([column[i] for column in columns], of_primals[i])
            for i in range(recording.n_atoms)
        ]
    return [make_dual(p, t, tag) for p, t in zip(of_primals, parts)]


cpdef list pull_recording(Recording recording, list outputs, list seeds):
    """Cotangents of all input atoms for cotangents of output atoms, of any kind."""
    cdef bint plain = True
    recording.check_alive()
    for seed in seeds:
        plain = plain and not (CAD_IS_VAR(seed) or CAD_IS_DUAL(seed))
    if len(outputs) == 0:
        return recording.cut(np.zeros(recording.n))
    if recording.plain_results(outputs):
        return pull_linear(recording, outputs, seeds)
    if plain:
        return pull_atoms(recording, outputs, seeds)
    return pull_product(recording, outputs, seeds)


cdef list pull_product(Recording recording, list outputs, list seeds):
    """Cotangents of all input atoms where outputs and seeds depend on captured variables.

    By the product rule, along a direction the cotangents change with the outputs, and with the
    seeds.
    """
    tag = max(highest_tag(outputs), highest_tag(seeds))
    if tag == 0:
        return pull_recorded(recording, outputs, seeds)
    pairs = [split_dual(number, tag) for number in outputs + seeds]
    n = len(outputs)
    primals = [primal for primal, _ in pairs]
    return by_components(recording, 
        pairs, tag,
        lambda parts: pull_recording(recording, parts[:n], parts[n:]),
        lambda parts: pull_recording(recording, parts[:n] + primals[:n], primals[n:] + parts[n:]),
    )


# --- of a function


def value_and_grad(f: Callable[..., Any], tuple argnums, bint single, bint has_aux, tuple args,
                   dict kwargs, name: str) -> tuple[Any, Any, Any]:
    """Run f once, sweep once: (value, gradient, aux); aux is None without has_aux.

    `name` is what the user called, for error messages.
    """
    cdef Recording recording = Recording.__new__(Recording, args, argnums, True, f)
    aux = None
    try:
        out = recording.run_function(f, kwargs)
        if has_aux:
            out, aux = split_aux(out)
        number = out if CAD_IS_SCALAR(out) else scalar_output(out, name=name)
        gradients = gradient(recording, number)
        recording.check_unchanged()
        if not recording.kept:
            number = recording.outlives(number)
        if has_aux:
            aux = recording.finalize(aux)
        return number, (<tuple>gradients)[0] if single else gradients, aux
    except Exception as error:
        note_error(recording.tape, error)
        raise
    finally:
        out = None  # numbers that are alive when the tape is rewound have to be found
        recording.close()


def scalar_output(out, *, name: str = "grad"):
    """The one number that f returned: a float, Var or Dual; anything else raises TypeError."""
    cdef double value
    cdef int kind
    if CAD_IS_VAR(out) and CAD_VAR(out).kind == CAD_SCALAR:
        return out
    if cad_is_single_number(out):
        if CAD_VAR(out).kind == CAD_STALE:
            cad_raise_stale()
        return out
    if isinstance(out, (bool, np.bool_)):
        raise TypeError(
            f"{name} wants a real number from f, not a bool: a comparison has no derivative; "
            "cadiff.where chooses between numbers"
        )
    kind = cad_classify(out, &value)
    if kind == CAD_PLAIN:
        return out if cad_is_single(out) else PyFloat_FromDouble(value)
    if kind == CAD_VAR_CLASS and CAD_VAR(out).kind == CAD_STALE:
        cad_raise_stale()
    if kind == CAD_VAR_CLASS or kind == CAD_DUAL_CLASS:
        return out
    if kind == CAD_ARRAY_CLASS:
        if out.size == 1:
            number = out.reshape(())[()] if cnp.PyArray_Check(out) else only_number(out)
            return scalar_output(number, name=name)
        raise TypeError(
            f"{name} wants one number from f, not an array of shape {out.shape}: use "
            "cadiff.jacobian for functions with several outputs, or return a sum"
        )
    if is_complex(out):
        raise TypeError(
            f"{name} wants a real number from f, not a complex one: return a real part of it "
            "(z.real, abs(z)), or, if f is holomorphic, ask for grad(f, holomorphic=True)"
        )
    if out is not None and opened(out) is not None:
        raise TypeError(
            f"{name} wants one number from f, not a {type(out).__name__}: use cadiff.jacobian for "
            "functions with several outputs, or has_aux=True to return something beside the number"
        )
    raise TypeError(
        f"{name} wants a real number from f, not {type(out).__name__}{foreign_names.of_result(out)}"
    )


def split_aux(out) -> tuple[Any, Any]:
    """The two things that f returns with has_aux=True."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            "with has_aux=True, f returns a pair (out, aux), not "
            + (
                f"a tuple of {len(out)}" if isinstance(out, tuple)
                else f"a {type(out).__name__}" if isinstance(out, (list, dict)) or not carries(out)
                else "out alone"
            )
        )
    return out


# --- cotangents of captures
#
# Captures are numbers that a recording reads and that were on the tape before it began. A part of a
# computation that leaves one rule on the tape, instead of all its entries, needs the derivatives by
# them.


def captures_of(Recording recording, list outputs) -> list[Var]:
    """The captures that outputs depend on: a list of vectors, Vars."""
    cdef CadTape *tape = recording.tape
    cdef CadRanges ranges
    cdef Py_ssize_t length
    cdef size_t i, begin = recording.begin(), end = recording.end(outputs)
    cdef CadSlot base = recording.base()
    check(cad_find_captures(tape, begin, end, base, &ranges))
    vectors = []
    try:
        for i in range(ranges.count):
            length = ranges.items[i].end - ranges.items[i].begin
            vectors.append(
                cad_var_view(tape, <CadSlot>ranges.items[i].begin, 1, &length, NULL, 0)
            )
    finally:
        cad_memory_free(ranges.items)
    return vectors


def pull_captures(Recording recording, list outputs, list seeds, list captures) -> list[Any]:
    """Plain cotangents of captures, for plain cotangents of outputs."""
    cdef CadTape *tape = recording.tape
    cdef CadSlot base = recording.base(), lowest = base
    cdef size_t end = recording.end(outputs)
    for var in captures:
        lowest = min(lowest, CAD_VAR(var).slot)
    check(cad_tape_clear_adjoints(tape, lowest, base + recording.slots(end)))
    for output, seed in zip(outputs, seeds):
        if on_tape(output, tape, base):
            cad_var_seed(CAD_VAR(output), seed)
    recording.sweep(end)
    return [adjoints_of(tape, CAD_VAR(var).slot, var.size) for var in captures]


cdef object adjoints_of(CadTape *tape, CadSlot slot, Py_ssize_t count):
    """The adjoints that the last pass left, as a vector: of a leaf they are not its gradient."""
    cdef cnp.ndarray adjoints = cnp.new_doubles(count)
    cad_tape_read_adjoints(tape, slot, slot + count, cnp.doubles(adjoints))
    return adjoints


def are_within(list vectors, list others) -> bool:
    """Whether all slots of some vectors, Vars, are among those of others; both in their order."""
    cdef Py_ssize_t k = 0, n = len(others)
    cdef size_t low, high, begin, end
    for vector in vectors:
        cad_var_bounds(CAD_VAR(vector), &low, &high)
        while low <= high:
            if k == n:
                return False
            cad_var_bounds(CAD_VAR(others[k]), &begin, &end)
            if end < low:
                k += 1
            elif begin <= low:
                low = end + 1  # the rest may be in the next one
            else:
                return False
    return True
