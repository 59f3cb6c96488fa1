/* Instructions for arrays: rows of the table, sums, products of matrices, additions to elements,
 * and arrays that consist of single numbers. */
#include "program/inner.h"

/* Elements that only cut derivatives are copied. */
static CadOp op_of(const CadArray *array) {
    return array->op == CAD_OP_stop ? CAD_OP_positive : (CadOp)array->op;
}

/* Rows are gone through one by one: a short last axis, and a long one that the result has, change
 * places. */
static void lengthen_rows(CadPlan *plan) {
    enum { SHORT = 8 };
    int64_t *const shape = cad_plan_shape(plan);
    const int last = plan->ndim - 1;
    int longest = last;
    for (int i = 0; i < last && shape[last] < SHORT; i++) {
        if (shape[i] > shape[longest] && cad_plan_view(plan, 0)[1 + i] != 0) {
            longest = i;
        }
    }
    if (longest == last) {
        return;
    }
    const int64_t length = shape[last];
    shape[last] = shape[longest];
    shape[longest] = length;
    for (int k = 0; k < plan->n_views; k++) {
        int64_t *const strides = cad_plan_view(plan, k) + 1;
        const int64_t stride = strides[last];
        strides[last] = strides[longest];
        strides[longest] = stride;
    }
}

/* An instruction with the plan of an array, over places. */
static void emit_plan(CadMaker *m, const CadArray *array, CadInstruction instruction) {
    CadProgram *program = m->program;
    const CadPlan *plan = cad_graph_plan(m->graph, array);
    if (!GROW(program, plans, program->n_plan_words, plan_capacity, plan->words)) {
        return;
    }
    const size_t at = program->n_plan_words;
    CadPlan *copy = (CadPlan *)(program->plans + at);
    memcpy(copy, plan, plan->words * sizeof *program->plans);
    for (int k = 0; k < copy->n_views; k++) {
        int64_t *view = cad_plan_view(copy, k);
        view[0] = k == 0 ? instruction.out + view[0] : cad_maker_place_of(m, (CadId)view[0]);
    }
    copy->index = -1;
    const int is_even = instruction.kind == CAD_ROWS ||
                        (instruction.kind == CAD_TERMS && cad_entry_kinds[array->op].core == 0);
    if (m->graph->optimize && is_even) {
        lengthen_rows(copy);
    }
    program->n_plan_words += copy->words;
    program->n_operations += (size_t)copy->size;
    program->has_arrays = 1;
    instruction.x = (int32_t)at;
    cad_maker_emit(m, instruction);
}

/* A row over one axis, or over several that can be gone through as one. */
static int emit_simple_row(CadMaker *m, const CadArray *array, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    if (plan->ndim > 1) {
        return 0;
    }
    CadPlaces x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 1; k < plan->n_views; k++) {
        const int64_t *view = cad_plan_view(plan, k);
        x[k - 1] = (CadPlaces){cad_maker_place_of(m, (CadId)view[0]),
                               plan->ndim > 0 ? (int32_t)view[1] : 0};
    }
    const int64_t *own = cad_plan_view(plan, 0);
    if (plan->ndim > 0 && own[1] != 1) {
        return 0;
    }
    cad_maker_emit_vector(m, op_of(array), (size_t)plan->size, out, x);
    m->program->n_operations += (size_t)plan->size;
    return 1;
}

/* The places of an array that consists of numbers, if they stand side by side already. */
static int is_in_place(CadMaker *m, const CadArray *array, int32_t *place) {
    const CadId *ids = m->graph->lists + array->list;
    *place = cad_maker_place_of(m, ids[0]);
    for (uint32_t k = 1; k < array->size; k++) {
        const int32_t next = cad_maker_place_of(m, ids[k]);
        if (next != *place + (int32_t)k || !are_moved_alike(m, next, *place)) {
            return 0;
        }
    }
    return 1;
}

static void emit_pack(CadMaker *m, const CadArray *array, int32_t out) {
    size_t begin;
    if (!cad_maker_add_list(m, array->size, &begin)) {
        return;
    }
    for (uint32_t k = 0; k < array->size; k++) {
        const CadId id = m->graph->lists[array->list + k];
        m->program->lists[begin + k] = cad_maker_place_of(m, id);
    }
    cad_maker_emit_take(m, begin, array->size, out);
}

