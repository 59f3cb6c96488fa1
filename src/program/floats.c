/* Arrays as floats, half the size: operands and results, unless small, of rows and products of
 * matrices in single precision, and large inputs that are floats. Everything else is computed of
 * doubles, which are brought from there, or rounded to there, by instructions of their own: these
 * go tile by tile with those around them. */
#include "kernels/single.h"
#include "program/maker.h"

enum { FEW_TIMES = 4, LEAST_FLOATS = 64 };

/* Names for floats; NOWHERE if there are none left. */
static int32_t take_floats(CadMaker *m, size_t size) {
    int32_t place;
    if (!cad_maker_take_far(m, size, &place)) {
        return NOWHERE;
    }
    m->far[m->n_far - 1].is_float = 1;
    return place;
}

/* The place of the floats that were named last. */
static void fix(CadMaker *m, int32_t place) {
    m->far[m->n_far - 1].is_fixed = 1;
    m->far[m->n_far - 1].to = place;
}

/* Constants are rounded here and now. Two of them are as long as a double. */
static int32_t take_constants(CadMaker *m, const double *values, size_t size) {
    const size_t n = (size + 1) / 2;
    if (m->program->n_constants + n > CAD_MOST_FLOAT_PLACES) {
        return NOWHERE;
    }
    double *const packed = cad_memory_zeroed(n, sizeof *packed);
    const int32_t place = packed != NULL ? take_floats(m, size) : NOWHERE;
    if (packed == NULL) {
        fail(m);
    } else if (place != NOWHERE) {
        cad_narrow_row((float *)packed, values, size);
        fix(m, cad_maker_add_constants(m, packed, n));
    }
    cad_memory_free(packed);
    return place;
}

/* --- where a number stands --- */

/* Bring an array that stands as floats to a place as doubles. */
static int32_t widen(CadMaker *m, uint32_t i) {
    const size_t size = m->graph->records[i].of.array.size;
    const int32_t place = cad_maker_take_array(m, size);
    const CadPlaces x[3] = {{m->floats[i], 1}};
    cad_maker_release_after(m, m->last[i], place, size);
    cad_maker_emit_vector(m, CAD_OP_positive, size, place, x);
    return place;
}

/* The values of one constant, for which there is room, or of many; else NULL. */
static const double *constants_of(const CadMaker *m, const CadRecord *record, double *room) {
    if (record->kind == CAD_RECORD_CONSTANT) {
        *room = cad_record_value(record);
        return room;
    }
    return record->kind == CAD_RECORD_CONSTANTS
               ? m->graph->constants + cad_graph_array(m->graph, record)->list
               : NULL;
}

int32_t cad_maker_place_of(CadMaker *m, CadId id) {
    const uint32_t i = resolve(m, &id);
    const CadRecord *record = &m->graph->records[i];
    double value;
    const double *const values = m->place[i] == NOWHERE ? constants_of(m, record, &value) : NULL;
    if (values != NULL) {
        m->place[i] = cad_maker_add_constants(m, values, cad_record_size(record));
    } else if (m->place[i] == NOWHERE && m->floats[i] != NOWHERE) {
        m->place[i] = widen(m, i);
    }
    return m->place[i] + (is_array(m, i) ? (int32_t)(id - record->of.array.first) : 0);
}

uint32_t cad_maker_group_of(const CadMaker *m, CadId id) {
    const uint32_t i = record_of(m, id);
    return is_constant_number(m, i) ? CONSTANT_GROUP : m->group[i];
}

/* --- what is computed of floats --- */

/* Where an array stands as floats; NOWHERE if there is no room for it. */
static int32_t floats_of(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    if (m->floats[i] != NOWHERE) {
        return m->floats[i];
    }
    double value;
    const double *const values = constants_of(m, record, &value);
    const size_t size = cad_record_size(record);
    if (values != NULL) {
        return m->floats[i] = take_constants(m, values, size);
    }
    const CadPlaces x[3] = {{cad_maker_place_of(m, record->of.array.first), 1}};
    m->floats[i] = take_floats(m, size);
    if (m->floats[i] != NOWHERE) {
        cad_maker_emit_vector(m, CAD_OP_single, size, m->floats[i], x);
    }
    return m->floats[i];
}

int32_t cad_maker_take_input(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    const int32_t place = m->n_places, size = (int32_t)(record->of.array.size / 2 + 1);
    if (!m->stores_floats || !cad_graph_has_floats(m->graph, record) ||
        place > CAD_MOST_FLOAT_PLACES - size) {
        return -1;
    }
    m->floats[i] = take_floats(m, record->of.array.size);
    if (m->floats[i] == NOWHERE) {
        return -1;
    }
    fix(m, place);
    m->place[i] = NOWHERE;
    m->n_places += size;
    return place;
}

