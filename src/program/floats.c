/* Arrays as floats, half the size: what products of matrices in single precision read and write,
 * unless that is small. Everything else is computed of doubles, which are brought from there, or
 * rounded to there, by instructions of their own: these go tile by tile with those around them. */
#include "kernels/single.h"
#include "program/maker.h"

enum { FEW_TIMES = 4, LEAST_FLOATS = 64 };

/* A block of floats; NOWHERE if there is no room for it. */
static int32_t take_floats(CadMaker *m, size_t size) {
    int32_t place;
    if (!cad_maker_take_far(m, size, &place)) {
        return NOWHERE;
    }
    m->far[m->n_far - 1].is_float = 1;
    return place;
}

/* Constants are rounded here and now. Two of them are as long as a double. */
static int32_t take_constants(CadMaker *m, const CadRecord *record) {
    const size_t size = record->of.array.size, n = (size + 1) / 2;
    const double *const values = m->graph->constants + cad_graph_array(m->graph, record)->list;
    double *const packed = cad_memory_zeroed(n, sizeof *packed);
    const int32_t place = packed != NULL ? take_floats(m, size) : NOWHERE;
    if (packed == NULL) {
        fail(m);
    } else if (place != NOWHERE) {
        cad_narrow_row((float *)packed, values, size);
        m->far[m->n_far - 1].constants = cad_maker_add_constants(m, packed, n);
    }
    cad_memory_free(packed);
    return place;
}

/* Where an array stands as floats; NOWHERE if there is no room for it. */
static int32_t floats_of(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    const size_t size = record->of.array.size;
    if (m->floats[i] != NOWHERE) {
        return m->floats[i];
    }
    if (record->kind == CAD_RECORD_CONSTANTS) {
        m->floats[i] = take_constants(m, record);
        return m->floats[i];
    }
    const CadPlaces x[3] = {{cad_maker_place_of(m, record->of.array.first), 1}};
    m->floats[i] = take_floats(m, size);
    if (m->floats[i] != NOWHERE) {
        cad_maker_emit_vector(m, CAD_OP_single, size, m->floats[i], x);
    }
    return m->floats[i];
}

int32_t cad_maker_widen(CadMaker *m, uint32_t i) {
    const size_t size = m->graph->records[i].of.array.size;
    const int32_t place = cad_maker_take_array(m, size);
    const CadPlaces x[3] = {{m->floats[i], 1}};
    cad_maker_release_after(m, m->last[i], place, size);
    cad_maker_emit_vector(m, CAD_OP_positive, size, place, x);
    return place;
}

/* Whether each number takes part in several products, and the matrices are not small. */
static int is_worth_it(const CadMaker *m, const CadRecord *record) {
    if (record->op != CAD_OP_MATMUL_SINGLE || !m->stores_floats) {
        return 0;
    }
    CadPlan *const plan = cad_graph_plan(m->graph, record);
    const int64_t *const core = cad_plan_shape(plan) + plan->ndim - 3;
    int is_large = 1;
    for (int k = 0; k < 3; k++) {
        is_large &= core[k] >= FEW_TIMES && core[k] * core[(k + 1) % 3] >= LEAST_FLOATS;
    }
    return is_large;
}

int cad_maker_place_floats(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    if (!is_worth_it(m, record)) {
        return 0;
    }
    CadPlan *const plan = cad_graph_plan(m->graph, record);
    for (int k = 1; k < plan->n_views; k++) {
        const uint32_t operand = cad_graph_record_of(m->graph, (CadId)cad_plan_view(plan, k)[0]);
        if (!is_array(m, operand) || floats_of(m, operand) == NOWHERE) {
            return 0;
        }
    }
    m->floats[i] = take_floats(m, record->of.array.size);
    return m->floats[i] != NOWHERE;
}
