/* What is put together is read where it stands.
 *
 * An array that consists of others is a copy of them for whoever reads it. An elementwise
 * operation needs none: it is one operation for each box of its elements in which every operand is
 * a view, and its result consists of theirs. So a stencil whose neighbours are rolled is one loop
 * over the inner points, and a few numbers at the edges.
 *
 *     roll(u, 1)   │ u63 │ u0 … u62 │
 *     + u          │ u0  │ u1 … u63 │      v0 = u63 + u0,   v[1:] = u[:63] + u[1:]
 *
 * Operations that read each other, element by element, are a family, which has one grid of boxes.
 * An axis is cut where the numbers that any of them reads along it do not go on evenly. Where
 * there are many cuts, as of a matrix whose rows are rolled, but those of each row are alike, it
 * is two axes. */
#include "graph/inner.h"

#ifndef CAD_LEAST_BOX
#define CAD_LEAST_BOX 256
#endif

enum {
    MOST_BOXES = 5,            /* along an axis */
    LEAST_BOX = CAD_LEAST_BOX, /* numbers, of boxes on average: an operation more takes as long as
                        to copy some hundred */
    MOST_VIEWS = 4,
};

/* How the elements of a family are divided. */
typedef struct Grid {
    size_t size;
    int ndim;
    int64_t shape[CAD_MOST_AXES];
    int n_boxes[CAD_MOST_AXES];                  /* along an axis, */
    int64_t cuts[CAD_MOST_AXES][MOST_BOXES + 1]; /* from 0 on, up to its length */
} Grid;

/* An operation, element by element, over a shape, or over a grid. Of an operand that is put
 * together the numbers are listed. To add to an array is one, too, whose second operand is zeros
 * where nothing is added. */
typedef struct Operation {
    CadOp op;
    size_t size;
    int ndim;
    int64_t shape[CAD_MOST_AXES];
    int n_views; /* the result, operands */
    CadId first[MOST_VIEWS];
    const CadId *list[MOST_VIEWS]; /* from the first number on; NULL: it is a view */
    uint32_t of[MOST_VIEWS]; /* the record of the family that is seen whole, in order, or 0 */
    int64_t strides[MOST_VIEWS][CAD_MOST_AXES];
    int adds; /* to an array */
} Operation;

typedef struct Divider {
    CadGraph *from, *to;
    CadCopier copier;
    /* of records of `from`: the first one of the family, the next one, and of the first one the
     * latest, whether what is put together is read, and the number of its grid; or 0 */
    uint32_t *family, *next, *latest, *reads, *grid;
    Grid *grids;
    size_t n_grids, grids_capacity;
    size_t *made;   /* where a record's boxes stand in `boxes`, counted from 1, or 0 */
    int64_t *boxes; /* views: the first number, strides */
    size_t n_boxes, boxes_capacity;
    CadId begin, end; /* the numbers of the record that was looked up last */
    uint8_t *is_cut;  /* room for an axis, and for one of its rows */
    CadId *ids;       /* of a result */
    CadId *added;     /* to each element of an array */
} Divider;

static int are_of_one_record(Divider *d, CadGraph *graph, CadId x, CadId y) {
    if (x < d->begin || x >= d->end) {
        const uint32_t i = cad_graph_record_of(graph, x);
        d->begin = cad_graph_first(graph, i);
        d->end = d->begin + cad_record_size(&graph->records[i]);
    }
    return y >= d->begin && y < d->end;
}

static Grid *grid_of(const Divider *d, uint32_t i) {
    const uint32_t grid = d->grid[d->family[i]];
    return grid != 0 ? &d->grids[grid - 1] : NULL;
}

/* --- a walk over boxes --- */

typedef struct Box {
    const Grid *grid;
    size_t number;
    int at[CAD_MOST_AXES];
    int64_t begin[CAD_MOST_AXES], shape[CAD_MOST_AXES];
} Box;

static void set_box(Box *box) {
    for (int i = 0; i < box->grid->ndim; i++) {
        const int64_t *const cuts = box->grid->cuts[i] + box->at[i];
        box->begin[i] = cuts[0];
        box->shape[i] = cuts[1] - cuts[0];
    }
}

