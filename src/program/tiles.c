/* The code of groups that go tile by tile, and where large blocks stand.
 *
 * Before this each array has a block of its own, from FAR on. Some rows of all arrays of a group
 * are computed at a time, while they are in the cache: an axis of each instruction consists of
 * these rows, and what one writes another one reads row by row, or not before all are there. What
 * nobody else reads has places for the rows of one tile alone. All others are given places that
 * are not in use while they are. */
#include "program/tiler.h"

/* --- how long blocks are needed --- */

static void note_block(Tiler *t, int64_t place) {
    if (place < FAR) {
        return;
    }
    Block *const block = &t->blocks[cad_maker_far_block(t->m, place)];
    if (!block->is_used) {
        block->is_used = 1;
        block->group = t->group;
        block->first = t->at;
    }
    block->group = block->group == t->group ? t->group : ANY_GROUP;
    block->is_named |= t->names;
    block->last = t->end;
}

/* Each access is in one block, and those of a list that follow each other mostly in the same. */
static void note_region(void *visitor, const CadRegion *region) {
    Tiler *const t = visitor;
    CadBeside noted = {0, 0};
    for (int64_t k = 0; k < n_ranges(region); k++) {
        const int64_t place = range_of(region, k).low;
        if (!cad_is_beside(noted, place)) {
            note_block(t, place);
            noted = cad_maker_beside(t->m, (int32_t)place);
        }
    }
}

static void note_results(Tiler *t) {
    const CadProgram *const program = t->program;
    t->group = ANY_GROUP;
    t->end = UINT32_MAX;
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch stretch = program->outputs[k];
        for (uint32_t i = 0; i < (stretch.listed ? stretch.n : 1); i++) {
            note_block(t, stretch.listed ? program->lists[stretch.place + (int32_t)i]
                                         : stretch.place);
        }
    }
    for (size_t k = 0; k < program->n_checks; k++) {
        note_block(t, program->checks[k].place);
    }
}

/* The places of blocks, from the first instruction to the last one that needs them: a group is one
 * instruction. */
static void find_needs(Tiler *t) {
    const Group *group = t->groups, *const end = t->groups + t->n_groups;
    for (uint32_t at = 0; at < t->program->n_code; at++) {
        while (group < end && at >= group->begin + group->count) {
            group++;
        }
        const int is_member = group < end && at >= group->begin;
        t->group = is_member ? (uint32_t)(group - t->groups) : ANY_GROUP;
        t->at = is_member ? group->begin : at;
        t->end = is_member ? group->begin + group->count - 1 : at;
        const CadInstruction *const i = &t->program->code[t->order[at]];
        t->names = cad_step_is(i, CAD_OVER_SINGLES | CAD_OVER_LISTS) != 0;
        cad_instruction_visit(t->program, i, note_region, t);
    }
    t->names = 0;
    note_results(t);
}

/* --- places of blocks --- */

/* Places from one to behind another. */
typedef struct Gap {
    int64_t at, end;
} Gap;

/* What is free in the order of its places: behind all blocks there is no end. */
typedef struct Shelf {
    Gap *gaps;
    size_t n;
    uint32_t *last; /* of each instruction a block that it is the last to need; UINT32_MAX: none */
    uint32_t now;
    int64_t base, end; /* the first place, and behind the last one ever */
} Shelf;

/* Large ones begin lines of the cache: vectors of numbers that do not are half as fast. */
static uint32_t places_for(CadFarBlock block) {
    const uint32_t size = block.is_float ? (block.size + 1) / 2 : block.size;
    return block.size < LONG_VECTOR ? size : (uint32_t)whole_lines(size);
}

/* Behind which there are no names for its numbers. */
static int64_t last_place(CadFarBlock block) {
    return block.is_float ? CAD_MOST_FLOAT_PLACES : FAR;
}

static void begin_shelf(Shelf *shelf, uint32_t now) {
    shelf->n = 1;
    shelf->gaps[0] = (Gap){shelf->base, INT64_MAX / 2}; /* its length is one for a base below 0 */
    shelf->now = now;
}

