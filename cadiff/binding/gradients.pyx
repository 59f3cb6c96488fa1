"""What is pulled back through a recording: gradients, and cotangents of any kind.

Results are plain if outputs and seeds are plain and depend on nothing outside of the recording;
else they can be differentiated again. The sweeps have all formulas; none stands here.
"""

from math import prod

import numpy as np

from cpython.float cimport PyFloat_FromDouble

from . cimport c_numpy as cnp
from .c_tape cimport *
from .c_sweeps cimport *
from .c_numbers cimport *
from .complexes cimport is_complex
from .trees cimport opened
from .tape cimport on_tape, view_of, Checks, checks_of, leave_step, step_under_way
from .atoms cimport highest_tag, only_number
from .arguments cimport Node
from .recorded_sweep cimport new_sweep, RecordedSweep
from .recording cimport note_error, Recording

from . import newcomers
from .atoms import join_lanes, lane_of, lanes_of, make_dual, numbers_array, split_dual


cdef int pull_plain(Recording recording, list outputs, list seeds) except -1:
    """Leave the cotangents of all inputs in the adjoints; seeds are plain."""
    cdef size_t end
    if recording.n > 0:
        end = recording.clear(outputs)
        for output, seed in zip(outputs, seeds):
            if on_tape(output, recording.tape, recording.base()):
                cad_var_seed(CAD_VAR(output), seed)
        recording.sweep(end)
    return 0


cdef cnp.ndarray read_adjoints(Recording recording):
    """Of all inputs, if one block holds them."""
    cdef cnp.npy_intp n = recording.n
    cdef CadSlot slot
    cdef cnp.ndarray flat = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
    if n > 0:
        slot = CAD_VAR(recording.block).slot
        cad_tape_read_adjoints(
            recording.tape, slot, slot + n, <double *>cnp.PyArray_DATA(flat)
        )
    return flat


cdef list plain_cotangents(Recording recording):
    """Of each atom: a float or an array."""
    if recording.block is not None:
        return recording.cut(read_adjoints(recording))
    return [cad_var_adjoint(CAD_VAR(var)) for var in recording.inputs]


cdef object gradient(Recording recording, object number):
    """The gradient of one number, as a tuple with one entry for each argnum."""
    if CAD_IS_DUAL(number) or recording.block is None or not recording.is_closed([number]):
        cotangents = pull_atoms(recording, [number], [1.0])
        return tuple([(<Node>node).from_cotangents(cotangents) for node in recording.nodes])
    return plain_gradient(recording, number)


cdef object plain_gradient(Recording recording, object number):
    """The gradient of one number where nothing else is involved: a sweep writes the adjoints
    of large arrays straight into the results."""
    cdef CadSlot slot, base = CAD_VAR(recording.block).slot
    cdef Node node
    cdef size_t end = recording.clear([number]) if recording.n > 0 else 0
    try:
        if recording.n > 0:
            for node in recording.nodes:
                node.lend(recording.tape, base)
            if on_tape(number, recording.tape, base):
                slot = CAD_VAR(number).slot
                cad_tape_prepare_adjoints(recording.tape, slot, slot)
                recording.tape.adjoints[slot] = 1.0
            recording.sweep(end)
        for node in recording.nodes:
            node.read(recording.tape, base)
    finally:
        for node in recording.nodes:
            node.take_back(recording.tape, base)
    return tuple([(<Node>node).from_read() for node in recording.nodes])


cdef list pull_recorded(Recording recording, list outputs, list seeds, bint linear=False):
    """The cotangents of all inputs, as numbers that can be differentiated again.

    Seeds are plain or Vars. With `linear`, what was recorded counts as constant.
    """
    if recording.n_atoms == 0:
        return []
    recording.kept = True
    former = step_under_way(recording.tape)
    cad_tape_pin(recording.tape)
    try:
        if recording.block is None or recording.first_plan() < recording.tape.n_plan_words:
            return pull_arrays(recording, outputs, seeds, linear)
        for output in outputs:
            if CAD_IS_VAR_ARRAY(output):
                return pull_arrays(recording, outputs, seeds, linear)
        return pull_numbers(recording, outputs, seeds, linear)
    finally:
        leave_step(recording.tape, former)
        cad_tape_unpin(recording.tape)


cdef RecordedSweep swept(Recording recording, list outputs, list seeds, bint linear, captures):
    """A recorded sweep from outputs; `captures`: Vars whose cotangents are wanted, too."""
    cdef CadSlot base = recording.base()
    cdef size_t begin = recording.begin(), end = recording.end(outputs)
    cdef RecordedSweep sweep = new_sweep(
        recording.tape, begin, end, base, recording.slots(end), linear, captures
    )
    sweep.run(outputs, seeds)
    return sweep


cdef list pull_arrays(Recording recording, list outputs, list seeds, bint linear):
    """The cotangents of all inputs, to be differentiated again, whatever was recorded."""
    cdef RecordedSweep sweep = swept(recording, outputs, seeds, linear, ())
    cdef CadSlot slot
    if recording.block is None:
        return [sweep.result(var) for var in recording.inputs]
    slot = CAD_VAR(recording.block).slot
    atoms = []
    for shapes in recording.structure.leaf_shapes():
        for shape in shapes:
            atoms.append(sweep.result(view_of(recording.tape, slot, shape)))
            slot += <CadSlot>prod(shape)
    return atoms


