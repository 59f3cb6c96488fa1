/* Carrying programs out, for tests. */
#ifndef CAD_REPLAY_H
#define CAD_REPLAY_H

#include "program/program.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Run a program once; the guard that does not hold, or what cad_program_run answers else. */
static inline long run(const CadProgram *program, const double *inputs, double *results) {
    double *const room = test_memory(cad_program_room(program, 1) + 1, sizeof *room);
    cad_program_prepare(program, room);
    cad_program_take_inputs(program, cad_program_places(program, room), inputs);
    const long missed = cad_program_run(program, room);
    if (missed == -1) {
        cad_program_read(program, room, results);
    }
    free(room);
    return missed;
}

#endif
