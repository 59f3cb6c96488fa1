/* Instructions for operations on single numbers: one by one, in vectors of one kind, and sums of
 * long chains. */
#include "program/maker.h"

#include <stdlib.h>

/* --- one by one --- */

/* What a sum or difference is called that a product is part of. */
static uint32_t fused_op(const CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    const int is_first = record_of(m, record->of.operands[0]) == m->product[i];
    const uint32_t op = record->op == CAD_OP_add ? CAD_SINGLE_ADDED
                        : is_first               ? CAD_SINGLE_LESS
                                                 : CAD_SINGLE_TAKEN;
    const int absorbs = m->graph->records[m->product[i]].op == CAD_OP_amul;
    return op + (absorbs ? CAD_SINGLE_ABSORBED_ADDED - CAD_SINGLE_ADDED : 0);
}

static void emit_single(CadMaker *m, uint32_t i) {
    CadProgram *program = m->program;
    CadOperands of;
    cad_maker_operands(m, i, &of);
    const CadId x[3] = {of.ids[0], of.n > 1 ? of.ids[1] : CAD_NO_ID,
                        of.n > 2 ? of.ids[2] : CAD_NO_ID};
    if (!GROW(program, singles, program->n_singles, 1)) {
        return;
    }
    CadSingle single = {.op = m->product[i] != 0 ? fused_op(m, i) : m->graph->records[i].op};
    single.x = cad_maker_place_of(m, x[0]);
    single.y = x[1] != CAD_NO_ID ? cad_maker_place_of(m, x[1]) : single.x;
    single.z = x[2] != CAD_NO_ID ? cad_maker_place_of(m, x[2]) : single.x;
    single.out = m->place[i] = cad_maker_take_place(m);
    m->group[i] = SINGLE_GROUP;
    cad_maker_release_after(m, m->last[i], single.out, 1);
    CadInstruction *latest = program->n_code > 0 ? &program->code[program->n_code - 1] : NULL;
    if (latest != NULL && cad_step_is(latest, CAD_OVER_SINGLES)) {
        latest->n++;
    } else {
        cad_maker_emit_operations(m, program->n_singles, 1, 1);
    }
    program->singles[program->n_singles++] = single;
    program->n_operations += m->product[i] != 0 ? 2 : 1;
}

/* --- vectors --- */

typedef struct CadMember {
    uint32_t op;
    uint32_t x_group, y_group;
    int32_t x, y; /* places; of constants NOWHERE until they are wanted */
    uint32_t record;
    uint32_t unused; /* items of 24 bytes are moved word by word by glibc when it sorts them */
} Member;

static int order_of_members(const void *left, const void *right) {
    const Member *a = left, *b = right;
    return a->op != b->op             ? compare(0, a->op, b->op)
           : a->x_group != b->x_group ? compare(0, a->x_group, b->x_group)
           : a->y_group != b->y_group ? compare(0, a->y_group, b->y_group)
           : a->x != b->x             ? compare(0, a->x, b->x)
           : a->y != b->y             ? compare(0, a->y, b->y)
                                      : compare(0, a->record, b->record);
}

static Member member_of(CadMaker *m, uint32_t i) {
    const CadRecord *record = &m->graph->records[i];
    const CadId *x = record->of.operands;
    const int has_two = x[1] != CAD_NO_ID;
    Member member = {.op = record->op, .record = i};
    member.x_group = cad_maker_group_of(m, x[0]);
    member.x = member.x_group == CONSTANT_GROUP ? NOWHERE : cad_maker_place_of(m, x[0]);
    member.y_group = has_two ? cad_maker_group_of(m, x[1]) : SINGLE_GROUP;
    member.y = !has_two                           ? 0
               : member.y_group == CONSTANT_GROUP ? NOWHERE
                                                  : cad_maker_place_of(m, x[1]);
    return member;
}

/* What the k-th operand of a member is called. */
static CadId operand_of(const CadMaker *m, const Member *member, int k) {
    CadId id = m->graph->records[member->record].of.operands[k];
    resolve(m, &id);
    return id;
}

/* The k-th operands of members: where they stand, or are brought to. */
static CadPlaces operands(CadMaker *m, const Member *members, size_t count, int k,
                          uint32_t level) {
    int all_constant = 1, one = 1;
    const CadId first = operand_of(m, &members[0], k);
    for (size_t i = 0; i < count; i++) {
        const CadId id = operand_of(m, &members[i], k);
        one = one && id == first;
        all_constant = all_constant && is_constant_number(m, cad_graph_record_of(m->graph, id));
    }
    if (one) {
        return (CadPlaces){cad_maker_place_of(m, first), 0};
    }
    if (all_constant) {
        double *values = cad_memory_resize(NULL, count, sizeof *values);
        if (values == NULL) {
            fail(m);
            return (CadPlaces){0, 0};
        }
        for (size_t i = 0; i < count; i++) {
            values[i] =
                cad_record_value(cad_graph_record(m->graph, operand_of(m, &members[i], k)));
        }
        const int32_t place = cad_maker_add_constants(m, values, count);
        cad_memory_free(values);
        return (CadPlaces){place, 1};
    }
    size_t begin;
    if (!cad_maker_add_list(m, count, &begin)) {
        return (CadPlaces){0, 0};
    }
    int32_t *const places = m->program->lists + begin;
    for (size_t i = 0; i < count; i++) {
        places[i] = cad_maker_place_of(m, operand_of(m, &members[i], k));
    }
    return cad_maker_gather(m, begin, count, level);
}

