/* Which instructions on large arrays go tile by tile together, and where large blocks stand.
 *
 * Before this each array has a block of its own, from FAR on. Some rows of all arrays of a group
 * are computed at a time, while they are in the cache: an axis of each instruction consists of
 * these rows, and what one writes another one reads row by row, or not before all are there. What
 * nobody else reads has places for the rows of one tile alone. All others are given places that
 * are not in use while they are. */
#include "program/maker.h"

#define NO_GROUP UINT32_MAX
#define ANY_GROUP (UINT32_MAX - 1) /* several, or none of them */

enum {
    WINDOW = 512,     /* instructions that are looked at for one group */
    MOST_BEHIND = 32, /* of these, which have to wait until it is done */
    MOST_VIEWS = 4,
    MOST_WAYS = 4, /* numbers of rows that are tried */
    LONG_ROW = 8 * CAD_TILE,
    MIXED_TILE = 4 * CAD_TILE, /* numbers, where rows of arrays are of unequal length */
    PART = 64 * CAD_TILE,      /* numbers that are computed in a part, or more: 25 µs at least */
    MOST_PARTS = 128,          /* so many that each of 16 threads has eight */
    PER_SUM = 32,              /* numbers in a part, or more, for each in its sums */
    LINE = 8,                  /* numbers in a line of the cache, which threads do not share */
};

typedef struct Access {
    int64_t low, high;
    int writes;
} Access;

/* One of m->far. */
typedef struct Block {
    uint32_t group; /* the one that all accesses are in */
    uint32_t first, last;
    int is_used, is_whole; /* it has all its places, whoever reads it */
    int is_named;          /* single operations or lists name places of it */
    int is_referred;       /* it is a result, and written where that is wanted */
    uint32_t row;          /* numbers of one row, in its group */
    uint32_t room;         /* places that it is given, from `to` on */
    int32_t to;
} Block;

/* Instructions order[begin], ... */
typedef struct Group {
    uint32_t begin, count;
    int64_t rows, together; /* rows, and how many make a tile */
    int64_t turns, in_part; /* tiles of as many, and how many of these make a part */
    int64_t sums;           /* numbers in the sums of a part */
    int32_t place;          /* of the sums of all parts, if there are several */
} Group;

/* A block that members of a group read or write; from all rows: a sum. */
typedef struct Touched {
    size_t block;
    int is_aligned, is_written, is_sum;
} Touched;

typedef struct Found {
    size_t n_members, n_before, n_behind, n_touched;
    int64_t score, longest; /* numbers in all, and of one row */
    int is_mixed;
    uint32_t members[WINDOW], before[WINDOW], behind[MOST_BEHIND];
    uint8_t axes[WINDOW];
    Touched touched[WINDOW * MOST_VIEWS];
} Found;

typedef struct Tiler {
    CadMaker *m;
    CadProgram *program;
    CadMemory memory;
    Access *accesses; /* those of instruction k from begin[k] on */
    size_t n_accesses, accesses_capacity;
    size_t *begin;
    uint32_t *order;
    uint8_t *axes;  /* of members: which one has the rows */
    uint32_t *sums; /* of members: where their sums stand among those of a part */
    Block *blocks;
    size_t blocks_capacity;
    Group *groups;
    size_t n_groups, groups_capacity;
    Found *found;
    uint32_t at, end, group; /* while blocks are noted */
    int names;
} Tiler;

/* --- what instructions read and write --- */

/* Each place of a list is a range. */
static int64_t n_ranges(const CadRegion *region) {
    return region->listed != NULL ? region->lengths[0] : 1;
}

static Access range_of(const CadRegion *region, int64_t k) {
    Access range = {region->first, region->first, region->writes};
    if (region->listed != NULL) {
        range.low = range.high = region->first + region->listed[k];
        return range;
    }
    for (int axis = 0; axis < region->n_axes; axis++) {
        const int64_t reach = region->steps[axis] * (region->lengths[axis] - 1);
        *(reach < 0 ? &range.low : &range.high) += reach;
    }
    return range;
}

