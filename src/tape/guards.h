/* Guards: outcomes that a replay without the program has to meet again. A program chooses by
 * comparisons; each of them that looks at numbers of the tape is an entry, and a guard says that
 * a replay must come to the same outcome. What no comparison tells is an obstacle.
 *
 * The tape is pinned meanwhile: slots stay where they are. */
#ifndef CAD_TAPE_GUARDS_H
#define CAD_TAPE_GUARDS_H

#include "tape/entries.h"

/* The outcomes of comparisons, 1.0 or 0.0, that stand on the tape from a slot on. */
typedef struct CadGuard {
    CadSlot slot;
    size_t count;
    int equality; /* whether they ask if two numbers are equal */
} CadGuard;

enum { CAD_OBSTACLE_ROOM = 320 };

typedef struct CadGuards {
    CadGuard *items; /* in the order in which the program came to know the outcomes */
    size_t count;
    size_t capacity;
    char obstacle[CAD_OBSTACLE_ROOM]; /* the first reason why a replay is impossible, or "" */
    size_t marks;                     /* how many there were when guarding began */
    uint64_t serial;                  /* never used twice */
    bool at_once;                     /* what is compared is a guard, whether it is read or not */
    bool reads;                       /* plain values are made where there could be numbers */
    bool indexes;                     /* what stands for integers may be an index */
    bool has_singles;                 /* something was computed in single precision */
    bool is_shown;           /* f saw the class of a number that stands in for its argument */
    struct CadGuards *outer; /* that of a recording around this one, or NULL */
} CadGuards;

/* Begin to note guards on a tape, besides those of an outer recording, which it may have:
 * `tape->guards`. */
CadStatus cad_guards_new(CadTape *tape);

/* What ends it stands in tape.h: cad_guards_free, which goes back to the outer ones, and
 * cad_guards_forget for what is rewound. */

/* Note that the numbers of slots [slot, slot + count) are outcomes to be met again. */
CadStatus cad_guard_note(CadTape *tape, CadSlot slot, size_t count, int equality);

/* Note outcomes for the recording that has this serial, this one or one around it; if it has
 * ended, nothing is left to note. */
CadStatus cad_guard_note_late(CadTape *tape, uint64_t serial, CadSlot slot, size_t count,
                              int equality);

/* Note that a number was computed in single precision, in this recording and in those around it.
 */
void cad_guard_singles(CadTape *tape);

/* Note why the recording cannot be replayed; the first reason stays. What is too long is cut off
 * between characters (UTF-8). */
void cad_guard_obstacle(CadTape *tape, const char *text);

#endif
