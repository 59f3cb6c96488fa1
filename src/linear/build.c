/* See linear.h. Building goes over the entries three times: forwards to mark slots that depend on
 * the inputs, backwards to mark slots that the outputs depend on, and forwards again, through
 * values as they were when entries read them, to write the steps. */
#include "linear/inner.h"
#include "sweeps/sweeps.h"

#include <assert.h>

/* --- what lies between inputs and outputs --- */

static void reach_array(CadBuild *build, CadEntry e) {
    const CadSpans spans = cad_build_spans(build, e);
    if (cad_build_has_any(build, spans.to, CAD_REACHED)) {
        cad_build_mark_all(build, spans.kept, CAD_REACHED);
    }
    for (CadSource source = cad_build_sources(build, e); cad_next_variable(&source);) {
        if (cad_build_has_any(build, cad_source_span(&source), CAD_REACHED)) {
            cad_build_mark_all(build, spans.to, CAD_REACHED);
        }
    }
    if (spans.changes) {
        cad_build_mark_all(build, spans.to, CAD_MUTABLE);
    }
}

static void reach(CadBuild *build) {
    const CadTape *const tape = build->tape;
    for (size_t i = build->begin; i < build->end; i++) {
        const CadEntry e = tape->entries[i];
        if (cad_entry_is_number(e)) {
            CadSlot operands[3];
            int which[3];
            for (int k = cad_build_operands(tape, i, operands, which); k-- > 0;) {
                if (cad_build_has(build, operands[k], CAD_REACHED)) {
                    cad_build_mark(build, e.out, CAD_REACHED);
                }
            }
        } else if (cad_entry_assigns_number(e)) {
            cad_build_mark(build, e.a, CAD_MUTABLE);
            if (cad_build_has(build, e.a, CAD_REACHED)) {
                cad_build_mark(build, e.out, CAD_REACHED);
            }
            if (!(e.code & CAD_PASSIVE_B) && cad_build_has(build, e.b, CAD_REACHED)) {
                cad_build_mark(build, e.a, CAD_REACHED);
            }
        } else if (CAD_IS_ARRAY_ENTRY(e)) {
            reach_array(build, e);
        }
    }
}

static int need_array(CadBuild *build, CadEntry e) {
    const CadSpans spans = cad_build_spans(build, e);
    const int live = (cad_build_has_any(build, spans.to, CAD_NEEDED) ||
                      cad_build_has_any(build, spans.kept, CAD_NEEDED)) &&
                     (cad_build_has_any(build, spans.to, CAD_REACHED) ||
                      cad_build_has_any(build, spans.kept, CAD_REACHED));
    const int flags = CAD_PINNED | CAD_NEEDED | (cad_build_sums_views(e) ? 0 : CAD_FIXED);
    if (live) {
        cad_build_mark_all(build, spans.to, CAD_PINNED | (spans.changes ? CAD_NEEDED : 0));
        cad_build_mark_all(build, spans.kept, CAD_PINNED);
    }
    for (CadSource source = cad_build_sources(build, e); live && cad_next_variable(&source);) {
        const CadSpan span = cad_source_span(&source);
        if (cad_build_has_any(build, span, CAD_REACHED)) {
            cad_build_mark_all(build, span, flags);
            cad_build_use_all(build, span);
        }
    }
    return live;
}

static void need(CadBuild *build) {
    const CadTape *const tape = build->tape;
    for (size_t i = build->end; i-- > build->begin;) {
        const CadEntry e = tape->entries[i];
        int live = 0;
        if (cad_entry_is_number(e)) {
            CadSlot operands[3];
            int which[3];
            live = cad_build_is_live(build, e.out);
            for (int k = live ? cad_build_operands(tape, i, operands, which) : 0; k-- > 0;) {
                cad_build_mark(build, operands[k], CAD_NEEDED | CAD_FIXED);
                cad_build_use(build, operands[k]);
            }
        } else if (cad_entry_assigns_number(e)) {
            live = cad_build_is_live(build, e.a) || cad_build_is_live(build, e.out);
            if (live) {
                cad_build_mark(build, e.out, CAD_PINNED);
                cad_build_mark(build, e.a, CAD_PINNED | CAD_NEEDED);
                if (!(e.code & CAD_PASSIVE_B)) {
                    cad_build_mark(build, e.b, CAD_PINNED | CAD_NEEDED | CAD_FIXED);
                }
            }
        } else if (CAD_IS_ARRAY_ENTRY(e)) {
            live = need_array(build, e);
        }
        build->live[i - build->begin] = (uint8_t)live;
    }
}

/* --- the whole --- */

