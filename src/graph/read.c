/* From the tape to a graph: each slot holds, at each moment, some number. An assignment makes the
 * slot hold another one; nothing is left of it. */
#include "arrays/walk.h"
#include "graph/inner.h"
#include "sweeps/sweeps.h"

enum { SMALL_ARRAY = 24, SMALL_PRODUCT = 64 };

typedef struct Reader {
    CadGraph *graph;
    CadTape *tape;
    CadSlot base;
    CadId *at; /* the number that each slot holds, from `base` on; CAD_NO_ID: not looked at yet */
    CadRoom room;
    size_t entry; /* that is being read */
    double value; /* the latest constant: arrays that are assigned to are full of one */
    CadId constant;
} Reader;

/* What no entry has written to is a constant. */
static inline CadId number_at(Reader *r, int64_t slot) {
    CadId constant = CAD_NO_ID;
    CadId *const at = slot < (int64_t)r->base ? &constant : &r->at[slot - r->base];
    if (*at == CAD_NO_ID) {
        const double value = cad_tape_values(r->tape, slot)[slot];
        if (r->constant == CAD_NO_ID || memcmp(&r->value, &value, sizeof value) != 0) {
            r->value = value;
            r->constant = cad_graph_constant(r->graph, value);
        }
        *at = r->constant;
    }
    return *at;
}

/* The same; if it is passive, its derivative is cut. */
static inline CadId operand_at(Reader *r, int64_t slot, int passive) {
    const CadId id = number_at(r, slot);
    double value;
    return passive && !cad_graph_is_constant(r->graph, id, &value)
               ? cad_graph_apply(r->graph, CAD_OP_stop, id, id, id)
               : id;
}

/* Have a slot hold another number, and one that keeps it the former one. */
static void assign(Reader *r, int64_t slot, CadId source, int64_t kept) {
    r->at[kept - r->base] = number_at(r, slot);
    r->at[slot - r->base] = source;
}

/* --- views --- */

/* A walk over all elements that the views of a plan see. */
static Steps steps_of(CadPlan *plan) {
    Steps steps = {.ndim = plan->ndim, .shape = cad_plan_shape(plan), .n_views = plan->n_views};
    for (int k = 0; k < plan->n_views; k++) {
        steps.at[k] = cad_plan_view(plan, k)[0];
        steps.strides[k] = cad_plan_view(plan, k) + 1;
    }
    return steps;
}

/* Constants that were not looked at yet become an array. */
static int is_fresh_range(const Reader *r, int64_t low, int64_t high) {
    for (int64_t slot = low; slot <= high; slot++) {
        if (r->at[slot - r->base] != CAD_NO_ID) {
            return 0;
        }
    }
    return 1;
}

static void name_elements(Reader *r, int64_t low, size_t size, CadId first) {
    for (size_t i = 0; i < size; i++) {
        r->at[low - r->base + (int64_t)i] = first + (CadId)i;
    }
}

/* The slots that a view of a plan sees hold numbers. */
static void name_seen(Reader *r, int ndim, const int64_t *shape, const int64_t *view,
                      CadNumbers numbers) {
    Steps steps = {.ndim = ndim,
                   .shape = shape,
                   .n_views = 2,
                   .strides = {view + 1, numbers.strides},
                   .at = {view[0], 0}};
    do {
        r->at[steps.at[0] - r->base] = (CadId)(numbers.first + (uint32_t)steps.at[1]);
    } while (next_step(&steps));
}