static void remove_gap(Shelf *shelf, size_t k) {
    memmove(shelf->gaps + k, shelf->gaps + k + 1, (--shelf->n - k) * sizeof *shelf->gaps);
}

/* A gap is one with those beside it. */
static void add_gap(Shelf *shelf, Gap gap) {
    Gap *const gaps = shelf->gaps;
    size_t k = shelf->n++;
    for (; k > 0 && gaps[k - 1].at > gap.at; k--) {
        gaps[k] = gaps[k - 1];
    }
    gaps[k] = gap;
    for (size_t next = k + 1; next >= k && next > 0; next--) {
        if (gaps[next - 1].end == gaps[next].at) {
            gaps[next - 1].end = gaps[next].end;
            remove_gap(shelf, next);
        }
    }
}

/* Blocks that no instruction from one on needs are gone. */
static void clear(Tiler *t, Shelf *shelf, uint32_t from) {
    for (; shelf->now < from; shelf->now++) {
        uint32_t *const last = &shelf->last[shelf->now];
        for (; *last != UINT32_MAX; *last = t->blocks[*last].after) {
            const Block *const block = &t->blocks[*last];
            add_gap(shelf, (Gap){block->to, (int64_t)block->to + block->room});
        }
    }
}

/* The smallest gap that a block fits in. */
static void put(Tiler *t, Shelf *shelf, size_t which) {
    enum { MOST_GAPS = 1024 }; /* that are looked at */
    Block *const block = &t->blocks[which];
    clear(t, shelf, block->first);
    Gap *best = &shelf->gaps[shelf->n - 1];
    for (size_t k = 0; k < shelf->n && k < MOST_GAPS; k++) {
        Gap *const gap = &shelf->gaps[k];
        const int64_t room = gap->end - gap->at;
        best = room >= block->room && room < best->end - best->at ? gap : best;
    }
    block->to = (int32_t)best->at;
    best->at += block->room;
    shelf->end = best->at > shelf->end ? best->at : shelf->end;
    if (best->at >= last_place(t->m->far[which])) {
        t->m->status = CAD_TAPE_FULL;
    } else if (best->at == best->end) {
        remove_gap(shelf, (size_t)(best - shelf->gaps));
    }
    if (block->last != UINT32_MAX) {
        block->after = shelf->last[block->last];
        shelf->last[block->last] = (uint32_t)which;
    }
}

static int has_tile(const Block *block) {
    return block->group < ANY_GROUP && !block->is_whole;
}

/* Whether all that an instruction reads or writes of a block is the whole of it, in order. */
static int is_all_of(const Tiler *t, const CadInstruction *i, size_t which) {
    const CadFarBlock block = t->m->far[which];
    const int32_t places[3] = {i->out, i->x, i->y}, steps[3] = {1, i->sx, i->sy};
    int is_all = block.size == i->n && !block.is_fixed && !block.is_float;
    for (int k = 0; k < 3; k++) {
        const int is_within = places[k] >= FAR && cad_maker_far_block(t->m, places[k]) == which;
        is_all &= !is_within || (places[k] == block.place && steps[k] == 1);
    }
    return is_all;
}

/* Have the result of arithmetic be written over an operand that nobody needs any more: then there
 * are fewer places that the cache has to hold. 0 if there is none. */
static int put_over_operand(Tiler *t, Shelf *shelf, size_t which, uint32_t at) {
    const CadInstruction *const i = &t->program->code[t->order[at]];
    const int is_arithmetic = i->op == CAD_OP_add || i->op == CAD_OP_subtract ||
                              i->op == CAD_OP_multiply || i->op == CAD_OP_amul;
    Block *const block = &t->blocks[which];
    if (i->kind != CAD_VECTOR || !is_arithmetic || i->floats || !is_all_of(t, i, which) ||
        block->last == UINT32_MAX) {
        return 0;
    }
    for (uint32_t *former = &shelf->last[at]; *former != UINT32_MAX;
         former = &t->blocks[*former].after) {
        const Block *const operand = &t->blocks[*former];
        if (operand->room == block->room && is_all_of(t, i, *former)) {
            block->to = operand->to;
            *former = operand->after;
            block->after = shelf->last[block->last];
            shelf->last[block->last] = (uint32_t)which;
            return 1;
        }
    }
    return 0;
}

