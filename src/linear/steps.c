/* Appending steps: rows, which are open until another step follows, and what stands in words. */
#include "linear/inner.h"

CadStatus cad_build_close_rows(CadBuild *build) {
    const size_t rows = cad_linear_count(build->linear, CAD_LINEAR_TARGETS);
    if (rows == build->open_row) {
        return CAD_OK;
    }
    const CadLinearStep step = {CAD_LINEAR_ROWS, (int64_t)build->open_row, (int64_t)rows};
    build->open_row = rows;
    return cad_linear_append(build->linear, CAD_LINEAR_STEPS, &step, 1);
}

CadPlan *cad_build_plan(int ndim, const int64_t *shape, int n_views, int n_extra,
                        CadRequestedPlan *room) {
    CadPlan *const plan = cad_term_plan(ndim, shape, n_views, room);
    plan->n_extra = (uint32_t)n_extra;
    plan->words += (uint32_t)n_extra;
    return plan;
}

CadStatus cad_build_step(CadBuild *build, CadLinearKind kind, const CadPlan *plan) {
    CadLinear *const linear = build->linear;
    const int64_t begin = (int64_t)cad_linear_count(linear, CAD_LINEAR_WORDS);
    const CadLinearStep step = {kind, begin, begin + plan->words};
    CadStatus status = cad_build_close_rows(build);
    if (status == CAD_OK) {
        status = cad_linear_append(linear, CAD_LINEAR_WORDS, plan, plan->words);
    }
    return status != CAD_OK ? status : cad_linear_append(linear, CAD_LINEAR_STEPS, &step, 1);
}

/* --- spans --- */

/* Spans of slots: those that an entry over arrays reads and writes, and what is noted of all slots
 * of one. */

/* The flags of a span from the first slot on that has any; how many they are. */
static size_t flags_of(const CadBuild *build, CadSpan span, uint16_t **flags) {
    const int64_t first = span.low > build->base ? span.low - build->base : 0;
    const int64_t end = span.high - build->base + 1;
    *flags = build->flags + first;
    return end > first ? (size_t)(end - first) : 0;
}

int cad_build_has_any(const CadBuild *build, CadSpan span, int flag) {
    uint16_t *flags;
    const size_t count = flags_of(build, span, &flags);
    uint16_t all_flags = 0;
    for (size_t i = 0; i < count; i++) {
        all_flags |= flags[i];
    }
    return (all_flags & flag) != 0;
}

void cad_build_mark_all(CadBuild *build, CadSpan span, int marks) {
    uint16_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= (uint16_t)marks;
    }
}

void cad_build_use_all(CadBuild *build, CadSpan span) {
    uint16_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= flags[i] & CAD_USED ? CAD_REUSED : CAD_USED;
    }
}

CadSpans cad_build_spans(const CadBuild *build, CadEntry entry) {
    CadPlan *const plan = cad_tape_plan(build->tape, entry);
    const int keeps = cad_entry_overwrites(entry);
    return (CadSpans){
        .to = cad_entry_result(entry, plan),
        .kept = {keeps ? entry.out : 0, keeps ? (int64_t)entry.out + entry.b - 1 : -1},
        .changes = keeps || cad_plan_adds(cad_entry_kind(entry), plan),
    };
}
