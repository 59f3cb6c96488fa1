/* Which places an instruction reads and writes, and which are named in a program at all. */
#include "program/maker.h"

/* --- what is read and written --- */

typedef struct Visitor {
    CadVisit *visit;
    void *self;
} Visitor;

static void visit_even(Visitor to, int64_t place, int64_t step, int64_t n, int writes) {
    const int64_t last = place + step * (n - 1);
    if (n > 0) {
        to.visit(to.self, place < last ? place : last, place < last ? last : place, writes);
    }
}

static void visit_view(Visitor to, CadPlan *plan, int view, int writes) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    if (plan->size > 0) {
        to.visit(to.self, low, high, writes);
    }
}

/* All that indices may name. */
static void visit_indexed(Visitor to, CadPlan *plan, int view, int writes) {
    const int64_t *const extra = cad_plan_extra(plan);
    const int64_t reach = extra[1] * (extra[0] - 1);
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    if (plan->size > 0 && extra[0] > 0) {
        to.visit(to.self, low + (reach < 0 ? reach : 0), high + (reach > 0 ? reach : 0), writes);
    }
}

static void visit_singles(Visitor to, const CadSingle *single, size_t n) {
    for (const CadSingle *const end = single + n; single < end; single++) {
        visit_even(to, single->x, 0, 1, 0);
        if (single->op == CAD_SINGLE_SINCOS) {
            visit_even(to, single->y, 0, 1, 1);
        } else {
            visit_even(to, single->y, 0, 1, 0);
            visit_even(to, single->z, 0, 1, 0);
        }
        visit_even(to, single->out, 0, 1, 1);
    }
}

static void visit_plan(Visitor to, const CadInstruction *i, CadPlan *plan) {
    for (int k = 1; k < plan->n_views; k++) {
        if (i->kind == CAD_TAKE_BY && k == 1) {
            visit_indexed(to, plan, k, 0);
        } else {
            visit_view(to, plan, k, 0);
        }
    }
    if (i->kind == CAD_TERMS) {
        visit_even(to, i->out, 1, i->n, 1);
    } else if (i->kind == CAD_ADD_BY) {
        visit_indexed(to, plan, 0, 1);
    } else {
        visit_view(to, plan, 0, 1);
    }
}

static void visit_scan(Visitor to, const CadProgram *program, const CadInstruction *i) {
    const CadTurns *const turns = &program->scans[i->x];
    const int64_t *word = program->plans + turns->at;
    const int64_t *size = cad_turns_sizes(turns, program->plans);
    const int64_t *const outs = cad_turns_outs(turns, program->plans);
    for (uint32_t k = 0; k < turns->n_carried; k++) {
        visit_even(to, *word++, 1, *size++, 0);
    }
    for (uint32_t k = 0; k < turns->n_given; k++, word += 3) {
        const int64_t reach = word[1] * (i->n - 1);
        to.visit(to.self, word[0] + (reach < 0 ? reach : 0),
                 word[0] + (reach > 0 ? reach : 0) + *size++ - 1, 0);
    }
    visit_even(to, i->y, 1, i->z, 1);
    for (size_t k = 0; k < cad_turns_n_ends(turns); k++) {
        if (outs[2 * k] != CAD_UNREAD) {
            visit_even(to, outs[2 * k], 1, cad_turns_length(turns, program->plans, k, i->n), 1);
        }
    }
}

