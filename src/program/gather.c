/* Numbers that are brought side by side: row by row where they stand evenly, else by a list of
 * places; and the axes along which rows are gone through. */
#include "arrays/short_rows.h"
#include "program/maker.h"

/* --- axes --- */

/* Whether a last axis that is summed up stands side by side. */
static int sums_short_rows(CadPlan *plan) {
    const int last = plan->ndim - 1;
    return last > 0 && cad_plan_view(plan, 0)[1 + last] == 0 &&
           cad_plan_view(plan, 1)[1 + last] == 1;
}

static void exchange_axes(CadPlan *plan, int a, int b) {
    int64_t *const shape = cad_plan_shape(plan), length = shape[a];
    shape[a] = shape[b];
    shape[b] = length;
    for (int k = 0; k < plan->n_views; k++) {
        int64_t *const strides = cad_plan_view(plan, k) + 1, stride = strides[a];
        strides[a] = strides[b];
        strides[b] = stride;
    }
}

/* Have the axes of a row in the order of its result. */
static void order_axes(CadPlan *plan) {
    const int64_t *const result_strides = cad_plan_view(plan, 0) + 1;
    for (int i = 1; i < plan->ndim; i++) {
        for (int k = i; k > 0 && result_strides[k] > result_strides[k - 1]; k--) {
            exchange_axes(plan, k, k - 1);
        }
    }
}

/* Rows are gone through one by one: a short last axis, and a long one that the result has, change
 * places. */
static void lengthen_rows(CadPlan *plan) {
    enum { SHORT = 8 };
    const int64_t *const shape = cad_plan_shape(plan);
    const int last = plan->ndim - 1;
    int longest = last;
    for (int i = 0; i < last && shape[last] < SHORT; i++) {
        if (shape[i] > shape[longest] && cad_plan_view(plan, 0)[1 + i] != 0) {
            longest = i;
        }
    }
    if (longest != last) {
        exchange_axes(plan, longest, last);
    }
}

void cad_maker_choose_axes(CadPlan *plan, int is_row, CadOp op) {
    if (is_row) {
        order_axes(plan);
    }
    if (is_row ? !cad_has_short_rows(plan) : op != CAD_OP_SUM || !sums_short_rows(plan)) {
        lengthen_rows(plan);
    }
}

/* --- rows --- */

enum { MOST_STRETCHES = 4 };

/* Rows of as many numbers, each of a few even stretches, which follow each other evenly. */
typedef struct Evenly {
    size_t rows, n;
    size_t ends[MOST_STRETCHES]; /* in a row; the last one is its length */
    int32_t steps[MOST_STRETCHES];
} Evenly;

static size_t length_of(const Evenly *rows) {
    return rows->ends[rows->n - 1];
}

/* How many rows there are: each stretch stands where it did in the row before, moved as that was.
 */
static size_t count_rows(const CadMaker *m, const int32_t *places, size_t size,
                         const Evenly *found) {
    const size_t n = length_of(found);
    CadBeside beside = {0, 0};
    size_t i = n;
    for (size_t stretch = 0; i < size; i++) {
        const size_t in_row = i % n;
        stretch = in_row == 0 ? 0 : stretch + (in_row == found->ends[stretch]);
        const int begins = in_row == (stretch > 0 ? found->ends[stretch - 1] : 0);
        beside = begins ? cad_maker_beside(m, places[in_row]) : beside;
        const int64_t by = (int64_t)places[i] - places[i - n];
        const int64_t before = i >= 2 * n ? (int64_t)places[i - n] - places[i - 2 * n]
                               : begins   ? by
                                          : (int64_t)places[i - 1] - places[i - 1 - n];
        if (!cad_is_beside(beside, places[i]) || by != before) {
            break;
        }
    }
    return i / n;
}

static Evenly find_rows(const CadMaker *m, const int32_t *places, size_t size) {
    enum { FEW_ROWS = 4 };
    Evenly found = {.rows = 1, .n = 1}, rows = {.n = 0};
    for (size_t end = 0; rows.n < MOST_STRETCHES && end < size && rows.rows < FEW_ROWS;) {
        end = cad_maker_even_end(m, places, end, size, &rows.steps[rows.n]);
        rows.ends[rows.n++] = end;
        rows.rows = count_rows(m, places, size, &rows);
    }
    found.steps[0] = rows.steps[0];
    found.ends[0] = rows.ends[0];
    if (found.ends[0] == 2 && found.steps[0] != 1) {
        found.ends[0] = 1; /* rows may begin with the second one */
    }
    return rows.rows < FEW_ROWS ? found : rows;
}