static Box first_box(const Grid *grid) {
    Box box = {.grid = grid};
    set_box(&box);
    return box;
}

static int next_box(Box *box) {
    box->number++;
    for (int i = box->grid->ndim - 1; i >= 0; i--) {
        if (++box->at[i] < box->grid->n_boxes[i]) {
            set_box(box);
            return 1;
        }
        box->at[i] = 0;
    }
    return 0;
}

static int64_t place_in(const Box *box, const int64_t *strides) {
    int64_t place = 0;
    for (int i = 0; i < box->grid->ndim; i++) {
        place += box->begin[i] * strides[i];
    }
    return place;
}

/* Where the result of a record in a box is. */
static int64_t *result_in(const Divider *d, uint32_t i, const Box *box) {
    return d->boxes + d->made[i] - 1 + box->number * (size_t)(1 + box->grid->ndim);
}

/* Have the results of boxes be one array, for others than the family. */
static void put_together(Divider *d, uint32_t i) {
    int64_t in_order[CAD_MOST_AXES];
    Box box = first_box(grid_of(d, i));
    cad_strides_in_order(box.grid->ndim, box.grid->shape, in_order);
    do {
        const int64_t *const result = result_in(d, i, &box);
        Steps steps = {.ndim = box.grid->ndim,
                       .shape = box.shape,
                       .n_views = 2,
                       .strides = {in_order, result + 1},
                       .at = {place_in(&box, in_order), result[0]}};
        do {
            d->ids[steps.at[0]] = (CadId)steps.at[1];
        } while (next_step(&steps));
    } while (next_box(&box));
    d->copier.names[i] = cad_graph_pack(d->to, d->ids, box.grid->size);
}

/* --- operations --- */

static int is_in_order(int ndim, const int64_t *shape, const int64_t *strides) {
    int64_t in_order[CAD_MOST_AXES];
    cad_strides_in_order(ndim, shape, in_order);
    return memcmp(strides, in_order, (size_t)ndim * sizeof *in_order) == 0;
}

/* In the graph that is made, if there is one. */
static CadId name_of(Divider *d, CadId id) {
    const uint32_t i = cad_graph_record_of(d->from, id);
    if (d->to == NULL) {
        return id;
    }
    if (d->made[i] != 0 && d->copier.names[i] == CAD_NO_ID) {
        put_together(d, i);
    }
    return cad_copier_name(&d->copier, id);
}

/* Where the numbers are listed that follow one which is put together, of `from`; else NULL. */
static const CadId *find_list(Divider *d, CadId id) {
    CadGraph *const graph = d->to != NULL ? d->to : d->from;
    if (cad_graph_record(d->from, id)->kind != CAD_RECORD_PACK) {
        return NULL;
    }
    const CadId first = name_of(d, id);
    const CadRecord *const record = cad_graph_record(graph, first);
    return record->kind == CAD_RECORD_PACK
               ? cad_graph_packed(graph, record) + (first - record->of.array.first)
               : NULL;
}

/* List what is added to each element of an array. Answers whether that is one number at most. */
static int list_added(Divider *d, const CadMade *made) {
    static const int64_t one = 1;
    const int is_listed = made->kind == CAD_RECORD_ADD_AT;
    const CadNumbers source = made->views[!is_listed];
    const CadId *const places = d->from->lists + made->list;
    const CadId *const list = find_list(d, source.first);
    const CadId first = name_of(d, source.first);
    Steps steps = {.ndim = made->ndim,
                   .shape = made->shape,
                   .n_views = 2,
                   .strides = {is_listed ? &one : made->views[0].strides, source.strides},
                   .at = {is_listed ? 0 : made->views[0].first, 0}};
    for (size_t k = 0; k < made->size; k++) {
        d->added[k] = CAD_ZERO;
    }
    do {
        CadId *const to = &d->added[is_listed ? places[steps.at[0]] : (CadId)steps.at[0]];
        if (*to != CAD_ZERO) {
            return 0;
        }
        *to = list != NULL ? list[steps.at[1]] : (CadId)(first + steps.at[1]);
    } while (next_step(&steps));
    return 1;
}