static void note_access(void *visitor, const CadRegion *region) {
    Tiler *const t = visitor;
    CadMaker *const m = t->m;
    for (int64_t k = 0; k < n_ranges(region); k++) {
        const Access range = range_of(region, k);
        if (range.high >= 0 && GROW(t, accesses, t->n_accesses, 1)) {
            t->accesses[t->n_accesses++] = range;
        }
    }
}

/* Many of them by their bounds: what is read and written, in blocks from FAR on and elsewhere. */
static void sum_up(Tiler *t, size_t begin) {
    Access sums[4];
    int is_there[4] = {0};
    for (size_t k = begin; k < t->n_accesses; k++) {
        const Access a = t->accesses[k];
        const int which = 2 * (a.low >= FAR) + a.writes;
        Access *const sum = &sums[which];
        if (!is_there[which]) {
            *sum = a;
        }
        is_there[which] = 1;
        sum->low = a.low < sum->low ? a.low : sum->low;
        sum->high = a.high > sum->high ? a.high : sum->high;
    }
    t->n_accesses = begin;
    for (int k = 0; k < 4; k++) {
        if (is_there[k]) {
            t->accesses[t->n_accesses++] = sums[k];
        }
    }
}

static void find_accesses(Tiler *t) {
    enum { MANY = 8 };
    for (size_t k = 0; k < t->program->n_code; k++) {
        t->begin[k] = t->n_accesses;
        cad_instruction_visit(t->program, &t->program->code[k], note_access, t);
        if (t->n_accesses - t->begin[k] > MANY) {
            sum_up(t, t->begin[k]);
        }
    }
    t->begin[t->program->n_code] = t->n_accesses;
}

/* Whether two instructions have to stay in their order: on account of places below a limit. */
static int conflict(const Tiler *t, uint32_t a, uint32_t b, int64_t limit) {
    for (size_t i = t->begin[a]; i < t->begin[a + 1]; i++) {
        const Access x = t->accesses[i];
        for (size_t k = t->begin[b]; k < t->begin[b + 1] && x.low < limit; k++) {
            const Access y = t->accesses[k];
            if ((x.writes || y.writes) && x.low <= y.high && y.low <= x.high) {
                return 1;
            }
        }
    }
    return 0;
}

static int conflicts_with_any(const Tiler *t, uint32_t k, const uint32_t *others, size_t n,
                              int64_t limit) {
    for (size_t i = n; i-- > 0;) {
        if (conflict(t, k, others[i], limit)) {
            return 1;
        }
    }
    return 0;
}

/* --- instructions as views over axes --- */

typedef struct View {
    int64_t place;
    const int64_t *strides;
} View;

/* The first view is that of the result. */
typedef struct Seen {
    int ndim, n_views;
    int n_free; /* so many of the first axes may consist of rows */
    int adds;   /* the result may be a sum from all rows */
    const int64_t *shape;
    int64_t size;
    View views[MOST_VIEWS];
    int64_t length, steps[MOST_VIEWS]; /* of one axis */
} Seen;

static int see_vector(const CadInstruction *i, Seen *seen) {
    const int32_t places[MOST_VIEWS] = {i->out, i->x, i->y, i->z};
    const int64_t steps[MOST_VIEWS] = {1, i->sx, i->sy, i->sz};
    seen->ndim = seen->n_free = 1;
    seen->n_views = 1 + (cad_step_is(i, CAD_OPERATES) ? cad_op_info[i->op].arity : 0);
    seen->length = seen->size = i->n;
    seen->shape = &seen->length;
    for (int k = 0; k < seen->n_views; k++) {
        seen->steps[k] = steps[k];
        seen->views[k] = (View){places[k], &seen->steps[k]};
    }
    return 1;
}

