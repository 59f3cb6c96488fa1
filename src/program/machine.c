/* Machine code in the place of instructions: see CadMachinePiece. */
#include "memory/memory.h"
#include "program/running.h"

#include <string.h>

void cad_machine_free(CadMachine *machine) {
    if (machine != NULL) {
        cad_memory_free(machine->functions);
        cad_memory_free(machine->code);
        cad_memory_free(machine);
    }
}

void cad_machine_value(int op, double *out, const double *x, const double *y, const double *z) {
    cad_strip_value_near((CadOp)op, (CadStrip){out, 1}, (CadStrip){(double *)x, 1},
                         (CadStrip){(double *)y, 1}, (CadStrip){(double *)z, 1},
                         CAD_MACHINE_LANES);
}

CadStatus cad_program_set_machine(CadProgram *program, size_t lanes, const CadMachinePiece *pieces,
                                  size_t n) {
    if (program->machine != NULL || n == 0) {
        return CAD_OK;
    }
    CadMachine *const machine = cad_memory_zeroed(1, sizeof *machine);
    if (machine == NULL) {
        return CAD_NO_MEMORY;
    }
    machine->lanes = lanes;
    machine->functions = cad_memory_resize(NULL, n, sizeof *machine->functions);
    machine->code = cad_memory_resize(NULL, program->n_code, sizeof *machine->code);
    if (machine->functions == NULL || machine->code == NULL) {
        cad_machine_free(machine);
        return CAD_NO_MEMORY;
    }
    memcpy(machine->code, program->code, program->n_code * sizeof *machine->code);
    for (size_t k = 0; k < n; k++) {
        machine->functions[k] = pieces[k].run;
        machine->code[pieces[k].first] =
            (CadInstruction){.kind = CAD_MACHINE, .fused = (uint32_t)pieces[k].n, .x = (int32_t)k};
    }
    CAD_PUBLISH(program->machine, machine);
    return CAD_OK;
}
