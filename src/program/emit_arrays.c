/* Instructions for arrays: rows of the table, sums, products of matrices, additions to elements,
 * and arrays that consist of single numbers. */
#include "program/maker.h"

/* Elements that only cut derivatives are copied. */
static CadOp op_of(const CadRecord *record) {
    return record->op == CAD_OP_stop ? CAD_OP_positive : (CadOp)record->op;
}

static int32_t place_in_floats(const CadMaker *m, CadId id) {
    const uint32_t i = resolve(m, &id);
    return m->floats[i] + (int32_t)(id - cad_graph_first(m->graph, i));
}

/* An instruction with the plan of an array, over places. */
static void emit_plan(CadMaker *m, const CadRecord *record, CadInstruction instruction) {
    const int are_in_floats = m->floats[record - m->graph->records] != NOWHERE;
    CadProgram *program = m->program;
    const CadPlan *plan = cad_graph_plan(m->graph, record);
    if (!GROW(program, plans, program->n_plan_words, plan->words)) {
        return;
    }
    const size_t at = program->n_plan_words;
    CadPlan *copy = (CadPlan *)(program->plans + at);
    memcpy(copy, plan, plan->words * sizeof *program->plans);
    for (int k = 0; k < copy->n_views; k++) {
        int64_t *const view = cad_plan_view(copy, k);
        view[0] = k == 0          ? instruction.out + view[0]
                  : are_in_floats ? place_in_floats(m, (CadId)view[0])
                                  : cad_maker_place_of(m, (CadId)view[0]);
    }
    const int is_row = instruction.kind == CAD_ROWS;
    const int is_even = is_row || (instruction.n > 0 && cad_entry_kinds[instruction.op].core == 0);
    if (m->graph->optimize && is_even && !are_in_floats) {
        cad_maker_choose_axes(copy, is_row, (CadOp)record->op);
    }
    program->n_plan_words += copy->words;
    program->n_operations += (size_t)copy->size;
    program->has_arrays = 1;
    instruction.x = (int32_t)at;
    cad_maker_emit(m, instruction);
}

/* A row over one axis, or over several that can be gone through as one. */
static int emit_simple_row(CadMaker *m, const CadRecord *record, int32_t out) {
    const int are_in_floats = m->floats[record - m->graph->records] != NOWHERE;
    CadPlan *plan = cad_graph_plan(m->graph, record);
    if (plan->ndim > 1) {
        return 0;
    }
    CadPlaces x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 1; k < plan->n_views; k++) {
        const int64_t *view = cad_plan_view(plan, k);
        const CadId id = (CadId)view[0];
        x[k - 1] = (CadPlaces){are_in_floats ? place_in_floats(m, id) : cad_maker_place_of(m, id),
                               plan->ndim > 0 ? (int32_t)view[1] : 0};
    }
    const int64_t *result = cad_plan_view(plan, 0);
    if (plan->ndim > 0 && result[1] != 1) {
        return 0;
    }
    cad_maker_emit_vector(m, op_of(record), (size_t)plan->size, out, x);
    m->program->n_operations += (size_t)plan->size;
    return 1;
}

/* What is added along one axis, to numbers side by side, so that tiles may take it. */
static int emit_simple_sum(CadMaker *m, const CadRecord *record, int32_t place) {
    CadPlan *const plan = cad_graph_plan(m->graph, record);
    const int64_t *const to = cad_plan_view(plan, 0), *const from = cad_plan_view(plan, 1);
    if (plan->ndim != 1 || to[1] != 1 || plan->size < LONG_VECTOR) {
        return 0;
    }
    const int32_t out = place + (int32_t)to[0];
    const CadPlaces x[3] = {
        {out, 1}, {cad_maker_place_of(m, (CadId)from[0]), (int32_t)from[1]}, {0, 0}};
    cad_maker_emit_vector(m, CAD_OP_add, (size_t)plan->size, out, x);
    m->program->n_operations += (size_t)plan->size;
    return 1;
}