static void emit_add_to(CadMaker *m, const CadArray *array, int32_t out, int in_place) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    const CadId former = cad_graph_former(m->graph, array);
    if (former == CAD_NO_ID) {
        cad_maker_emit(m, (CadInstruction){.kind = CAD_ZEROS, .n = array->size, .out = out});
    } else if (!in_place) {
        const CadPlaces x[3] = {{cad_maker_place_of(m, former), 1}};
        cad_maker_emit_vector(m, CAD_OP_positive, array->size, out, x);
    }
    if (plan->index < 0) {
        const int by_index = cad_array_is_by_index(array);
        emit_plan(m, array,
                  (CadInstruction){.kind = by_index ? CAD_ADD_BY : CAD_ADD_TO, .out = out});
        return;
    }
    const size_t count = (size_t)plan->size;
    size_t begin;
    if (!cad_maker_add_list(m, count, &begin)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        m->program->lists[begin + i] = (int32_t)m->graph->lists[(size_t)plan->index + i];
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

static void emit_take_by(CadMaker *m, const CadArray *array, int32_t out) {
    CadInstruction instruction = {.kind = CAD_TAKE_BY, .out = out};
    const int64_t *source = cad_plan_view(cad_graph_plan(m->graph, array), 1);
    const int32_t place = cad_maker_place_of(m, (CadId)source[0]);
    for (size_t k = 0; k < m->program->n_referred; k++) {
        const CadReferred input = m->program->referred[k];
        if (place >= input.place && place - input.place < (int32_t)input.size) {
            instruction.n = 1;
            instruction.y = input.place;
            instruction.z = input.pointer;
        }
    }
    emit_plan(m, array, instruction);
}

static void emit_call(CadMaker *m, const CadArray *array, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    cad_maker_emit(m,
                   (CadInstruction){.kind = CAD_CALL,
                                    .n = (uint32_t)plan->size,
                                    .out = out,
                                    .x = cad_maker_place_of(m, (CadId)cad_plan_view(plan, 0)[0]),
                                    .y = (int32_t)array->size,
                                    .z = (int32_t)cad_plan_extra(plan)[0]});
    m->program->n_operations++;
    m->program->has_calls = 1;
}

/* Whether an array can take over the places of the one that something is added to. */
static int takes_over(CadMaker *m, const CadArray *array, uint32_t level, uint32_t *former) {
    const CadId id = cad_graph_former(m->graph, array);
    if (id == CAD_NO_ID) {
        return 0;
    }
    *former = cad_graph_array_of(m->graph, id);
    const uint32_t op = m->graph->arrays[*former].op;
    return (op == CAD_ARRAY_ADD_TO || op == CAD_ARRAY_ADD_BY) && m->array_last[*former] == level &&
           m->array_reads[*former] == 1;
}

void cad_maker_emit_array(CadMaker *m, uint32_t i) {
    const CadArray *array = &m->graph->arrays[i];
    const uint32_t level = m->array_level[i];
    int32_t place;
    uint32_t former = 0;
    m->array_group[i] = m->n_groups++;
    if (array->op == CAD_ARRAY_PACK && is_in_place(m, array, &place)) {
        m->array_place[i] = place;
        return;
    }
    const int in_place = takes_over(m, array, level, &former);
    if (in_place) {
        cad_maker_keep_block(m, level, m->array_place[former]);
    }
    place = in_place ? m->array_place[former] : cad_maker_take_block(m, array->size);
    m->array_place[i] = place;
    cad_maker_release_after(m, m->array_last[i], place, array->size);
    if (m->status != CAD_OK) {
        return;
    }
    switch ((int)array->op) {
    case CAD_ARRAY_PACK:
        emit_pack(m, array, place);
        break;
    case CAD_ARRAY_ADD_TO:
    case CAD_ARRAY_ADD_BY:
        emit_add_to(m, array, place, in_place);
        break;
    case CAD_ARRAY_TAKE:
        emit_take_by(m, array, place);
        break;
    case CAD_ARRAY_CALL:
        emit_call(m, array, place);
        break;
    default:
        if (cad_op_is_kind((CadOp)array->op)) {
            emit_plan(m, array,
                      (CadInstruction){.kind = CAD_TERMS,
                                       .op = (uint16_t)array->op,
                                       .n = array->size,
                                       .out = place,
                                       .y = m->graph->optimize != 0});
        } else if (!emit_simple_row(m, array, place)) {
            emit_plan(
                m, array,
                (CadInstruction){.kind = CAD_ROWS, .op = (uint16_t)op_of(array), .out = place});
        }
    }
}
