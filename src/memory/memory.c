/* See memory.h. */
#include "memory/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 10 };

/* The only state of the core, but for tapes and borrowed loops: it belongs to the tests. */
static long remaining = -1;

void cad_memory_fail_after(long successes) {
    remaining = successes;
}

static int refused(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / 2 / size) {
        return 1;
    }
    if (remaining < 0) {
        return 0;
    }
    if (remaining == 0) {
        return 1;
    }
    remaining--;
    return 0;
}

/* A request for nothing is answered with a byte, so that NULL means failure alone. */

void *cad_memory_resize(void *block, size_t count, size_t size) {
    const size_t bytes = count != 0 ? count * size : 1;
    void *resized = refused(count, size) ? NULL : realloc(block, bytes);
#ifndef NDEBUG
    if (block == NULL && resized != NULL) {
        memset(resized, 0xff, bytes); /* doubles are nan: no code may count on what is in it */
    }
#endif
    return resized;
}

void *cad_memory_zeroed(size_t count, size_t size) {
    return refused(count, size) ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *cad_memory_copied(const void *items, size_t count, size_t size) {
    void *const copy = cad_memory_zeroed(count, size);
    if (copy != NULL && count > 0) {
        memcpy(copy, items, count * size);
    }
    return copy;
}

void cad_memory_free(void *block) {
    free(block);
}

CadStatus cad_memory_enlarge(void **buffer, size_t *capacity, size_t needed, size_t size) {
    size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity * 2;
    if (wanted < needed) {
        wanted = needed;
    }
    void *grown = cad_memory_resize(*buffer, wanted, size);
    if (grown == NULL) {
        return CAD_NO_MEMORY;
    }
    *buffer = grown;
    *capacity = wanted;
    return CAD_OK;
}

void *cad_memory_take(CadMemory *memory, size_t count, size_t size) {
    const size_t most = sizeof memory->blocks / sizeof *memory->blocks;
    void *const block = (size_t)memory->n < most ? cad_memory_zeroed(count, size) : NULL;
    if (block == NULL) {
        memory->status = CAD_NO_MEMORY;
    } else {
        memory->blocks[memory->n++] = block;
    }
    return block;
}

void cad_memory_give_back(CadMemory *memory) {
    while (memory->n > 0) {
        cad_memory_free(memory->blocks[--memory->n]);
    }
}