static void set_operand(Divider *d, Operation *o, int k, CadNumbers x) {
    const uint32_t i = cad_graph_record_of(d->from, x.first);
    const CadRecord *const record = &d->from->records[i];
    const int is_whole = d->family[i] != 0 && record->of.array.first == x.first &&
                         record->of.array.size == o->size &&
                         is_in_order(o->ndim, o->shape, x.strides);
    memcpy(o->strides[k], x.strides, (size_t)o->ndim * sizeof *x.strides);
    o->of[k] = is_whole ? i : 0;
    o->first[k] = d->made[o->of[k]] == 0 ? name_of(d, x.first) : CAD_NO_ID; /* it has boxes */
}

/* A record as an operation; 0 if it is none, or not worth it. */
static int look_at(Divider *d, uint32_t i, Operation *o) {
    static const int64_t one = 1;
    CadAxes axes;
    CadMade made;
    cad_graph_look(d->from, i, axes, &made);
    *o = (Operation){.op = made.op, .size = made.size, .ndim = made.ndim, .n_views = made.n_views};
    if (made.size < 2 * LEAST_BOX) {
        return 0;
    }
    if (made.kind == CAD_RECORD_MAP && !cad_made_is_kind(&made)) {
        memcpy(o->shape, made.shape, (size_t)made.ndim * sizeof *o->shape);
        memcpy(o->strides[0], made.views[0].strides, (size_t)made.ndim * sizeof *o->shape);
        for (int k = 1; k < made.n_views; k++) {
            set_operand(d, o, k, made.views[k]);
        }
        for (int k = 1; k < made.n_views; k++) { /* to name an operand may have lists move */
            o->list[k] = o->first[k] != CAD_NO_ID ? find_list(d, made.views[k].first) : NULL;
        }
        return is_in_order(o->ndim, o->shape, o->strides[0]);
    }
    if ((made.kind != CAD_RECORD_ADD_TO && made.kind != CAD_RECORD_ADD_AT) ||
        !list_added(d, &made)) {
        return 0;
    }
    const CadNumbers zero = {CAD_ZERO, cad_no_strides}, former = {made.former, &one};
    o->op = CAD_OP_add;
    o->n_views = 3;
    o->ndim = 1;
    o->shape[0] = (int64_t)made.size;
    o->strides[0][0] = o->strides[2][0] = 1;
    set_operand(d, o, 1, made.former == CAD_NO_ID ? zero : former);
    o->list[1] = o->first[1] > CAD_ZERO ? find_list(d, made.former) : NULL;
    o->first[2] = d->added[0];
    o->list[2] = d->added;
    o->adds = 1;
    return 1;
}

/* --- families --- */

static void unite(Divider *d, uint32_t family, uint32_t other) {
    if (family > other) {
        unite(d, other, family);
    } else if (family != other) {
        d->next[d->latest[family]] = other;
        d->latest[family] = d->latest[other];
        d->reads[family] |= d->reads[other];
        for (uint32_t i = other; i != 0; i = d->next[i]) {
            d->family[i] = family;
        }
    }
}

static void find_families(Divider *d) {
    size_t most_listed = 1 << 22; /* in some hundredths of a second */
    Operation o;
    for (uint32_t i = 1; i < d->from->n_records; i++) {
        const CadRecord *const record = &d->from->records[i];
        const size_t n_listed = record->kind == CAD_RECORD_MAP ? 0 : cad_record_size(record);
        if (record->kind < CAD_RECORD_MAP || record->kind > CAD_RECORD_ADD_AT ||
            n_listed > most_listed || !look_at(d, i, &o)) {
            continue;
        }
        most_listed -= n_listed;
        d->family[i] = d->latest[i] = i;
        for (int k = 1; k < o.n_views; k++) {
            d->reads[d->family[i]] |= o.list[k] != NULL;
            if (d->family[o.of[k]] != 0) {
                unite(d, d->family[i], d->family[o.of[k]]);
            }
        }
    }
}

/* --- over a grid --- */