/* One of the stretches of all rows. */
static void emit_stretch_of_rows(CadMaker *m, const int32_t *places, const Evenly *found,
                                 size_t which, int32_t out) {
    CadProgram *const program = m->program;
    const size_t begin = which > 0 ? found->ends[which - 1] : 0, end = found->ends[which];
    const size_t length = length_of(found);
    const size_t at = program->n_plan_words, words = CAD_PLAN_WORDS + 8;
    if (!GROW(program, plans, at, words)) {
        return;
    }
    CadPlan *const plan = (CadPlan *)(program->plans + at);
    *plan = (CadPlan){.ndim = 2, .n_views = 2, .index = -1, .words = (uint32_t)words};
    plan->size = (int64_t)(found->rows * (end - begin));
    const int64_t layout[] = {(int64_t)found->rows,
                              (int64_t)(end - begin),
                              out + (int64_t)begin,
                              (int64_t)length,
                              1,
                              places[begin],
                              (int64_t)places[begin + length] - places[begin],
                              found->steps[which]};
    memcpy(cad_plan_shape(plan), layout, sizeof layout);
    cad_maker_choose_axes(plan, 1, CAD_OP_positive);
    program->n_plan_words += words;
    program->has_arrays = 1;
    cad_maker_emit(m, (CadInstruction){.kind = CAD_ROWS,
                                       .op = CAD_OP_positive,
                                       .out = out + (int32_t)begin,
                                       .x = (int32_t)at});
}

int cad_maker_emit_copies(CadMaker *m, size_t listed, size_t size, int32_t out) {
    enum { LONG_STRETCH = 64 };
    Evenly next;
    size_t n = 0;
    for (size_t k = 0; k < size && n * LONG_STRETCH <= size; k += next.rows * length_of(&next)) {
        next = find_rows(m, m->program->lists + listed + k, size - k);
        n += next.rows > 1        ? next.n
             : next.steps[0] == 1 ? 1
                                  : next.ends[0]; /* those are not copied at once */
    }
    if (!m->joins || n * LONG_STRETCH > size) {
        cad_maker_emit_take(m, listed, size, out);
        return 1;
    }
    for (size_t k = 0; k < size && m->status == CAD_OK; k += next.rows * length_of(&next)) {
        const int32_t *const places = m->program->lists + listed + k;
        next = find_rows(m, places, size - k);
        for (size_t which = 0; which < next.n && next.rows > 1; which++) {
            emit_stretch_of_rows(m, places, &next, which, out + (int32_t)k);
        }
        if (next.rows == 1) {
            const CadPlaces x[3] = {{places[0], next.steps[0]}};
            cad_maker_emit_vector(m, CAD_OP_positive, next.ends[0], out + (int32_t)k, x);
        }
    }
    return 0;
}

/* --- operands --- */

/* Whether numbers are inputs, in whose places nothing else is written. */
static int are_inputs(const CadMaker *m, const int32_t *places, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (places[i] >= (int32_t)m->program->n_inputs) {
            return 0;
        }
    }
    return 1;
}

/* The same numbers, if they are side by side already. What is written on a level is not read there
 * in other places, so that there they are what they were. */
static const CadGathered *gathered_before(CadMaker *m, size_t begin, size_t count,
                                          uint32_t level) {
    const int32_t *const lists = m->program->lists;
    size_t n = 0;
    for (size_t k = 0; k < m->n_gathered && level != m->gathered_level; k++) {
        m->gathered[n] = m->gathered[k];
        n += m->gathered[k].stays != 0;
    }
    m->n_gathered = level != m->gathered_level ? n : m->n_gathered;
    m->gathered_level = level;
    for (const CadGathered *g = m->gathered, *end = g + m->n_gathered; g < end; g++) {
        if (g->size == count && lists[g->begin] == lists[begin] &&
            memcmp(lists + g->begin, lists + begin, count * sizeof *lists) == 0) {
            return g;
        }
    }
    return NULL;
}

CadPlaces cad_maker_gather(CadMaker *m, size_t begin, size_t count, uint32_t level) {
    const int32_t *const places = m->program->lists + begin;
    CadPlaces even = {places[0], 0};
    if (cad_maker_even_end(m, places, 0, count, &even.step) == count) {
        m->program->n_lists = begin;
        return even;
    }
    const CadGathered *const same = gathered_before(m, begin, count, level);
    if (same != NULL) {
        m->program->n_lists = begin;
        return (CadPlaces){same->to, 1};
    }
    const int32_t to = cad_maker_take_block(m, count);
    cad_maker_release_after(m, level, to, count);
    if (to >= FAR && m->use == CAD_AT_A_POINT) { /* whose points do not go in lanes */
        cad_maker_emit_copies(m, begin, count, to);
    } else {
        cad_maker_emit_take(m, begin, count, to);
    }
    if (GROW(m, gathered, m->n_gathered, 1)) {
        const int stays = to >= FAR && are_inputs(m, m->program->lists + begin, count);
        m->gathered[m->n_gathered++] = (CadGathered){begin, count, to, stays};
    }
    return (CadPlaces){to, 1};
}
