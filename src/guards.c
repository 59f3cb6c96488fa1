/* See guards.h. */
#include "guards.h"

CadStatus cad_guards_new(CadTape *tape) {
    tape->guards = cad_memory_zeroed(1, sizeof *tape->guards);
    if (tape->guards == NULL) {
        return CAD_NO_MEMORY;
    }
    tape->guards->marks = tape->n_marks;
    return CAD_OK;
}

void cad_guards_free(CadTape *tape) {
    if (tape->guards != NULL) {
        cad_memory_free(tape->guards->items);
        cad_memory_free(tape->guards);
        tape->guards = NULL;
    }
}

CadStatus cad_guard_note(CadTape *tape, CadSlot slot, size_t count, int equality) {
    CadGuards *const guards = tape->guards;
    if (count == 0) {
        return CAD_OK;
    }
    const CadStatus status = cad_memory_grow((void **)&guards->items, &guards->capacity,
                                             guards->count + 1, sizeof *guards->items);
    if (status == CAD_OK) {
        guards->items[guards->count++] = (CadGuard){slot, count, equality};
    }
    return status;
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
    CadGuards *const guards = tape->guards;
    while (guards->count > 0 && guards->items[guards->count - 1].slot >= end) {
        guards->count--;
    }
}