void cad_instruction_visit(const CadProgram *program, const CadInstruction *i, CadVisit *visit,
                           void *visitor) {
    const Visitor to = {visit, visitor};
    switch ((CadStepKind)i->kind) {
    case CAD_SINGLES:
        visit_singles(to, program->singles + i->x, i->n);
        break;
    case CAD_VECTOR: {
        const int arity = cad_op_info[i->op].arity;
        visit_even(to, i->x, i->sx, i->n, 0);
        visit_even(to, i->y, i->sy, arity > 1 ? i->n : 0, 0);
        visit_even(to, i->z, i->sz, arity > 2 ? i->n : 0, 0);
        visit_even(to, i->out, 1, i->n, 1);
        break;
    }
    case CAD_TAKE:
        for (uint32_t k = 0; k < i->n; k++) {
            visit_even(to, program->lists[i->x + (int32_t)k], 0, 1, 0);
        }
        visit_even(to, i->out, 1, i->n, 1);
        break;
    case CAD_TOTAL:
        visit_even(to, i->x, i->sx, i->n, 0);
        visit_even(to, i->out, 0, 1, 1);
        break;
    case CAD_ZEROS:
        visit_even(to, i->out, 1, i->n, 1);
        break;
    case CAD_ADD_AT:
        visit_even(to, i->x, i->sx, i->n, 0);
        for (uint32_t k = 0; k < i->n; k++) {
            visit_even(to, (int64_t)i->out + program->lists[i->z + (int32_t)k], 0, 1, 1);
        }
        break;
    case CAD_CALL:
        visit_even(to, i->x, 1, i->n, 0);
        visit_even(to, i->out, 1, i->y, 1);
        break;
    case CAD_COMPARE:
        for (uint32_t k = 0; k < i->n; k++) {
            visit_even(to, program->checks[i->x + (int32_t)k].place, 0, 1, 0);
        }
        break;
    case CAD_ROWS:
    case CAD_TERMS:
    case CAD_ADD_TO:
    case CAD_TAKE_BY:
    case CAD_ADD_BY:
        visit_plan(to, i, (CadPlan *)(program->plans + i->x));
        break;
    case CAD_SCAN:
        visit_scan(to, program, i);
        break;
    case CAD_TILES:   /* those behind it */
    case CAD_MACHINE: /* made of code that is finished */
        break;
    }
}

/* --- places by other names --- */

static void rename_instruction(CadProgram *program, CadInstruction *i, CadRename *rename,
                               void *namer) {
    switch ((CadStepKind)i->kind) {
    case CAD_VECTOR:
        i->x = rename(namer, i->x);
        i->y = rename(namer, i->y);
        i->z = rename(namer, i->z);
        break;
    case CAD_TAKE:
        for (uint32_t k = 0; k < i->n; k++) {
            int32_t *const place = &program->lists[i->x + (int32_t)k];
            *place = rename(namer, *place);
        }
        break;
    case CAD_TOTAL:
    case CAD_ADD_AT:
    case CAD_CALL:
        i->x = rename(namer, i->x);
        break;
    case CAD_ROWS:
    case CAD_TERMS:
    case CAD_ADD_TO:
    case CAD_TAKE_BY:
    case CAD_ADD_BY: {
        CadPlan *const plan = (CadPlan *)(program->plans + i->x);
        for (int k = 0; k < plan->n_views; k++) {
            int64_t *const view = cad_plan_view(plan, k);
            view[0] = rename(namer, (int32_t)view[0]);
        }
        break;
    }
    case CAD_SCAN: {
        const CadTurns *const turns = &program->scans[i->x];
        int64_t *const word = program->plans + turns->at;
        for (uint32_t k = 0; k < turns->n_carried + turns->n_given; k++) {
            const uint32_t at = k < turns->n_carried ? k : 3 * k - 2 * turns->n_carried;
            word[at] = rename(namer, (int32_t)word[at]);
        }
        int64_t *const outs = (int64_t *)cad_turns_outs(turns, program->plans);
        for (size_t k = 0; k < 2 * cad_turns_n_ends(turns); k += 2) {
            outs[k] = outs[k] != CAD_UNREAD ? rename(namer, (int32_t)outs[k]) : CAD_UNREAD;
        }
        i->y = rename(namer, i->y);
        return;
    }
    case CAD_ZEROS:
    case CAD_SINGLES:
    case CAD_COMPARE:
    case CAD_TILES:
    case CAD_MACHINE:
        break;
    }
    i->out = rename(namer, i->out);
}

void cad_program_rename(CadProgram *program, CadRename *rename, void *namer) {
    for (size_t k = 0; k < program->n_code; k++) {
        rename_instruction(program, &program->code[k], rename, namer);
    }
    for (size_t k = 0; k < program->n_singles; k++) {
        CadSingle *const single = &program->singles[k];
        single->out = rename(namer, single->out);
        single->x = rename(namer, single->x);
        single->y = rename(namer, single->y);
        single->z = rename(namer, single->z);
    }
    for (size_t k = 0; k < program->n_outputs; k++) {
        CadStretch *const stretch = &program->outputs[k];
        int32_t *const listed = program->lists + stretch->place;
        for (uint32_t i = 0; i < stretch->n && stretch->listed; i++) {
            listed[i] = rename(namer, listed[i]);
        }
        stretch->place = stretch->listed ? stretch->place : rename(namer, stretch->place);
    }
    for (size_t k = 0; k < program->n_checks; k++) {
        program->checks[k].place = rename(namer, program->checks[k].place);
    }
}