/* Blocks in the order in which they are first needed. */
static void put_whole(Tiler *t, Shelf *shelf, const uint32_t *heads, const uint32_t *next) {
    const Group *group = t->groups, *const end = t->groups + t->n_groups;
    begin_shelf(shelf, 0);
    for (uint32_t at = 0; at < t->program->n_code && t->m->status == CAD_OK; at++) {
        group += group < end && at >= group->begin + group->count;
        const int is_member = group < end && at >= group->begin;
        for (uint32_t k = heads[at]; k != UINT32_MAX; k = next[k]) {
            const CadFarBlock block = t->m->far[k];
            if (!block.is_fixed && !has_tile(&t->blocks[k]) && !t->blocks[k].is_referred) {
                t->blocks[k].room = places_for(block);
                if (is_member || !put_over_operand(t, shelf, k, at)) {
                    put(t, shelf, k);
                }
            }
        }
    }
    clear(t, shelf, (uint32_t)t->program->n_code);
}

/* Tiles of a group: members are the time that blocks are needed for. */
static void put_tiles(Tiler *t, Shelf *shelf, const Group *group, const uint32_t *heads,
                      const uint32_t *next) {
    for (uint32_t k = heads[group->begin]; k != UINT32_MAX; k = next[k]) {
        t->blocks[k].is_used = 0;
    }
    const uint32_t id = (uint32_t)(group - t->groups);
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        t->at = t->end = at;
        t->group = id;
        const uint32_t i = t->order[at];
        for (size_t k = t->begin[i]; k < t->begin[i + 1]; k++) {
            if (t->accesses[k].low >= FAR) {
                Block *const block = &t->blocks[cad_maker_far_block(t->m, t->accesses[k].low)];
                if (has_tile(block)) {
                    note_block(t, t->accesses[k].low);
                }
            }
        }
    }
    begin_shelf(shelf, group->begin);
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        const uint32_t i = t->order[at];
        for (size_t k = t->begin[i]; k < t->begin[i + 1] && t->m->status == CAD_OK; k++) {
            if (t->accesses[k].low >= FAR && t->accesses[k].writes) {
                const size_t which = cad_maker_far_block(t->m, t->accesses[k].low);
                Block *const block = &t->blocks[which];
                if (has_tile(block) && block->first == at && block->room == 0) {
                    const int64_t numbers = /* the heads and tails of shifted ones among them */
                        block->row * (group->together - group->rows) +
                        (group->is_shifted ? t->m->far[which].size : block->row * group->rows);
                    const int64_t room = t->m->far[which].is_float ? (numbers + 1) / 2 : numbers;
                    block->room = (uint32_t)whole_lines(room);
                    put(t, shelf, which);
                }
            }
        }
    }
    clear(t, shelf, group->begin + group->count);
}

/* The block that a result of a program for one point is, if it is large and nothing names its
 * places; SIZE_MAX if there is none. */
static size_t block_of_result(const Tiler *t, CadStretch s) {
    const CadMaker *const m = t->m;
    if (m->use != CAD_AT_A_POINT || m->copies || s.listed || s.step != 1 || s.place < FAR ||
        s.n < LONG_VECTOR) {
        return SIZE_MAX;
    }
    const size_t which = cad_maker_far_block(m, s.place);
    const int is_whole = m->far[which].place == s.place && m->far[which].size == s.n;
    return is_whole && !t->blocks[which].is_named && !m->far[which].is_fixed ? which : SIZE_MAX;
}

/* Whether a result is one number, many times. */
static int is_repeated(const CadMaker *m, CadStretch s) {
    return m->use == CAD_AT_A_POINT && !m->copies && !s.listed && s.step == 0 &&
           s.n >= LONG_VECTOR;
}

