/* Which instructions on large arrays go tile by tile together: see tiler.h. */
#include "program/tiler.h"

enum {
    WINDOW = 512,     /* instructions that are looked at for one group */
    MOST_BEHIND = 32, /* of these, which have to wait until it is done */
    MOST_WAYS = 4,    /* numbers of rows that are tried */
    LONG_ROW = 16 * CAD_TILE,
    MIXED_TILE = 4 * CAD_TILE, /* numbers, where rows of arrays are of unequal length */
    PART = 64 * CAD_TILE,      /* numbers that are computed in a part, or more: 25 µs at least */
    MOST_PARTS = 128,          /* so many that each of 16 threads has eight */
    PER_SUM = 32,              /* numbers in a part, or more, for each in its sums */
    MOST_AHEAD = CAD_TILE > 32 ? 32 : 1, /* numbers that a shifted vector has before its rows */
    MOST_SHIFTED = 128 * CAD_TILE, /* numbers of the longest ones: of more, threads have parts */
    MOST_LAGGED = 64 * CAD_TILE,   /* numbers that are read for rows before: half of a cache */
};

/* A block that members of a group read or write; from all rows: a sum. Shifted members see their
 * first row at different places of it. */
typedef struct Touched {
    size_t block;
    int is_aligned, is_written, is_sum;
    int64_t least, most;   /* of these places */
    int64_t least_written; /* and of those that are written */
    int64_t ahead;         /* behind all numbers that are computed before any row, and alone */
} Touched;

typedef struct Found {
    size_t n_members, n_before, n_behind, n_touched;
    int64_t score, longest; /* numbers in all, and of one row */
    int64_t lagged;         /* in blocks that shifted members see at several places */
    int is_mixed;
    uint32_t members[WINDOW], before[WINDOW], behind[MOST_BEHIND + WINDOW];
    uint8_t axes[WINDOW];
    uint32_t heads[WINDOW]; /* numbers of a shifted member before its rows, or HEAD_ALONE */
    Touched touched[WINDOW * MOST_VIEWS];
} Found;

/* --- what instructions read and write --- */

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

void cad_tiler_find_accesses(Tiler *t) {
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
    int64_t length, steps[MOST_VIEWS]; /* of one axis, */
    int64_t lengths[2], strides[2][2]; /* or of rows */
} Seen;

/* A call that goes through rows. */
static int see_call(const CadInstruction *i, Seen *seen) {
    const int64_t in_row = i->sx > 0 ? i->n / i->sx : 0, results = i->sx > 0 ? i->y / i->sx : 0;
    *seen = (Seen){.ndim = 2,
                   .n_free = 1,
                   .n_views = 2,
                   .shape = seen->lengths,
                   .size = i->n,
                   .views = {{i->out, seen->strides[0]}, {i->x, seen->strides[1]}},
                   .lengths = {i->sx, in_row},
                   .strides = {{results, results == in_row}, {in_row, 1}}};
    return i->sx > 1 && (results == 1 || results == in_row);
}

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

/* Whether rows of a product may be products of their own: short sums, whose other operand is read
 * again for each tile. */
static int has_free_rows(const CadInstruction *i, CadPlan *plan) {
    enum { SHORT = 32 };
    return cad_op_multiplies((CadOp)i->op) && i->y &&
           cad_plan_shape(plan)[plan->ndim - 2] <= SHORT;
}

