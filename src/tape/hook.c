/* Hooks on what is recorded: where each entry comes from, and what it computed. All of it is
 * behind cad_tape_grow, which without a hook is called for one entry of thousands. */
#include "tape/tape.h"

void cad_tape_set_hook(CadTape *tape, const CadHook *hook) {
    tape->hook = hook;
    if (hook == NULL) {
        cad_memory_free(tape->origins);
        tape->origins = NULL;
        tape->n_origins = 0;
    }
    cad_tape_set_busy(tape, tape->busy); /* sets the room as well */
}

CadOrigin cad_tape_origin(const CadTape *tape, size_t entry) {
    return entry < tape->n_origins ? tape->origins[entry] : (CadOrigin){0, 0};
}

CadStatus cad_tape_grow_for(CadTape *tape, CadOp op, double x, double y, double z, double value) {
    const CadStatus status = cad_tape_grow(tape, 0);
    const CadHook *const hook = tape->hook;
    if (status != CAD_OK || hook == NULL || hook->number == NULL) {
        return status;
    }
    return hook->number(hook->holder, op, (const double[]){x, y, z}, value);
}