/* Large results are written where they are wanted: no other block has their places. */
static void refer_to_results(Tiler *t, Shelf *shelf) {
    enum { MOST = 8 };
    CadMaker *const m = t->m;
    CadProgram *const program = t->program;
    size_t first = 0, n = 0;
    for (size_t k = 0; k < program->n_outputs && n < MOST && first < INT32_MAX; k++) {
        const CadStretch s = program->outputs[k];
        const size_t which = block_of_result(t, s);
        if (is_repeated(m, s) && shelf->end + 1 < FAR &&
            GROW(program, referred, program->n_referred, 1)) {
            const int32_t pointer = (int32_t)shelf->end++;
            program->referred[program->n_referred++] =
                (CadReferred){pointer, s.n, pointer, (int32_t)first, CAD_REPEATED};
            n++;
        } else if (which != SIZE_MAX && shelf->end + s.n + 1 < last_place(m->far[which]) &&
                   GROW(program, referred, program->n_referred, 1)) {
            Block *const block = &t->blocks[which];
            const CadFarBlock far = m->far[which];
            block->to = (int32_t)shelf->end;
            block->is_referred = block->is_named = 1; /* once */
            shelf->end += places_for(far);
            program->referred[program->n_referred++] =
                (CadReferred){block->to, s.n, (int32_t)shelf->end++, (int32_t)first,
                              far.is_float ? block->to : -1};
            n++;
        }
        first += s.n;
    }
    shelf->base = shelf->end;
}

static void place_blocks(Tiler *t) {
    CadProgram *const program = t->program;
    const size_t n = t->m->n_far;
    uint32_t *const heads = cad_memory_take(&t->memory, program->n_code, sizeof *heads);
    uint32_t *const next = cad_memory_take(&t->memory, n, sizeof *next);
    Shelf shelf = {.gaps = cad_memory_take(&t->memory, n + 2, sizeof *shelf.gaps),
                   .last = cad_memory_take(&t->memory, program->n_code, sizeof *shelf.last),
                   .base = t->m->n_places,
                   .end = t->m->n_places};
    if (t->memory.status != CAD_OK) {
        fail(t->m);
        return;
    }
    memset(heads, 0xff, program->n_code * sizeof *heads);
    memset(shelf.last, 0xff, program->n_code * sizeof *shelf.last);
    for (size_t k = n; k-- > 0;) {
        if (t->blocks[k].is_used) {
            next[k] = heads[t->blocks[k].first];
            heads[t->blocks[k].first] = (uint32_t)k;
        }
    }
    refer_to_results(t, &shelf);
    shelf.base = shelf.end = whole_lines(shelf.end);
    put_whole(t, &shelf, heads, next);
    shelf.base = shelf.end = whole_lines(shelf.end);
    program->n_whole = (size_t)shelf.end;
    for (size_t k = 0; k < t->n_groups && t->m->status == CAD_OK; k++) {
        put_tiles(t, &shelf, &t->groups[k], heads, next);
    }
    program->n_places = (size_t)shelf.end;
}

static int32_t place_at_last(void *namer, int32_t place) {
    const Tiler *const t = namer;
    if (place < FAR) {
        return place;
    }
    const size_t k = cad_maker_far_block(t->m, place);
    const CadFarBlock block = t->m->far[k];
    const int32_t to = t->blocks[k].to;
    return (block.is_float ? CAD_FLOATS + 2 * to : to) + (place - block.place);
}

/* --- the instructions of groups --- */

/* Some of the rows of a group, and how many tiles of as many there are, in a part and in all. */
typedef struct Tiles {
    int64_t rows, first, some, in_part, n;
} Tiles;

static int are_in_parts(const Tiles *tiles) {
    return tiles->in_part < tiles->n;
}

/* Where the first part has its sum for a member, if each has its own. */
static int64_t place_of_sum(const Tiler *t, const Group *group, uint32_t k) {
    return place_at_last((void *)t, group->place) + (int64_t)t->sums[k];
}

/* The plan of some rows; how far each view moves from tile to tile, and that of the result from
 * part to part. */
