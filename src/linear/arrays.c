/* The steps of a linear map for entries over arrays. */
#include "linear/inner.h"

/* --- steps --- */

static CadSpan span_of(CadPlan *plan, int view) {
    CadSpan span;
    cad_plan_bounds(plan, view, &span.low, &span.high);
    return span;
}

/* A frame of some views of a plan, without the axes from `axes` on: answers its length. */
static size_t frame_of(int64_t *words, CadPlan *plan, int axes, const int *views, int n_views) {
    int64_t *at = words;
    *at++ = axes;
    for (int i = 0; i < axes; i++) {
        *at++ = cad_plan_shape(plan)[i];
    }
    for (int k = 0; k < n_views; k++) {
        memcpy(at, cad_plan_view(plan, views[k]), (size_t)(axes + 1) * sizeof *at);
        at += axes + 1;
    }
    return (size_t)(at - words);
}

enum { FRAME_WORDS = 1 + CAD_MOST_AXES + 3 * (CAD_MOST_AXES + 1) };

/* Append the sum of one view and another times factors: one for all, or one for each. */
static CadStatus append_add(CadBuild *build, CadPlan *plan, int to, int from,
                            const double *factors, int step) {
    const int64_t *const target = cad_plan_view(plan, to), *const source =
                                                               cad_plan_view(plan, from);
    CadAddHead head = {-1, step};
    if (plan->ndim == 1) {
        const CadAdd add = {target[0], target[1], source[0], source[1], cad_plan_shape(plan)[0],
                            head};
        return cad_build_add(build, add, factors);
    }
    CadSpan read = span_of(plan, from);
    CadStatus status = cad_build_end_waiting(build, read);
    if (status == CAD_OK && (step == 1 || factors[0] != 1.0)) {
        head.factors = (int64_t)cad_linear_count(build->linear, CAD_LINEAR_NUMBERS);
        status = cad_linear_append(build->linear, CAD_LINEAR_NUMBERS, factors,
                                   step == 1 ? (size_t)plan->size : 1);
    }
    int64_t frame[FRAME_WORDS];
    const int views[] = {to, from};
    const size_t words = frame_of(frame, plan, plan->ndim, views, 2);
    cad_build_mark_all(build, read, CAD_PLACED);
    cad_build_mark_all(build, span_of(plan, to), CAD_PLACED);
    return status != CAD_OK ? status : cad_build_step(build, CAD_LINEAR_ADD, &head, frame, words);
}

/* The partial of a row by one operand, for all its numbers in order. */
static void compute_partials(CadBuild *build, CadOp op, CadPlan *plan, int which, double *to) {
    Walk walk;
    start_walk(&walk, build->tape, plan, 1);
    while (next_tile(&walk)) {
        CadStrip x[4];
        operands_at(&walk, walk.first, x);
        const CadStrip p = cad_strip_partial(build->tape->scratch, op, which - 1, x[0], x[1], x[2],
                                             x[3], walk.width);
        cad_strip_add((CadStrip){to, 1}, p, 1, walk.width);
        to += walk.width;
    }
}

static int are_equal(const double *numbers, size_t count) {
    return count > 0 && memcmp(numbers, numbers + 1, (count - 1) * sizeof *numbers) == 0;
}

static CadStatus build_row(CadBuild *build, CadOp op, CadPlan *plan, int which) {
    const size_t size = (size_t)plan->size;
    if (size > build->n_partials) {
        double *grown = cad_memory_resize(build->partials, size, sizeof *grown);
        if (grown == NULL) {
            return CAD_NO_MEMORY;
        }
        build->partials = grown;
        build->n_partials = size;
    }
    double *const factors = build->partials;
    compute_partials(build, op, plan, which, factors);
    const int step = !are_equal(factors, size);
    /* A factor of 0 absorbs whatever comes. */
    return step == 0 && factors[0] == 0.0 ? CAD_OK
                                          : append_add(build, plan, 0, which, factors, step);
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
    const CadTermsHead head = {op, which,
                               (int64_t)cad_linear_count(build->linear, CAD_LINEAR_NUMBERS)};
    const int views[] = {0, 1, 2}, n_views = plan->n_views;
    int64_t frame[FRAME_WORDS];
    size_t words = frame_of(frame, plan, plan->ndim, views, n_views);
    CadStatus status = CAD_OK;
    if (n_views == 3) {
        status = copy_operand(build, plan, 3 - which,
                              frame + 1 + plan->ndim + (3 - which) * (plan->ndim + 1));
    } else { /* there is no other one */
        memset(frame + words, 0, (size_t)(plan->ndim + 1) * sizeof *frame);
        words += (size_t)plan->ndim + 1;
    }
    return status != CAD_OK ? status
                            : cad_build_step(build, CAD_LINEAR_TERMS, &head, frame, words);
}

/* Whether a number kept by an assignment has an influence: most often it was never read. */
static int64_t kept_by(const CadBuild *build, CadSpan kept) {
    const int counts =
        cad_build_has_any(build, kept, CAD_NEEDED) && cad_build_has_any(build, kept, CAD_REACHED);
    return counts ? kept.low : -1;
}

