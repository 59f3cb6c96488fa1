/* Finding entries on the tape: the one of a slot, the slots allocated with it, the targets of an
 * entry. Nothing is changed here. */
#ifndef CAD_TAPE_FIND_H
#define CAD_TAPE_FIND_H

#include "tape/entries.h"

/* Index of the entry that wrote a slot, or n_entries if the slot is a constant. */
size_t cad_tape_find(const CadTape *tape, CadSlot slot);

/* How many entries there are whose slots begin at or before a slot. */
size_t cad_tape_entries_through(const CadTape *tape, CadSlot slot);

/* Whether an entry writes to slots that are not its own; the lowest of them. */
bool cad_entry_target(const CadTape *tape, CadEntry entry, size_t *slot);

/* The slots that were allocated together with a slot: an array, or a single number. */
void cad_tape_allocation(const CadTape *tape, size_t slot, size_t *begin, size_t *end);

/* Whether there are rules among entries that call Python. */
bool cad_tape_has_rules(const CadTape *tape, size_t begin, size_t end);

#endif