/* Whether each number takes part in several products, and the matrices are not small. */
static int is_large_product(CadPlan *plan) {
    const int64_t *const core = cad_plan_shape(plan) + plan->ndim - 3;
    int is_large = 1;
    for (int k = 0; k < 3; k++) {
        is_large &= core[k] >= FEW_TIMES && core[k] * core[(k + 1) % 3] >= LEAST_FLOATS;
    }
    return is_large;
}

/* Operations of which the result is one of the operands, or a small integer. */
static int is_exact(CadOp op) {
    switch (op) {
    case CAD_OP_positive:
    case CAD_OP_negative:
    case CAD_OP_absolute:
    case CAD_OP_sign:
    case CAD_OP_where:
    case CAD_OP_maximum:
    case CAD_OP_minimum:
        return 1;
    default:
        return cad_op_compares(op);
    }
}

static int is_float(double x) {
    return (double)(float)x == x || x != x;
}

/* Whether the numbers of an operand are floats; it is no single number that is computed. */
static int has_floats(const CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    double value;
    const double *const values = constants_of(m, record, &value);
    const size_t size = cad_record_size(record);
    if (values != &value && (!is_array(m, i) || m->floats[i] != NOWHERE)) {
        return m->floats[i] != NOWHERE;
    }
    size_t n = 0;
    while (values != NULL && n < size && is_float(values[n])) {
        n++;
    }
    return values != NULL ? n == size
                          : size >= LEAST_FLOATS && cad_graph_has_floats(m->graph, record);
}

/* Whether a row of the table gives floats of floats, along axes that are not short. */
static int is_row_of_floats(const CadMaker *m, uint32_t i, CadPlan *plan) {
    const CadRecord *const record = &m->graph->records[i];
    const CadOp op = (CadOp)record->op;
    int n_arrays = 0;
    if (!cad_op_is_row(op) || !cad_knows_floats(op) || record->of.array.size < LEAST_FLOATS ||
        !(m->is_rounded[i] || is_exact(op)) ||
        (plan->ndim > 1 && cad_plan_shape(plan)[plan->ndim - 1] < LEAST_FLOATS / 2)) {
        return 0;
    }
    for (int k = 1; k < plan->n_views; k++) {
        const uint32_t operand = record_of(m, (CadId)cad_plan_view(plan, k)[0]);
        if (!has_floats(m, operand)) {
            return 0;
        }
        n_arrays += is_array(m, operand) && m->floats[operand] != NOWHERE;
    }
    return m->is_rounded[i] || n_arrays > 0;
}

/* Whether a row reads all of an array as it stands; which one. */
static int reads_whole(const CadMaker *m, const CadRecord *record, uint32_t *array) {
    CadPlan *const plan = cad_graph_plan(m->graph, record);
    const int64_t *const result = cad_plan_view(plan, 0), *const from = cad_plan_view(plan, 1);
    *array = cad_graph_record_of(m->graph, (CadId)from[0]);
    const CadRecord *const of = &m->graph->records[*array];
    int is_whole = cad_record_is_array(of) && result[0] == 0 &&
                   of->of.array.first == (CadId)from[0] &&
                   of->of.array.size == record->of.array.size;
    for (int axis = 1; axis <= plan->ndim; axis++) {
        is_whole &= result[axis] == from[axis];
    }
    return is_whole;
}

static int is_rounding(const CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    return record->kind == CAD_RECORD_MAP && record->op == CAD_OP_single && m->uses[i] > 0;
}

void cad_maker_find_rounded(CadMaker *m) {
    memset(m->is_rounded, 0, m->graph->n_records);
    for (uint32_t i = 0; i < m->graph->n_records && m->stores_floats; i++) {
        uint32_t array;
        if (is_rounding(m, i) && reads_whole(m, &m->graph->records[i], &array) &&
            m->uses[array] == 1) {
            m->is_rounded[array] = 1;
        }
    }
}

CadAsFloats cad_maker_place_floats(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    uint32_t array;
    if (!m->stores_floats || record->kind != CAD_RECORD_MAP) {
        return CAD_NOT_FLOATS;
    }
    if (is_rounding(m, i) && reads_whole(m, record, &array) && m->floats[array] != NOWHERE) {
        m->floats[i] = m->floats[array];
        return CAD_THERE_AS_FLOATS;
    }
    CadPlan *const plan = cad_graph_plan(m->graph, record);
    if (record->op == CAD_OP_MATMUL_SINGLE ? !is_large_product(plan)
                                           : !is_row_of_floats(m, i, plan)) {
        return CAD_NOT_FLOATS;
    }
    for (int k = 1; k < plan->n_views; k++) {
        const uint32_t operand = record_of(m, (CadId)cad_plan_view(plan, k)[0]);
        const int is_constant = is_constant_number(m, operand);
        if ((!is_array(m, operand) && !is_constant) || floats_of(m, operand) == NOWHERE) {
            return CAD_NOT_FLOATS;
        }
    }
    m->floats[i] = take_floats(m, record->of.array.size);
    return m->floats[i] != NOWHERE ? CAD_COMPUTED_AS_FLOATS : CAD_NOT_FLOATS;
}
