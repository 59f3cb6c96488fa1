/* Products of matrices that have one operand in common, as one product: their other operands are
 * rows of one matrix, and so are their results. Products of one level are put together; small
 * ones that may be computed earlier join the level of the first that must. */
#include "program/maker.h"

#include <stdlib.h>

enum {
    MOST_ROWS = 64, /* of what is computed before its time */
    FEW_ROWS = 8,   /* products of more gain nothing by it */
    FEW_COLUMNS = 4 /* are not worth it to bring rows side by side */
};

/* A product A B as rows times a matrix: those of A times B; or, of a vector B, itself times A
 * transposed. */
typedef struct Member {
    CadId matrix;
    uint32_t is_left; /* the matrix is A */
    uint32_t length;  /* of a row */
    uint32_t level, record;
    uint32_t rows;
    int32_t place; /* of its rows */
    int joins;     /* others, on a level before its own */
} Member;

static CadPlan *plan_of(const CadMaker *m, uint32_t i) {
    return cad_graph_plan(m->graph, &m->graph->records[i]);
}

static int is_product(const CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    if (record->kind != CAD_RECORD_MAP || record->op != CAD_OP_MATMUL || m->uses[i] == 0 ||
        plan_of(m, i)->ndim != 3) {
        return 0;
    }
    const int64_t *const shape = cad_plan_shape(plan_of(m, i));
    const int64_t *const result = cad_plan_view(plan_of(m, i), 0) + 1;
    return record->of.array.size == (uint64_t)(shape[0] * shape[2]) && shape[1] > 0 &&
           (shape[0] == 1 || result[0] == shape[2]) && (shape[2] == 1 || result[2] == 1);
}

/* Append a product as rows times either of its operands, if it can be that. */
static size_t add_member(const CadMaker *m, uint32_t i, Member *members, size_t n) {
    CadPlan *const plan = plan_of(m, i);
    const int64_t *const shape = cad_plan_shape(plan);
    if (shape[0] <= FEW_ROWS) {
        members[n++] = (Member){.matrix = (CadId)cad_plan_view(plan, 2)[0],
                                .length = (uint32_t)shape[1],
                                .level = m->level[i],
                                .record = i,
                                .rows = (uint32_t)shape[0]};
    }
    if (shape[2] == 1 && shape[0] > 1) {
        members[n++] = (Member){.matrix = (CadId)cad_plan_view(plan, 1)[0],
                                .is_left = 1,
                                .length = (uint32_t)shape[1],
                                .level = m->level[i],
                                .record = i,
                                .rows = 1};
    }
    return n;
}

static int by_matrix(const void *a, const void *b) {
    const Member *const x = a, *const y = b;
    int order = compare(0, x->matrix, y->matrix);
    order = compare(order, x->is_left, y->is_left);
    order = compare(order, x->length, y->length);
    order = compare(order, x->level, y->level);
    return compare(order, x->record, y->record);
}

static int by_place(const void *a, const void *b) {
    const Member *const x = a, *const y = b;
    return compare(compare(0, x->place, y->place), x->record, y->record);
}

/* Whether two are rows times the same matrix, seen in the same way. */
static int are_alike(const CadMaker *m, const Member *x, const Member *y) {
    CadPlan *const a = plan_of(m, x->record), *const b = plan_of(m, y->record);
    const size_t view = x->is_left ? 1 : 2, outer = x->is_left ? 0 : 2;
    return x->matrix == y->matrix && x->is_left == y->is_left && x->length == y->length &&
           cad_plan_shape(a)[outer] == cad_plan_shape(b)[outer] &&
           memcmp(cad_plan_view(a, (int)view) + 1, cad_plan_view(b, (int)view) + 1,
                  3 * sizeof(int64_t)) == 0;
}

static size_t count_products(const CadMaker *m, const uint32_t *records, size_t count) {
    size_t n = 0;
    for (size_t k = 0; k < count; k++) {
        n += (size_t)is_product(m, records != NULL ? records[k] : (uint32_t)k);
    }
    return m->graph->optimize && m->use != CAD_ALONG_DIRECTIONS ? n : 0;
}

int cad_maker_has_products(const CadMaker *m) {
    return count_products(m, NULL, m->graph->n_records) > 1;
}

/* The products among some records (NULL: all), by their matrices; NULL where there are none to put
 * together, or no memory. */
static Member *members_of(CadMaker *m, const uint32_t *records, size_t count, size_t *n) {
    const size_t n_products = count_products(m, records, count);
    *n = 0;
    if (n_products < 2) {
        return NULL;
    }
    Member *const members = cad_memory_zeroed(2 * n_products, sizeof *members);
    if (members == NULL) {
        fail(m);
        return NULL;
    }
    for (size_t k = 0; k < count; k++) {
        const uint32_t i = records != NULL ? records[k] : (uint32_t)k;
        *n = is_product(m, i) ? add_member(m, i, members, *n) : *n;
    }
    qsort(members, *n, sizeof *members, by_matrix);
    return members;
}

/* --- levels --- */

void cad_maker_bring_products_together(CadMaker *m, const uint32_t *early) {
    enum { WINDOW = 2 * MOST_ROWS };
    size_t n;
    CadOperands of;
    int any = 0;
    Member *const members = members_of(m, NULL, m->graph->n_records, &n);
    for (size_t k = 0; k < n; k++) {
        const uint32_t level = m->level[members[k].record];
        uint32_t rows = members[k].rows;
        for (size_t j = k + 1; j < n && j < k + WINDOW && !members[k].joins; j++) {
            const uint32_t i = members[j].record;
            if (!are_alike(m, &members[k], &members[j])) {
                break;
            }
            if (early[i] <= level && m->level[i] > level && rows + members[j].rows <= MOST_ROWS) {
                rows += members[j].rows;
                m->level[i] = level;
                members[j].joins = any = 1;
            }
        }
    }
    cad_memory_free(members);
    for (size_t i = m->graph->n_records; i-- > 0 && any;) {
        if (is_made(m, i)) {
            cad_maker_operands(m, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                uint32_t *const level = &m->level[record_of(m, of.ids[k])];
                *level = *level >= m->level[i] && *level > 0 ? m->level[i] - 1 : *level;
            }
        }
    }
}

