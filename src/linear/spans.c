/* Spans of slots: those that an entry over arrays reads and writes, and what is noted of all slots
 * of one. */
#include "linear/inner.h"

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
