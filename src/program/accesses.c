/* The places that an instruction reads and writes, and new names for all places of a program, by
 * the rows of instructions.def. */
#include "program/maker.h"

enum { NO_VIEW = -1 };
enum { NEITHER, READS, WRITES, CHANGES };

static int arity_of(const CadInstruction *i) {
    return cad_op_info[i->op].arity;
}

/* --- what is read and written --- */

typedef struct Visitor {
    const CadProgram *program;
    CadVisit *visit;
    void *self;
} Visitor;

static void visit_region(Visitor to, int use, CadRegion region) {
    region.reads = use & READS;
    region.writes = use & WRITES;
    int is_empty = use == NEITHER;
    for (int k = 0; k < region.n_axes; k++) {
        is_empty |= region.lengths[k] <= 0;
    }
    if (!is_empty) {
        to.visit(to.self, &region);
    }
}

static void visit_row(Visitor to, int use, int64_t first, int64_t step, int64_t n) {
    visit_region(
        to, use,
        (CadRegion){.first = first, .view = NO_VIEW, .n_axes = 1, .lengths = &n, .steps = &step});
}

static void visit_list(Visitor to, int use, int64_t first, int32_t listed, int64_t n) {
    visit_region(to, use,
                 (CadRegion){.first = first,
                             .view = NO_VIEW,
                             .n_axes = 1,
                             .lengths = &n,
                             .listed = to.program->lists + listed});
}

static void visit_number(Visitor to, int use, int64_t place) {
    visit_region(to, use, (CadRegion){.first = place, .view = NO_VIEW});
}

/* A view; one that is indexed is all that indices may name. */
static void visit_view(Visitor to, int use, CadPlan *plan, int view, int is_indexed) {
    const int64_t *const numbers = cad_plan_view(plan, view);
    int64_t lengths[CAD_MOST_AXES + 1], steps[CAD_MOST_AXES + 1];
    memcpy(lengths, cad_plan_shape(plan), plan->ndim * sizeof *lengths);
    memcpy(steps, numbers + 1, plan->ndim * sizeof *steps);
    if (is_indexed) {
        lengths[plan->ndim] = cad_plan_extra(plan)[0];
        steps[plan->ndim] = cad_plan_extra(plan)[1];
    }
    visit_region(to, use,
                 (CadRegion){.first = numbers[0],
                             .view = view,
                             .n_axes = plan->ndim + is_indexed,
                             .lengths = lengths,
                             .steps = steps});
}

static void visit_plan(Visitor to, int use, CadPlan *plan, int indexed) {
    for (int k = 1; k < plan->n_views; k++) {
        visit_view(to, READS, plan, k, k == indexed);
    }
    visit_view(to, use, plan, 0, indexed == 0);
}

static void visit_singles(Visitor to, const CadInstruction *i) {
    const CadSingle *const begin = to.program->singles + i->x, *const end = begin + i->n;
    for (const CadSingle *s = begin; s < end; s++) {
        const int is_row = s->op < CAD_OP_COUNT, is_pair = s->op == CAD_SINGLE_SINCOS;
        const int arity = is_row ? cad_op_info[s->op].arity : is_pair ? 1 : 3;
        visit_number(to, READS, s->x);
        visit_number(to, arity > 1 ? READS : is_pair ? WRITES : NEITHER, s->y);
        visit_number(to, arity > 2 ? READS : NEITHER, s->z);
        visit_number(to, WRITES, s->out);
    }
}

static void visit_checks(Visitor to, const CadInstruction *i) {
    for (uint32_t k = 0; k < i->n; k++) {
        visit_number(to, READS, to.program->checks[i->x + (int32_t)k].place);
    }
}

static void visit_scan(Visitor to, const CadInstruction *i) {
    const int64_t *const plans = to.program->plans;
    const CadScanPlan *const plan = &to.program->scans[i->x];
    const int64_t *word = plans + plan->at, *size = cad_scan_plan_sizes(plan, plans);
    const int64_t *const outs = cad_scan_plan_outs(plan, plans);
    for (uint32_t k = 0; k < plan->n_carried; k++) {
        visit_row(to, READS, *word++, 1, *size++);
    }
    for (uint32_t k = 0; k < plan->n_given; k++, word += 3) {
        const int64_t lengths[2] = {i->n, *size++}, steps[2] = {word[1], 1};
        visit_region(to, READS,
                     (CadRegion){.first = word[0],
                                 .view = NO_VIEW,
                                 .n_axes = 2,
                                 .lengths = lengths,
                                 .steps = steps});
    }
    visit_row(to, WRITES, i->y, 1, i->z);
    for (size_t k = 0; k < cad_scan_plan_n_ends(plan); k++) {
        if (outs[2 * k] != CAD_UNREAD) {
            visit_row(to, WRITES, outs[2 * k], 1, cad_scan_plan_length(plan, plans, k, i->n));
        }
    }
}

