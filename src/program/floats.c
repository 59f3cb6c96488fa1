/* Arrays as floats, half the size: what products of matrices in single precision read and write,
 * unless that is small, and large inputs that are floats. Everything else is computed of doubles,
 * which are brought from there, or rounded to there, by instructions of their own: these go tile
 * by tile with those around them. */
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
static int32_t take_constants(CadMaker *m, const CadRecord *record) {
    const size_t size = record->of.array.size, n = (size + 1) / 2;
    const double *const values = m->graph->constants + cad_graph_array(m->graph, record)->list;
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

int32_t cad_maker_place_of(CadMaker *m, CadId id) {
    const uint32_t i = resolve(m, &id);
    const CadRecord *record = &m->graph->records[i];
    if (m->place[i] == NOWHERE && record->kind == CAD_RECORD_CONSTANT) {
        const double value = cad_record_value(record);
        m->place[i] = cad_maker_add_constants(m, &value, 1);
    } else if (m->place[i] == NOWHERE && record->kind == CAD_RECORD_CONSTANTS) {
        const size_t list = cad_graph_array(m->graph, record)->list;
        m->place[i] =
            cad_maker_add_constants(m, m->graph->constants + list, record->of.array.size);
    } else if (m->place[i] == NOWHERE && m->floats[i] != NOWHERE) {
        m->place[i] = widen(m, i);
    }
    return m->place[i] + (int32_t)(id - cad_graph_first(m->graph, i));
}

uint32_t cad_maker_group_of(const CadMaker *m, CadId id) {
    const uint32_t i = record_of(m, id);
    return is_constant_number(m, i) ? CONSTANT_GROUP : m->group[i];
}

/* --- products of floats --- */

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

int32_t cad_maker_take_input(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    const int32_t own = m->n_places, size = (int32_t)(record->of.array.size / 2 + 1);
    if (!m->stores_floats || !cad_graph_has_floats(m->graph, record) ||
        own > CAD_MOST_FLOAT_PLACES - size) {
        return -1;
    }
    m->floats[i] = take_floats(m, record->of.array.size);
    if (m->floats[i] == NOWHERE) {
        return -1;
    }
    fix(m, own);
    m->place[i] = NOWHERE;
    m->n_places += size;
    return own;
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