/* The numbers that a view of a plan holds. `strides` is room for as many as there are axes. */
static CadNumbers numbers_of(Reader *r, int ndim, const int64_t *shape, const int64_t *view,
                             int64_t *strides) {
    int64_t low = view[0], high = view[0];
    size_t count = 1;
    for (int i = 0; i < ndim; i++) {
        const int64_t reach = (shape[i] - 1) * view[i + 1];
        *(reach < 0 ? &low : &high) += reach;
        strides[i] = view[i + 1];
        count *= view[i + 1] != 0 ? (size_t)shape[i] : 1;
    }
    if (count == 1 && low == high) {
        return (CadNumbers){number_at(r, low), strides};
    }
    if (low >= (int64_t)r->base && is_fresh_range(r, low, high)) {
        const size_t size = (size_t)(high - low + 1);
        const CadId first =
            cad_graph_constants(r->graph, cad_tape_values(r->tape, low) + low, size);
        name_elements(r, low, size, first);
    }
    if (low >= (int64_t)r->base &&
        cad_graph_are_in_row(r->graph, &r->at[low - r->base], (size_t)(high - low + 1))) {
        return (CadNumbers){r->at[view[0] - r->base], strides};
    }
    /* Number by number, along the axes that it has. */
    CadId *ids = cad_graph_room(r->graph, &r->room, count);
    if (ids == NULL) {
        return (CadNumbers){CAD_ZERO, strides};
    }
    int64_t lengths[CAD_MOST_AXES];
    for (int i = 0; i < ndim; i++) {
        lengths[i] = view[i + 1] != 0 ? shape[i] : 1;
    }
    Steps steps = {
        .ndim = ndim, .shape = lengths, .n_views = 1, .strides = {view + 1}, .at = {view[0]}};
    size_t k = 0;
    do {
        ids[k++] = number_at(r, steps.at[0]);
    } while (next_step(&steps));
    cad_strides_in_order(ndim, lengths, strides);
    for (int i = 0; i < ndim; i++) {
        strides[i] = view[i + 1] != 0 ? strides[i] : 0;
    }
    const CadDerivatives listed = cad_derivatives_listed(r->graph, ids, count);
    if (listed.step == 0) {
        memset(strides, 0, (size_t)ndim * sizeof *strides);
    }
    return (CadNumbers){listed.first, strides};
}

/* --- entries over arrays --- */

/* Numbers whose derivative is cut; their strides, which `in_order` may hold, are overwritten. */
static CadNumbers stopped(Reader *r, int ndim, const int64_t *shape, CadNumbers x,
                          int64_t *in_order) {
    int64_t strides[CAD_MOST_AXES];
    double value;
    if (cad_graph_is_constant(r->graph, x.first, &value)) {
        return x;
    }
    memcpy(strides, x.strides, (size_t)ndim * sizeof *strides);
    x.strides = strides;
    const size_t size = cad_strides_in_order(ndim, shape, in_order);
    const CadShape over = {r->graph, ndim, shape, in_order, size};
    const CadNumbers result = cad_graph_apply_over(&over, CAD_OP_stop, x, x, x);
    if (result.strides == cad_no_strides) {
        memset(in_order, 0, (size_t)ndim * sizeof *in_order);
    }
    return (CadNumbers){result.first, in_order};
}

/* The operands of a plan as views; `strides` is room for theirs. */
static void read_views(Reader *r, CadPlan *plan, int64_t (*strides)[CAD_MOST_AXES],
                       CadNumbers *views) {
    const int64_t *shape = cad_plan_shape(plan);
    for (int k = 1; k < plan->n_views; k++) {
        views[k] = numbers_of(r, plan->ndim, shape, cad_plan_view(plan, k), strides[k]);
        if (!is_active(plan, k)) {
            views[k] = stopped(r, plan->ndim, shape, views[k], strides[k]);
        }
    }
}

/* What an entry in single precision computes is rounded: what a program computes besides is
 * computed of doubles. */
static CadId rounded(Reader *r, CadPlan *plan, CadId x) {
    return cad_plan_is_single(plan) ? cad_graph_apply(r->graph, CAD_OP_single, x, x, x) : x;
}

