/* Paths that cancel. In  m + log(sum(exp(x - m)))  and in  exp(x - m) / sum(exp(x - m))  the m is
 * there against overflow: the results are the same for any m, so nothing has to come back to it.
 *
 * Each number is followed in its dependence on one level, such as m: v + c m, v exp(c m), or not
 * at all. Whatever else depends on a level, it is differentiated by it as usual. */
#include "graph/inner.h"

#include <math.h>

#include "table/codes.h"

typedef enum Way { FREE, ADDED, SCALED } Way;

/* How the numbers of a record depend on those of a level. Over axes of theirs, in order, which
 * number of the level it is has strides. */
typedef struct Shift {
    Way way;
    uint32_t level; /* a record */
    double by;      /* c */
    int64_t at;
    int ndim;
    size_t axes; /* in words: lengths, then strides */
} Shift;

/* The same along a view. */
typedef struct Seen {
    Shift shift;
    int64_t strides[CAD_MOST_AXES];
} Seen;

typedef struct Shifts {
    CadGraph *graph;
    size_t n_records;
    Shift *shifts;   /* of records */
    uint8_t *levels; /* what is known of levels, 0 of others */
    int64_t *words;
    size_t n_words, word_capacity;
} Shifts;

enum { STANDS = 1, CALLED = 2 }; /* nothing depends on it but what is followed; a call gives it */

static const Seen is_free;

static void keep(Shifts *s, Shift shift) {
    if (shift.way != FREE) {
        s->levels[shift.level] &= CALLED;
    }
}

static Shift shift_of(const Shifts *s, size_t record) {
    const Shift shift = s->shifts[record];
    return shift.way != FREE && (s->levels[shift.level] & STANDS) ? shift : is_free.shift;
}

/* --- views --- */

/* A step through numbers in order, as steps along their axes. */
static void digits(int ndim, const int64_t *lengths, int64_t step, int64_t *found) {
    for (int i = ndim; i-- > 0;) {
        found[i] = i > 0 ? step % lengths[i] : step;
        step /= lengths[i];
    }
}

/* Whether a view goes along axes of its record evenly; strides within the level then are known. */
static int find_strides(const Shifts *s, const CadMade *made, CadNumbers view, int64_t first,
                        Seen *seen) {
    const int64_t *const lengths = s->words + seen->shift.axes;
    const int64_t *const strides = lengths + seen->shift.ndim;
    int64_t step[CAD_MOST_AXES], last[CAD_MOST_AXES];
    digits(seen->shift.ndim, lengths, first, last);
    for (int i = 0; i < seen->shift.ndim; i++) {
        seen->shift.at += last[i] * strides[i];
    }
    for (int axis = 0; axis < made->ndim; axis++) {
        if (made->shape[axis] == 1 || view.strides[axis] == 0) {
            continue;
        }
        if (view.strides[axis] < 0) {
            return 0;
        }
        digits(seen->shift.ndim, lengths, view.strides[axis], step);
        for (int i = 0; i < seen->shift.ndim; i++) {
            last[i] += step[i] * (made->shape[axis] - 1);
            seen->strides[axis] += step[i] * strides[i];
        }
    }
    for (int i = 0; i < seen->shift.ndim; i++) {
        if (last[i] >= lengths[i]) {
            return 0;
        }
    }
    return 1;
}

static Seen see(Shifts *s, const CadMade *made, CadNumbers view) {
    const uint32_t i = cad_graph_record_of(s->graph, view.first);
    Seen seen = {.shift = shift_of(s, i)};
    if (seen.shift.way != FREE && seen.shift.ndim > 0 &&
        !find_strides(s, made, view, (int64_t)(view.first - cad_graph_first(s->graph, i)),
                      &seen)) {
        keep(s, seen.shift);
        return is_free;
    }
    return seen;
}

/* Where an axis goes along several axes of an operand's record, as of arrays in a row, have as
 * many axes. */
