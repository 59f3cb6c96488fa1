/* The one door through which the core takes and returns memory.
 *
 * Tests make it fail at the n-th request, to see that every caller survives; CAD_OK and its like
 * are what the core answers where it can fail. */
#ifndef CAD_MEMORY_H
#define CAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum CadStatus {
    CAD_OK = 0,
    CAD_NO_MEMORY,
    CAD_TAPE_FULL, /* more numbers than a slot can name */
    CAD_BUSY,      /* the tape is in use by a sweep of its own thread */
    CAD_RAISED,    /* the holder of the numbers failed, and knows why */
} CadStatus;

/* As realloc, for `count` items of `size` bytes; NULL also when the product overflows. */
void *cad_memory_resize(void *block, size_t count, size_t size);

/* As calloc. */
void *cad_memory_zeroed(size_t count, size_t size);

/* As cad_memory_zeroed, with a copy of so many items. */
void *cad_memory_copied(const void *items, size_t count, size_t size);

void cad_memory_free(void *block);

/* Enlarge a buffer, at least twofold, to hold `needed` items. */
CadStatus cad_memory_enlarge(void **buffer, size_t *capacity, size_t needed, size_t size);

/* Enlarge a buffer if it cannot hold `needed` items. */
static inline CadStatus cad_memory_grow(void **buffer, size_t *capacity, size_t needed,
                                        size_t size) {
    return needed <= *capacity ? CAD_OK : cad_memory_enlarge(buffer, capacity, needed, size);
}

/* Blocks of zeros that are given back together. If one cannot be had, that is the status: so it is
 * asked for once, when all were taken. */
typedef struct CadMemory {
    void *blocks[64];
    int n;
    CadStatus status;
} CadMemory;

void *cad_memory_take(CadMemory *memory, size_t count, size_t size);
void cad_memory_give_back(CadMemory *memory);

/* Let the next `successes` requests pass and all later ones fail; a negative number ends it. */
void cad_memory_fail_after(long successes);

#endif