static void read_row_singly(Reader *r, CadOp op, CadPlan *plan) {
    Steps steps = steps_of(plan);
    const int arity = plan->n_views - 1;
    do {
        CadId x[3] = {CAD_NO_ID};
        for (int k = 0; k < 3; k++) {
            x[k] = k < arity ? operand_at(r, steps.at[k + 1], !is_active(plan, k + 1)) : x[0];
        }
        r->at[steps.at[0] - r->base] =
            rounded(r, plan, cad_graph_apply(r->graph, op, x[0], x[1], x[2]));
    } while (next_step(&steps));
}

enum { LONG_ROW = 16, FEW_ROWS = 4 }; /* numbers on average, and rows */

/* What is chosen for numbers in a row, of one axis. */
static void read_chosen(Reader *r, CadPlan *plan, CadNumbers x, int64_t first, int64_t end) {
    const int64_t *const result = cad_plan_view(plan, 0);
    const int64_t size = end - first, one = 1;
    const CadShape shape = {r->graph, 1, &size, &one, (size_t)size};
    int64_t strides[CAD_MOST_AXES], seen[2] = {result[0] + first * result[1], result[1]};
    x.first += (CadId)(first * x.strides[0]);
    name_seen(r, 1, &size, seen, cad_graph_part(&shape, x, strides));
}

/* A choice by constants among numbers in a row is what is chosen, if that stands in a few long
 * rows: what an operation gives for these. Answers 0 if it is to be carried out. */
static int read_choice(Reader *r, CadPlan *plan, const CadNumbers x[4]) {
    CadGraph *const graph = r->graph;
    const CadRecord *const mask = cad_graph_record(graph, x[1].first);
    int64_t at = 0, begins[FEW_ROWS + 1];
    int choices[FEW_ROWS], n = 0, former = -1;
    if (mask->kind != CAD_RECORD_CONSTANTS || plan->ndim != 1) {
        return 0;
    }
    const size_t list = cad_graph_array(graph, mask)->list;
    const double *const values = graph->constants + list - mask->of.array.first;
    Steps steps = {.ndim = plan->ndim, .shape = cad_plan_shape(plan), .n_views = 4};
    steps.at[0] = cad_plan_view(plan, 0)[0];
    steps.strides[0] = cad_plan_view(plan, 0) + 1;
    for (int k = 1; k < 4; k++) {
        steps.at[k] = x[k].first;
        steps.strides[k] = x[k].strides;
    }
    do {
        const int choice = values[steps.at[1]] != 0.0 ? 2 : 3;
        if (choice != former && n < FEW_ROWS) {
            begins[n] = at;
            choices[n] = choice;
        }
        n += choice != former;
        former = choice;
        at++;
    } while (next_step(&steps));
    if (n > FEW_ROWS || (int64_t)n * LONG_ROW > plan->size) {
        return 0;
    }
    begins[n] = plan->size;
    for (int k = 0; k < n; k++) {
        read_chosen(r, plan, x[choices[k]], begins[k], begins[k + 1]);
    }
    return 1;
}

static void read_row(Reader *r, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    if (r->graph->optimize && plan->size <= SMALL_ARRAY) {
        read_row_singly(r, op, plan);
        return;
    }
    int64_t strides[4][CAD_MOST_AXES], result_strides[CAD_MOST_AXES];
    const int64_t *result = cad_plan_view(plan, 0);
    /* Parts of a joined array are written to where that stands. */
    const int is_elsewhere = result[0] < (int64_t)entry.out;
    size_t size = entry.b;
    CadNumbers x[4] = {{0, NULL}};
    read_views(r, plan, strides, x);
    for (int k = plan->n_views; k < 4; k++) {
        x[k] = x[1];
    }
    if (op == CAD_OP_where && r->graph->optimize && !cad_plan_is_single(plan) &&
        read_choice(r, plan, x)) {
        return;
    }
    memcpy(result_strides, result + 1, (size_t)plan->ndim * sizeof *result_strides);
    if (is_elsewhere) {
        size = cad_strides_in_order(plan->ndim, cad_plan_shape(plan), result_strides);
    }
    /* The strides of the result are those of an array in order, if with its axes exchanged. */
    const CadShape shape = {r->graph, plan->ndim, cad_plan_shape(plan), result_strides, size};
    CadNumbers computed = {0, result_strides};
    if (r->graph->optimize) {
        computed = cad_graph_apply_over(&shape, op, x[1], x[2], x[3]);
    } else { /* even of one element: NumPy's loops round as they do */
        x[0] = (CadNumbers){0, result_strides};
        computed.first =
            cad_graph_map(r->graph, op, size, plan->ndim, cad_plan_shape(plan), plan->n_views, x);
    }
    if (cad_plan_is_single(plan)) {
        int64_t strides_made[CAD_MOST_AXES];
        memcpy(strides_made, computed.strides, (size_t)plan->ndim * sizeof *strides_made);
        const CadNumbers wide = {computed.first, strides_made};
        computed = cad_graph_apply_over(&shape, CAD_OP_single, wide, wide, wide);
    }
    if (computed.strides == result_strides && !is_elsewhere) {
        name_elements(r, entry.out, entry.b, computed.first - (CadId)(result[0] - entry.out));
        return;
    }
    /* Or it was simpler than an operation: some numbers that are there. */
    name_seen(r, plan->ndim, cad_plan_shape(plan), result, computed);
}