static void split_axes(Shifts *s, CadMade *made, CadAxes axes, int view) {
    const uint32_t i = cad_graph_record_of(s->graph, made->views[view].first);
    const Shift shift = shift_of(s, i);
    const int64_t *const lengths = s->words + shift.axes;
    for (int axis = 0; axis < made->ndim && shift.way != FREE; axis++) {
        int64_t end = 1; /* what an axis of the record takes, and those within it */
        for (int k = shift.ndim; k-- > 0 && end <= axes[view][axis];) {
            end *= lengths[k];
        }
        const int64_t step = axes[view][axis], inner = step > 0 ? end / step : 0;
        if (inner < 2 || end % step != 0 || axes[4][axis] <= inner || axes[4][axis] % inner != 0 ||
            made->ndim == CAD_MOST_AXES) {
            continue;
        }
        made->ndim++;
        for (int k = 0; k < 5; k++) {
            if (k >= made->n_views && k < 4) {
                continue;
            }
            const int64_t of = axes[k][axis];
            memmove(axes[k] + axis + 1, axes[k] + axis,
                    (size_t)(made->ndim - axis - 1) * sizeof *axes[k]);
            axes[k][axis] = k < 4 ? of * inner : of / inner;
            axes[k][axis + 1] = k < 4 ? of : inner;
        }
        axis--; /* the outer one may do so, too */
    }
}

/* --- what operations make of it --- */

static int is_about(double x, double y) {
    return fabs(x - y) <= 0x1p-50 * fmax(fabs(x), fabs(y));
}

/* Two operands follow the same number of one level; else the earlier one is kept as it is. */
static int are_together(Shifts *s, const CadMade *made, Seen *x, Seen *y) {
    int same = x->shift.level == y->shift.level && x->shift.at == y->shift.at;
    for (int i = 0; i < made->ndim; i++) {
        same &= made->shape[i] == 1 || x->strides[i] == y->strides[i];
    }
    if (same && x->shift.way == y->shift.way) {
        return 1;
    }
    Seen *const earlier = x->shift.level < y->shift.level ? x : y;
    keep(s, earlier->shift);
    *earlier = is_free;
    return 0;
}

/* v exp(c m) to the power of p, or p v + p c m. */
static Seen times(Seen x, double p) {
    x.shift.by *= p;
    return x;
}

static int is_constant(Shifts *s, const CadMade *made, CadNumbers x, double *value) {
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(s->graph, made, in_order);
    return cad_is_single(&shape, x) && cad_graph_is_constant(s->graph, x.first, value);
}

static Seen given_up(Shifts *s, Seen x, Seen y) {
    keep(s, x.shift);
    keep(s, y.shift);
    return is_free;
}

/* Both v + c m, or both v exp(c m): so is their sum, one of them, or the greater one. What a
 * constant is, is so for any c. */
static Seen alike(Shifts *s, const CadMade *made, Seen x, CadNumbers at_x, Seen y,
                  CadNumbers at_y) {
    double c;
    if (x.shift.way != FREE && y.shift.way != FREE && are_together(s, made, &x, &y) &&
        is_about(x.shift.by, y.shift.by)) {
        return x;
    }
    const Seen other = x.shift.way == FREE ? y : x;
    if (other.shift.way == FREE) {
        return is_free;
    }
    if ((x.shift.way == FREE || y.shift.way == FREE) &&
        is_constant(s, made, x.shift.way == FREE ? at_x : at_y, &c) &&
        (other.shift.way == SCALED ? c == 0.0 : isinf(c))) {
        return other;
    }
    return given_up(s, x, y);
}

static Seen product(Shifts *s, const CadMade *made, Seen x, CadNumbers at_x, Seen y,
                    CadNumbers at_y) {
    double c;
    if (x.shift.way != FREE && y.shift.way != FREE && are_together(s, made, &x, &y)) {
        if (x.shift.way == ADDED) {
            return given_up(s, x, y);
        }
        x.shift.by = is_about(x.shift.by, -y.shift.by) ? 0.0 : x.shift.by + y.shift.by;
        return x;
    }
    const Seen other = x.shift.way == FREE ? y : x;
    if (other.shift.way != ADDED) {
        return other;
    }
    return is_constant(s, made, x.shift.way == FREE ? at_x : at_y, &c) && isfinite(c)
               ? times(other, c)
               : given_up(s, x, y);
}

static Seen sum(Shifts *s, const CadMade *made, Seen x, CadNumbers at_x, Seen y, CadNumbers at_y) {
    if (x.shift.way == SCALED || y.shift.way == SCALED) {
        return alike(s, made, x, at_x, y, at_y);
    }
    if (x.shift.way == FREE || y.shift.way == FREE || !are_together(s, made, &x, &y)) {
        return x.shift.way == FREE ? y : x;
    }
    x.shift.by = is_about(x.shift.by, -y.shift.by) ? 0.0 : x.shift.by + y.shift.by;
    return x;
}