/* 0 if it is none that could go tile by tile. */
static int see(const CadProgram *program, const CadInstruction *i, Seen *seen) {
    *seen = (Seen){0};
    if (!cad_step_is(i, CAD_TILED)) {
        return 0;
    }
    if (cad_step_is(i, CAD_CALLS)) {
        return see_call(i, seen);
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
        if (has_free_rows(i, plan)) {
            seen->n_free++;
            seen->size /= seen->shape[plan->ndim - 2];
        }
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

/* Numbers that an instruction has in the cache for each row: the most of any view. What it reads
 * for all rows is there once. Those that stand between the numbers of other rows, such as a column
 * of a matrix, are not counted: what reads them goes along a line of the cache only if there are
 * many rows in a tile. */
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
        const int is_shared = view > 0 && lead == 0;
        longest = is_between || is_shared || length < longest ? longest : length;
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

/* --- shifted groups --- */

/* Vectors of about the same length are one group, too, where one reads what others have written
 * for rows before: y[1:] * y[:-1], or a difference of neighbours. Each has some numbers, its head,
 * that are computed before all rows, as many rows as the others, and some behind all of them:
 *
 *     y2    │ head │ row 0  row 1  …  row R-1 │ tail │
 *     k3       │ head │ row 0  row 1  …  row R-1 │
 *
 * Whatever has to follow another access of a place does so if the later one's rows are at the same
 * place of the block, or before: heads are in their order, so are the members in each tile, and so
 * are tails. A longer head puts a member's rows further back. Numbers that are set alone before a
 * block's first row, x0 in [x0, x1 y0, …], belong to the heads. */

static int is_plain_vector(const CadInstruction *i) {
    return cad_step_is(i, CAD_TILED) && !cad_step_is(i, CAD_OVER_PLAN | CAD_CALLS);
}

/* Where a view begins in its block. */
static int64_t place_in_block(const Tiler *t, const View *view, size_t *block) {
    *block = cad_maker_far_block(t->m, view->place);
    return view->place - t->m->far[*block].place;
}

/* The longest head that lets the view of a member follow those before it; below 0: there is none.
 */
static int64_t head_of_view(const Tiler *t, const Seen *seen, int view, int64_t head) {
    const View *const v = &seen->views[view];
    if (v->place < FAR) {
        return view > 0 ? head : -1;
    }
    size_t block;
    const int64_t at = place_in_block(t, v, &block);
    const Touched *const former = touched_by(t->found, block);
    if (v->strides[0] != 1) {
        return v->strides[0] == 0 && (former == NULL || !former->is_written) ? head : -1;
    }
    if (former == NULL) {
        return head;
    }
    const int64_t limit = view == 0 ? former->least : former->least_written;
    return head < limit - at ? head : limit - at;
}

/* Numbers in blocks that others see at another place than a member with some head; more than there
 * may be where that is a tile away, so that a turn sees whatever the one before has written. */
static int64_t lagged_by(const Tiler *t, const Seen *seen, int64_t head) {
    int64_t lagged = 0;
    for (int view = 0; view < seen->n_views; view++) {
        if (seen->views[view].place >= FAR) {
            size_t block;
            const int64_t at = place_in_block(t, &seen->views[view], &block) + head;
            const Touched *const former = touched_by(t->found, block);
            if (former != NULL && former->is_aligned && former->is_written &&
                former->least != at) {
                lagged += t->m->far[block].size;
            }
            if (former != NULL && former->most - at >= CAD_TILE) {
                lagged += MOST_LAGGED + 1;
            }
        }
    }
    return lagged;
}

/* Whether an instruction reads what it writes itself, for other rows. */
static int reads_own_block(const Tiler *t, const Seen *seen) {
    int reads = 0;
    size_t own, other;
    const int64_t at = place_in_block(t, &seen->views[0], &own);
    for (int view = 1; view < seen->n_views; view++) {
        if (seen->views[view].place >= FAR) {
            reads |= place_in_block(t, &seen->views[view], &other) != at && other == own;
        }
    }
    return reads;
}

static Touched *touch(Found *f, size_t block) {
    Touched *touched = touched_by(f, block);
    if (touched == NULL) {
        touched = &f->touched[f->n_touched++];
        *touched = (Touched){.block = block,
                             .is_aligned = 1,
                             .least = INT64_MAX / 2,
                             .most = INT64_MIN / 2,
                             .least_written = INT64_MAX / 2};
    }
    return touched;
}

static void note_shifted_view(Tiler *t, const Seen *seen, int view, int64_t head) {
    const View *const v = &seen->views[view];
    if (v->place < FAR) {
        return;
    }
    size_t block;
    int64_t at = place_in_block(t, v, &block) + head;
    Touched *const touched = touch(t->found, block);
    if (v->strides[0] == 0) { /* it may not be written any more */
        at = INT64_MIN / 2;
    }
    touched->least = at < touched->least ? at : touched->least;
    touched->most = at > touched->most ? at : touched->most;
    touched->is_aligned = touched->least == touched->most && touched->ahead <= at;
    if (view == 0) {
        touched->is_written = 1;
        touched->least_written = at < touched->least_written ? at : touched->least_written;
    }
}

/* Have an instruction be a member that has a head alone: it writes some of the first numbers of
 * large blocks, and needs no row. */
static int join_alone(Tiler *t, uint32_t k) {
    Found *const f = t->found;
    const CadInstruction *const i = &t->program->code[k];
    int is_one = cad_step_is(i, CAD_BY_FORMULA) && !cad_step_is(i, CAD_OVER_PLAN) &&
                 t->begin[k + 1] - t->begin[k] <= MOST_VIEWS;
    for (size_t n = t->begin[k]; n < t->begin[k + 1] && is_one; n++) {
        const Access a = t->accesses[n];
        if (a.low < FAR) {
            is_one = !a.writes;
            continue;
        }
        const size_t which = cad_maker_far_block(t->m, a.low);
        const CadFarBlock block = t->m->far[which];
        const Touched *const former = touched_by(f, which);
        const int64_t end = a.high - block.place + 1;
        const int64_t limit = former == NULL ? block.size
                              : a.writes     ? former->least
                                             : former->least_written;
        is_one = end <= limit && end <= block.size &&
                 (!a.writes || (block.size >= LONG_VECTOR && end <= MOST_AHEAD));
    }
    for (size_t n = t->begin[k]; n < t->begin[k + 1] && is_one; n++) {
        const Access a = t->accesses[n];
        if (a.low >= FAR) {
            const size_t which = cad_maker_far_block(t->m, a.low);
            Touched *const touched = touch(f, which);
            const int64_t end = a.high - t->m->far[which].place + 1;
            touched->ahead = end > touched->ahead ? end : touched->ahead;
            touched->is_aligned &= end <= touched->least;
        }
    }
    if (is_one) {
        f->heads[f->n_members] = HEAD_ALONE;
        f->members[f->n_members++] = k;
    }
    return is_one;
}

static int join_shifted(Tiler *t, uint32_t k, int64_t rows) {
    Found *const f = t->found;
    const CadInstruction *const i = &t->program->code[k];
    Seen seen;
    if (!is_plain_vector(i) || !see(t->program, i, &seen) || seen.size < rows ||
        seen.size - rows > 2 * CAD_TILE || seen.views[0].place < FAR ||
        reads_own_block(t, &seen)) {
        return 0;
    }
    int64_t head = seen.size - rows < MOST_AHEAD ? seen.size - rows : MOST_AHEAD;
    for (int view = 0; view < seen.n_views && head >= 0; view++) {
        head = head_of_view(t, &seen, view, head);
    }
    const int64_t lagged = head < 0 ? 0 : f->lagged + lagged_by(t, &seen, head);
    if (head < 0 || lagged > MOST_LAGGED ||
        conflicts_with_any(t, k, f->members, f->n_members, FAR)) {
        return 0;
    }
    f->lagged = lagged;
    for (int view = seen.n_views - 1; view >= 0; view--) {
        note_shifted_view(t, &seen, view, head);
    }
    f->longest = 1;
    f->score += seen.size;
    f->axes[f->n_members] = 0;
    f->heads[f->n_members] = (uint32_t)head;
    f->members[f->n_members++] = k;
    return 1;
}

/* How many rows a shifted group may have that begins with an instruction: whole tiles, so that
 * there is no other rest than tails; 0: none. */
static int64_t shifted_rows(const Tiler *t, uint32_t k) {
    const CadInstruction *const i = &t->program->code[k];
    const int64_t rows = ((int64_t)i->n - MOST_AHEAD) / CAD_TILE * CAD_TILE;
    return is_plain_vector(i) && i->n <= MOST_SHIFTED && rows >= 2 * CAD_TILE ? rows : 0;
}

/* Whether a member with rows sees one of the blocks that an instruction reads or writes. */
static int is_seen(const Tiler *t, uint32_t k) {
    int is_seen = 0;
    for (size_t n = t->begin[k]; n < t->begin[k + 1]; n++) {
        const Access a = t->accesses[n];
        if (a.low >= FAR) {
            const size_t block = cad_maker_far_block(t->m, a.low);
            is_seen |= touched_by(t->found, block)->least < INT64_MAX / 2;
        }
    }
    return is_seen;
}

/* Heads that stand alone and that no row of the group waits for stay behind it, so that their
 * blocks have places no longer than they need them. */
static void put_back_lonely(Tiler *t) {
    Found *const f = t->found;
    uint32_t kept[WINDOW], lonely[WINDOW]; /* from the last one to the first */
    size_t n_kept = 0, n_lonely = 0, n = 0;
    for (size_t k = f->n_members; k-- > 0;) {
        const uint32_t i = f->members[k];
        const int is_alone = f->heads[k] == HEAD_ALONE;
        if (is_alone && !is_seen(t, i) && !conflicts_with_any(t, i, kept, n_kept, INT64_MAX)) {
            lonely[n_lonely++] = i;
            f->members[k] = UINT32_MAX;
        } else if (is_alone) {
            kept[n_kept++] = i;
        }
    }
    for (size_t k = 0; k < f->n_members; k++) {
        if (f->members[k] != UINT32_MAX) {
            f->axes[n] = f->axes[k];
            f->heads[n] = f->heads[k];
            f->members[n++] = f->members[k];
        }
    }
    f->n_members = n;
    memmove(f->behind + n_lonely, f->behind, f->n_behind * sizeof *f->behind);
    for (size_t k = 0; k < n_lonely; k++) {
        f->behind[k] = lonely[n_lonely - 1 - k];
    }
    f->n_behind += n_lonely;
}

/* --- which of them --- */

static int is_large(const Tiler *t, uint32_t k) {
    Seen seen;
    return see(t->program, &t->program->code[k], &seen) && seen.size >= LONG_VECTOR;
}

/* Divide the instructions from one on: some go tile by tile with so many rows, some can be carried
 * out before these, the others have to wait. */
static void gather(Tiler *t, size_t from, int64_t rows, int is_shifted) {
    Found *const f = t->found;
    const size_t n = t->program->n_code, end = n - from > WINDOW ? from + WINDOW : n;
    f->n_members = f->n_before = f->n_behind = f->n_touched = 0;
    f->score = f->longest = f->lagged = f->is_mixed = 0;
    for (size_t at = from; at < end && f->n_behind < MOST_BEHIND; at++) {
        const uint32_t k = t->order[at];
        const int waits = conflicts_with_any(t, k, f->behind, f->n_behind, INT64_MAX);
        if (!waits && (is_shifted ? join_shifted(t, k, rows) : join(t, k, rows))) {
            continue;
        }
        if (at == from) {
            return;
        }
        if (is_shifted && !waits && join_alone(t, k)) {
            continue;
        }
        if (!waits && !is_large(t, k) &&
            !conflicts_with_any(t, k, f->members, f->n_members, INT64_MAX)) {
            f->before[f->n_before++] = k;
        } else {
            f->behind[f->n_behind++] = k;
        }
    }
    if (is_shifted) {
        put_back_lonely(t);
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

/* Divide the turns of a group into parts, if there is enough to do in each of them, and little to
 * add up. */
static void divide_group(Tiler *t, Group *group, int64_t score) {
    CadMaker *const m = t->m;
    int64_t most = m->use == CAD_AT_A_POINT ? score / PART : 0;
    for (uint32_t at = group->begin; at < group->begin + group->count; at++) {
        const uint32_t k = t->order[at];
        const CadInstruction *const i = &t->program->code[k];
        if (is_sum(t->program, i, t->axes[k])) {
            int64_t low, high; /* the first and the last number that it adds to */
            cad_plan_bounds((CadPlan *)(t->program->plans + i->x), 0, &low, &high);
            t->sums[k] = (uint32_t)group->sums;
            group->sums += whole_lines(high - low + 1);
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

static void keep_group(Tiler *t, size_t from, int64_t rows, int is_shifted) {
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
                     .in_part = rows / together,
                     .is_shifted = is_shifted};
    for (size_t k = 0; k < f->n_members; k++) {
        t->axes[f->members[k]] = f->axes[k];
        t->heads[f->members[k]] = f->heads[k];
        *to++ = f->members[k];
    }
    if (!is_shifted) {
        divide_group(t, group, f->score);
    }
    for (size_t k = 0; k < f->n_behind; k++) {
        *to++ = f->behind[k];
    }
    for (size_t k = 0; k < f->n_touched; k++) {
        const Touched touched = f->touched[k];
        Block *const block = &t->blocks[touched.block];
        block->is_whole |= touched.is_sum || !touched.is_aligned;
        block->row = is_shifted ? 1 : (uint32_t)(m->far[touched.block].size / rows);
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

void cad_tiler_find_groups(Tiler *t) {
    t->found = cad_memory_take(&t->memory, 1, sizeof *t->found);
    if (t->found == NULL) {
        fail(t->m);
        return;
    }
    for (size_t from = 0; from < t->program->n_code && t->m->status == CAD_OK;) {
        int64_t ways[MOST_WAYS], best = 0, score = 0;
        const size_t n = is_large(t, t->order[from]) ? find_ways(t, from, ways) : 0;
        for (size_t k = 0; k < n; k++) {
            gather(t, from, ways[k], 0);
            if (are_worth_it(t) && t->found->score > score) {
                score = t->found->score;
                best = ways[k];
            }
        }
        const int64_t rows = shifted_rows(t, t->order[from]);
        if (rows > 0) {
            gather(t, from, rows, 1);
        }
        if (rows > 0 && t->found->score > score &&
            t->found->score > t->program->code[t->order[from]].n) {
            keep_group(t, from, rows, 1);
        } else if (best > 0) {
            gather(t, from, best, 0);
            keep_group(t, from, best, 0);
        } else {
            from++;
            continue;
        }
        from += t->found->n_before + t->found->n_members;
    }
}
