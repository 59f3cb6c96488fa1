# Rules: operations whose derivatives are Python functions.

@cython.final
cdef class RuleCall:
    """One call of a rule: where its operands and results stand, as (slot, shape, strides)."""

    cdef object rule
    cdef list operands
    cdef list outs


cdef RuleCall rule_call(CadTape *tape, size_t index):
    cdef CadEntry e = tape.entries[index]
    cdef CadPlan *plan = cad_tape_plan(tape, e)
    cdef int64_t *place = cad_plan_extra(plan)
    cdef CadOperand *operand
    cdef RuleCall call = RuleCall.__new__(RuleCall)
    number, count = place[0], place[1]
    place += 2
    call.operands = []
    for _ in range(count):
        operand = cad_next_operand(&place)
        ndim = operand.ndim
        call.operands.append((
            operand.slot,
            tuple([operand.shape_and_strides[i] for i in range(ndim)]),
            tuple([operand.shape_and_strides[ndim + i] for i in range(ndim)]),
        ))
    call.rule, shapes = (<list>tape.rules)[number]
    call.outs = []
    slot = <int64_t>e.out
    for shape in shapes:
        strides = []
        size = 1
        for length in reversed(shape):
            strides.insert(0, size)
            size *= length
        call.outs.append((slot, shape, tuple(strides)))
        slot += size
    return call


cdef int pull_rule(CadTape *tape, size_t index) except -1:
    """Hand on the adjoints of a rule's results: what a sweep does at such an entry."""
    cdef RuleCall call = rule_call(tape, index)
    cdef CadPass put_aside
    outs = [view_at(tape, place) for place in call.outs]
    operands = [view_at(tape, place) for place in call.operands]
    cotangents = [cad_var_adjoint(CAD_VAR(out)) for out in outs]
    if are_zero(cotangents):
        return 0
    check(cad_tape_leave_pass(tape, &put_aside))
    cad_tape_pin(tape)
    former = enter_step(tape, index)
    try:
        if call.rule.runs_again:
            terms = call.rule.pull_again(operands, outs, cotangents)
        else:
            terms = call.rule.pull(
                [plain_value(x) for x in operands], [plain_value(out) for out in outs], cotangents
            )
    finally:
        cad_tape_resume_pass(tape, put_aside)
        cad_tape_unpin(tape)
        leave_step(tape, former)
    for operand, term in zip(operands, terms):
        if term is not None:
            cad_var_seed(CAD_VAR(operand), plain_value(term))
    return 0


cdef bint are_zero(list cotangents):
    """Whether floats and contiguous float64 arrays hold nothing but zeros."""
    cdef Py_ssize_t i
    cdef const double *numbers
    for cotangent in cotangents:
        if not cnp.PyArray_Check(cotangent):
            if <double>cotangent != 0.0:
                return False
            continue
        numbers = <const double *>cnp.PyArray_DATA(cotangent)
        for i in range(cnp.PyArray_SIZE(cotangent)):
            if numbers[i] != 0.0:
                return False
    return True


cdef int rule_hook(CadTape *tape, size_t index) noexcept:
    """What C calls: the exception is left set."""
    try:
        return pull_rule(tape, index)
    except BaseException as error:
        cad_restore_exception(error)
        return -1


set_rule_hook(rule_hook)


def record_rule(rule, list operands, list results):
    """Record results (float64 arrays) of an operation whose `rule.pull` knows its derivatives.

    rule.pull(operands, results, cotangents), all lists of numbers or arrays, answers a list with a
    cotangent, or None, for each operand. The operands of the recording are Vars.

    A rule that `runs_again` what it stands for needs the operands where they are: it has two
    methods, pull_again(operands, results, cotangents) for plain cotangents, and
    record_again(operands, results, cotangents, linear) for numbers that can be differentiated
    again; with `linear` what is run counts as constant. Operands and results are Vars.
    """
    cdef CadTape *tape = cad_current_tape()
    cdef list rules = <list>tape.rules
    for operand in operands:
        if CAD_VAR(operand).kind == CAD_STALE:
            cad_raise_stale()
        if CAD_VAR(operand).tape != tape:
            raise RuntimeError("Vars of two threads do not mix: pass cadiff.value(v)")
    results = [cnp.PyArray_FROMANY(result, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_CARRAY_RO)
               for result in results]
    rules[tape.n_rules :] = [(rule, [result.shape for result in results])]
    recorded = cad_record_rule(tape, tape.n_rules, operands, results)
    look_at_rule(tape, rule, operands, results)
    return recorded
