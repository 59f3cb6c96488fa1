/* See guards.h. */
#include "tape/guards.h"
#include "tape/tape.h"

CadStatus cad_guards_new(CadTape *tape) {
    CadGuards *const guards = cad_memory_zeroed(1, sizeof *guards);
    if (guards == NULL) {
        return CAD_NO_MEMORY;
    }
    guards->marks = tape->n_marks;
    guards->serial = ++tape->n_guards_made;
    guards->outer = tape->guards;
    tape->guards = guards;
    return CAD_OK;
}

void cad_guards_free(CadTape *tape) {
    CadGuards *const guards = tape->guards;
    if (guards != NULL) {
        tape->guards = guards->outer;
        cad_memory_free(guards->items);
        cad_memory_free(guards);
    }
}

CadStatus cad_guard_note_late(CadTape *tape, uint64_t serial, CadSlot slot, size_t count,
                              int equality) {
    CadGuards *guards = tape->guards;
    while (guards != NULL && guards->serial != serial) {
        guards = guards->outer;
    }
    if (guards == NULL || count == 0) {
        return CAD_OK;
    }
    const CadStatus status = cad_memory_grow((void **)&guards->items, &guards->capacity,
                                             guards->count + 1, sizeof *guards->items);
    if (status == CAD_OK) {
        guards->items[guards->count++] = (CadGuard){slot, count, equality};
    }
    return status;
}

CadStatus cad_guard_note(CadTape *tape, CadSlot slot, size_t count, int equality) {
    return cad_guard_note_late(tape, tape->guards->serial, slot, count, equality);
}

void cad_guard_singles(CadTape *tape) {
    for (CadGuards *guards = tape->guards; guards != NULL; guards = guards->outer) {
        guards->has_singles = 1;
    }
}

void cad_guard_obstacle(CadTape *tape, const char *text) {
    char *const obstacle = tape->guards->obstacle;
    if (obstacle[0] != '\0') {
        return;
    }
    size_t length = strlen(text);
    if (length >= CAD_OBSTACLE_ROOM) {
        length = CAD_OBSTACLE_ROOM - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--; /* in the midst of a character */
        }
    }
    memcpy(obstacle, text, length);
    obstacle[length] = '\0';
}

void cad_guards_forget(CadTape *tape, size_t end) {
    for (CadGuards *guards = tape->guards; guards != NULL; guards = guards->outer) {
        size_t kept = 0;
        for (size_t k = 0; k < guards->count; k++) {
            if (guards->items[k].slot < end) {
                guards->items[kept++] = guards->items[k];
            }
        }
        guards->count = kept;
    }
}