static int32_t add_plan_of_tiles(Tiler *t, const Group *group, uint32_t k, const CadInstruction *i,
                                 const Tiles *part) {
    CadMaker *const m = t->m;
    CadProgram *const program = t->program;
    const size_t at = program->n_plan_words, from = (size_t)i->x;
    const int axis = t->axes[k];
    const size_t words = ((CadPlan *)(program->plans + from))->words + MOST_VIEWS + 1;
    if (!GROW(program, plans, at, words)) {
        return 0;
    }
    const CadPlan *const whole = (CadPlan *)(program->plans + from);
    CadPlan *const plan = (CadPlan *)(program->plans + at);
    memcpy(plan, whole, (whole->words - whole->n_extra) * sizeof *program->plans);
    plan->words = whole->words - whole->n_extra + whole->n_views + 1;
    plan->n_extra = whole->n_views + 1U;
    const int64_t in_row = cad_plan_shape(plan)[axis] / part->rows;
    plan->size = plan->size / part->rows * part->some;
    cad_plan_shape(plan)[axis] = in_row * part->some;
    for (int k = 0; k < plan->n_views; k++) {
        int64_t *const view = cad_plan_view(plan, k);
        const int64_t lead = cad_program_keeps(program, view[0]) ? view[1 + axis] * in_row : 0;
        view[0] += lead * part->first;
        cad_plan_extra(plan)[k] = lead * part->some;
    }
    cad_plan_extra(plan)[plan->n_views] = 0;
    if (are_in_parts(part) && is_sum(program, i, axis)) {
        int64_t low, high;
        cad_plan_bounds(plan, 0, &low, &high);
        cad_plan_view(plan, 0)[0] += place_of_sum(t, group, k) - low;
        cad_plan_extra(plan)[plan->n_views] = group->sums;
    }
    program->n_plan_words += plan->words;
    return (int32_t)at;
}

static int32_t moved(const Tiler *t, int32_t place, int64_t by) {
    return cad_program_keeps(t->program, place) ? place + (int32_t)by : place;
}

static void add_member_to_group(Tiler *t, const Group *group, uint32_t k, CadInstruction i,
                                const Tiles *part) {
    const int64_t in_row = i.n / part->rows, by = in_row * part->first;
    const int adds = is_sum(t->program, &i, t->axes[k]);
    int64_t out_by = by;
    if (cad_step_is(&i, CAD_CALLS)) {
        const int64_t results = i.y / part->rows;
        out_by = results * part->first;
        i.x = moved(t, i.x, by);
        i.y = (int32_t)(results * part->some);
        i.sx = (int32_t)(i.sx / part->rows * part->some);
    } else if (!cad_step_is(&i, CAD_OVER_PLAN)) {
        i.x = moved(t, i.x, by * i.sx);
        i.y = moved(t, i.y, by * i.sy);
        i.z = moved(t, i.z, by * i.sz);
    } else {
        i.x = add_plan_of_tiles(t, group, k, &i, part);
    }
    i.n = adds ? 0 : (uint32_t)(in_row * part->some);
    i.out = adds ? i.out : moved(t, i.out, out_by);
    cad_maker_emit(t->m, i);
}

/* Sums begin as zeros, those of parts among them. */
static void begin_sums(Tiler *t, const CadInstruction *code, const Group *group,
                       const Tiles *whole) {
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        const CadInstruction *const i = &code[t->order[at]];
        if (i->n > 0 && is_sum(t->program, i, t->axes[t->order[at]])) {
            cad_maker_emit_zeros(t->m, i->n, i->out);
        }
    }
    if (are_in_parts(whole) && group->sums > 0) {
        const int64_t n = (whole->n + whole->in_part - 1) / whole->in_part * group->sums;
        cad_maker_emit_zeros(t->m, (size_t)n, place_at_last(t, group->place));
    }
}

static void emit_turns(Tiler *t, const Group *group, int64_t n, int64_t in_part) {
    uint32_t count = 0;
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        count += !group->is_shifted || t->heads[t->order[at]] != HEAD_ALONE;
    }
    cad_maker_emit(t->m,
                   (CadInstruction){.kind = CAD_TILES, .n = (uint32_t)n, .x = (int32_t)in_part});
    if (t->m->status == CAD_OK) {
        t->program->code[t->program->n_code - 1].fused = count + 1;
    }
}