/* A sum of products, number by number: of small ones. */
static void read_singly(Reader *r, CadPlan *plan, int in_place) {
    Steps steps = steps_of(plan);
    do {
        CadId term = CAD_NO_ID;
        for (int k = 1; k < plan->n_views; k++) {
            const CadId x = operand_at(r, steps.at[k], !is_active(plan, k));
            term = k == 1 ? x : cad_graph_apply(r->graph, CAD_OP_multiply, term, x, x);
        }
        CadId *sum = &r->at[steps.at[0] - r->base];
        const CadId former = in_place ? number_at(r, steps.at[0]) : *sum;
        *sum =
            former == CAD_NO_ID ? term : cad_graph_apply(r->graph, CAD_OP_add, former, term, term);
    } while (next_step(&steps));
}

/* What an entry adds in place: along axes that the target does not have, all in one sum. */
static void read_sum(Reader *r, CadOp op, CadPlan *plan) {
    const int64_t *const shape = cad_plan_shape(plan), *const target = cad_plan_view(plan, 0);
    int64_t strides[3][CAD_MOST_AXES], kept[CAD_MOST_AXES], lengths[CAD_MOST_AXES];
    int64_t in_order[CAD_MOST_AXES], of_sum[CAD_MOST_AXES];
    int sums_up = op != CAD_OP_SUM;
    for (int i = 0; i < plan->ndim; i++) {
        lengths[i] = target[i + 1] != 0 ? shape[i] : 1;
        sums_up |= lengths[i] < shape[i];
    }
    const size_t size = cad_strides_in_order(plan->ndim, lengths, in_order);
    for (int i = 0; i < plan->ndim; i++) {
        of_sum[i] = target[i + 1] != 0 ? in_order[i] : 0;
    }
    CadNumbers views[3] = {{0, of_sum}};
    read_views(r, plan, strides, views);
    if (sums_up) {
        views[1].first =
            cad_graph_map(r->graph, op, size, plan->ndim, shape, plan->n_views, views);
        views[1].strides = of_sum;
    }
    const CadNumbers former = numbers_of(r, plan->ndim, lengths, target, kept);
    const CadShape over = {r->graph, plan->ndim, lengths, in_order, size};
    name_seen(r, plan->ndim, lengths, target,
              cad_graph_apply_over(&over, CAD_OP_add, former, views[1], views[1]));
}

