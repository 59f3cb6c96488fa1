/* See memory.h. */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

/* The only state of the core that is not a tape's: it belongs to the tests. */
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
    return refused(count, size) ? NULL : realloc(block, count != 0 ? count * size : 1);
}

void *cad_memory_zeroed(size_t count, size_t size) {
    return refused(count, size) ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void cad_memory_free(void *block) {
    free(block);
}