/* 0 if it is none that could go tile by tile. */
static int see(const CadProgram *program, const CadInstruction *i, Seen *seen) {
    *seen = (Seen){0};
    if (!cad_step_is(i, CAD_TILED)) {
        return 0;
    }
    if (!cad_step_is(i, CAD_OVER_PLAN)) {
        return see_vector(i, seen);
    }
    CadPlan *const plan = (CadPlan *)(program->plans + i->x);
    seen->ndim = seen->n_free = plan->ndim;
    seen->n_views = plan->n_views;
    seen->shape = cad_plan_shape(plan);
    seen->size = plan->size;
    if (cad_step_is_of_kind(i)) {
        const CadEntryKind *const kind = &cad_entry_kinds[i->op];
        seen->n_free -= cad_op_multiplies((CadOp)i->op) ? 3 : kind->core;
        seen->adds = (kind->traits & CAD_ADDS) != 0;
    }
    for (int k = 0; k < plan->n_views; k++) {
        const int64_t *const view = cad_plan_view(plan, k);
        seen->views[k] = (View){view[0], view + 1};
    }
    return 1;
}

static int64_t lead_of(const Seen *seen, int view, int axis, int64_t rows) {
    return seen->views[view].strides[axis] * (seen->shape[axis] / rows);
}

/* Whether row by row a view sees rows of a block. */
static int is_aligned(const Seen *seen, int view, int axis, int64_t rows, CadFarBlock block) {
    const int64_t row = block.size / rows;
    int64_t low = seen->views[view].place - block.place, high = low;
    for (int i = 0; i < seen->ndim; i++) {
        const int64_t length = i == axis ? seen->shape[i] / rows : seen->shape[i];
        const int64_t reach = (length - 1) * seen->views[view].strides[i];
        *(reach < 0 ? &low : &high) += reach;
    }
    return block.size % rows == 0 && lead_of(seen, view, axis, rows) == row && low >= 0 &&
           high < row;
}

/* --- groups --- */

static Touched *touched_by(Found *f, size_t block) {
    for (size_t k = 0; k < f->n_touched; k++) {
        if (f->touched[k].block == block) {
            return &f->touched[k];
        }
    }
    return NULL;
}

/* Whether a view of an instruction allows for it to be a member, as far as blocks are concerned.
 */
static int view_joins(const Tiler *t, const Seen *seen, int view, int axis, int64_t rows) {
    Found *const f = t->found;
    const int64_t place = seen->views[view].place;
    const int writes = view == 0;
    const int is_sum = writes && lead_of(seen, view, axis, rows) == 0;
    if (is_sum && !seen->adds) {
        return 0;
    }
    if (place < FAR) {
        return !writes || is_sum;
    }
    const size_t block = cad_maker_far_block(t->m, place);
    const Touched *const former = touched_by(f, block);
    if (is_sum) {
        return former == NULL;
    }
    const int aligned = is_aligned(seen, view, axis, rows, t->m->far[block]);
    if (former == NULL) {
        return aligned || !writes;
    }
    return !former->is_sum &&
           ((aligned && former->is_aligned) || (!writes && !former->is_written));
}

static void note_view(Tiler *t, const Seen *seen, int view, int axis, int64_t rows) {
    Found *const f = t->found;
    if (seen->views[view].place < FAR) {
        return;
    }
    const size_t block = cad_maker_far_block(t->m, seen->views[view].place);
    const int aligned = is_aligned(seen, view, axis, rows, t->m->far[block]);
    Touched *touched = touched_by(f, block);
    if (touched == NULL) {
        touched = &f->touched[f->n_touched++];
        *touched = (Touched){.block = block, .is_aligned = 1};
    }
    touched->is_aligned &= aligned;
    touched->is_written |= view == 0;
    touched->is_sum |= view == 0 && lead_of(seen, view, axis, rows) == 0;
}

/* Numbers that an instruction has in the cache for each row: the most of any view. Those that
 * stand between the numbers of other rows, such as a column of a matrix, are not counted: what
 * reads them goes along a line of the cache only if there are many rows in a tile. */