static void write_tiles(Tiler *t, const CadInstruction *code, const Group *group,
                        const Tiles *tiles) {
    if (tiles->n > 1) {
        emit_turns(t, group, tiles->n, tiles->in_part);
    }
    for (uint32_t at = group->begin;
         at < group->begin + group->count && t->m->status == CAD_OK && tiles->n > 0; at++) {
        add_member_to_group(t, group, t->order[at], code[t->order[at]], tiles);
    }
}

/* Some numbers of a shifted member, from one on: a tile of what has no places for all rows. */
static void add_shifted_member(Tiler *t, CadInstruction i, int64_t from, int64_t from_in_tile,
                               int64_t n) {
    const int32_t by[2] = {(int32_t)from_in_tile, (int32_t)from};
    if (n > 0) {
        i.x += by[cad_program_keeps(t->program, i.x)] * i.sx;
        i.y += by[cad_program_keeps(t->program, i.y)] * i.sy;
        i.z += by[cad_program_keeps(t->program, i.z)] * i.sz;
        i.out += by[cad_program_keeps(t->program, i.out)];
        i.n = (uint32_t)n;
        cad_maker_emit(t->m, i);
    }
}

static void write_shifted(Tiler *t, const CadInstruction *code, const Group *group) {
    enum { HEADS, TILES, TAILS, N_PARTS };
    for (int part = HEADS; part < N_PARTS; part++) {
        if (part == TILES) {
            emit_turns(t, group, group->turns, group->turns);
        }
        for (uint32_t at = group->begin;
             at < group->begin + group->count && t->m->status == CAD_OK; at++) {
            const CadInstruction i = code[t->order[at]];
            const int64_t head = t->heads[t->order[at]], rows = group->rows;
            if (head == HEAD_ALONE) {
                if (part == HEADS) {
                    cad_maker_emit(t->m, i);
                }
            } else if (part == HEADS) {
                add_shifted_member(t, i, 0, 0, head);
            } else if (part == TILES) {
                add_shifted_member(t, i, head, head, group->together);
            } else {
                add_shifted_member(t, i, head + rows, head + group->together, i.n - head - rows);
            }
        }
    }
}

/* The sums that all parts have for a member are added to its result, in their order: the axes are
 * parts, then those of the result. */
static void add_up_member(Tiler *t, const Group *group, uint32_t k, const CadInstruction *i,
                          const Tiles *whole) {
    CadMaker *const m = t->m;
    CadProgram *const program = t->program;
    const size_t at = program->n_plan_words;
    if (!GROW(program, plans, at, ((CadPlan *)(program->plans + i->x))->words)) {
        return;
    }
    CadPlan *const from = (CadPlan *)(program->plans + i->x);
    CadPlan *const plan = (CadPlan *)(program->plans + at);
    const int64_t *const strides = cad_plan_view(from, 0) + 1;
    int64_t low, high;
    cad_plan_bounds(from, 0, &low, &high);
    *plan = (CadPlan){.ndim = 1, .n_views = 2, .index = -1};
    for (int axis = 0; axis < from->ndim; axis++) {
        plan->ndim += strides[axis] != 0;
    }
    int64_t *const shape = cad_plan_shape(plan), *const to = cad_plan_view(plan, 0),
                   *const sums = cad_plan_view(plan, 1);
    shape[0] = plan->size = (whole->n + whole->in_part - 1) / whole->in_part;
    to[0] = cad_plan_view(from, 0)[0];
    to[1] = 0;
    sums[0] = to[0] + place_of_sum(t, group, k) - low;
    sums[1] = group->sums;
    for (int axis = 0, own = 1; axis < from->ndim; axis++) {
        if (strides[axis] != 0) {
            shape[own] = cad_plan_shape(from)[axis];
            plan->size *= shape[own];
            to[1 + own] = sums[1 + own] = strides[axis];
            own++;
        }
    }
    plan->words = (uint32_t)(CAD_PLAN_WORDS + 3 * plan->ndim + 2);
    program->n_plan_words += plan->words;
    cad_maker_emit(m, cad_terms(CAD_OP_SUM, 0, i->out, at, 0));
}