/* --- instructions --- */

/* Where the rows of some products stand as a matrix: one below the other, or there once they are
 * brought there; 0 if that is not worth it. */
static int gather_rows(CadMaker *m, const Member *members, size_t count, int64_t length,
                       int64_t columns, int32_t *place) {
    size_t begin, rows = 0, k = 0;
    for (size_t j = 0; j < count; j++) {
        rows += members[j].rows;
    }
    if (!cad_maker_add_list(m, rows * (size_t)length, &begin)) {
        return 0;
    }
    int32_t *const places = m->program->lists + begin;
    for (size_t j = 0; j < count; j++) {
        const int view = members[j].is_left ? 2 : 1;
        const int64_t *const strides = cad_plan_view(plan_of(m, members[j].record), view) + 1;
        for (int64_t row = 0; row < members[j].rows; row++) {
            for (int64_t i = 0; i < length; i++) {
                const int64_t to = members[j].is_left ? 0 : row * strides[0];
                places[k++] = members[j].place + (int32_t)(to + i * strides[1]);
            }
        }
    }
    int32_t step;
    if (cad_maker_even_end(m, places, 0, k, &step) == k && step == 1) {
        *place = places[0];
        m->program->n_lists = begin;
        return 1;
    }
    if (columns < FEW_COLUMNS) {
        m->program->n_lists = begin;
        return 0;
    }
    *place = cad_maker_take_block(m, k);
    cad_maker_release_after(m, m->level[members[0].record], *place, k);
    cad_maker_emit_take(m, begin, k, *place);
    return 1;
}

/* One instruction for some products. */
static void emit_product(CadMaker *m, const Member *members, size_t count, int32_t place,
                         int32_t out) {
    CadProgram *const program = m->program;
    const Member first = members[0];
    CadPlan *const plan = plan_of(m, first.record);
    const int64_t *const shape = cad_plan_shape(plan);
    const int64_t *const matrix = cad_plan_view(plan, first.is_left ? 1 : 2) + 1;
    const int64_t columns = shape[first.is_left ? 0 : 2], length = shape[1];
    const size_t words = CAD_PLAN_WORDS + 3 + 3 * 4, at = program->n_plan_words;
    int64_t rows = 0;
    for (size_t j = 0; j < count; j++) {
        rows += members[j].rows;
    }
    if (!GROW(program, plans, program->n_plan_words, words)) {
        return;
    }
    CadPlan *const product = (CadPlan *)(program->plans + at);
    *product = (CadPlan){.words = (uint32_t)words,
                         .ndim = 3,
                         .n_views = 3,
                         .size = rows * length * columns,
                         .index = -1};
    memcpy(cad_plan_shape(product), (int64_t[3]){rows, length, columns}, 3 * sizeof *shape);
    memcpy(cad_plan_view(product, 0), (int64_t[4]){out, columns, 0, 1}, 4 * sizeof *shape);
    memcpy(cad_plan_view(product, 1), (int64_t[4]){place, length, 1, 0}, 4 * sizeof *shape);
    memcpy(cad_plan_view(product, 2),
           (int64_t[4]){cad_maker_place_of(m, first.matrix), 0, matrix[1],
                        matrix[first.is_left ? 0 : 2]},
           4 * sizeof *shape);
    program->n_plan_words += words;
    program->n_operations += (size_t)product->size;
    program->has_arrays = 1;
    cad_maker_emit(m, cad_terms(CAD_OP_MATMUL, (size_t)(rows * columns), out, at, 1));
}

static void emit_together(CadMaker *m, Member *members, size_t count) {
    const int64_t *const shape = cad_plan_shape(plan_of(m, members[0].record));
    const int64_t columns = shape[members[0].is_left ? 0 : 2];
    size_t size = 0;
    int32_t place;
    for (size_t j = 0; j < count; j++) {
        const int view = members[j].is_left ? 2 : 1;
        members[j].place =
            cad_maker_place_of(m, (CadId)cad_plan_view(plan_of(m, members[j].record), view)[0]);
        size += members[j].rows * (size_t)columns;
    }
    qsort(members, count, sizeof *members, by_place);
    if (!gather_rows(m, members, count, shape[1], columns, &place)) {
        return;
    }
    int32_t out = cad_maker_take_block(m, size);
    if (m->status != CAD_OK) {
        return;
    }
    emit_product(m, members, count, place, out);
    for (size_t j = 0; j < count; j++) {
        const uint32_t i = members[j].record, length = m->graph->records[i].of.array.size;
        m->place[i] = out;
        m->group[i] = m->n_groups;
        cad_maker_release_after(m, m->last[i], out, length);
        out += (int32_t)length;
    }
    m->n_groups++;
}

void cad_maker_emit_products(CadMaker *m, const uint32_t *records, size_t count) {
    size_t n;
    Member *const members = members_of(m, records, count, &n);
    for (size_t k = 0, end; k < n && m->status == CAD_OK; k = end) {
        size_t chosen = k;
        for (end = k; end < n && are_alike(m, &members[k], &members[end]); end++) {
            if (m->place[members[end].record] == NOWHERE) {
                members[chosen++] = members[end];
            }
        }
        if (chosen > k + 1) {
            emit_together(m, members + k, chosen - k);
        }
    }
    cad_memory_free(members);
}