static void emit_as_vector(CadMaker *m, const Member *members, size_t count, uint32_t level) {
    const int arity = cad_op_info[members[0].op].arity;
    CadPlaces x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 0; k < arity; k++) {
        x[k] = operands(m, members, count, k, level);
    }
    const int32_t out = cad_maker_take_block(m, count);
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t record = members[i].record;
        m->place[record] = out + (int32_t)i;
        m->group[record] = m->n_groups;
        last = m->last[record] > last ? m->last[record] : last;
    }
    m->n_groups++;
    cad_maker_release_after(m, last, out, count);
    cad_maker_emit_vector(m, (CadOp)members[0].op, count, out, x);
    m->program->n_operations += count;
}

/* Operations of one kind on one level: those whose operands stand side by side together, the rest
 * together if it is many. */
static void emit_kind(CadMaker *m, Member *members, size_t count, uint32_t level) {
    size_t rest = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && members[end].x_group == members[i].x_group &&
               members[end].y_group == members[i].y_group) {
            end++;
        }
        if (end - i >= FEW) {
            emit_as_vector(m, members + i, end - i, level);
        } else {
            memmove(members + rest, members + i, (end - i) * sizeof *members);
            rest += end - i;
        }
        i = end;
    }
    if (rest >= FEW) {
        emit_as_vector(m, members, rest, level);
        return;
    }
    for (size_t i = 0; i < rest; i++) {
        emit_single(m, members[i].record);
    }
}

/* --- chains --- */

static void emit_total(CadMaker *m, CadPlaces x, size_t count, int32_t out, int minus,
                       int *started) {
    cad_maker_emit(m, (CadInstruction){.kind = CAD_TOTAL,
                                       .n = (uint32_t)count,
                                       .out = out,
                                       .x = x.place,
                                       .sx = x.step,
                                       .y = *started,
                                       .z = minus});
    *started = 1;
}

/* Add up the numbers at the latest list of places: those that stand side by side, and then what
 * lies between. */
static void emit_totals(CadMaker *m, size_t begin, int32_t out, int minus, int *started,
                        uint32_t level) {
    int32_t *const places = m->program->lists + begin;
    const size_t count = m->program->n_lists - begin;
    size_t rest = 0;
    for (size_t i = 0; i < count;) {
        int32_t step;
        const size_t end = cad_maker_even_end(m, places, i, count, &step);
        if (end - i >= FEW) {
            emit_total(m, (CadPlaces){places[i], step}, end - i, out, minus, started);
            i = end;
        } else {
            places[rest++] = places[i++];
        }
    }
    m->program->n_lists = begin + rest;
    if (rest > 0) {
        emit_total(m, cad_maker_gather(m, begin, rest, level), rest, out, minus, started);
    }
}

/* The sum of a chain: what is added, less what is subtracted. */
static void emit_chain(CadMaker *m, uint32_t head, uint32_t level) {
    const size_t count = cad_maker_terms(m, head);
    const int32_t out = m->place[head] = cad_maker_take_place(m);
    m->group[head] = SINGLE_GROUP;
    cad_maker_release_after(m, m->last[head], out, 1);
    int started = 0;
    for (int minus = 0; minus < 2; minus++) {
        size_t begin, end;
        if (!cad_maker_add_list(m, count, &begin)) {
            return;
        }
        end = begin;
        for (size_t i = 0; i < count; i++) {
            if (m->terms[count + i] == (CadId)minus) {
                m->program->lists[end++] = cad_maker_place_of(m, m->terms[i]);
            }
        }
        m->program->n_lists = end;
        emit_totals(m, begin, out, minus, &started, level);
    }
    m->program->n_operations += count - 1;
}

/* --- all of one level --- */

void cad_maker_emit_singles(CadMaker *m, const uint32_t *records, size_t count, uint32_t level) {
    const int in_vectors = count >= FEW && m->joins;
    size_t n = 0;
    if (in_vectors && !GROW(m, members, 0, count)) {
        return;
    }
    for (size_t i = 0; i < count && m->status == CAD_OK; i++) {
        if (is_chain(m, records[i])) {
            emit_chain(m, records[i], level);
        } else if (!in_vectors) {
            emit_single(m, records[i]);
        } else {
            m->members[n++] = member_of(m, records[i]);
        }
    }
    int sorted = 1;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = order_of_members(&m->members[i - 1], &m->members[i]) < 0;
    }
    if (!sorted) {
        qsort(m->members, n, sizeof *m->members, order_of_members);
    }
    for (size_t i = 0; i < n && m->status == CAD_OK;) {
        size_t end = i + 1;
        while (end < n && m->members[end].op == m->members[i].op) {
            end++;
        }
        emit_kind(m, m->members + i, end - i, level);
        i = end;
    }
}
