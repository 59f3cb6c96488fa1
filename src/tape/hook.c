/* Watching what is recorded: where each entry comes from, and what it computed. All of it is
 * behind cad_tape_grow, which without a watch is called for one entry of thousands. */
#include "tape/tape.h"

void cad_tape_set_watch(CadTape *tape, const CadWatch *watch) {
    tape->watch = watch;
    if (watch == NULL) {
        cad_memory_free(tape->origins);
        tape->origins = NULL;
        tape->n_origins = 0;
    }
    cad_tape_set_busy(tape, tape->busy); /* sets the room as well */
}

/* Note where the entry comes from that is about to be appended. What asked for room may append
 * several, all from one place. */
static CadStatus note_origin(CadTape *tape) {
    const size_t first = tape->n_entries;
    const size_t needed = first + CAD_HEADROOM;
    if (needed > tape->n_origins) {
        const size_t wanted = needed + needed / 2;
        CadOrigin *grown = cad_memory_resize(tape->origins, wanted, sizeof *grown);
        if (grown == NULL) {
            return CAD_NO_MEMORY;
        }
        memset(grown + tape->n_origins, 0, (wanted - tape->n_origins) * sizeof *grown);
        tape->origins = grown;
        tape->n_origins = wanted;
    }
    const CadWatch *const watch = tape->watch;
    const uint32_t place = watch->place != NULL ? watch->place(watch->holder) : 0;
    for (size_t i = first; i < needed; i++) {
        tape->origins[i] = (CadOrigin){place, 0};
    }
    return CAD_OK;
}

CadStatus cad_tape_grow_shut(CadTape *tape, size_t slots) {
    if (tape->busy) {
        return CAD_BUSY;
    }
    tape->shut = 0;
    const CadStatus status = cad_tape_grow(tape, slots);
    tape->shut = 1;
    tape->entry_room = 0;
    return status == CAD_OK ? note_origin(tape) : status;
}

CadOrigin cad_tape_origin(const CadTape *tape, size_t entry) {
    return entry < tape->n_origins ? tape->origins[entry] : (CadOrigin){0, 0};
}

CadStatus cad_tape_grow_for(CadTape *tape, CadOp op, double x, double y, double z, double value) {
    const CadStatus status = cad_tape_grow(tape, 0);
    const CadWatch *const watch = tape->watch;
    if (status != CAD_OK || watch == NULL || watch->number == NULL) {
        return status;
    }
    return watch->number(watch->holder, op, (const double[]){x, y, z}, value);
}