void cad_instruction_visit(const CadProgram *program, const CadInstruction *i, CadVisit *visit,
                           void *visitor) {
    const Visitor to = {program, visit, visitor};
    switch ((CadStepKind)i->kind) {
#define ROW(use, operand, step, n) visit_row(to, use, i->operand, step, n);
#define LIST(use, operand) visit_list(to, use, 0, i->operand, i->n);
#define BESIDE(use, operand, lists) visit_list(to, use, i->operand, i->lists, i->n);
#define PLAN(use, indexed) visit_plan(to, use, (CadPlan *)(program->plans + i->x), indexed);
#define SINGLES visit_singles(to, i);
#define CHECKS visit_checks(to, i);
#define SCAN visit_scan(to, i);
#define CAD_INSTRUCTION(kind, word, name, formula, left, traits, places)                          \
    case CAD_##kind:                                                                              \
        places break;
#include "program/instructions.def"
#undef ROW
#undef LIST
#undef BESIDE
#undef PLAN
#undef SINGLES
#undef CHECKS
#undef SCAN
    }
}

/* --- places by other names --- */

typedef struct Namer {
    CadRename *rename;
    void *self;
} Namer;

static void rename_place(Namer namer, int32_t *place) {
    *place = namer.rename(namer.self, *place);
}

static void rename_word(Namer namer, int64_t *word) {
    *word = *word != CAD_UNREAD ? namer.rename(namer.self, (int32_t)*word) : *word;
}

static void rename_plan(Namer namer, CadPlan *plan) {
    for (int k = 0; k < plan->n_views; k++) {
        rename_word(namer, cad_plan_view(plan, k));
    }
}

static void rename_list(Namer namer, int32_t *listed, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        rename_place(namer, &listed[k]);
    }
}

static void rename_scan(Namer namer, CadProgram *program, CadInstruction *i) {
    const CadScanPlan *const plan = &program->scans[i->x];
    int64_t *const word = program->plans + plan->at;
    for (uint32_t k = 0; k < plan->n_carried + plan->n_given; k++) {
        rename_word(namer, &word[k < plan->n_carried ? k : 3 * k - 2 * plan->n_carried]);
    }
    int64_t *const outs = (int64_t *)cad_scan_plan_outs(plan, program->plans);
    for (size_t k = 0; k < 2 * cad_scan_plan_n_ends(plan); k += 2) {
        rename_word(namer, &outs[k]);
    }
    rename_place(namer, &i->y);
}

static void rename_instruction(Namer namer, CadProgram *program, CadInstruction *i) {
    switch ((CadStepKind)i->kind) {
#define ROW(use, operand, step, n) rename_place(namer, &i->operand);
#define LIST(use, operand) rename_list(namer, program->lists + i->operand, i->n);
#define BESIDE(use, operand, lists) rename_place(namer, &i->operand);
#define PLAN(use, indexed) rename_plan(namer, (CadPlan *)(program->plans + i->x));
#define SINGLES /* below, all of them */
#define CHECKS  /* likewise */
#define SCAN rename_scan(namer, program, i);
#define CAD_INSTRUCTION(kind, word, name, formula, left, traits, places)                          \
    case CAD_##kind:                                                                              \
        places break;
#include "program/instructions.def"
    }
}

void cad_program_rename(CadProgram *program, CadRename *rename, void *self) {
    const Namer namer = {rename, self};
    for (size_t k = 0; k < program->n_code; k++) {
        rename_instruction(namer, program, &program->code[k]);
    }
    for (size_t k = 0; k < program->n_singles; k++) {
        CadSingle *const single = &program->singles[k];
        rename_place(namer, &single->out);
        rename_place(namer, &single->x);
        rename_place(namer, &single->y);
        rename_place(namer, &single->z);
    }
    for (size_t k = 0; k < program->n_outputs; k++) {
        CadStretch *const stretch = &program->outputs[k];
        if (stretch->listed) {
            rename_list(namer, program->lists + stretch->place, stretch->n);
        } else {
            rename_place(namer, &stretch->place);
        }
    }
    for (size_t k = 0; k < program->n_checks; k++) {
        rename_place(namer, &program->checks[k].place);
    }
}
