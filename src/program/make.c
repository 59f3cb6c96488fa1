/* From a graph to a program: all steps, in their order. */
#include "kernels/single.h"
#include "program/maker.h"
#include "program/running.h"

/* --- level by level --- */

static void emit_all(CadMaker *m) {
    CadByLevel sorted = cad_maker_sort_by_level(m);
    cad_maker_emit_checks(m, 0);
    for (uint32_t level = 1; level < m->n_levels && m->status == CAD_OK; level++) {
        const uint32_t *begin = sorted.begin + 2 * (size_t)level;
        cad_maker_emit_products(m, sorted.records + begin[0], begin[1] - begin[0]);
        for (uint32_t k = begin[0]; k < begin[1] && m->status == CAD_OK; k++) {
            if (m->place[sorted.records[k]] == NOWHERE) {
                m->is_partial = m->graph->records[sorted.records[k]].is_partial;
                cad_maker_emit_array(m, sorted.records[k]);
                m->is_partial = 0;
            }
        }
        cad_maker_emit_singles(m, sorted.records + begin[1], begin[2] - begin[1], level);
        cad_maker_emit_checks(m, level);
        cad_maker_release_level(m, level);
    }
    if (m->status == CAD_OK) {
        cad_maker_emit_checks(m, FOREVER);
    }
}

/* --- all of it --- */

static void take_buffers(CadMaker *m) {
    const size_t n = m->graph->n_records;
    m->program = cad_memory_zeroed(1, sizeof *m->program);
    m->ends = cad_memory_take(&m->memory, m->n_roots + m->graph->n_own + m->graph->n_guards,
                              sizeof *m->ends);
    m->uses = cad_memory_take(&m->memory, n, sizeof *m->uses);
    m->chain = cad_memory_take(&m->memory, n, sizeof *m->chain);
    m->product = cad_memory_take(&m->memory, n, sizeof *m->product);
    m->level = cad_memory_take(&m->memory, n, sizeof *m->level);
    m->last = cad_memory_take(&m->memory, n, sizeof *m->last);
    m->group = cad_memory_take(&m->memory, n, sizeof *m->group);
    m->first_read = cad_memory_take(&m->memory, n + 1, sizeof *m->first_read);
    m->place = cad_memory_take(&m->memory, n, sizeof *m->place);
    m->homes = cad_memory_take(&m->memory, n, sizeof *m->homes);
    m->floats = cad_memory_take(&m->memory, n, sizeof *m->floats);
    m->is_rounded = cad_memory_take(&m->memory, n, sizeof *m->is_rounded);
    m->check_level = cad_memory_take(&m->memory, m->graph->n_guards, sizeof *m->check_level);
    m->waiting = cad_memory_take(&m->memory, m->graph->n_guards, sizeof *m->waiting);
    if (m->program == NULL || m->memory.status != CAD_OK) {
        fail(m);
    }
}

static void free_buffers(CadMaker *m) {
    cad_memory_give_back(&m->memory);
    cad_memory_free(m->spare);
    cad_memory_free(m->blocks);
    cad_memory_free(m->releases);
    cad_memory_free(m->far);
    cad_memory_free(m->reads);
    cad_memory_free(m->terms);
    cad_memory_free(m->members);
    cad_memory_free(m->gathered);
}

static int has_levels(CadMaker *m) {
    m->release_at = cad_memory_take(&m->memory, m->n_levels, sizeof *m->release_at);
    if (m->release_at == NULL) {
        return fail(m);
    }
    memset(m->release_at, 0xff, m->n_levels * sizeof *m->release_at);
    return 1;
}

/* Whether an index may be out of bounds, or a call may raise. */
static int can_fail(CadGraph *graph, const CadRecord *record) {
    return record->kind == CAD_RECORD_CALL
               ? cad_graph_about(graph, record).may_raise
               : cad_record_is_by_index(record) && !cad_record_is_within(graph, record);
}

/* Collect the numbers to compute: roots, then those of the function that can fail, even if no root
 * needs them, then operands of guards. */
static void find_ends(CadMaker *m) {
    CadGraph *const graph = m->graph;
    size_t n = 0;
    for (size_t k = 0; k < m->n_roots; k++) {
        m->ends[n++] = m->roots[k];
    }
    for (size_t i = 0; i < graph->n_own; i++) {
        const CadRecord *record = &graph->records[i];
        if (can_fail(graph, record)) {
            m->ends[n++] = record->of.array.first;
        }
    }
    for (size_t k = 0; k < graph->n_guards; k++) {
        m->ends[n++] = graph->guards[k].id;
    }
    m->n_ends = n;
}

static void find_order(CadMaker *m, CadLevels levels) {
    m->program->compares_last = m->use != CAD_AT_A_POINT || m->graph->compares_last;
    cad_maker_place_inputs(m);
    if (m->status != CAD_OK) {
        return;
    }
    m->boundary = m->use == CAD_AT_A_POINT ? INT32_MIN : (int32_t)m->program->n_shared;
    find_ends(m);
    cad_maker_find_wanted(m);
    cad_maker_find_rounded(m);
    cad_maker_find_chains(m);
    cad_maker_find_fused(m);
    cad_maker_list_reads(m);
    cad_maker_find_homes(m);
    if (m->use == CAD_AT_A_POINT && !m->copies) {
        cad_maker_refer_to_inputs(m);
    }
    cad_maker_find_levels(m, levels);
}