static CadStatus build_assignment(CadBuild *build, CadPlan *plan, const CadSpans *spans) {
    const CadMoveHead head = {kept_by(build, spans->kept)};
    int64_t frame[FRAME_WORDS];
    const int target = 0;
    const size_t words = frame_of(frame, plan, plan->ndim, &target, 1);
    return cad_build_step(build, CAD_LINEAR_MOVE, &head, frame, words);
}

static CadStatus build_offsets(CadBuild *build, CadLinearKind kind, CadEntry entry, CadPlan *plan,
                               const CadSpans *spans, int active) {
    CadOffsetsHead head = {plan->size, -1, 1, -1};
    if (kind == CAD_LINEAR_PICK) {
        head.view = entry.out;
    } else if (active) {
        head.view = cad_plan_view(plan, 0)[0];
        head.stride = plan->ndim > 0 ? cad_plan_view(plan, 0)[1] : 0;
    }
    if (kind == CAD_LINEAR_SCATTER) {
        head.kept = kept_by(build, spans->kept);
    }
    const size_t size = (size_t)plan->size;
    const CadStatus status = cad_build_step(build, kind, &head, NULL, 0);
    if (status != CAD_OK || cad_linear_extend(build->linear, CAD_LINEAR_WORDS, size) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    int64_t *const words = cad_linear_items(build->linear, CAD_LINEAR_WORDS);
    int64_t *const offsets = words + cad_linear_count(build->linear, CAD_LINEAR_WORDS) - size;
    for (size_t i = 0; i < size; i++) {
        offsets[i] = indexed(build->tape, plan, (int64_t)i);
    }
    CadLinearStep *const steps = cad_linear_items(build->linear, CAD_LINEAR_STEPS);
    steps[cad_linear_count(build->linear, CAD_LINEAR_STEPS) - 1].end += (int64_t)size;
    return CAD_OK;
}

/* What an entry does with the slots that its index names. */
static CadStatus build_indexed(CadBuild *build, CadEntry entry, CadPlan *plan,
                               const CadSpans *spans, int active) {
    const CadLinearKind kind = cad_entry_overwrites(entry) ? CAD_LINEAR_SCATTER
                               : cad_entry_kind(entry)->indexed == CAD_READS_INDEXED
                                   ? CAD_LINEAR_PICK
                                   : CAD_LINEAR_PUT;
    return active || kind == CAD_LINEAR_SCATTER
               ? build_offsets(build, kind, entry, plan, spans, active)
               : CAD_OK;
}

CadStatus cad_build_array(CadBuild *build, CadEntry entry) {
    static const double one = 1.0;
    CadPlan *const plan = cad_tape_plan(build->tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const CadSpans spans = cad_build_spans(build, entry);
    const int sums = cad_build_sums_views(entry), indexed = cad_entry_kind(entry)->indexed;
    CadStatus status = CAD_OK;
    int active = 0;
    if (kept_by(build, spans.kept) >= 0) {
        cad_build_mark_all(build, spans.kept, CAD_PLACED);
    }
    if (!sums || spans.changes) {
        cad_build_mark_all(build, spans.to, CAD_PLACED);
    }
    if (cad_entry_overwrites(entry) && !indexed) {
        status = build_assignment(build, plan, &spans);
    }
    for (int k = 0; k < spans.n && status == CAD_OK; k++) {
        const int which = spans.which[k];
        if (!cad_build_has_any(build, spans.from[k], CAD_REACHED)) {
            continue;
        }
        active = 1;
        if (!sums) {
            cad_build_mark_all(build, spans.from[k], CAD_PLACED);
        }
        if (cad_op_is_kind(op) && !sums) {
            status = build_terms(build, op, plan, which);
        } else if (cad_op_is_row(op)) {
            status = build_row(build, op, plan, which);
        } else if (sums) {
            status = append_add(build, plan, 0, which, &one, 0);
        }
    }
    return status == CAD_OK && indexed ? build_indexed(build, entry, plan, &spans, active)
                                       : status;
}

/* --- places for slots --- */

static void rename_slot(const CadBuild *build, int64_t *slot) {
    if (*slot >= 0) {
        *slot = build->number[*slot - build->base];
    }
}

void cad_build_rename_words(CadBuild *build) {
    const CadLinearStep *const steps = cad_linear_items(build->linear, CAD_LINEAR_STEPS);
    int64_t *const all = cad_linear_items(build->linear, CAD_LINEAR_WORDS);
    for (size_t i = 0; i < cad_linear_count(build->linear, CAD_LINEAR_STEPS); i++) {
        const int64_t kind = steps[i].kind;
        if (kind == CAD_LINEAR_ROWS) {
            continue;
        }
        int64_t *const words = all + steps[i].begin;
        if (kind == CAD_LINEAR_PICK || kind == CAD_LINEAR_PUT || kind == CAD_LINEAR_SCATTER) {
            CadOffsetsHead *const head = (CadOffsetsHead *)words;
            rename_slot(build, &head->view);
            rename_slot(build, &head->kept);
            for (int64_t k = 0; k < head->size; k++) {
                rename_slot(build, &head->offsets[k]);
            }
            continue;
        }
        const CadFrame frame = cad_frame_of(kind, words);
        if (kind == CAD_LINEAR_MOVE) {
            rename_slot(build, &((CadMoveHead *)words)->kept);
        }
        for (int k = 0; k < cad_frame_places(kind); k++) {
            rename_slot(build, frame.view[cad_frame_place(kind, words, k)]);
        }
    }
}