/* An operation of a kind. */
static void read_kind(Reader *r, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    const int in_place = cad_plan_adds(cad_entry_kind(entry), plan);
    const int64_t small = cad_op_multiplies(op) ? SMALL_PRODUCT : SMALL_ARRAY;
    const int is_small = r->graph->optimize && plan->size <= small;
    if (in_place ? is_small || !r->graph->optimize : is_small && cad_op_sums_up(op)) {
        read_singly(r, plan, in_place);
        for (uint32_t i = 0; i < entry.b && !in_place; i++) {
            CadId *const id = &r->at[entry.out + i - r->base];
            *id = *id == CAD_NO_ID ? *id : rounded(r, plan, *id);
        }
        return;
    }
    if (in_place) {
        read_sum(r, op, plan);
        return;
    }
    int64_t strides[3][CAD_MOST_AXES];
    const int64_t *result = cad_plan_view(plan, 0);
    CadNumbers views[3] = {{(CadId)(result[0] - entry.out), result + 1}};
    read_views(r, plan, strides, views);
    const CadId first = cad_graph_map(r->graph, op, entry.b, plan->ndim, cad_plan_shape(plan),
                                      plan->n_views, views);
    if (!cad_plan_is_single(plan) || op == CAD_OP_MATMUL_SINGLE) { /* or rounded by itself */
        name_elements(r, entry.out, entry.b, first);
        return;
    }
    static const int64_t side_by_side = 1;
    const int64_t size = entry.b;
    const CadNumbers numbers[2] = {{0, &side_by_side}, {first, &side_by_side}};
    name_elements(r, entry.out, entry.b,
                  cad_graph_map(r->graph, CAD_OP_single, entry.b, 1, &size, 2, numbers));
}

/* Numbers that go to other slots: where each operation has a cotangent of its own, each slot has.
 */
static void move_on(Reader *r, CadId *ids, int64_t n) {
    if (r->graph->optimize || n == 0) {
        return;
    }
    static const int64_t one = 1;
    const CadNumbers views[2] = {{0, &one}, {cad_graph_block(r->graph, ids, (size_t)n), &one}};
    const CadId first = cad_graph_map(r->graph, CAD_OP_positive, (size_t)n, 1, &n, 2, views);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = first + (CadId)i;
    }
}

static void read_assignment(Reader *r, CadEntry entry, CadPlan *plan) {
    CadId *const ids = cad_graph_room(r->graph, &r->room, (size_t)plan->size), *id = ids;
    if (ids == NULL) {
        return;
    }
    Steps sources = steps_of(plan), targets = sources;
    const CadId *from = ids;
    CadSlot kept = entry.out;
    do {
        *id++ = operand_at(r, sources.at[1], !is_active(plan, 1));
    } while (next_step(&sources));
    move_on(r, ids, plan->size);
    do {
        assign(r, targets.at[0], *from++, kept++);
    } while (next_step(&targets));
}

/* Scatter, and adding at an index. */
static void read_scatter(Reader *r, CadEntry entry, CadPlan *plan, int adds) {
    CadId *const ids = cad_graph_room(r->graph, &r->room, (size_t)plan->size);
    if (ids == NULL) {
        return;
    }
    for (int64_t i = 0; i < plan->size; i++) {
        ids[i] = operand_at(r, scattered(plan, i), !is_active(plan, 0));
    }
    if (!adds) {
        move_on(r, ids, plan->size);
    }
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(r->tape, plan, i);
        if (adds) {
            r->at[target - r->base] =
                cad_graph_apply(r->graph, CAD_OP_add, number_at(r, target), ids[i], ids[i]);
        } else {
            assign(r, target, ids[i], entry.out + i);
        }
    }
}

static void read_gather(Reader *r, CadEntry entry, CadPlan *plan) {
    CadId *const ids = r->at + (entry.out - r->base);
    for (int64_t i = 0; i < plan->size; i++) {
        ids[i] = operand_at(r, indexed(r->tape, plan, i), !is_active(plan, 1));
    }
    move_on(r, ids, plan->size);
}

static size_t operand_size(const CadOperand *operand) {
    size_t size = 1;
    for (int64_t i = 0; i < operand->ndim; i++) {
        size *= (size_t)operand->shape_and_strides[i];
    }
    return size;
}

