/* Recurrences, stretch by stretch, or in blocks: see CadScanPlan. */
#include "program/running.h"

/* A loop while it runs. */
typedef struct Scan {
    const CadScanPlan *plan;
    const Places *places;
    const int64_t *given;
    double *strips;
    CadInnerRuns runs;
} Scan;

/* One of its programs, with its places, and the words of the plan that say where its inputs come
 * from; `program` may be NULL. */
typedef struct Part {
    const CadProgram *program;
    double *places;
    const int64_t *sources;
    uint32_t n_into, n_from;
} Part;

/* Take room for lanes. What is the same in all turns is written to the inputs once, for all of
 * them; inputs stand behind what is carried, and others have a place for each turn. */
static void begin_part(const Scan *s, Part *part, size_t lanes, size_t n_carried, size_t together,
                       double **room) {
    if (part->program == NULL) {
        return;
    }
    cad_program_prepare(part->program, *room);
    part->places = cad_program_places(part->program, *room);
    *room += cad_program_room(part->program, lanes);
    double *input = part->places + n_carried;
    for (uint32_t k = 0; k < part->n_into; k++) {
        const int64_t source = part->sources[k];
        if (source < 0) {
            const double value = *numbers_at(s->places, (int32_t)s->given[3 * (-1 - source)]);
            for (size_t lane = 0; lane < lanes; lane++) {
                input[lane] = value;
            }
        }
        input += lanes * (source < 0 ? 1 : together);
    }
}

/* Copy the given numbers of a stretch that differ from turn to turn. */
static void take_given(const Scan *s, size_t turn, size_t n) {
    const int64_t *given = s->given;
    for (uint32_t k = 0; k < s->plan->n_given; k++, given += 3) {
        if (given[2] < 0) {
            continue;
        }
        double *const to = s->strips + given[2];
        const ptrdiff_t step = (ptrdiff_t)given[1];
        const double *const from =
            numbers_at(s->places, (int32_t)given[0]) + step * (ptrdiff_t)turn;
        if (step == 1) {
            memcpy(to, from, n * sizeof *to);
            continue;
        }
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
            to[i] = from[i * step];
        }
    }
}

/* All of a stretch at once. */
static void run_stretch(const Scan *s, const Part *part, size_t n) {
    const size_t lanes = s->plan->length;
    const int64_t *from = part->sources + part->n_into;
    if (part->program == NULL) {
        return;
    }
    for (uint32_t k = 0; k < part->n_into; k++) {
        if (part->sources[k] >= 0) {
            memcpy(part->places + k * lanes, s->strips + part->sources[k],
                   n * sizeof *part->places);
        }
    }
    s->runs.lanes(part->program, part->places, lanes);
    const Lanes results = cad_lanes_in(part->program, part->places, lanes);
    for (uint32_t k = 0; k < part->n_from; k++, from += 2) {
        cad_lanes_copy(s->strips + from[1], results, from[0]);
    }
}

/* As many as there are turns together. */
static CAD_INLINE void copy_some(double *to, const double *from, size_t n) {
    if (n == 16) {
        memcpy(to, from, 16 * sizeof *to);
    } else if (n == 4) {
        memcpy(to, from, 4 * sizeof *to);
    } else {
        for (size_t k = 0; k < n; k++) {
            to[k] = from[k];
        }
    }
}

/* Some turns that follow each other: what is carried stands in their first places, where it is
 * left for the next ones, too. */
static CAD_INLINE void run_turns(const Scan *s, const Part *part, const int64_t *ends, size_t at,
                                 size_t together, double *next) {
    const uint32_t n_carried = s->plan->n_carried, n_into = part->n_into, n_from = part->n_from;
    const int64_t *const sources = part->sources, *const to = sources + n_into;
    double *const places = part->places, *input = places + n_carried;
    for (uint32_t k = 0; k < n_into; k++) {
        if (sources[k] < 0) {
            input++;
            continue;
        }
        copy_some(input, s->strips + sources[k] + at, together);
        input += together;
    }
    s->runs.code(part->program, places);
    for (uint32_t k = 0; k < n_carried; k++) {
        next[k] = places[*ends++];
    }
    for (uint32_t k = 0; k < n_from; k++) {
        double *const out = s->strips + to[k] + at;
        for (size_t i = 0; i < together; i++) {
            out[i] = places[*ends++];
        }
    }
    memcpy(places, next, n_carried * sizeof *places);
}

/* --- in blocks --- */

/* Of one point, at `places`; or of many, with lanes of each number side by side. */
typedef struct Blocks {
    const CadScanPlan *plan;
    const int64_t *initial, *given, *sizes, *outs, *ends;
    size_t n; /* turns */
    const Places *places;
    Lanes lanes, inner; /* around turns, and in them */
} Blocks;

static double *at_place(const Blocks *b, int64_t place) {
    return b->places != NULL ? numbers_at(b->places, (int32_t)place)
                             : cad_lanes_at(b->lanes, place);
}

