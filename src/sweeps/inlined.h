/* Images: what a recording put on a tape, apart from any tape, so that it can be put on one again
 * behind other inputs. Entries, plans and blocks are those of the recording, values are computed
 * by what computed them then: sweeps over a paste are sweeps over what the function would record.
 *
 * An image never changes once it is made: several threads may paste it. Slots in it are counted
 * from the first input, and the inputs come first. */
#ifndef CAD_SWEEPS_INLINED_H
#define CAD_SWEEPS_INLINED_H

#include "tape/guards.h"

typedef struct CadImage CadImage;

/* An image as it is pasted where some inputs carry derivatives and others do not. */
typedef struct CadForm CadForm;

/* The image of what was recorded from entry `begin` on, the leaf of `n_inputs` numbers, to the
 * last one. CAD_RAISED: a rule was recorded, or something outside of the recording is read. */
CadStatus cad_image_new(CadTape *tape, size_t begin, size_t n_inputs, CadImage **image);
void cad_image_free(CadImage *image);

/* Whether inputs are assigned to. */
int cad_image_writes_inputs(const CadImage *image);
size_t cad_image_bytes(const CadImage *image);

/* `active` tells of each input number whether it carries a derivative. With `guarded`, what is
 * pasted is to be replayed in its turn: then it tells of which numbers a replay may find others.
 * Of numbers at `slots`, which may be of any kind, `found` tells the same. The image has to
 * outlive the form. */
CadStatus cad_form_new(const CadImage *image, const unsigned char *active, int guarded,
                       const int64_t *slots, size_t n_slots, unsigned char *found, CadForm **form);
void cad_form_free(CadForm *form);

/* Append all that the image holds, reading input i at the slot inputs[i]; those of one array stand
 * side by side. The slot of what stands at s in the image is then inputs[s], or s + *shift in the
 * arithmetic of slots. *missed is the first guard that came out otherwise (all was taken back
 * then, but for the inputs' own slots), or -1. The tape is pinned. */
CadStatus cad_form_paste(const CadForm *form, CadTape *tape, const CadSlot *inputs, CadSlot *shift,
                         long *missed);

#endif
