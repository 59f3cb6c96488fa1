/* See sparsity.h. Each number has a set of bits: of the variables that it depends on, or of the
 * outputs that depend on it, whichever are fewer. The sets of a strip of them are found at a
 * time. */
#include "graph/sparsity.h"

#include "graph/edges.h"

/* In words of 64 bits; a graph of more edges is taken as one in which all depends on all. */
#ifndef CAD_STRIP_ROOM
#define CAD_STRIP_ROOM ((size_t)1 << 23)
#endif
enum { MOST_EDGES = 1 << 27 };

typedef struct Bits {
    const CadEdges *edges;
    const CadId *ends, *others; /* bits are of the ends; the others' sets are the results */
    size_t n_ends, n_others;
    int forward;
    uint64_t *sets;
    size_t words; /* of a set */
    uint32_t *ends_found, *others_found;
    size_t n, ends_capacity, others_capacity;
} Bits;

static void find_strip(Bits *bits, size_t begin, size_t end) {
    const CadEdges *edges = bits->edges;
    const size_t words = bits->words;
    memset(bits->sets, 0, edges->n_numbers * words * sizeof *bits->sets);
    for (size_t k = begin; k < end; k++) {
        const size_t number = cad_edge_index(edges, bits->ends[k]);
        bits->sets[number * words + (k - begin) / 64] |= (uint64_t)1 << (k - begin) % 64;
    }
    for (size_t k = 0; k < edges->n; k++) {
        const CadEdge edge = edges->items[bits->forward ? k : edges->n - 1 - k];
        uint64_t *to = bits->sets + (bits->forward ? edge.of : edge.by) * words;
        const uint64_t *from = bits->sets + (bits->forward ? edge.by : edge.of) * words;
        for (size_t w = 0; w < words; w++) {
            to[w] |= from[w];
        }
    }
}

static CadStatus read_strip(Bits *bits, size_t begin, size_t end) {
    for (size_t i = 0; i < bits->n_others; i++) {
        const size_t number = cad_edge_index(bits->edges, bits->others[i]);
        for (size_t k = begin; k < end; k++) {
            const uint64_t word = bits->sets[number * bits->words + (k - begin) / 64];
            if (word == 0) {
                k += 63 - (k - begin) % 64;
                continue;
            }
            if (!(word >> (k - begin) % 64 & 1)) {
                continue;
            }
            CadStatus status = cad_memory_grow((void **)&bits->ends_found, &bits->ends_capacity,
                                               bits->n + 1, sizeof *bits->ends_found);
            if (status == CAD_OK) {
                status = cad_memory_grow((void **)&bits->others_found, &bits->others_capacity,
                                         bits->n + 1, sizeof *bits->others_found);
            }
            if (status != CAD_OK) {
                return status;
            }
            bits->ends_found[bits->n] = (uint32_t)k;
            bits->others_found[bits->n++] = (uint32_t)i;
        }
    }
    return CAD_OK;
}

static CadStatus find_pairs(Bits *bits) {
    const size_t needed = (bits->n_ends + 63) / 64;
    const size_t numbers = bits->edges->n_numbers + 1;
    bits->words = CAD_STRIP_ROOM / numbers;
    bits->words = bits->words < 1 ? 1 : bits->words > needed ? needed : bits->words;
    bits->sets = cad_memory_resize(NULL, numbers * bits->words, sizeof *bits->sets);
    CadStatus status = bits->sets == NULL ? CAD_NO_MEMORY : CAD_OK;
    for (size_t begin = 0; begin < bits->n_ends && status == CAD_OK; begin += 64 * bits->words) {
        const size_t left = bits->n_ends - begin;
        const size_t end = begin + (left < 64 * bits->words ? left : 64 * bits->words);
        find_strip(bits, begin, end);
        status = read_strip(bits, begin, end);
    }
    return status;
}

CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                       size_t n_outputs, CadPattern *pattern) {
    CadEdges edges;
    *pattern = (CadPattern){0};
    CadStatus status = cad_graph_edges(graph, wrt, n_wrt, outputs, n_outputs, MOST_EDGES, &edges);
    if (status != CAD_OK) {
        return status;
    }
    if (edges.too_many) {
        return cad_pattern_full(n_outputs, n_wrt, pattern);
    }
    const int forward = n_wrt <= n_outputs;
    Bits bits = {.edges = &edges,
                 .ends = forward ? wrt : outputs,
                 .others = forward ? outputs : wrt,
                 .n_ends = forward ? n_wrt : n_outputs,
                 .n_others = forward ? n_outputs : n_wrt,
                 .forward = forward};
    status = find_pairs(&bits);
    if (status == CAD_OK) {
        status = cad_pattern_of_pairs(
            n_outputs, n_wrt, forward ? bits.others_found : bits.ends_found,
            forward ? bits.ends_found : bits.others_found, &bits.n, NULL, pattern);
    }
    cad_memory_free(bits.sets);
    cad_memory_free(bits.ends_found);
    cad_memory_free(bits.others_found);
    cad_edges_free(&edges);
    return status;
}