static int64_t length_of_row(const Seen *seen, int axis, int64_t rows) {
    int64_t longest = 1;
    for (int view = 0; view < seen->n_views; view++) {
        const int64_t lead = lead_of(seen, view, axis, rows);
        int64_t length = 1, low = 0, high = 0;
        for (int i = 0; i < seen->ndim; i++) {
            const int64_t stride = seen->views[view].strides[i];
            const int64_t n = i == axis ? seen->shape[i] / rows : seen->shape[i];
            length *= stride != 0 ? n : 1;
            *(stride < 0 ? &low : &high) += (n - 1) * stride;
        }
        const int is_between = lead != 0 && (lead < 0 ? -lead : lead) <= high - low;
        longest = is_between || length < longest ? longest : length;
    }
    return longest;
}

/* Have an instruction be a member, if it can. */
static int join(Tiler *t, uint32_t k, int64_t rows) {
    Found *const f = t->found;
    Seen seen;
    if (!see(t->program, &t->program->code[k], &seen) || seen.size % rows != 0 ||
        seen.size / rows > LONG_ROW) {
        return 0;
    }
    for (int axis = 0; axis < seen.n_free; axis++) {
        int fits = seen.shape[axis] % rows == 0;
        for (int view = seen.n_views - 1; view >= 0 && fits; view--) {
            fits = view_joins(t, &seen, view, axis, rows);
        }
        if (fits && !conflicts_with_any(t, k, f->members, f->n_members, FAR)) {
            for (int view = 0; view < seen.n_views; view++) {
                note_view(t, &seen, view, axis, rows);
            }
            const int64_t row = length_of_row(&seen, axis, rows);
            f->is_mixed |= f->n_members > 0 && row != f->longest;
            f->longest = row > f->longest ? row : f->longest;
            f->score += seen.size;
            f->axes[f->n_members] = (uint8_t)axis;
            f->members[f->n_members++] = k;
            return 1;
        }
    }
    return 0;
}

static int is_large(const Tiler *t, uint32_t k) {
    Seen seen;
    return see(t->program, &t->program->code[k], &seen) && seen.size >= LONG_VECTOR;
}

/* Divide the instructions from one on: some go tile by tile with so many rows, some can be carried
 * out before these, the others have to wait. */
static void gather(Tiler *t, size_t from, int64_t rows) {
    Found *const f = t->found;
    const size_t n = t->program->n_code, end = n - from > WINDOW ? from + WINDOW : n;
    f->n_members = f->n_before = f->n_behind = f->n_touched = 0;
    f->score = f->longest = f->is_mixed = 0;
    for (size_t at = from; at < end && f->n_behind < MOST_BEHIND; at++) {
        const uint32_t k = t->order[at];
        const int waits = conflicts_with_any(t, k, f->behind, f->n_behind, INT64_MAX);
        if (!waits && join(t, k, rows)) {
            continue;
        }
        if (at == from) {
            return;
        }
        if (!waits && !is_large(t, k) &&
            !conflicts_with_any(t, k, f->members, f->n_members, INT64_MAX)) {
            f->before[f->n_before++] = k;
        } else {
            f->behind[f->n_behind++] = k;
        }
    }
}

static void add_way(int64_t *ways, size_t *n, int64_t rows, int64_t size) {
    int is_new = rows > 1 && size % rows == 0 && size / rows <= LONG_ROW && *n < MOST_WAYS;
    for (size_t k = 0; k < *n; k++) {
        is_new &= ways[k] != rows;
    }
    if (is_new) {
        ways[(*n)++] = rows;
    }
}

/* Numbers of rows that an instruction, and those behind it, may have. */
static size_t find_ways(const Tiler *t, size_t from, int64_t *ways) {
    enum { NEAR = 32 };
    const size_t n_code = t->program->n_code, end = n_code - from > NEAR ? from + NEAR : n_code;
    Seen first, seen;
    size_t n = 0;
    see(t->program, &t->program->code[t->order[from]], &first);
    for (size_t at = from; at < end; at++) {
        if (see(t->program, &t->program->code[t->order[at]], &seen)) {
            for (int axis = 0; axis < seen.n_free; axis++) {
                add_way(ways, &n, seen.shape[axis], first.size);
            }
        }
    }
    return n;
}

