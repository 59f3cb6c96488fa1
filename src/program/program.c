/* Programs as wholes: what they cost, the memory that they take, their workspaces and inputs. */
#include "kernels/single.h"
#include "program/program.h"

#include <stdlib.h>

size_t cad_program_room(const CadProgram *program, size_t lanes) {
    return CAD_LINE - 1 + program->n_constants + program->n_shared +
           (program->n_places - program->n_shared) * lanes;
}

/* Numbers that a loop goes through: what is known, and what it leaves, of each turn. */
static size_t numbers_along(const CadProgram *program, const CadScanPlan *plan, size_t n) {
    const int64_t *const given = program->plans + plan->at + plan->n_carried;
    size_t numbers = 0;
    for (size_t k = 0; k < plan->n_given; k++) {
        if (given[3 * k] < 0) {
            numbers += (size_t)llabs(given[3 * k + 1]) * n;
        }
    }
    for (size_t k = 0; k < cad_scan_plan_n_ends(plan); k++) {
        if (cad_scan_plan_outs(plan, program->plans)[2 * k] != CAD_UNREAD) {
            numbers += (size_t)cad_scan_plan_length(plan, program->plans, k, n);
        }
    }
    return numbers;
}

size_t cad_program_near_room(const CadProgram *program) {
    enum { ONCE = 8 }; /* what is used once, around loops, may stay in a larger cache */
    const size_t room = cad_program_room(program, 1);
    size_t along = 0, least = 0;
    for (size_t k = 0; k < program->n_code; k++) {
        const CadInstruction *const i = &program->code[k];
        if (cad_step_is(i, CAD_OVER_SCAN)) {
            along += numbers_along(program, &program->scans[i->x], i->n);
            least = (size_t)i->z > least ? (size_t)i->z : least;
        }
    }
    const size_t rest = room > along ? (room - along) / (least > 0 ? ONCE : 1) : 0;
    return rest > least ? rest : least;
}

void cad_program_prepare(const CadProgram *program, double *room) {
    if (program->n_constants > 0) {
        double *const places = cad_program_places(program, room);
        memcpy(places - program->n_constants, program->constants,
               program->n_constants * sizeof *room);
    }
}

size_t cad_program_cost(const CadProgram *program) {
    return program->n_operations + 3 * program->n_singles + program->n_places;
}

void cad_program_share_owner(CadProgram *program) {
    for (size_t k = 0; k < program->n_scans; k++) {
        CadProgram *const core = program->scans[k].core;
        core->call = program->call;
        core->call_lanes = program->call_lanes;
        core->owner = program->owner;
        cad_program_share_owner(core);
    }
}

void cad_program_set_natives(CadProgram *program, const CadNative *const *natives) {
    program->natives = natives;
    program->has_calls = 0;
    for (size_t k = 0; k < program->n_code; k++) {
        const CadInstruction *const i = &program->code[k];
        const int calls = cad_step_is(i, CAD_CALLS);
        if (calls && natives[i->z] == NULL) {
            program->has_calls = 1;
        } else if (calls) {
            program->n_operations += i->n + (size_t)i->y;
        }
    }
    for (size_t k = 0; k < program->n_scans; k++) {
        CadProgram *const core = program->scans[k].core;
        cad_program_set_natives(core, natives);
        program->has_calls |= core->has_calls;
    }
}

#define FREE(type, items, n) cad_memory_free(program->items);
#define BYTES(type, items, n) +program->n * sizeof(type)

void cad_program_free(CadProgram *program) {
    if (program != NULL) {
        for (size_t k = 0; k < program->n_scans; k++) {
            cad_program_free(program->scans[k].ahead);
            cad_program_free(program->scans[k].core);
            cad_program_free(program->scans[k].single);
            cad_program_free(program->scans[k].behind);
        }
        CAD_PROGRAM_LISTS(FREE)
        cad_memory_free(program->machine);
        cad_memory_free(program);
    }
}

size_t cad_program_bytes(const CadProgram *program) {
    if (program == NULL) {
        return 0;
    }
    size_t bytes = sizeof *program CAD_PROGRAM_LISTS(BYTES);
    for (size_t k = 0; k < program->n_scans; k++) {
        const CadScanPlan *const plan = &program->scans[k];
        bytes += cad_program_bytes(plan->ahead) + cad_program_bytes(plan->core) +
                 cad_program_bytes(plan->single) + cad_program_bytes(plan->behind);
    }
    return bytes;
}

/* --- inputs --- */

void cad_program_take_inputs(const CadProgram *program, double *places, const double *inputs) {
    size_t next = 0;
    cad_program_refer_to_places(program, places);
    for (size_t k = 0; k < program->n_referred; k++) {
        const CadReferred input = program->referred[k];
        if (input.result >= 0) {
            continue;
        }
        memcpy(places + next, inputs + next, ((size_t)input.place - next) * sizeof *places);
        if (input.floats >= 0) {
            cad_narrow_row((float *)(places + input.floats), inputs + input.place, input.size);
        } else {
            cad_program_refer(places, input, inputs + input.place);
        }
        next = (size_t)input.place + input.size;
    }
    if (program->n_inputs > next) {
        memcpy(places + next, inputs + next, (program->n_inputs - next) * sizeof *places);
    }
}

void cad_program_narrow_inputs(const CadProgram *program, double *places) {
    for (size_t k = 0; k < program->n_referred; k++) {
        const CadReferred input = program->referred[k];
        double *const own = cad_program_own(places, input);
        if (input.floats >= 0 && input.result < 0 && cad_program_referent(places, input) == own) {
            cad_narrow_row((float *)own, places + input.place, input.size);
        }
    }
}
