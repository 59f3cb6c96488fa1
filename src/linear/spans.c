/* Spans of slots: those that an entry over arrays reads and writes, and what is noted of all slots
 * of one. */
#include "linear/inner.h"

/* The flags of a span from the first slot on that has any; how many they are. */
static size_t flags_of(const CadBuild *build, CadSpan span, uint8_t **flags) {
    const int64_t first = span.low > build->base ? span.low - build->base : 0;
    const int64_t end = span.high - build->base + 1;
    *flags = build->flags + first;
    return end > first ? (size_t)(end - first) : 0;
}

int cad_build_has_any(const CadBuild *build, CadSpan span, int flag) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    uint8_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found |= flags[i];
    }
    return (found & flag) != 0;
}

void cad_build_mark_all(CadBuild *build, CadSpan span, int marks) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= (uint8_t)marks;
    }
}

void cad_build_use(CadBuild *build, CadSpan span) {
    uint8_t *flags;
    const size_t count = flags_of(build, span, &flags);
    for (size_t i = 0; i < count; i++) {
        flags[i] |= flags[i] & CAD_USED ? CAD_REUSED : CAD_USED;
    }
}

static CadSpan span_of(CadPlan *plan, int view) {
    CadSpan span;
    cad_plan_bounds(plan, view, &span.low, &span.high);
    return span;
}

static void add_source(CadSpans *spans, CadPlan *plan, int view, int bit, CadSpan span) {
    if (is_active(plan, bit)) {
        spans->which[spans->n] = view;
        spans->from[spans->n++] = span;
    }
}

CadSpans cad_build_spans(const CadBuild *build, CadEntry entry) {
    CadPlan *const plan = cad_tape_plan(build->tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const CadSpan own = {entry.out, (int64_t)entry.out + entry.b - 1};
    CadSpans spans = {.n = 0, .to = {0, -1}, .kept = {0, -1}};
    if (op == CAD_OP_RULE) {
        return spans;
    }
    const int64_t *const extra = cad_plan_extra(plan);
    if (op == CAD_OP_GATHER) {
        spans.to = own;
        add_source(&spans, plan, -1, 1, (CadSpan){extra[0], extra[1]});
    } else if (op == CAD_OP_SCATTER || op == CAD_OP_ADD_AT) {
        spans.to = (CadSpan){extra[0], extra[1]};
        add_source(&spans, plan, 0, 0, span_of(plan, 0));
        spans.changes = 1;
    } else {
        spans.to = span_of(plan, 0);
        for (int k = 1; k < plan->n_views; k++) {
            add_source(&spans, plan, k, k, span_of(plan, k));
        }
        spans.changes = op == CAD_OP_ASSIGN || (op == CAD_OP_SUM && extra[0]);
    }
    if (overwrites(op)) {
        spans.kept = own;
    }
    return spans;
}