static CadStatus make_program(const CadMaker *order, CadLevels levels, CadProgram **program) {
    CadMaker maker = *order;
    CadMaker *m = &maker;
    take_buffers(m);
    if (m->status == CAD_OK) {
        find_order(m, levels);
    }
    if (m->status == CAD_OK && has_levels(m)) {
        emit_all(m);
    }
    if (m->status == CAD_OK) {
        cad_maker_emit_results(m);
        cad_maker_sort_constants(m);
        if (m->joins || m->fuses) {
            cad_maker_join_sines(m);
        }
        cad_maker_roll_up(m);
    }
    if (m->status == CAD_OK) {
        m->status = m->graph->status; /* a call that was asked about; the graph is as it was */
        m->graph->status = CAD_OK;
    }
    if (m->status == CAD_OK) {
        cad_maker_plan_memory(m);
        cad_maker_find_runs(m);
    }
    free_buffers(m);
    if (m->status != CAD_OK) {
        cad_program_free(m->program);
        m->program = NULL;
    }
    *program = m->program;
    return m->status;
}

/* Of programs for one point, or for directions, the better one of those with the latest and the
 * earliest levels: of many records the one that is estimated to be. */
static CadStatus make_better(CadMaker *order, CadProgram **program) {
    enum { MANY_SINGLES = 256, MANY_RECORDS = 1 << 12 };
    const int at_many = order->use == CAD_AT_MANY_POINTS;
    const CadLevels levels =
        order->graph->n_records < MANY_RECORDS || at_many ? CAD_LATEST : CAD_AS_ESTIMATED;
    CadStatus status = make_program(order, levels, program);
    if (status == CAD_TAPE_FULL && order->stores_floats) { /* of which there may be fewer names */
        order->stores_floats = 0;
        status = make_program(order, levels, program);
    }
    if (status != CAD_OK || (*program)->n_singles < MANY_SINGLES || levels == CAD_AS_ESTIMATED ||
        at_many) {
        return status;
    }
    CadProgram *early;
    status = make_program(order, CAD_EARLIEST, &early);
    if (status == CAD_OK) {
        const int is_better = cad_program_cost(early) < cad_program_cost(*program);
        cad_program_free(is_better ? *program : early);
        *program = is_better ? early : *program;
    } else if (status == CAD_RAISED) {
        cad_program_free(*program);
        *program = NULL;
        return status;
    }
    return CAD_OK;
}

/* Have a program for one point be made of a graph in boxes, where there are any. `ids` are to be
 * inputs and roots of it. */
static CadStatus divide(CadMaker *order, CadId *ids, CadGraph **boxes) {
    const size_t n = order->n_inputs + order->n_roots;
    for (size_t k = 0; k < n; k++) {
        ids[k] = k < order->n_inputs ? order->inputs[k] : order->roots[k - order->n_inputs];
    }
    const CadStatus status = cad_graph_in_boxes(order->graph, ids, n, boxes);
    if (status == CAD_OK && *boxes != NULL) {
        order->graph = *boxes;
        order->inputs = ids;
        order->roots = ids + order->n_inputs;
    }
    return status;
}

CadStatus cad_program_make(CadGraph *graph, CadUse use, const CadId *inputs, size_t n_inputs,
                           size_t n_shared, const CadId *roots, size_t n_roots,
                           CadProgram **program) {
    const int is_inner = use == CAD_IN_TURNS || use == CAD_IN_BLOCKS;
    CadMaker order = {.graph = graph,
                      .make = cad_program_make,
                      .use = is_inner ? CAD_AT_A_POINT : use,
                      .copies = is_inner,
                      .fuses = use == CAD_IN_TURNS,
                      .inputs = inputs,
                      .n_inputs = n_inputs,
                      .n_shared = n_shared,
                      .roots = roots,
                      .n_roots = n_roots,
                      .status = graph->status,
                      .stores_floats = graph->optimize && use == CAD_AT_A_POINT &&
                                       !graph->keeps_doubles && cad_multiplies_floats(),
                      .joins =
                          graph->optimize && use != CAD_AT_MANY_POINTS && use != CAD_IN_TURNS};
    CadMemory memory = {0};
    CadGraph *boxes = NULL;
    CadId *const ids = cad_memory_take(&memory, n_inputs + n_roots, sizeof *ids);
    CadStatus status = memory.status;
    if (status == CAD_OK && order.use == CAD_AT_A_POINT) {
        status = divide(&order, ids, &boxes);
    }
    if (status == CAD_OK) {
        status = make_better(&order, program);
    }
    cad_graph_free(boxes);
    cad_memory_give_back(&memory);
    return status;
}
