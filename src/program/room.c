/* Workspaces: how many numbers they have, and how they are made ready. */
#include "program/program.h"

size_t cad_program_room(const CadProgram *program, size_t lanes) {
    return (program->n_constants + program->n_places) * lanes;
}

void cad_program_prepare(const CadProgram *program, size_t lanes, double *room) {
    if (lanes == 1 && program->n_constants > 0) {
        memcpy(room, program->constants, program->n_constants * sizeof *room);
        return;
    }
    for (size_t k = 0; k < program->n_constants; k++) {
        for (size_t lane = 0; lane < lanes; lane++) {
            *room++ = program->constants[k];
        }
    }
}