/* The numbers of an operand; answers where those of the next one go. */
static CadId *read_operand(Reader *r, const CadOperand *operand, int passive, CadId *ids) {
    Steps steps = {.ndim = (int)operand->ndim,
                   .shape = operand->shape_and_strides,
                   .n_views = 1,
                   .strides = {operand->shape_and_strides + operand->ndim},
                   .at = {operand->slot}};
    do {
        *ids++ = operand_at(r, steps.at[0], passive);
    } while (next_step(&steps));
    return ids;
}

/* The operands of a rule in a row; answers how many numbers, or SIZE_MAX without memory. */
static size_t read_operands(Reader *r, int64_t n_operands, int64_t *place,
                            const uint8_t *passive) {
    size_t count = 0;
    int64_t *next = place;
    for (int64_t k = 0; k < n_operands; k++) {
        count += operand_size(cad_next_operand(&next));
    }
    CadId *ids = cad_graph_room(r->graph, &r->room, count);
    if (ids == NULL) {
        return SIZE_MAX;
    }
    for (int64_t k = 0; k < n_operands; k++) {
        const CadOperand *operand = cad_next_operand(&place);
        if (operand_size(operand) > 0) {
            ids = read_operand(r, operand, passive != NULL && passive[k], ids);
        }
    }
    return count;
}

/* If a call has no operands, there is nothing to read. */
static void read_call(Reader *r, CadEntry entry, uint32_t number, int64_t n_operands,
                      int64_t *place, const uint8_t *passive) {
    CadGraph *graph = r->graph;
    const size_t count = read_operands(r, n_operands, place, passive);
    if (count > 0 && count < SIZE_MAX) {
        const CadId operands = cad_graph_pack(graph, r->room.ids, count);
        name_elements(r, entry.out, entry.b,
                      cad_graph_call(graph, number, operands, count, entry.b));
    }
}

/* The numbers of an operand as a view; `strides` is room for those along its axes. */
static CadNumbers numbers_of_operand(Reader *r, CadOperand *operand, int64_t *strides) {
    int64_t view[CAD_MOST_AXES + 1];
    view[0] = operand->slot;
    memcpy(view + 1, operand->shape_and_strides + operand->ndim,
           (size_t)operand->ndim * sizeof *view);
    return numbers_of(r, (int)operand->ndim, operand->shape_and_strides, view, strides);
}

/* Leave out an axis. */
static void drop_axis(int64_t *words, int axis) {
    memmove(words + axis, words + axis + 1, (size_t)(CAD_MOST_AXES - axis - 1) * sizeof *words);
}

/* Rows of an array at indices, or zeros with rows added there: over the axes of the indices, and
 * behind them those of a row. Or one number at each index, which goes along an axis. */