static Seen only(Shifts *s, Seen x, Way from, Way to) {
    if (x.shift.way != from) {
        return given_up(s, x, is_free);
    }
    x.shift.way = to;
    return x;
}

/* A level, but a constant where it is infinite, say: what is chosen is the level then. */
static Seen choice(Shifts *s, const CadMade *made, size_t i, const Seen *x, const CadNumbers *at) {
    Seen level = {.shift = {.way = ADDED, .level = (uint32_t)i, .by = 1.0}};
    double c;
    for (int k = 1; k < 3; k++) {
        if ((s->levels[cad_graph_record_of(s->graph, at[k].first)] & CALLED) &&
            is_constant(s, made, at[3 - k], &c) && isfinite(c)) {
            keep(s, x[k].shift);
            s->levels[i] = STANDS;
            memcpy(level.strides, made->views[0].strides,
                   (size_t)made->ndim * sizeof *level.strides);
            return level;
        }
    }
    return alike(s, made, x[1], at[1], x[2], at[2]);
}

static Seen of_row(Shifts *s, const CadMade *made, size_t i) {
    CadNumbers at[4];
    Seen x[3];
    double p;
    const int arity = cad_made_operands(made, at);
    Way most = FREE;
    for (int k = 0; k < 3; k++) {
        x[k] = k < arity ? see(s, made, at[k]) : is_free;
        most = x[k].shift.way > most ? x[k].shift.way : most;
    }
    if (most == FREE && made->op != CAD_OP_where) {
        return is_free;
    }
    switch ((int)made->op) {
    case CAD_OP_positive:
    case CAD_OP_single:
        return x[0];
    case CAD_OP_negative:
        return most == ADDED ? times(x[0], -1.0) : x[0];
    case CAD_OP_add:
        return sum(s, made, x[0], at[0], x[1], at[1]);
    case CAD_OP_subtract:
        return sum(s, made, x[0], at[0], x[1].shift.way == ADDED ? times(x[1], -1.0) : x[1],
                   at[1]);
    case CAD_OP_multiply:
    case CAD_OP_amul:
        return product(s, made, x[0], at[0], x[1], at[1]);
    case CAD_OP_divide:
        if (x[1].shift.way != ADDED && x[0].shift.way != ADDED) {
            return product(s, made, x[0], at[0], times(x[1], -1.0), at[1]);
        }
        return x[1].shift.way == FREE && is_constant(s, made, at[1], &p) ? times(x[0], 1.0 / p)
                                                                         : given_up(s, x[0], x[1]);
    case CAD_OP_reciprocal:
        return times(only(s, x[0], SCALED, SCALED), -1.0);
    case CAD_OP_square:
        return times(only(s, x[0], SCALED, SCALED), 2.0);
    case CAD_OP_absolute:
        return only(s, x[0], SCALED, SCALED);
    case CAD_OP_exp:
        return only(s, x[0], ADDED, SCALED);
    case CAD_OP_log:
        return only(s, x[0], SCALED, ADDED);
    case CAD_OP_maximum:
    case CAD_OP_minimum:
        return alike(s, made, x[0], at[0], x[1], at[1]);
    case CAD_OP_where:
        return choice(s, made, i, x, at);
    default:
        keep(s, x[2].shift);
        return given_up(s, x[0], x[1]);
    }
}

/* Sums of products: along axes of sums the level has to stay. */
static Seen of_kind(Shifts *s, const CadMade *made, int runs) {
    const Seen x = see(s, made, made->views[1]);
    const Seen y = made->n_views > 2 ? see(s, made, made->views[2]) : is_free;
    if (x.shift.way == FREE && y.shift.way == FREE) {
        return is_free;
    }
    if (!runs && !cad_op_sums_up(made->op)) {
        return given_up(s, x, y);
    }
    Seen found = made->n_views > 2 ? product(s, made, x, made->views[1], y, made->views[2]) : x;
    for (int i = 0; i < made->ndim && found.shift.way != FREE; i++) {
        const int adds = runs ? i == made->ndim - 1 : made->views[0].strides[i] == 0;
        if (adds && made->shape[i] > 1 &&
            (found.strides[i] != 0 || (runs && found.shift.way == ADDED))) {
            return given_up(s, found, is_free);
        }
        found = adds && found.shift.way == ADDED ? times(found, (double)made->shape[i]) : found;
    }
    return found;
}

