/* The steps of a linear map for entries over arrays. */
#include "linear/inner.h"

/* --- steps --- */

static CadSpan span_of(CadPlan *plan, int view) {
    CadSpan span;
    cad_plan_bounds(plan, view, &span.low, &span.high);
    return span;
}

/* The plan of a step over the first views of a plan. */
static CadPlan *plan_like(CadPlan *plan, int n_views, int n_extra, CadRequestedPlan *room) {
    CadPlan *const step = cad_build_plan(plan->ndim, cad_plan_shape(plan), n_views, n_extra, room);
    memcpy(cad_plan_view(step, 0), cad_plan_view(plan, 0),
           (size_t)(n_views * (plan->ndim + 1)) * sizeof *plan->rest);
    return step;
}

/* Append the sum of the result and an operand times factors: one for all, or one for each. */
static CadStatus append_add(CadBuild *build, CadPlan *plan, int from, const double *factors,
                            int step) {
    const int64_t *const target = cad_plan_view(plan, 0), *const source =
                                                              cad_plan_view(plan, from);
    if (plan->ndim == 1) {
        const CadAdd add = {target[0], target[1], source[0], source[1], cad_plan_shape(plan)[0],
                            -1,        step};
        return cad_build_add(build, add, factors);
    }
    CadSpan read = span_of(plan, from);
    CadRequestedPlan room;
    CadPlan *const words = plan_like(plan, 2, 2, &room);
    int64_t *const extra = cad_plan_extra(words);
    memcpy(cad_plan_view(words, 1), source, (size_t)(plan->ndim + 1) * sizeof *source);
    extra[0] = -1;
    extra[1] = step;
    CadStatus status = cad_build_end_waiting(build, read);
    if (status == CAD_OK && (step == 1 || factors[0] != 1.0)) {
        extra[0] = (int64_t)cad_linear_count(build->linear, CAD_LINEAR_NUMBERS);
        status = cad_linear_append(build->linear, CAD_LINEAR_NUMBERS, factors,
                                   step == 1 ? (size_t)plan->size : 1);
    }
    cad_build_mark_all(build, read, CAD_PLACED);
    cad_build_mark_all(build, span_of(plan, 0), CAD_PLACED);
    return status != CAD_OK ? status : cad_build_step(build, CAD_LINEAR_ADD, words);
}

/* The partial of a row by one operand, for all its numbers in order. */
static void compute_partials(CadBuild *build, CadOp op, CadPlan *plan, int which, double *to) {
    Walk walk;
    start_walk(&walk, build->tape, plan, 1);
    while (next_tile(&walk)) {
        CadStrip x[4];
        operands_at(&walk, walk.first, x);
        const CadStrip p = cad_strip_partial(build->tape->scratch, op, which - 1, x, walk.width);
        cad_strip_add((CadStrip){to, 1}, p, 1, walk.width);
        to += walk.width;
    }
}

static int are_equal(const double *numbers, size_t count) {
    return count > 0 && memcmp(numbers, numbers + 1, (count - 1) * sizeof *numbers) == 0;
}