static void read_by_index(Reader *r, CadEntry entry, int64_t *place, const CadNoted *noted,
                          int passive) {
    const int adds = noted->kind == CAD_NOTED_ADD, axis = noted->axis;
    CadOperand *const first = cad_next_operand(&place), *const second = cad_next_operand(&place);
    CadOperand *const index = adds ? first : second, *const source = adds ? second : first;
    const int inner = axis >= 0 ? 0 : (int)(adds ? source->ndim - index->ndim : source->ndim - 1);
    const int outer = (int)index->ndim, ndim = outer + inner;
    int64_t shape[CAD_MOST_AXES], in_order[CAD_MOST_AXES], strides[3][CAD_MOST_AXES] = {{0}};
    int64_t along[2][CAD_MOST_AXES];
    if (operand_size(index) == 0 || ndim > CAD_MOST_AXES || entry.b == 0) {
        r->graph->status = CAD_RAISED;
        return;
    }
    CadNumbers from = numbers_of_operand(r, source, along[0]);
    if (passive) {
        from = stopped(r, (int)source->ndim, source->shape_and_strides, from, along[0]);
    }
    const CadNumbers by = numbers_of_operand(r, index, along[1]);
    r->graph->records[cad_graph_record_of(r->graph, by.first)].is_within |= axis >= 0;
    memcpy(shape, index->shape_and_strides, (size_t)outer * sizeof *shape);
    memcpy(shape + outer, source->shape_and_strides + (source->ndim - inner),
           (size_t)inner * sizeof *shape);
    memcpy(strides[2], along[1], (size_t)outer * sizeof *shape);
    cad_strides_in_order(ndim, shape, in_order);
    int64_t length = source->shape_and_strides[axis > 0 ? axis : 0];
    int64_t stride = along[0][axis > 0 ? axis : 0];
    if (axis >= 0 && adds) { /* the result has that axis, too */
        length = (int64_t)(entry.b / operand_size(index));
        stride = 1;
        for (int i = axis; i < ndim; i++) {
            stride *= shape[i];
        }
        for (int i = 0; i < ndim; i++) {
            strides[0][i] = i < axis ? in_order[i] * length : in_order[i];
        }
        memcpy(strides[1], along[0], (size_t)ndim * sizeof *shape);
    } else if (axis >= 0) {
        drop_axis(along[0], axis);
        memcpy(strides[0], in_order, (size_t)ndim * sizeof *shape);
        memcpy(strides[1], along[0], (size_t)ndim * sizeof *shape);
    } else if (adds) {
        memcpy(strides[0] + outer, in_order + outer, (size_t)inner * sizeof *shape);
        memcpy(strides[1], along[0], (size_t)ndim * sizeof *shape);
        stride = 1;
        for (int i = outer; i < ndim; i++) {
            stride *= shape[i];
        }
        length = (int64_t)entry.b / stride;
    } else {
        memcpy(strides[0], in_order, (size_t)ndim * sizeof *shape);
        memcpy(strides[1] + outer, along[0] + 1, (size_t)inner * sizeof *shape);
    }
    const CadMade made = {
        .kind = adds ? CAD_RECORD_ADD_BY : CAD_RECORD_TAKE,
        .size = entry.b,
        .ndim = ndim,
        .shape = shape,
        .n_views = 3,
        .views = {{0, strides[0]}, {from.first, strides[1]}, {by.first, strides[2]}},
        .length = length,
        .stride = stride};
    name_elements(r, entry.out, entry.b,
                  adds ? cad_graph_make(r->graph, r->graph, &made)
                       : cad_graph_take(r->graph, &made));
}

static void read_rule(Reader *r, CadEntry entry, CadPlan *plan) {
    CadGraph *graph = r->graph;
    int64_t *place = cad_plan_extra(plan) + 1;
    const int64_t n_operands = *place++;
    if (graph->calls == NULL) {
        graph->status = CAD_RAISED;
        return;
    }
    if (plan->passive == CAD_DIRECT_RULE) {
        if (read_operands(r, n_operands, place, NULL) < SIZE_MAX) {
            const CadStatus status = graph->calls->insert(
                graph->owner, r->tape, r->entry, r->room.ids, r->at + (entry.out - r->base));
            graph->status = graph->status == CAD_OK ? status : graph->status;
        }
        return;
    }
    uint8_t *passive = cad_memory_zeroed((size_t)n_operands, 1);
    if (passive == NULL) {
        graph->status = CAD_NO_MEMORY;
        return;
    }
    CadNoted noted = {.kind = CAD_NOTED_CALL, .axis = -1};
    const CadStatus status = graph->calls->note(graph->owner, r->tape, r->entry, passive, &noted);
    if (status != CAD_OK) {
        graph->status = status;
    } else if (noted.kind == CAD_NOTED_CALL) {
        read_call(r, entry, noted.number, n_operands, place, passive);
    } else {
        read_by_index(r, entry, place, &noted, passive[noted.kind == CAD_NOTED_ADD]);
    }
    cad_memory_free(passive);
}