static CadStatus build_steps(CadBuild *build) {
    CadTape *const tape = build->tape;
    CadStatus status = CAD_OK;
    size_t i = build->begin;
    cad_sweep_undo(tape, build->begin, build->end);
    for (; i < build->end && status == CAD_OK; i++) {
        const CadEntry e = tape->entries[i];
        if (build->live[i - build->begin]) {
            status = cad_entry_is_rule(e)          ? cad_build_rule(build, i)
                     : CAD_IS_ARRAY_ENTRY(e)       ? cad_build_array(build, e)
                     : cad_entry_assigns_number(e) ? cad_build_assignment(build, e)
                                                   : cad_build_number(build, i);
        }
        cad_sweep_redo(tape, i, i + 1);
    }
    cad_sweep_redo(tape, i, build->end);
    return status != CAD_OK ? status : cad_build_close_rows(build);
}

/* Give all slots that steps refer to a place, in their order. */
static void rename_slots(CadBuild *build) {
    CadLinear *const linear = build->linear;
    for (size_t i = 0; i < build->n_slots; i++) {
        const int placed = build->flags[i] & CAD_PLACED;
        build->place[i] = placed ? (uint32_t)linear->n_places++ : CAD_NONE;
    }
    const CadLinearPart parts[] = {CAD_LINEAR_INPUTS, CAD_LINEAR_OUTPUTS, CAD_LINEAR_TARGETS,
                                   CAD_LINEAR_SOURCES};
    for (int k = 0; k < 4; k++) {
        uint32_t *const slots = cad_linear_items(linear, parts[k]);
        for (size_t i = 0; i < cad_linear_count(linear, parts[k]); i++) {
            slots[i] = slots[i] == CAD_NONE ? CAD_NONE : build->place[slots[i] - build->base];
        }
    }
    cad_build_rename_words(build);
}

/* What goes in and out, as slots, and the flags of these. */
static CadStatus take_ends(CadBuild *build, const int64_t *outputs, size_t n_outputs) {
    CadLinear *const linear = build->linear;
    const size_t n = build->n_inputs;
    if (cad_linear_extend(linear, CAD_LINEAR_INPUTS, n) != CAD_OK ||
        cad_linear_extend(linear, CAD_LINEAR_OUTPUTS, n_outputs) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    uint32_t *const in = cad_linear_items(linear, CAD_LINEAR_INPUTS);
    uint32_t *const out = cad_linear_items(linear, CAD_LINEAR_OUTPUTS);
    for (size_t i = 0; i < n; i++) {
        in[i] = build->base + (CadSlot)i;
        build->flags[i] = CAD_REACHED;
    }
    reach(build);
    for (size_t i = 0; i < n_outputs; i++) {
        const int depends = outputs[i] >= 0 && cad_build_has(build, outputs[i], CAD_REACHED);
        out[i] = depends ? (CadSlot)outputs[i] : CAD_NONE;
        if (depends) {
            cad_build_mark(build, out[i], CAD_NEEDED | CAD_PINNED | CAD_PLACED | CAD_FIXED);
        }
    }
    need(build);
    return CAD_OK;
}

static CadStatus open_build(CadBuild *build) {
    const size_t n_entries = build->end - build->begin;
    build->linear = cad_linear_new(0);
    build->flags = cad_memory_zeroed(build->n_slots, sizeof *build->flags);
    build->live = cad_memory_zeroed(n_entries, sizeof *build->live);
    build->sums = cad_memory_resize(NULL, build->n_slots, sizeof *build->sums);
    build->place = cad_memory_resize(NULL, build->n_slots, sizeof *build->place);
    return build->linear == NULL || build->flags == NULL || build->live == NULL ||
                   build->sums == NULL || build->place == NULL
               ? CAD_NO_MEMORY
               : CAD_OK;
}

CadStatus cad_linear_build(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t n_inputs,
                           const int64_t *outputs, size_t n_outputs, CadLinear **linear) {
    CadBuild build = {
        .tape = tape, .base = base, .begin = begin, .end = end, .n_inputs = n_inputs};
    build.n_slots = (end < tape->n_entries ? tape->entries[end].out : tape->n_slots) - base;
    build.free_link = CAD_NONE;
    CadStatus status = open_build(&build);
    if (status == CAD_OK) {
        status = take_ends(&build, outputs, n_outputs);
    }
    if (status == CAD_OK) {
        status = build_steps(&build);
    }
    if (status == CAD_OK) {
        rename_slots(&build);
        const int sound = cad_linear_check(build.linear);
        assert(sound);
        (void)sound;
    } else {
        cad_linear_free(build.linear);
    }
    cad_memory_free(build.flags);
    cad_memory_free(build.live);
    cad_memory_free(build.place);
    cad_memory_free(build.sums);
    cad_memory_free(build.links.data);
    cad_memory_free(build.partials);
    *linear = status == CAD_OK ? build.linear : NULL;
    return status;
}