/* Have what something is added to stand at its places: zeros, but for what stands among them.
 * Answers whether that is all. */
static int emit_former(CadMaker *m, const CadRecord *record, int32_t out) {
    const uint32_t size = record->of.array.size;
    const CadId former = cad_graph_array(m->graph, record)->former;
    int32_t at = 0, end = 0;
    if (former != CAD_NO_ID) {
        const CadPlaces x[3] = {{cad_maker_place_of(m, former), 1}};
        cad_maker_emit_vector(m, CAD_OP_positive, size, out, x);
        return 0;
    }
    if (record->kind == CAD_RECORD_ADD_TO) {
        CadPlan *const plan = cad_graph_plan(m->graph, record);
        const uint32_t part = record_of(m, (CadId)cad_plan_view(plan, 1)[0]);
        const CadHome home = m->homes[part];
        if (home.of == (size_t)(record - m->graph->records) && m->place[part] == out + home.at) {
            at = home.at;
            end = at + (int32_t)plan->size;
        }
    }
    cad_maker_emit_zeros(m, (size_t)at, out);
    cad_maker_emit_zeros(m, size - (size_t)end, out + end);
    return end > 0;
}

static void emit_add_at(CadMaker *m, const CadRecord *record, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, record);
    const size_t count = (size_t)plan->size;
    size_t begin;
    if (!cad_maker_add_list(m, count, &begin)) {
        return;
    }
    const CadId *places = m->graph->lists + cad_graph_array(m->graph, record)->list;
    for (size_t i = 0; i < count; i++) {
        m->program->lists[begin + i] = (int32_t)places[i];
    }
    const int64_t *source = cad_plan_view(plan, 0);
    cad_maker_emit(m, (CadInstruction){.kind = CAD_ADD_AT,
                                       .n = (uint32_t)count,
                                       .out = out,
                                       .x = cad_maker_place_of(m, (CadId)source[0]),
                                       .sx = (int32_t)source[1],
                                       .z = (int32_t)begin});
    m->program->n_operations += count;
}

static void emit_call(CadMaker *m, const CadRecord *record, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, record);
    const uint32_t number = cad_graph_array(m->graph, record)->number;
    const int is_large = plan->size >= LONG_VECTOR && m->graph->optimize;
    cad_maker_emit(
        m, (CadInstruction){.kind = CAD_CALL,
                            .n = (uint32_t)plan->size,
                            .out = out,
                            .x = cad_maker_place_of(m, (CadId)cad_plan_view(plan, 0)[0]),
                            .sx = is_large ? (int32_t)cad_graph_about(m->graph, record).rows : 0,
                            .sy = (int32_t)m->program->n_checks,
                            .y = (int32_t)record->of.array.size,
                            .z = (int32_t)number});
    m->program->n_operations++;
    m->program->has_calls = 1;
}

/* Whether an array can take over the places of the one that something is added to. */
static int takes_over(CadMaker *m, const CadRecord *record, uint32_t level, uint32_t *former) {
    const CadId id =
        cad_record_adds(record) ? cad_graph_array(m->graph, record)->former : CAD_NO_ID;
    if (id == CAD_NO_ID) {
        return 0;
    }
    *former = cad_graph_record_of(m->graph, id);
    const CadRecord *const whole = &m->graph->records[*former];
    return m->homes[*former].block != NOWHERE && whole->of.array.first == id &&
           whole->of.array.size == record->of.array.size && m->last[*former] == level &&
           m->uses[*former] == 1;
}

/* What stands at its place is left there. */
static void emit_pack(CadMaker *m, size_t listed, size_t size, int32_t out) {
    int needed = 0;
    for (size_t k = 0, end; k < size; k = end) {
        const int32_t *const places = m->program->lists + listed;
        const int is_there = places[k] == out + (int32_t)k;
        for (end = k + 1; end < size && (places[end] == out + (int32_t)end) == is_there; end++) {
        }
        if (!is_there) {
            needed |= cad_maker_emit_copies(m, listed + k, end - k, out + (int32_t)k);
        }
    }
    m->program->n_lists = needed ? m->program->n_lists : listed;
}