cdef list pull_numbers(Recording recording, list outputs, list seeds, bint linear):
    """The cotangents of all inputs, to be differentiated again, where everything recorded is
    arithmetic on single numbers."""
    cdef CadSlot base = recording.base(), slot
    cdef size_t i, end = recording.end(outputs), n_slots = recording.slots(end)
    cdef Py_ssize_t k
    cdef Checks checks
    cdef CadNumber *adjoints = <CadNumber *>cad_memory_resize(
        NULL, n_slots, sizeof(CadNumber)
    )
    if adjoints == NULL:
        check(CAD_NO_MEMORY)
    try:
        for i in range(n_slots):
            adjoints[i].value = 0.0
            adjoints[i].slot = CAD_NONE
        for k in range(len(outputs)):
            if on_tape(outputs[k], recording.tape, base):
                seed_recorded(recording, &adjoints[CAD_VAR(outputs[k]).slot - base], seeds[k])
        checks = checks_of(recording.tape)
        if checks is None:
            check(cad_sweep_record(recording.tape, recording.begin(), end, base, linear, adjoints))
        else:
            checks.sweep_record(recording.tape, recording.begin(), end, base, linear, adjoints)
        numbers = []
        for k in range(recording.n):
            if adjoints[k].slot == CAD_NONE:
                numbers.append(PyFloat_FromDouble(adjoints[k].value))
            else:
                numbers.append(cad_var_new(recording.tape, adjoints[k].slot, adjoints[k].value))
    finally:
        cad_memory_free(adjoints)
    return join(recording, numbers)


cdef list join(Recording recording, list numbers):
    """Numbers of any kind, one for each input, as atoms."""
    atoms = []
    offset = 0
    for shapes in recording.structure.leaf_shapes():
        for shape in shapes:
            size = prod(shape)
            part = numbers[offset : offset + size]
            atoms.append(numbers_array(part, shape) if shape != () else part[0])
            offset += size
    return atoms


cdef int seed_recorded(Recording recording, CadNumber *adjoint, object seed) except -1:
    """Add a seed to an adjoint of a recorded sweep: one output may stand in several places."""
    if adjoint.slot != CAD_NONE or adjoint.value != 0.0:
        here = adjoint.value
        if adjoint.slot != CAD_NONE:
            here = cad_var_new(recording.tape, adjoint.slot, adjoint.value)
        seed = cad_apply2(CAD_OP_add, here, seed)
    if CAD_IS_SCALAR(seed) and CAD_VAR(seed).tape != recording.tape:
        raise RuntimeError("the cotangent is a Var of another thread: pass cadiff.value(v)")
    adjoint.value = cad_primal(seed)
    adjoint.slot = CAD_VAR(seed).slot if CAD_IS_SCALAR(seed) else CAD_NONE
    return 0


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


cpdef list pull(Recording recording, list outputs, list seeds):
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
        lambda parts: pull(recording, parts[:n], parts[n:]),
        lambda parts: pull(recording, parts[:n] + primals[:n], primals[n:] + parts[n:]),
    )


# --- of a function


def value_and_grad(f, tuple argnums, bint single, bint has_aux, tuple args, dict kwargs, name):
    """Run f once, sweep once: (value, gradient, aux); aux is None without has_aux.

    `name` is what the user called, for error messages.
    """
    cdef Recording recording = Recording.__new__(Recording, args, argnums, True, f)
    aux = None
    try:
        out = recording.run(f, kwargs)
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


def scalar_output(out, *, name="grad"):
    """The one number that f returned: a float, Var or Dual; anything else raises TypeError."""
    cdef double value
    cdef int kind
    if CAD_IS_VAR(out) and CAD_VAR(out).kind == CAD_SCALAR:
        return out
    if isinstance(out, (bool, np.bool_)):
        raise TypeError(
            f"{name} wants a real number from f, not a bool: a comparison has no derivative; "
            "cadiff.where chooses between numbers"
        )
    kind = cad_classify(out, &value)
    if kind == CAD_PLAIN:
        return PyFloat_FromDouble(value)
    if kind == CAD_VAR_CLASS:
        if CAD_VAR(out).kind == CAD_STALE:
            cad_raise_stale()
        return out
    if kind == CAD_DUAL_CLASS:
        return out
    if kind == CAD_ARRAY_CLASS:
        if out.size == 1:
            number = out.item() if cnp.PyArray_Check(out) else only_number(out)
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
        f"{name} wants a real number from f, not {type(out).__name__}{newcomers.of_result(out)}"
    )


def split_aux(out):
    """The two things that f returns with has_aux=True."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            "with has_aux=True, f returns a pair (out, aux), not "
            + (f"a tuple of {len(out)}" if isinstance(out, tuple) else type(out).__name__)
        )
    return out