/* Whether a member is a sum from all rows: what it adds to stays where it is. */
static int is_sum(const CadProgram *program, const CadInstruction *i, int axis) {
    return cad_step_is_of_kind(i) &&
           cad_plan_view((CadPlan *)(program->plans + i->x), 0)[1 + axis] == 0;
}

/* Numbers from the first to the last one that a sum adds to. */
static int64_t extent(const Tiler *t, uint32_t k, int64_t *low) {
    int64_t high;
    cad_plan_bounds((CadPlan *)(t->program->plans + t->program->code[k].x), 0, low, &high);
    return high - *low + 1;
}

/* Divide the turns of a group into parts, if there is enough to do in each of them, and little to
 * add up. */
static void divide(Tiler *t, Group *group, int64_t score) {
    CadMaker *const m = t->m;
    int64_t most = m->use == CAD_AT_A_POINT ? score / PART : 0;
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        const uint32_t k = t->order[at];
        if (is_sum(t->program, &t->program->code[k], t->axes[k])) {
            int64_t low;
            t->sums[k] = (uint32_t)group->sums;
            group->sums += (extent(t, k, &low) + LINE - 1) / LINE * LINE;
        }
    }
    if (group->sums > 0 && most > score / PER_SUM / group->sums) {
        most = score / PER_SUM / group->sums;
    }
    most = most < MOST_PARTS ? most : MOST_PARTS;
    if (most < 2 || group->turns < 2) {
        return;
    }
    const int64_t in_part = (group->turns + most - 1) / most;
    const int64_t n = (group->turns + in_part - 1) / in_part;
    if (group->sums > 0) {
        if (!cad_maker_take_far(m, (size_t)(n * group->sums), &group->place) ||
            !GROW(t, blocks, m->n_far, 0)) {
            return;
        }
        t->blocks[m->n_far - 1] = (Block){.group = ANY_GROUP,
                                          .first = group->begin,
                                          .last = group->begin + group->count - 1,
                                          .is_used = 1,
                                          .is_whole = 1};
    }
    group->in_part = in_part;
    t->program->has_parts = 1;
}

static void keep_group(Tiler *t, size_t from, int64_t rows) {
    const Found *const f = t->found;
    CadMaker *const m = t->m;
    uint32_t *to = t->order + from;
    const int64_t tile = f->is_mixed ? MIXED_TILE : CAD_TILE;
    int64_t together = f->longest < tile ? tile / f->longest : 1;
    together = together < rows ? together : rows;
    if (!GROW(t, groups, t->n_groups, 1)) {
        return;
    }
    for (size_t k = 0; k < f->n_before; k++) {
        *to++ = f->before[k];
    }
    Group *const group = &t->groups[t->n_groups++];
    *group = (Group){.begin = (uint32_t)(to - t->order),
                     .count = (uint32_t)f->n_members,
                     .rows = rows,
                     .together = together,
                     .turns = rows / together,
                     .in_part = rows / together};
    for (size_t k = 0; k < f->n_members; k++) {
        t->axes[f->members[k]] = f->axes[k];
        *to++ = f->members[k];
    }
    divide(t, group, f->score);
    for (size_t k = 0; k < f->n_behind; k++) {
        *to++ = f->behind[k];
    }
    for (size_t k = 0; k < f->n_touched; k++) {
        const Touched touched = f->touched[k];
        Block *const block = &t->blocks[touched.block];
        block->is_whole |= touched.is_sum || !touched.is_aligned;
        block->row = (uint32_t)(m->far[touched.block].size / rows);
    }
}

/* One instruction is a group if threads may share it. Products are for BLAS. */
static int are_worth_it(const Tiler *t) {
    const Found *const f = t->found;
    if (f->n_members != 1) {
        return f->n_members > 1;
    }
    const CadInstruction *const i = &t->program->code[f->members[0]];
    return t->m->use == CAD_AT_A_POINT && f->score >= 2 * PART &&
           !(cad_step_is_of_kind(i) && cad_op_multiplies((CadOp)i->op));
}