static Blocks blocks_of(const CadProgram *program, const CadInstruction *i, const Places *places,
                        Lanes lanes) {
    const CadScanPlan *const plan = &program->scans[i->x];
    Blocks b = {.plan = plan, .n = i->n, .places = places, .lanes = lanes};
    b.initial = program->plans + plan->at;
    b.given = b.initial + plan->n_carried;
    b.sizes = cad_scan_plan_sizes(plan, program->plans);
    b.outs = cad_scan_plan_outs(plan, program->plans);
    b.ends = b.outs + 2 * cad_scan_plan_n_ends(plan);
    double *const room = at_place(&b, i->y);
    cad_program_prepare(plan->core, room);
    b.inner = cad_lanes_in(plan->core, cad_program_places(plan->core, room), lanes.count);
    return b;
}

static size_t size_of_end(const Blocks *b, size_t k) {
    return (size_t)b->sizes[k < b->plan->n_carried ? k : k + b->plan->n_given];
}

/* The place of a turn's block: of a carried one the block that the turn finds; the next one is
 * left for the next turn. If only the last one is read, it stands there all the time. */
static double *block_at(const Blocks *b, size_t k, size_t turn) {
    const int64_t *const out = b->outs + 2 * k;
    return at_place(b, out[0]) + out[1] * (int64_t)(turn * b->lanes.count);
}

/* Most blocks are single numbers. */
static CAD_INLINE void copy_block(double *to, const double *from, size_t size) {
    if (size == 1) {
        *to = *from;
    } else {
        memcpy(to, from, size * sizeof *to);
    }
}

/* From around turns, so far from a place: lanes may share it. */
static CAD_INLINE void bring(const Blocks *b, double *to, int64_t place, int64_t move,
                             size_t size) {
    if (b->places != NULL) {
        copy_block(to, numbers_at(b->places, (int32_t)place) + move, size);
        return;
    }
    for (size_t e = 0; e < size; e++) {
        cad_lanes_copy(to + e * b->lanes.count, b->lanes, place + move + (int64_t)e);
    }
}

/* Copy what a turn reads; blocks that are the same in all turns are there after the first one. */
static void take_blocks(const Blocks *b, size_t turn) {
    const CadScanPlan *const plan = b->plan;
    double *to = b->inner.own;
    for (size_t k = 0; k < plan->n_carried; k++) {
        const size_t size = b->lanes.count * (size_t)b->sizes[k];
        copy_block(to, block_at(b, k, turn), size);
        to += size;
    }
    const int64_t *given = b->given, *const sizes = b->sizes + plan->n_carried;
    for (size_t k = 0; k < plan->n_given; k++, given += 3) {
        if (turn == 0 || given[1] != 0) {
            bring(b, to, given[0], given[1] * (int64_t)turn, (size_t)sizes[k]);
        }
        to += b->lanes.count * (size_t)sizes[k];
    }
}

static void hand_on(const Blocks *b, size_t turn) {
    const size_t count = b->lanes.count, n_carried = b->plan->n_carried;
    const size_t n_rows = n_carried + b->plan->n_kept;
    for (size_t k = 0; k < cad_scan_plan_n_ends(b->plan); k++) {
        if (b->outs[2 * k] == CAD_UNREAD) {
            continue;
        }
        const double *const from = cad_lanes_at(b->inner, b->ends[k]);
        const int is_shared = count > 1 && b->ends[k] < 0;
        double *const to = block_at(b, k, turn + (k < n_carried));
        const size_t size = count * size_of_end(b, k);
        if (k < n_rows && !is_shared) {
            copy_block(to, from, size);
            continue;
        }
        for (size_t e = 0; e < size; e++) {
            const double value = from[is_shared ? e / count : e];
            to[e] = k < n_rows ? value : to[e] + value;
        }
    }
}

static void begin_blocks(const Blocks *b) {
    const size_t n_rows = (size_t)b->plan->n_carried + b->plan->n_kept;
    for (size_t k = 0; k < b->plan->n_carried; k++) {
        bring(b, block_at(b, k, 0), b->initial[k], 0, size_of_end(b, k));
    }
    for (size_t k = n_rows; k < cad_scan_plan_n_ends(b->plan); k++) {
        if (b->outs[2 * k] != CAD_UNREAD) {
            memset(block_at(b, k, 0), 0, b->lanes.count * size_of_end(b, k) * sizeof(double));
        }
    }
}

static long run_blocks(const Blocks *b, CadInnerRuns runs) {
    const CadProgram *const core = b->plan->core;
    long failed = -1;
    begin_blocks(b);
    for (size_t turn = 0; turn < b->n && failed == -1; turn++) {
        take_blocks(b, turn);
        failed = b->places != NULL ? runs.code(core, b->inner.own)
                                   : runs.lanes(core, b->inner.own, b->lanes.count);
        hand_on(b, turn);
    }
    return failed;
}

