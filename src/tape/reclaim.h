/* Reclaiming: mark the slots that are held, trace what they need, ask where they go, compact. */
#ifndef CAD_TAPE_RECLAIM_H
#define CAD_TAPE_RECLAIM_H

#include "tape/entries.h"

typedef struct CadReclaim {
    uint64_t *live;   /* a bit for each slot */
    uint32_t *before; /* live slots before each word of bits */
    size_t words;
} CadReclaim;

CadStatus cad_reclaim_begin(const CadTape *tape, CadReclaim *reclaim);
void cad_reclaim_hold_range(CadReclaim *reclaim, size_t begin, size_t end);
/* Answers the number of slots that stay: if that is nearly all, better end it at once. */
size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim);
int cad_reclaim_is_live(const CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_end(CadReclaim *reclaim);
CadSlot cad_reclaim_target(const CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_compact(CadTape *tape, CadReclaim *reclaim); /* and ends it */

#endif
