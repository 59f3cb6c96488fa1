/* A digest of many bytes, read as fast as the memory gives them.
 *
 * Words of 64 bits go to sixteen lanes, side by side. Each step on the state of a lane is
 * invertible: states that differ by one word differ for ever; shifts to both sides spread the
 * difference over all bits. There is no multiplication in it: vectors have none of 64 bits. */
#include "kernels/digest.h"

#include "kernels/kernels.h"

#include <string.h>

enum { LANES = 16, BLOCK = LANES * sizeof(uint64_t) };

static inline uint64_t step(uint64_t state, uint64_t word) {
    const uint64_t changed = state ^ word;
    const uint64_t spread = changed + (changed << 21);
    return spread ^ spread >> 29;
}

CAD_CLONES static void take_blocks(uint64_t *restrict lanes, const char *restrict data,
                                   size_t n_blocks) {
    uint64_t states[LANES], words[LANES];
    memcpy(states, lanes, sizeof states);
    for (size_t i = 0; i < n_blocks; i++) {
        memcpy(words, data + i * BLOCK, sizeof words);
        for (int k = 0; k < LANES; k++) {
            states[k] = step(states[k], words[k]);
        }
    }
    memcpy(lanes, states, sizeof states);
}

uint64_t cad_digest(const void *data, size_t size) {
    const uint64_t golden = 0x9E3779B97F4A7C15u; /* 2^64 over the golden ratio */
    const char *rest = data;
    uint64_t all = size, left = size % BLOCK;
    if (size >= BLOCK) {
        uint64_t lanes[LANES];
        for (uint64_t k = 0; k < LANES; k++) {
            lanes[k] = k + 1;
        }
        take_blocks(lanes, rest, size / BLOCK);
        rest += size - left;
        for (int k = 0; k < LANES; k++) {
            all = (all ^ lanes[k]) * golden;
            all ^= all >> 29;
        }
    }
    for (; left > 0; left -= left < 8 ? left : 8) {
        uint64_t word = 0;
        memcpy(&word, rest, left < 8 ? left : 8);
        rest += left < 8 ? left : 8;
        all = (all ^ word) * golden;
        all ^= all >> 29;
    }
    return all;
}