long cad_run_scan_of_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes,
                           CadInnerRuns runs) {
    const Blocks blocks = blocks_of(program, i, NULL, lanes);
    return run_blocks(&blocks, runs);
}

/* Numbers of an end from so many turns on, or the last one alone. */
static void write_to(const Scan *s, const int64_t *out, size_t turn, const double *from,
                     size_t n) {
    if (out[0] == CAD_UNREAD) {
        return;
    }
    double *const to = numbers_at(s->places, (int32_t)out[0]);
    if (out[1] != 0) {
        memcpy(to + turn, from, n * sizeof *from);
    } else {
        *to = from[n - 1];
    }
}

/* What a stretch leaves, from a turn on. */
static void write_ends(const Scan *s, const int64_t *outs, const int64_t *strips, size_t turn,
                       size_t n) {
    const CadScanPlan *const plan = s->plan;
    for (uint32_t k = 0; k < plan->n_carried; k++, outs += 2) {
        write_to(s, outs, turn + 1, s->strips + k * (plan->length + CAD_STRIP_MARGIN) + 1, n);
    }
    for (uint32_t k = 0; k < plan->n_kept; k++, outs += 2) {
        write_to(s, outs, turn, s->strips + *strips++, n);
    }
    for (uint32_t k = 0; k < plan->n_summed; k++, outs += 2, strips++) {
        if (*outs != CAD_UNREAD) {
            double sum = 0.0;
            cad_strip_sum(&sum, (CadStrip){s->strips + *strips, 1}, n);
            *numbers_at(s->places, (int32_t)*outs) += sum;
        }
    }
}

long cad_run_scan(const CadProgram *program, const CadInstruction *i, const Places *places,
                  CadInnerRuns runs) {
    const CadScanPlan *const plan = &program->scans[i->x];
    if (plan->in_blocks) {
        const Blocks blocks = blocks_of(program, i, places, (Lanes){.count = 1});
        return run_blocks(&blocks, runs);
    }
    const size_t n = i->n, lanes = plan->length, together = plan->together;
    const uint32_t n_carried = plan->n_carried, n_rows = n_carried + plan->n_kept;
    const double zero = 0.0;
    const int64_t *const initial = program->plans + plan->at;
    const int64_t *const outs = cad_scan_plan_outs(plan, program->plans);
    const int64_t *const ahead = outs + 2 * cad_scan_plan_n_ends(plan);
    const int64_t *const core = ahead + plan->n_into_ahead + 2 * plan->n_from_ahead;
    const int64_t *const ends = core + plan->n_into_core + plan->n_from_core;
    const int64_t *const ends_of_one = ends + n_carried + together * plan->n_from_core;
    const int64_t *const behind = ends_of_one + n_carried + plan->n_from_core;
    const int64_t *const kept = behind + plan->n_into_behind + 2 * plan->n_from_behind;
    const Scan scan = {plan, places, initial + n_carried, numbers_at(places, i->y), runs};
    Part before = {plan->ahead, NULL, ahead, plan->n_into_ahead, plan->n_from_ahead};
    Part some = {plan->core, NULL, core, plan->n_into_core, plan->n_from_core};
    Part one = {plan->single, NULL, core, plan->n_into_core, plan->n_from_core};
    Part after = {plan->behind, NULL, behind, plan->n_into_behind, plan->n_from_behind};
    double *next = scan.strips + plan->n_in_strips; /* behind all rooms: what is carried on */
    begin_part(&scan, &before, lanes, 0, 1, &next);
    begin_part(&scan, &some, 1, n_carried, together, &next);
    begin_part(&scan, &one, 1, n_carried, 1, &next);
    begin_part(&scan, &after, lanes, 0, 1, &next);
    for (uint32_t k = 0; k < n_carried; k++) {
        some.places[k] = *numbers_at(places, (int32_t)initial[k]);
        write_to(&scan, outs + 2 * k, 0, some.places + k, 1);
    }
    for (uint32_t k = 0; k < plan->n_summed; k++) {
        write_to(&scan, outs + 2 * (n_rows + k), 0, &zero, 1);
    }
    for (size_t turn = 0; turn < n; turn += lanes) {
        const size_t length = n - turn < lanes ? n - turn : lanes;
        size_t at = 0;
        take_given(&scan, turn, length);
        run_stretch(&scan, &before, length);
        for (uint32_t k = 0; k < n_carried; k++) { /* what the first turn finds */
            scan.strips[k * (lanes + CAD_STRIP_MARGIN)] = some.places[k];
        }
        for (; at + together <= length; at += together) {
            run_turns(&scan, &some, ends, at, together, next);
        }
        if (at < length) {
            memcpy(one.places, some.places, n_carried * sizeof *one.places);
            for (; at < length; at++) {
                run_turns(&scan, &one, ends_of_one, at, 1, next);
            }
            memcpy(some.places, one.places, n_carried * sizeof *one.places);
        }
        run_stretch(&scan, &after, length);
        write_ends(&scan, outs, kept, turn, length);
    }
    return -1;
}