static CadStatus build_row(CadBuild *build, CadOp op, CadPlan *plan, int which) {
    const size_t size = (size_t)plan->size;
    if (cad_memory_grow((void **)&build->partials, &build->n_partials, size,
                        sizeof *build->partials) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    double *const factors = build->partials;
    compute_partials(build, op, plan, which, factors);
    const int step = !are_equal(factors, size);
    /* A factor of 0 absorbs whatever comes. */
    return step == 0 && factors[0] == 0.0 ? CAD_OK : append_add(build, plan, which, factors, step);
}

/* Copy an operand to the numbers, without axes along which it stays where it is; its view there.
 */
static CadStatus copy_operand(CadBuild *build, CadPlan *plan, int which, int64_t *copy) {
    int64_t *const shape = cad_plan_shape(plan), *const view = cad_plan_view(plan, which);
    const size_t begin = cad_linear_count(build->linear, CAD_LINEAR_NUMBERS);
    int64_t size = 1, lengths[CAD_MOST_AXES];
    copy[0] = 0;
    for (int i = plan->ndim; i-- > 0;) {
        const int moves = view[i + 1] != 0 && shape[i] > 1;
        lengths[i] = moves ? shape[i] : 1;
        copy[i + 1] = moves ? size : 0;
        size *= lengths[i];
    }
    const CadStatus status = cad_linear_extend(build->linear, CAD_LINEAR_NUMBERS, (size_t)size);
    if (status != CAD_OK) {
        return status;
    }
    CadRequestedPlan room;
    CadPlan *const copied = cad_term_plan(plan->ndim, lengths, 1, &room);
    memcpy(cad_plan_view(copied, 0), view, (size_t)(plan->ndim + 1) * sizeof *view);
    double *to = (double *)cad_linear_items(build->linear, CAD_LINEAR_NUMBERS) + begin;
    Walk walk;
    start_walk(&walk, build->tape, copied, 1);
    do {
        cad_strip_add((CadStrip){to, 1}, values_at(&walk, 0, 0), 1, walk.n);
        to += walk.n;
    } while (advance(&walk));
    return CAD_OK;
}

/* The operation of a kind by one operand. */
static CadStatus build_terms(CadBuild *build, CadOp op, CadPlan *plan, int which) {
    CadRequestedPlan room;
    CadPlan *const step = plan_like(plan, plan->n_views, 3, &room);
    int64_t *const extra = cad_plan_extra(step);
    extra[0] = op;
    extra[1] = which;
    extra[2] = (int64_t)cad_linear_count(build->linear, CAD_LINEAR_NUMBERS);
    const CadStatus status =
        plan->n_views == 3 ? copy_operand(build, plan, 3 - which, cad_plan_view(step, 3 - which))
                           : CAD_OK;
    return status != CAD_OK ? status : cad_build_step(build, CAD_LINEAR_TERMS, step);
}

/* What was there goes to where it is kept, if that counts, and becomes 0. */
static CadStatus build_assignment(CadBuild *build, CadPlan *plan, int64_t kept) {
    CadStatus status = CAD_OK;
    Walk walk;
    start_walk_in(&walk, NULL, plan, 1);
    do {
        for (size_t i = 0; i < walk.n && status == CAD_OK; i++) {
            const CadSlot to = (CadSlot)(walk.at[0] + (int64_t)i * walk.step[0]);
            status = cad_build_replace(build, to, -1, kept < 0 ? -1 : kept++);
        }
    } while (status == CAD_OK && advance(&walk));
    return status;
}

/* What an entry does, one by one, with the slots that its index names. */
static CadStatus build_indexed(CadBuild *build, CadEntry entry, CadPlan *plan, int64_t kept,
                               int active) {
    const int overwrites = cad_entry_overwrites(entry);
    const int reads = cad_entry_kind(entry)->indexed == CAD_READS_INDEXED;
    CadStatus status = CAD_OK;
    for (int64_t i = 0; i < plan->size && status == CAD_OK && (active || overwrites); i++) {
        const CadSlot place = (CadSlot)indexed(build->tape, plan, i);
        const int64_t other = active ? reads ? entry.out + i : scattered(plan, i) : -1;
        status = overwrites ? cad_build_replace(build, place, other, kept < 0 ? -1 : kept + i)
                 : reads    ? cad_build_replace(build, (CadSlot)other, place, -1)
                            : cad_build_add_number(build, place, (CadSlot)other);
    }
    return status;
}

CadStatus cad_build_array(CadBuild *build, CadEntry entry) {
    static const double one = 1.0;
    CadPlan *const plan = cad_tape_plan(build->tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const CadSpans spans = cad_build_spans(build, entry);
    const int sums = cad_build_sums_views(entry), indexed = cad_entry_kind(entry)->indexed;
    const int counts = cad_build_has_any(build, spans.kept, CAD_NEEDED) &&
                       cad_build_has_any(build, spans.kept, CAD_REACHED);
    const int64_t kept = counts ? spans.kept.low : -1; /* most often it was never read */
    CadStatus status = CAD_OK;
    int active = 0;
    if (!sums || spans.changes) {
        cad_build_mark_all(build, spans.to, CAD_PLACED);
    }
    if (cad_entry_overwrites(entry) && !indexed) {
        status = build_assignment(build, plan, kept);
    }
    for (CadSource source = cad_build_sources(build, entry);
         status == CAD_OK && cad_next_variable(&source);) {
        const CadSpan span = cad_source_span(&source);
        if (!cad_build_has_any(build, span, CAD_REACHED)) {
            continue;
        }
        active = 1;
        if (!sums) {
            cad_build_mark_all(build, span, CAD_PLACED);
        }
        if (cad_op_is_kind(op) && !sums) {
            status = build_terms(build, op, plan, source.view);
        } else if (cad_op_is_row(op)) {
            status = build_row(build, op, plan, source.view);
        } else if (sums) {
            status = append_add(build, plan, source.view, &one, 0);
        }
    }
    return status == CAD_OK && indexed ? build_indexed(build, entry, plan, kept, active) : status;
}

/* --- places for slots --- */

void cad_build_rename_words(CadBuild *build) {
    const CadLinearStep *const steps = cad_linear_items(build->linear, CAD_LINEAR_STEPS);
    for (size_t i = 0; i < cad_linear_count(build->linear, CAD_LINEAR_STEPS); i++) {
        const int64_t kind = steps[i].kind;
        if (kind == CAD_LINEAR_ROWS) {
            continue;
        }
        CadPlan *const plan = cad_step_plan(build->linear, &steps[i]);
        for (int k = 0; k < plan->n_views; k++) {
            if (kind == CAD_LINEAR_ADD || k == 0 || k == cad_plan_extra(plan)[1]) {
                int64_t *const slot = cad_plan_view(plan, k);
                *slot = build->place[*slot - build->base];
            }
        }
    }
}