static void find_groups(Tiler *t) {
    for (size_t from = 0; from < t->program->n_code && t->m->status == CAD_OK;) {
        int64_t ways[MOST_WAYS], best = 0, score = 0;
        const size_t n = is_large(t, t->order[from]) ? find_ways(t, from, ways) : 0;
        for (size_t k = 0; k < n; k++) {
            gather(t, from, ways[k]);
            if (are_worth_it(t) && t->found->score > score) {
                score = t->found->score;
                best = ways[k];
            }
        }
        if (best > 0) {
            gather(t, from, best);
            keep_group(t, from, best);
        }
        from += best > 0 ? t->found->n_before + t->found->n_members : 1;
    }
}

/* --- how long blocks are needed --- */

static void note_block(Tiler *t, int64_t place) {
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

static void note_region(void *visitor, const CadRegion *region) {
    for (int64_t k = 0; k < n_ranges(region); k++) {
        const Access range = range_of(region, k);
        if (range.low >= FAR) { /* one block, as each access is */
            note_block(visitor, range.low);
        }
    }
}

static int32_t note_result(void *visitor, int32_t place) {
    if (place >= FAR) {
        note_block(visitor, place);
    }
    return place;
}

static void note_results(Tiler *t) {
    const CadProgram *const program = t->program;
    t->group = ANY_GROUP;
    t->end = UINT32_MAX;
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch stretch = program->outputs[k];
        for (uint32_t i = 0; i < (stretch.listed ? stretch.n : 1); i++) {
            note_result(t, stretch.listed ? program->lists[stretch.place + (int32_t)i]
                                          : stretch.place);
        }
    }
    for (size_t k = 0; k < program->n_checks; k++) {
        note_result(t, program->checks[k].place);
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

/* Blocks that are there at once, in the order of their places. */
typedef struct Shelf {
    size_t *blocks;
    size_t n;
    int64_t base, end; /* the first place, and behind the last one */
} Shelf;

static uint32_t places_for(CadFarBlock block) {
    return block.is_float ? (block.size + 1) / 2 : block.size;
}

/* Behind which there are no names for its numbers. */
static int64_t last_place(CadFarBlock block) {
    return block.is_float ? CAD_MOST_FLOAT_PLACES : FAR;
}

/* The smallest gap that a block fits in. */
static void put(Tiler *t, Shelf *shelf, size_t which) {
    Block *const block = &t->blocks[which];
    size_t n = 0;
    for (size_t k = 0; k < shelf->n; k++) {
        if (t->blocks[shelf->blocks[k]].last >= block->first) {
            shelf->blocks[n++] = shelf->blocks[k];
        }
    }
    shelf->n = n;
    int64_t best = INT64_MAX, at = shelf->base, to = -1;
    size_t before = n;
    for (size_t k = 0; k < n; k++) {
        const Block *const next = &t->blocks[shelf->blocks[k]];
        const int64_t gap = next->to - at;
        if (gap >= block->room && gap < best) {
            best = gap;
            to = at;
            before = k;
        }
        at = (int64_t)next->to + next->room;
    }
    to = to < 0 ? at : to;
    if (to + block->room >= last_place(t->m->far[which])) {
        t->m->status = CAD_TAPE_FULL;
        return;
    }
    memmove(shelf->blocks + before + 1, shelf->blocks + before, (n - before) * sizeof(size_t));
    shelf->blocks[before] = which;
    shelf->n++;
    block->to = (int32_t)to;
    shelf->end = to + block->room > shelf->end ? to + block->room : shelf->end;
}

static int has_tile(const Block *block) {
    return block->group < ANY_GROUP && !block->is_whole;
}

/* Blocks in the order in which they are first needed. */
static void put_whole(Tiler *t, Shelf *shelf, const uint32_t *heads, const uint32_t *next) {
    for (size_t at = 0; at < t->program->n_code && t->m->status == CAD_OK; at++) {
        for (uint32_t k = heads[at]; k != UINT32_MAX; k = next[k]) {
            const CadFarBlock block = t->m->far[k];
            if (!block.is_fixed && !has_tile(&t->blocks[k]) && !t->blocks[k].is_referred) {
                t->blocks[k].room = places_for(block);
                put(t, shelf, k);
            }
        }
    }
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
    shelf->n = 0;
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        const uint32_t i = t->order[at];
        for (size_t k = t->begin[i]; k < t->begin[i + 1] && t->m->status == CAD_OK; k++) {
            if (t->accesses[k].low >= FAR && t->accesses[k].writes) {
                const size_t which = cad_maker_far_block(t->m, t->accesses[k].low);
                Block *const block = &t->blocks[which];
                if (has_tile(block) && block->first == at && block->room == 0) {
                    const int64_t numbers = block->row * group->together;
                    const int64_t room = t->m->far[which].is_float ? (numbers + 1) / 2 : numbers;
                    block->room = (uint32_t)((room + LINE - 1) / LINE * LINE);
                    put(t, shelf, which);
                }
            }
        }
    }
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
    Shelf shelf = {cad_memory_take(&t->memory, n + 1, sizeof *shelf.blocks), 0, t->m->n_places,
                   t->m->n_places};
    if (t->memory.status != CAD_OK) {
        fail(t->m);
        return;
    }
    memset(heads, 0xff, program->n_code * sizeof *heads);
    for (size_t k = n; k-- > 0;) {
        if (t->blocks[k].is_used) {
            next[k] = heads[t->blocks[k].first];
            heads[t->blocks[k].first] = (uint32_t)k;
        }
    }
    refer_to_results(t, &shelf);
    put_whole(t, &shelf, heads, next);
    program->n_whole = (size_t)shelf.end;
    shelf.base = shelf.end;
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

static void add_member(Tiler *t, const Group *group, uint32_t k, CadInstruction i,
                       const Tiles *part) {
    const int64_t in_row = i.n / part->rows, by = in_row * part->first;
    const int adds = is_sum(t->program, &i, t->axes[k]);
    if (!cad_step_is(&i, CAD_OVER_PLAN)) {
        i.x = moved(t, i.x, by * i.sx);
        i.y = moved(t, i.y, by * i.sy);
        i.z = moved(t, i.z, by * i.sz);
    } else {
        i.x = add_plan_of_tiles(t, group, k, &i, part);
    }
    i.n = adds ? 0 : (uint32_t)(in_row * part->some);
    i.out = adds ? i.out : moved(t, i.out, by);
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

static void write_tiles(Tiler *t, const CadInstruction *code, const Group *group,
                        const Tiles *tiles) {
    CadProgram *const program = t->program;
    if (tiles->n > 1) {
        cad_maker_emit(t->m, (CadInstruction){.kind = CAD_TILES,
                                              .n = (uint32_t)tiles->n,
                                              .x = (int32_t)tiles->in_part});
        if (t->m->status == CAD_OK) {
            program->code[program->n_code - 1].fused = group->count + 1;
        }
    }
    for (uint32_t at = group->begin;
         at < group->begin + group->count && t->m->status == CAD_OK && tiles->n > 0; at++) {
        add_member(t, group, t->order[at], code[t->order[at]], tiles);
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
        const int64_t rows = group->rows, left = rows % group->together;
        const Tiles whole = {rows, 0, group->together, group->in_part, group->turns};
        const Tiles rest = {rows, rows - left, left, 1, left > 0};
        begin_sums(t, code, group, &whole);
        write_tiles(t, code, group, &whole);
        add_up(t, code, group, &whole);
        write_tiles(t, code, group, &rest);
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
    t->sums = cad_memory_take(&t->memory, n, sizeof *t->sums);
    t->found = cad_memory_take(&t->memory, 1, sizeof *t->found);
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
        find_accesses(t);
    }
    if (m->status == CAD_OK && m->joins) {
        find_groups(t);
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