/* --- records --- */

/* Have a result, whose axes may stand in another order, as numbers in a row. */
static void settle(Shifts *s, size_t i, const CadMade *made, Seen found) {
    const int64_t *const shape = made->shape, *const strides = made->views[0].strides;
    int64_t *axes = NULL;
    int64_t size = 1, moves = 0;
    int n = 0, order[CAD_MOST_AXES];
    if (found.shift.way == FREE || found.shift.by == 0.0 ||
        !(s->levels[found.shift.level] & STANDS)) {
        return;
    }
    for (int axis = 0; axis < made->ndim; axis++) {
        if (shape[axis] == 1 || strides[axis] == 0) {
            continue;
        }
        int k = n++;
        for (; k > 0 && strides[order[k - 1]] < strides[axis]; k--) {
            order[k] = order[k - 1];
        }
        order[k] = axis;
        moves |= found.strides[axis];
    }
    if (cad_memory_grow((void **)&s->words, &s->word_capacity, s->n_words + 2 * (size_t)n,
                        sizeof *s->words) != CAD_OK) {
        s->graph->status = CAD_NO_MEMORY;
        return;
    }
    axes = s->words + s->n_words;
    for (int k = n; k-- > 0;) {
        axes[k] = shape[order[k]];
        axes[n + k] = found.strides[order[k]];
        if (strides[order[k]] != size) {
            size = 0;
        }
        size *= axes[k];
    }
    if (size == 0 || made->views[0].first != 0 ||
        size != (int64_t)cad_record_size(&s->graph->records[i])) {
        keep(s, found.shift);
        return;
    }
    found.shift.axes = s->n_words;
    found.shift.ndim = moves != 0 ? n : 0;
    s->n_words += 2 * (size_t)found.shift.ndim;
    s->shifts[i] = found.shift;
}

static void follow(Shifts *s, size_t i) {
    CadAxes axes;
    CadMade made;
    CadOperands of;
    cad_graph_look(s->graph, i, axes, &made);
    if (made.kind == CAD_RECORD_SINGLE || made.kind == CAD_RECORD_MAP) {
        const int runs =
            cad_made_is_kind(&made) && (cad_entry_kinds[made.op].traits & CAD_RUNS) != 0;
        for (int k = 1; k < made.n_views && made.ndim > 0 && !runs; k++) {
            split_axes(s, &made, axes, k);
        }
        settle(s, i, &made,
               cad_made_is_kind(&made) ? of_kind(s, &made, runs) : of_row(s, &made, i));
        return;
    }
    cad_graph_operands(s->graph, i, &of);
    for (size_t k = 0; k < of.n; k++) {
        if (k != 1 || !cad_record_is_by_index(&s->graph->records[i])) {
            keep(s, shift_of(s, cad_graph_record_of(s->graph, of.ids[k])));
        }
    }
    if (s->levels[i] & CALLED) {
        const int64_t length = (int64_t)made.size, one = 1;
        made.ndim = 1;
        made.shape = &length;
        made.views[0] = (CadNumbers){0, &one};
        settle(s, i, &made,
               (Seen){.shift = {.way = ADDED, .level = (uint32_t)i, .by = 1.0}, .strides = {1}});
    }
}

/* --- guards --- */

/* A number that is not finite if one of a record is not, or one divided by it. */
static CadId held_sum(CadGraph *graph, size_t i, int is_divisor) {
    const int64_t one = 1, none = 0, size = cad_record_size(&graph->records[i]);
    const CadShape shape = {graph, 1, &size, &one, (size_t)size};
    const CadNumbers x = {cad_graph_first(graph, i), size == 1 ? &none : &one};
    CadNumbers views[2] = {{0, &none}, x};
    if (is_divisor) {
        views[1] = cad_graph_apply_over(&shape, CAD_OP_reciprocal, x, x, x);
        views[1] = cad_graph_apply_over(&shape, CAD_OP_add, x, views[1], x);
    }
    return size == 1 ? views[1].first : cad_graph_map(graph, CAD_OP_SUM, 1, 1, &size, 2, views);
}