static CadInstruction row_instruction(const CadRecord *record, int32_t out) {
    return (CadInstruction){.kind = CAD_ROWS, .op = (uint16_t)op_of(record), .out = out};
}

static void emit_floats(CadMaker *m, const CadRecord *record, int32_t out) {
    const uint8_t floats = CAD_TO_FLOATS | CAD_FROM_FLOATS;
    const int is_product = cad_op_is_kind((CadOp)record->op);
    if (is_product || !emit_simple_row(m, record, out)) {
        CadInstruction i = is_product ? cad_terms(op_of(record), record->of.array.size, out, 0, 1)
                                      : row_instruction(record, out);
        i.floats = floats & 3;
        emit_plan(m, record, i);
    }
}

void cad_maker_emit_array(CadMaker *m, uint32_t i) {
    const CadRecord *record = &m->graph->records[i];
    const uint32_t level = m->level[i], size = record->of.array.size;
    int32_t place;
    uint32_t former = 0;
    size_t listed = 0;
    m->group[i] = m->n_groups++;
    if (record->kind == CAD_RECORD_SCAN) {
        cad_maker_emit_scan(m, i);
        return;
    }
    if (record->kind == CAD_RECORD_PACK &&
        cad_maker_list_places(m, cad_graph_packed(m->graph, record), size, &listed)) {
        const int32_t *const places = m->program->lists + listed;
        int32_t step;
        if (m->homes[i].block == NOWHERE &&
            cad_maker_even_end(m, places, 0, size, &step) == size && step == 1) {
            m->place[i] = places[0]; /* it is there already */
            m->program->n_lists = listed;
            return;
        }
    }
    const CadAsFloats as_floats = cad_maker_place_floats(m, i);
    if (as_floats == CAD_COMPUTED_AS_FLOATS) {
        emit_floats(m, record, m->floats[i]);
    }
    if (as_floats != CAD_NOT_FLOATS) {
        return;
    }
    const int in_place = takes_over(m, record, level, &former);
    if (in_place) {
        cad_maker_keep_block(m, level, m->place[former]);
    }
    m->homes[i].block = in_place ? m->place[former] : m->homes[i].block;
    place = m->place[i] = cad_maker_take_home(m, i);
    if (m->homes[i].of == 0) {
        cad_maker_release_after(m, m->last[i], place, size);
    }
    if (m->status != CAD_OK) {
        return;
    }
    if (cad_record_adds(record) && !in_place && emit_former(m, record, place)) {
        return;
    }
    switch ((CadRecordKind)record->kind) {
    case CAD_RECORD_PACK:
        emit_pack(m, listed, size, place);
        break;
    case CAD_RECORD_ADD_TO:
        if (!emit_simple_sum(m, record, place)) {
            emit_plan(m, record, cad_terms(CAD_OP_SUM, 0, place, 0, 0));
        }
        break;
    case CAD_RECORD_ADD_BY:
    case CAD_RECORD_TAKE:
        emit_plan(
            m, record,
            (CadInstruction){.kind = record->kind == CAD_RECORD_TAKE ? CAD_TAKE_BY : CAD_ADD_BY,
                             .out = place,
                             .y = cad_record_is_within(m->graph, record)});
        break;
    case CAD_RECORD_ADD_AT:
        emit_add_at(m, record, place);
        break;
    case CAD_RECORD_CALL:
        emit_call(m, record, place);
        break;
    default:
        if (cad_op_is_kind((CadOp)record->op)) {
            emit_plan(m, record, cad_terms((CadOp)record->op, size, place, 0, m->graph->optimize));
        } else if (!emit_simple_row(m, record, place)) {
            emit_plan(m, record, row_instruction(record, place));
        }
    }
}