static void add_up(Tiler *t, const CadInstruction *code, const Group *group, const Tiles *whole) {
    for (uint32_t at = group->begin; at < group->begin + group->count && are_in_parts(whole);
         at++) {
        const uint32_t k = t->order[at];
        if (t->m->status == CAD_OK && is_sum(t->program, &code[k], t->axes[k])) {
            add_up_member(t, group, k, &code[k], whole);
        }
    }
}

static void write_group(Tiler *t, const CadInstruction *code, const Group *group) {
    const int64_t rows = group->rows, left = rows % group->together;
    const Tiles whole = {rows, 0, group->together, group->in_part, group->turns};
    const Tiles rest = {rows, rows - left, left, 1, left > 0};
    begin_sums(t, code, group, &whole);
    write_tiles(t, code, group, &whole);
    add_up(t, code, group, &whole);
    write_tiles(t, code, group, &rest);
}

static void write_code(Tiler *t) {
    CadProgram *const program = t->program;
    CadInstruction *const code = program->code;
    const size_t n = program->n_code;
    const Group *group = t->groups, *const end = t->groups + t->n_groups;
    program->code = NULL;
    program->n_code = program->code_capacity = 0;
    for (uint32_t at = 0; at < n && t->m->status == CAD_OK;) {
        if (group == end || at < group->begin) {
            cad_maker_emit(t->m, code[t->order[at++]]);
            continue;
        }
        if (group->is_shifted) {
            write_shifted(t, code, group);
        } else {
            write_group(t, code, group);
        }
        at += group->count;
        group++;
    }
    cad_memory_free(code);
}

/* --- all of it --- */

static void take_tiler_buffers(Tiler *t) {
    const size_t n = t->program->n_code;
    t->begin = cad_memory_take(&t->memory, n + 1, sizeof *t->begin);
    t->order = cad_memory_take(&t->memory, n, sizeof *t->order);
    t->axes = cad_memory_take(&t->memory, n, sizeof *t->axes);
    t->heads = cad_memory_take(&t->memory, n, sizeof *t->heads);
    t->sums = cad_memory_take(&t->memory, n, sizeof *t->sums);
    CadMaker *const m = t->m;
    if (t->memory.status != CAD_OK || !GROW(t, blocks, m->n_far, 0)) {
        fail(m);
        return;
    }
    for (size_t k = 0; k < m->n_far; k++) {
        t->blocks[k] = (Block){.is_whole = m->far[k].is_fixed, .to = m->far[k].to};
    }
    for (size_t k = 0; k < n; k++) {
        t->order[k] = (uint32_t)k;
    }
}

void cad_maker_plan_memory(CadMaker *m) {
    CadProgram *const program = m->program;
    Tiler tiler = {.m = m, .program = program}, *const t = &tiler;
    program->n_places = program->n_whole = (size_t)m->n_places;
    if (m->n_far == 0) {
        Shelf shelf = {.base = m->n_places, .end = m->n_places};
        refer_to_results(t, &shelf);
        program->n_places = program->n_whole = (size_t)shelf.end;
        return;
    }
    take_tiler_buffers(t);
    if (m->status == CAD_OK) {
        cad_tiler_find_accesses(t);
    }
    if (m->status == CAD_OK && m->joins) {
        cad_tiler_find_groups(t);
    }
    if (m->status == CAD_OK) {
        find_needs(t);
        place_blocks(t);
    }
    if (m->status == CAD_OK) {
        cad_program_rename(program, place_at_last, t);
        write_code(t);
        program->has_arrays |= t->n_groups > 0;
    }
    cad_memory_give_back(&t->memory);
    cad_memory_free(t->accesses);
    cad_memory_free(t->blocks);
    cad_memory_free(t->groups);
}
