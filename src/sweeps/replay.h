/* Replays: a copy of a recording on a tape of its own, with values computed again for other
 * inputs. Its derivatives are those of the entries that the function itself would record: sweeps
 * over it give the same bits.
 *
 * On that tape the inputs come first; those that derivatives are by come first among them. */
#ifndef CAD_SWEEPS_REPLAY_H
#define CAD_SWEEPS_REPLAY_H

#include "tape/entries.h"

typedef struct CadReplay {
    CadTape *tape;     /* as of a run of the function: entries without derivatives are not on it */
    CadFilled filled;  /* what stands there before anything else is appended */
    CadEntry *entries; /* all of them, which compute the values */
    size_t n_entries;
    size_t n_inputs;
    uint64_t *outcomes; /* of all guards: twice the slot, and 1 if it came out as true */
    size_t n_outcomes;
} CadReplay;

/* Copy what was recorded from entry `begin` on, the leaf of `n_inputs` numbers, of which the first
 * `n_active` carry derivatives. CAD_RAISED: a rule was recorded, or it has captures. After a
 * failure there is no replay, or one that can only be freed. */
CadStatus cad_replay_new(CadTape *tape, size_t begin, size_t n_inputs, size_t n_active,
                         CadReplay **replay);

/* Frees all but the tape (or NULL), of which there may be handles. */
void cad_replay_free(CadReplay *replay);

size_t cad_replay_bytes(const CadReplay *replay);

/* Compute all values for other inputs, and forget what was appended since the last time. Answers
 * whether all guards come out as they did. No handle of a slot is left. */
bool cad_replay_run(CadReplay *replay, const double *inputs);

#endif