static void read_array(Reader *r, CadEntry entry) {
    CadPlan *plan = cad_tape_plan(r->tape, entry);
    if (cad_entry_is_rule(entry)) {
        read_rule(r, entry, plan);
        return;
    }
    if (plan->size == 0) {
        for (uint32_t i = 0; i < entry.b; i++) { /* the sum of nothing */
            r->at[entry.out + i - r->base] = cad_graph_constant(r->graph, 0.0);
        }
        return;
    }
    switch ((int)CAD_CODE_OP(entry.code)) {
    case CAD_OP_ASSIGN:
        read_assignment(r, entry, plan);
        break;
    case CAD_OP_SCATTER:
        read_scatter(r, entry, plan, 0);
        break;
    case CAD_OP_ADD_AT:
        read_scatter(r, entry, plan, 1);
        break;
    case CAD_OP_GATHER:
        read_gather(r, entry, plan);
        break;
    default:
        (cad_op_is_kind(CAD_CODE_OP(entry.code)) ? read_kind : read_row)(r, entry, plan);
    }
}

/* --- all entries --- */

static void read_entry(Reader *r, size_t i) {
    r->entry = i;
    const CadEntry e = r->tape->entries[i];
    const CadOp op = CAD_CODE_OP(e.code);
    if (CAD_IS_ARRAY_ENTRY(e)) {
        read_array(r, e);
    } else if (cad_entry_assigns_number(e)) {
        CadId source = operand_at(r, e.b, (e.code & CAD_PASSIVE_B) != 0);
        move_on(r, &source, 1);
        assign(r, e.a, source, e.out);
    } else if (cad_op_is_row(op)) {
        const CadId x = operand_at(r, e.a, (e.code & CAD_PASSIVE_A) != 0);
        const CadId y = operand_at(r, e.b, (e.code & CAD_PASSIVE_B) != 0);
        const CadId z = cad_op_info[op].arity > 2 ? number_at(r, r->tape->entries[i - 1].a) : y;
        r->at[e.out - r->base] =
            (r->graph->is_verbatim ? cad_graph_single : cad_graph_apply)(r->graph, op, x, y, z);
    }
}

/* What is added to in place are adjoints of recorded sweeps, which began as zeros: unlike
 * assignments, additions are not undone. */
static void clear_sums(Reader *r, size_t begin, size_t end) {
    const CadId zero = cad_graph_constant(r->graph, 0.0);
    for (size_t i = begin; i < end; i++) {
        const CadEntry entry = r->tape->entries[i];
        const CadEntryKind *const kind = cad_entry_kind(entry);
        if (!CAD_IS_ARRAY_ENTRY(entry)) {
            continue;
        }
        CadPlan *plan = cad_tape_plan(r->tape, entry);
        if (plan->size == 0 || !cad_plan_adds(kind, plan)) {
            continue;
        }
        if (kind->indexed) {
            for (int64_t k = 0; k < plan->size; k++) {
                r->at[indexed(r->tape, plan, k) - r->base] = zero;
            }
            continue;
        }
        Steps steps = steps_of(plan);
        do {
            r->at[steps.at[0] - r->base] = zero;
        } while (next_step(&steps));
    }
}

CadStatus cad_graph_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs) {
    const CadSlot base = tape->entries[begin].out;
    const size_t n_slots = tape->n_slots - base;
    Reader reader = {.graph = graph, .tape = tape, .base = base};
    reader.at = cad_memory_zeroed(n_slots, sizeof *reader.at);
    if (reader.at == NULL) {
        return CAD_NO_MEMORY;
    }
    memcpy(reader.at, inputs, n_inputs * sizeof *inputs);
    clear_sums(&reader, begin + 1, end);
    cad_sweep_undo(tape, begin, end);
    graph->keeps_duplicates = !graph->optimize;
    for (size_t i = begin + 1; i < end && graph->status == CAD_OK; i++) {
        read_entry(&reader, i);
    }
    graph->keeps_duplicates = 0;
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        outputs[k] = number_at(&reader, outputs[k]);
    }
    cad_sweep_redo(tape, begin, end);
    cad_memory_free(reader.at);
    cad_memory_free(reader.room.ids);
    return graph->status;
}