/* The record whose numbers have to be finite for nothing to come back to a level, or 0: the level
 * itself, a logarithm, a divisor. Elsewhere something would, of partials that are not. */
static size_t held_record(const Shifts *s, size_t i, const uint8_t *is_cut) {
    const CadRecord record = s->graph->records[i];
    CadOperands of;
    if (is_cut[i]) {
        return i;
    }
    if (record.kind != CAD_RECORD_SINGLE && record.kind != CAD_RECORD_MAP) {
        return 0;
    }
    cad_graph_operands(s->graph, i, &of);
    const size_t last = cad_graph_record_of(s->graph, of.ids[of.n - 1]);
    const Shift shift = s->shifts[last];
    const int divides = record.op == CAD_OP_divide || record.op == CAD_OP_reciprocal;
    if (shift.way != SCALED || !is_cut[shift.level]) {
        return 0;
    }
    return divides ? last : record.op == CAD_OP_log ? i : 0;
}

static void guard(const Shifts *s, const uint32_t *uses, const uint8_t *is_cut, uint8_t *is_held) {
    CadGraph *const graph = s->graph;
    CadId total = CAD_NO_ID;
    for (size_t i = 0; i < s->n_records && graph->status == CAD_OK; i++) {
        const size_t held = uses[i] > 0 ? held_record(s, i, is_cut) : 0;
        if (held == 0 || is_held[held]) {
            continue;
        }
        is_held[held] = 1;
        const CadId found = held_sum(graph, held, held != i);
        total =
            total == CAD_NO_ID ? found : cad_graph_apply(graph, CAD_OP_add, total, found, found);
    }
    if (total != CAD_NO_ID) {
        total = cad_graph_apply(graph, CAD_OP_absolute, total, total, total);
        const CadId most = cad_graph_constant(graph, INFINITY);
        cad_graph_guard(graph, cad_graph_apply(graph, CAD_OP_less, total, most, most), 1.0);
    }
}

/* --- cutting --- */

/* Mark the calls that are levels; answers the first one, or how many records there are. */
static size_t find_levels(CadGraph *graph, const CadActive *active, uint8_t *levels) {
    size_t first = graph->n_records;
    for (size_t i = graph->n_records; i-- > 0;) {
        const CadRecord *const record = &graph->records[i];
        if (record->kind == CAD_RECORD_CALL && active->records[i] &&
            cad_graph_about(graph, record).is_level &&
            memchr(active->variables + record->of.array.first, 1, record->of.array.size) == NULL) {
            levels[i] = STANDS | CALLED;
            first = i;
        }
    }
    return first;
}

void cad_graph_cut_shifts(CadGraph *graph, const CadActive *active, const CadId *outputs,
                          size_t n_outputs) {
    CadMemory memory = {0};
    Shifts s = {.graph = graph, .n_records = graph->n_records};
    size_t first = graph->n_records;
    const uint32_t *uses = NULL;
    int any = 0;
    if (!graph->optimize || graph->calls == NULL) {
        return;
    }
    s.levels = cad_memory_take(&memory, s.n_records, 1);
    first = memory.status == CAD_OK ? find_levels(graph, active, s.levels) : first;
    if (first < s.n_records) {
        s.shifts = cad_memory_take(&memory, s.n_records, sizeof *s.shifts);
        uses = cad_graph_uses(graph, &memory, outputs, n_outputs, 0);
    }
    uint8_t *const is_held = cad_memory_take(&memory, s.n_records, 1);
    if (memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    }
    for (size_t i = first; i < s.n_records && graph->status == CAD_OK; i++) {
        if (active->records[i] && uses[i] > 0) {
            follow(&s, i);
        }
    }
    for (size_t k = 0; k < n_outputs && first < s.n_records && graph->status == CAD_OK; k++) {
        keep(&s, shift_of(&s, cad_graph_record_of(graph, outputs[k])));
    }
    for (size_t i = first; i < s.n_records && graph->status == CAD_OK; i++) {
        s.levels[i] = (s.levels[i] & STANDS) && uses[i] > 0;
        any |= s.levels[i];
        active->records[i] &= !s.levels[i];
    }
    if (any && graph->status == CAD_OK) {
        guard(&s, uses, s.levels, is_held);
    }
    cad_memory_free(s.words);
    cad_memory_give_back(&memory);
}
