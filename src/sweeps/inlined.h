/* Inlined recordings: what a recording put on a tape, apart from any tape, so that it can be
 * appended to one behind other inputs. Entries, plans and blocks are those of the recording,
 * values are computed by what computed them then: sweeps over them are sweeps over what the
 * function would record.
 *
 * An inlined recording never changes once it is made: several threads may append it. Slots in it
 * are counted from the first input, and the inputs come first. */
#ifndef CAD_SWEEPS_INLINED_H
#define CAD_SWEEPS_INLINED_H

#include "tape/guards.h"

typedef struct CadInlined CadInlined;

/* The recording as it is appended where some inputs carry derivatives and others do not. */
typedef struct CadInlinedVariant CadInlinedVariant;

/* Copy what was recorded from entry `begin` on, the leaf of `n_inputs` numbers, to the
 * last one. CAD_RAISED: a rule was recorded, or it has captures. */
CadStatus cad_inlined_new(CadTape *tape, size_t begin, size_t n_inputs, CadInlined **inlined);
void cad_inlined_free(CadInlined *inlined);

size_t cad_inlined_bytes(const CadInlined *inlined);

/* `active` tells of each input number whether it carries a derivative. `found` gets the answer to
 * that question for the numbers at `slots`, inputs or not. `inlined` has to outlive the variant.
 */
CadStatus cad_inlined_variant_new(const CadInlined *inlined, const unsigned char *active,
                                  const int64_t *slots, size_t n_slots, unsigned char *found,
                                  CadInlinedVariant **variant);
void cad_inlined_variant_free(CadInlinedVariant *variant);

/* Append all that it holds, reading input i at the slot inputs[i]; those of one array stand
 * side by side. The slot of what stands at s in it is then inputs[s], or s + *shift in the
 * arithmetic of slots. *missed is the first guard that came out otherwise (all was taken back
 * then, but for the inputs' own slots), or -1. The tape is pinned. */
CadStatus cad_inlined_append(const CadInlinedVariant *variant, CadTape *tape,
                             const CadSlot *inputs, CadSlot *shift, long *missed);

#endif