/* Have an operation go along the axes of a grid, which are its own, or parts of these. */
static void refine(const Grid *grid, Operation *o) {
    for (int k = 0; k < o->n_views; k++) {
        int64_t refined[CAD_MOST_AXES];
        int axis = grid->ndim;
        for (int i = o->ndim - 1; i >= 0; i--) {
            int64_t stride = o->strides[k][i];
            for (int64_t length = 1; length < o->shape[i]; length *= grid->shape[axis]) {
                refined[--axis] = stride;
                stride *= grid->shape[axis];
            }
        }
        memcpy(o->strides[k], refined, (size_t)grid->ndim * sizeof *refined);
    }
    o->ndim = grid->ndim;
    memcpy(o->shape, grid->shape, (size_t)grid->ndim * sizeof *o->shape);
}

/* Have an axis be two, rows and numbers within them. */
static void divide_axis(Grid *grid, int axis, int64_t row) {
    const size_t n = (size_t)(grid->ndim - axis);
    memmove(grid->n_boxes + axis + 1, grid->n_boxes + axis, n * sizeof *grid->n_boxes);
    memmove(grid->cuts + axis + 1, grid->cuts + axis, n * sizeof *grid->cuts);
    memmove(grid->shape + axis + 1, grid->shape + axis, n * sizeof *grid->shape);
    grid->shape[axis] /= row;
    grid->shape[axis + 1] = row;
    grid->ndim++;
}

/* Have each axis of a shape be some axes of the grid. Answers whether that can be. */
static int take_shape(Grid *grid, const Operation *o) {
    int64_t behind = 1;
    for (int i = o->ndim - 1; i > 0; i--) {
        int axis = grid->ndim - 1;
        int64_t end = 1;
        behind *= o->shape[i];
        while (end * grid->shape[axis] < behind) {
            end *= grid->shape[axis--];
        }
        if (end * grid->shape[axis] == behind) {
            continue;
        }
        if (behind % end != 0 || grid->shape[axis] % (behind / end) != 0 ||
            grid->ndim == CAD_MOST_AXES) {
            return 0;
        }
        divide_axis(grid, axis, behind / end);
    }
    return 1;
}

/* --- where axes are cut --- */

/* Whether the step behind the j-th number of a line is within a record, and by how much. */
static int steps_by(Divider *d, const CadId *list, int64_t stride, int64_t j, int64_t *by) {
    const CadId x = list[j * stride], y = list[(j + 1) * stride];
    *by = (int64_t)y - (int64_t)x;
    return are_of_one_record(d, d->from, x, y);
}

/* A number goes with those behind it if two of them go on as it does, or there is but one. */
static void cut_line(Divider *d, const CadId *list, int64_t stride, int64_t length) {
    int64_t step, next;
    for (int64_t begin = 0, end; begin < length; begin = end) {
        end = begin + 1;
        if (end < length && steps_by(d, list, stride, begin, &step) &&
            (end + 1 == length || (steps_by(d, list, stride, end, &next) && next == step))) {
            end++;
            while (end < length && steps_by(d, list, stride, end - 1, &next) && next == step) {
                end++;
            }
        }
        d->is_cut[end < length ? end : 0] = 1;
    }
}

static void cut_lines(Divider *d, const Grid *grid, int axis, uint32_t family) {
    Operation o;
    memset(d->is_cut, 0, (size_t)grid->shape[axis]);
    for (uint32_t i = family; i != 0; i = d->next[i]) {
        look_at(d, i, &o);
        refine(grid, &o);
        o.shape[axis] = 1;
        for (int k = 1; k < o.n_views; k++) {
            Steps lines = {
                .ndim = o.ndim, .shape = o.shape, .n_views = 1, .strides = {o.strides[k]}};
            int is_left = o.list[k] != NULL;
            while (is_left) {
                cut_line(d, o.list[k] + lines.at[0], o.strides[k][axis], grid->shape[axis]);
                is_left = next_step(&lines);
            }
        }
    }
}

/* Have rows of some length along an axis be cut where any of them is; 0 if that is in too many
 * places. */
static int take_cuts(Divider *d, Grid *grid, int axis, int64_t row) {
    int64_t *const cuts = grid->cuts[axis];
    uint8_t *const of_rows = d->is_cut + grid->size;
    int n = 1;
    memset(of_rows, 0, (size_t)row);
    for (int64_t j = 0; j < grid->shape[axis]; j++) {
        of_rows[j % row] |= d->is_cut[j];
    }
    cuts[0] = 0;
    for (int64_t j = 1; j < row; j++) {
        if (of_rows[j] && n == MOST_BOXES) {
            return 0;
        }
        cuts[n] = j;
        n += of_rows[j];
    }
    cuts[n] = row;
    grid->n_boxes[axis] = n;
    return 1;
}

