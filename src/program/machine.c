/* Machine code in the place of instructions: see CadMachinePiece. */
#include "memory/memory.h"
#include "program/running.h"

#include <string.h>

void cad_machine_value(int op, long n, double *out, long so, const double *x, long sx,
                       const double *y, long sy, const double *z, long sz) {
    const CadStrip operands[3] = {{(double *)x, sx}, {(double *)y, sy}, {(double *)z, sz}};
    cad_strip_value_near((CadOp)op, (CadStrip){out, so}, operands, (size_t)n);
}

CadStatus cad_program_set_machine(CadProgram *program, size_t lanes, const CadMachinePiece *pieces,
                                  size_t n) {
    if (program->machine != NULL || n == 0) {
        return CAD_OK;
    }
    /* All in one piece, which whoever frees the program frees with it. */
    CadMachine *machine;
    const size_t code = program->n_code * sizeof *machine->code;
    machine = cad_memory_resize(NULL, 1, sizeof *machine + n * sizeof *machine->functions + code);
    if (machine == NULL) {
        return CAD_NO_MEMORY;
    }
    machine->lanes = lanes;
    machine->functions = (CadMachineCode **)(machine + 1);
    machine->code = memcpy(machine->functions + n, program->code, code);
    for (size_t k = 0; k < n; k++) {
        machine->functions[k] = pieces[k].run;
        machine->code[pieces[k].first] =
            (CadInstruction){.kind = CAD_MACHINE, .fused = (uint32_t)pieces[k].n, .x = (int32_t)k};
    }
    program->machine = machine;
    return CAD_OK;
}

void cad_program_use_machine(CadProgram *program, bool is_used) {
    for (size_t k = 0; k < program->n_scans; k++) {
        if (program->scans[k].in_blocks) {
            cad_program_use_machine(program->scans[k].core, is_used);
        }
    }
    CAD_PUBLISH(program->in_use, is_used ? program->machine : NULL);
}
