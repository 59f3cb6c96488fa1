/* Notes which code of an extension runs: linked into one that gcc compiles with
 * -fsanitize-coverage=trace-pc, which calls the function below at each edge of control flow.
 *
 * An edge is told by the distance of its address from the beginning of the extension. Between two
 * calls of cad_reached_reset each edge is noted once. Threads that note at the same time may lose
 * some: who reads wants most of them. This file itself is compiled without the option. */
#include <stddef.h>
#include <stdint.h>

enum { MOST_BYTES = 1 << 26, MOST_EDGES = 1 << 20 };

#define OFFERED __attribute__((visibility("default")))

extern const char __ehdr_start __attribute__((visibility("hidden")));

static uint8_t seen[MOST_BYTES];
static uint32_t edges[MOST_EDGES];
static size_t n_edges;

OFFERED void __sanitizer_cov_trace_pc(void);
OFFERED const uint32_t *cad_reached_edges(void);
OFFERED size_t cad_reached_count(void);
OFFERED void cad_reached_reset(void);

void __sanitizer_cov_trace_pc(void) {
    const uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;
    if (at < MOST_BYTES && !seen[at] && n_edges < MOST_EDGES) {
        seen[at] = 1;
        edges[n_edges++] = (uint32_t)at;
    }
}

const uint32_t *cad_reached_edges(void) {
    return edges;
}

size_t cad_reached_count(void) {
    return n_edges;
}

void cad_reached_reset(void) {
    for (size_t i = 0; i < n_edges; i++) {
        seen[edges[i]] = 0;
    }
    n_edges = 0;
}
