/* How a stretch of the tape depends on the tape before it: its captures, the numbers before it
 * that its entries read. None writes to any. */
#ifndef CAD_TAPE_CAPTURES_H
#define CAD_TAPE_CAPTURES_H

#include "tape/entries.h"

/* Whether one of the entries [begin, end) reads, as a variable, a slot below `below`. Comparisons
 * do not count, here and below: nothing is computed from their outcomes. */
bool cad_reads_below(const CadTape *tape, size_t begin, size_t end, CadSlot below);

/* Whether the number at a slot may depend on what lies below the marks from number `marks` on: it
 * does not if a recording that it came about in has read nothing below its own. */
int cad_depends_below(const CadTape *tape, size_t marks, CadSlot slot);

/* Whether anything since the last mark reads below it: comparisons count, too. */
bool cad_compares_below(const CadTape *tape);

/* Make constants of what entries [begin, end) wrote: they read nothing any more, and nothing that
 * they overwrote comes back. */
void cad_freeze(CadTape *tape, size_t begin, size_t end);

/* Slots [begin, end). */
typedef struct CadRange {
    size_t begin;
    size_t end;
} CadRange;

typedef struct CadRanges {
    CadRange *items;
    size_t count;
    size_t capacity;
} CadRanges;

/* All slots below `below` that entries [begin, end) read as variables: ascending, apart from each
 * other, none across the border of a block. To be freed with cad_memory_free(ranges->items). */
CadStatus cad_find_captures(const CadTape *tape, size_t begin, size_t end, CadSlot below,
                            CadRanges *ranges);

#endif