/* The length of rows that are cut alike; 0: there is none. */
static int64_t find_rows(Divider *d, Grid *grid, int axis) {
    enum { FIRST_CUTS = 2 * MOST_BOXES };
    int64_t at[FIRST_CUTS];
    int n = 0;
    for (int64_t j = 1; j < grid->shape[axis] && n < FIRST_CUTS; j++) {
        at[n] = j;
        n += d->is_cut[j];
    }
    for (int by = 1; by < n; by++) {
        const int64_t row = at[by] - at[0];
        if (row > 1 && grid->shape[axis] % row == 0 && take_cuts(d, grid, axis, row)) {
            return row;
        }
    }
    return 0;
}

/* Whether a family is to be divided, and not in too many boxes. */
static int find_cuts(Divider *d, Grid *grid, uint32_t family) {
    size_t n = 1;
    for (int axis = grid->ndim - 1; axis >= 0; axis--) {
        cut_lines(d, grid, axis, family);
        while (!take_cuts(d, grid, axis, grid->shape[axis])) {
            const int64_t row = find_rows(d, grid, axis);
            if (row == 0 || grid->ndim == CAD_MOST_AXES) {
                return 0;
            }
            divide_axis(grid, axis, row);
            n *= (size_t)grid->n_boxes[axis + 1];
            cut_lines(d, grid, axis, family);
        }
        n *= (size_t)grid->n_boxes[axis];
        if (n * LEAST_BOX > grid->size) {
            return 0;
        }
    }
    return 1;
}

static CadStatus find_grids(Divider *d) {
    Operation o;
    for (uint32_t i = 1; i < d->from->n_records; i++) {
        if (d->family[i] != i || !d->reads[i]) {
            continue;
        }
        if (cad_memory_grow((void **)&d->grids, &d->grids_capacity, d->n_grids + 1,
                            sizeof *d->grids) != CAD_OK) {
            return CAD_NO_MEMORY;
        }
        Grid *const grid = &d->grids[d->n_grids];
        const int64_t size = cad_record_size(&d->from->records[i]);
        *grid = (Grid){.size = (size_t)size, .ndim = 1, .shape = {size}};
        int is_shape = 1;
        for (uint32_t of = i; of != 0 && is_shape; of = d->next[of]) {
            look_at(d, of, &o);
            is_shape = take_shape(grid, &o);
        }
        if (is_shape && find_cuts(d, grid, i)) {
            d->grid[i] = (uint32_t)++d->n_grids;
        }
    }
    return CAD_OK;
}

/* --- boxes --- */

static CadId number_at(const Operation *o, int k, int64_t at) {
    return o->list[k] != NULL ? o->list[k][at] : (CadId)(o->first[k] + at);
}

/* What an operand reads in a box, as a view; 0 if that is none. */
static int find_view(Divider *d, const Operation *o, int k, const Box *box, CadNumbers *view,
                     int64_t *strides) {
    view->strides = strides;
    if (d->made[o->of[k]] != 0) {
        const int64_t *const result = result_in(d, o->of[k], box);
        view->first = (CadId)result[0];
        memcpy(strides, result + 1, (size_t)o->ndim * sizeof *strides);
        return 1;
    }
    const int64_t at = place_in(box, o->strides[k]);
    Steps steps = {.ndim = o->ndim,
                   .shape = box->shape,
                   .n_views = 2,
                   .strides = {o->strides[k], strides},
                   .at = {at}};
    view->first = number_at(o, k, at);
    for (int i = 0; i < o->ndim; i++) {
        const int64_t by = box->shape[i] > 1 ? o->strides[k][i] : 0;
        strides[i] = (int64_t)number_at(o, k, at + by) - (int64_t)view->first;
    }
    do {
        const CadId id = number_at(o, k, steps.at[0]);
        if (id != (CadId)(view->first + steps.at[1]) ||
            !are_of_one_record(d, d->to, view->first, id)) {
            return 0;
        }
    } while (o->list[k] != NULL && next_step(&steps));
    return 1;
}

static CadId make_operation(CadGraph *graph, const CadMade *made) {
    const CadNumbers *const x = made->views;
    return made->size > 1 ? cad_graph_make(graph, graph, made)
                          : cad_graph_single(graph, made->op, x[1].first,
                                             made->n_views > 2 ? x[2].first : CAD_NO_ID,
                                             made->n_views > 3 ? x[3].first : CAD_NO_ID);
}

/* The operation in one box. Answers whether there is such a one, and what it gives as a view. */
static int make_box(Divider *d, const Operation *o, const Box *box, int64_t *result) {
    const size_t words = (size_t)o->ndim * sizeof *result;
    int64_t strides[MOST_VIEWS][CAD_MOST_AXES], lengths[CAD_MOST_AXES];
    CadMade made = {.kind = CAD_RECORD_MAP, .op = o->op, .n_views = o->n_views, .shape = lengths};
    for (int k = 1; k < o->n_views; k++) {
        if (!find_view(d, o, k, box, &made.views[k], strides[k])) {
            return 0;
        }
    }
    for (int k = 1; k < 3 && o->adds; k++) {
        if (made.views[k].first == CAD_ZERO) {
            result[0] = made.views[3 - k].first;
            memcpy(result + 1, strides[3 - k], words);
            return 1;
        }
    }
    made.size = cad_strides_in_order(o->ndim, box->shape, result + 1);
    made.views[0] = (CadNumbers){0, strides[0]};
    memcpy(strides[0], result + 1, words);
    memcpy(lengths, box->shape, words);
    made.ndim = cad_axes_joined(o->ndim, o->ndim, lengths, o->n_views, strides);
    result[0] = make_operation(d->to, &made);
    return d->to->status == CAD_OK;
}

static int make_boxes(Divider *d, uint32_t i, const Operation *o) {
    Box box = first_box(grid_of(d, i));
    size_t n = (size_t)(1 + box.grid->ndim);
    int is_made;
    for (int axis = 0; axis < box.grid->ndim; axis++) {
        n *= (size_t)box.grid->n_boxes[axis];
    }
    if (cad_memory_grow((void **)&d->boxes, &d->boxes_capacity, d->n_boxes + n,
                        sizeof *d->boxes) != CAD_OK) {
        d->to->status = CAD_NO_MEMORY;
        return 0;
    }
    d->made[i] = d->n_boxes + 1;
    do {
        is_made = make_box(d, o, &box, result_in(d, i, &box));
    } while (is_made && next_box(&box));
    d->made[i] = is_made ? d->made[i] : 0;
    d->n_boxes += is_made ? n : 0;
    return is_made;
}

/* --- the graph --- */

/* What a record is there; CAD_NO_ID: its boxes are. */
static CadId copy(Divider *d, uint32_t i) {
    Operation o;
    CadOperands of;
    if (grid_of(d, i) != NULL && look_at(d, i, &o)) {
        refine(grid_of(d, i), &o);
        if (make_boxes(d, i, &o)) {
            return CAD_NO_ID;
        }
    }
    cad_graph_operands(d->from, i, &of);
    for (size_t k = 0; k < of.n; k++) {
        name_of(d, of.ids[k]);
    }
    return cad_graph_copy(&d->copier, i);
}

static void copy_all(Divider *d, const uint8_t *is_needed) {
    CadGraph *const from = d->from, *const to = d->to;
    for (uint32_t i = 1; i < from->n_records && to->status == CAD_OK; i++) {
        const CadRecord *const record = &from->records[i];
        to->makes_partials = record->is_partial;
        if (is_needed[i]) {
            d->copier.names[i] = record->kind == CAD_RECORD_INPUT
                                     ? cad_graph_input(to, record->of.array.size,
                                                       cad_graph_has_floats(from, record))
                                     : copy(d, i);
        }
        to->n_own = i < from->n_own ? to->n_records : to->n_own;
    }
    to->makes_partials = 0;
    for (size_t k = 0; k < from->n_guards && to->status == CAD_OK; k++) {
        const CadOutcome guard = from->guards[k];
        to->status = cad_graph_guard(to, name_of(d, guard.id), guard.value);
        if (to->status == CAD_OK) {
            to->guards[to->n_guards - 1].number = guard.number;
        }
    }
}

/* Some numbers, guards, what may fail, and all that these need. */
static void mark_needed(CadGraph *graph, const CadId *ids, size_t n, uint8_t *is_needed) {
    for (size_t i = 0; i < graph->n_own; i++) {
        const CadRecord *const record = &graph->records[i];
        is_needed[i] = cad_record_is_by_index(record) || record->kind == CAD_RECORD_CALL ? 2 : 0;
    }
    for (size_t k = 0; k < graph->n_guards; k++) {
        is_needed[cad_graph_record_of(graph, graph->guards[k].id)] = 2;
    }
    cad_graph_mark_needed(graph, ids, n, is_needed);
}

static CadStatus divide(Divider *d, CadMemory *memory, CadId *ids, size_t n) {
    CadGraph *const from = d->from, *const to = d->to = cad_graph_new(from->optimize);
    uint8_t *const is_needed = cad_memory_take(memory, from->n_records, 1);
    d->copier = (CadCopier){.from = from, .to = to};
    d->copier.names = cad_memory_take(memory, from->n_records, sizeof *d->copier.names);
    if (to == NULL || memory->status != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    to->keeps_doubles = from->keeps_doubles;
    to->compares_last = from->compares_last;
    to->calls = from->calls;
    to->owner = from->owner;
    d->begin = d->end = CAD_NO_ID;
    mark_needed(from, ids, n, is_needed);
    copy_all(d, is_needed);
    for (size_t k = 0; k < n && to->status == CAD_OK; k++) {
        ids[k] = name_of(d, ids[k]);
    }
    return to->status;
}

static CadStatus open_divider(Divider *d, CadMemory *memory) {
    const size_t n = d->from->n_records;
    size_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        const CadRecordKind kind = (CadRecordKind)d->from->records[i].kind;
        const size_t size = cad_record_size(&d->from->records[i]);
        largest =
            kind >= CAD_RECORD_MAP && kind <= CAD_RECORD_ADD_AT && size > largest ? size : largest;
    }
    d->family = cad_memory_take(memory, n, sizeof *d->family);
    d->next = cad_memory_take(memory, n, sizeof *d->next);
    d->latest = cad_memory_take(memory, n, sizeof *d->latest);
    d->reads = cad_memory_take(memory, n, sizeof *d->reads);
    d->grid = cad_memory_take(memory, n, sizeof *d->grid);
    d->made = cad_memory_take(memory, n, sizeof *d->made);
    d->is_cut = cad_memory_take(memory, largest, 2);
    d->ids = cad_memory_take(memory, largest, sizeof *d->ids);
    d->added = cad_memory_take(memory, largest, sizeof *d->added);
    return memory->status;
}

/* Whether an operation may read what is put together: most graphs have none. */
static int has_any(const CadGraph *graph) {
    int has_pack = 0, has_map = 0;
    for (size_t i = 0; i < graph->n_records && graph->optimize; i++) {
        const CadRecord *const record = &graph->records[i];
        const int is_large = cad_record_size(record) >= 2 * LEAST_BOX;
        has_pack |= record->kind == CAD_RECORD_PACK && is_large;
        has_map |= record->kind == CAD_RECORD_MAP && is_large;
    }
    return has_pack && has_map;
}

CadStatus cad_graph_in_boxes(CadGraph *graph, CadId *ids, size_t n, CadGraph **boxes) {
    Divider d = {.from = graph};
    CadMemory memory = {0};
    CadStatus status = CAD_OK;
    if (has_any(graph) && (status = open_divider(&d, &memory)) == CAD_OK) {
        find_families(&d);
        status = find_grids(&d);
        if (status == CAD_OK && d.n_grids > 0) {
            status = divide(&d, &memory, ids, n);
        }
    }
    cad_memory_free(d.grids);
    cad_memory_free(d.boxes);
    cad_memory_give_back(&memory);
    if (status != CAD_OK) {
        cad_graph_free(d.to);
        d.to = NULL;
    }
    *boxes = d.to;
    return status;
}
