/* How outputs of a graph depend on variables. Each number has a set: of the variables that
 * it depends on, or of the outputs that depend on it, whichever are fewer. Sets are lists, and
 * numbers with equal sets share one list; or, where lists would be long, bits, which are found for
 * a strip of them at a time. */
#include "graph/edge_rows.h"

#include <string.h>

/* In words of 64 bits. */
#ifndef CAD_STRIP_ROOM
#define CAD_STRIP_ROOM ((size_t)1 << 23)
#endif

/* A graph of more edges is taken as one in which all depends on all. */
enum { MOST_EDGES = 1 << 27 };

static void find_strip(const CadRows *r, uint64_t *bits, size_t words, size_t begin, size_t end) {
    const CadEdges *edges = r->edges;
    memset(bits, 0, edges->n_numbers * words * sizeof *bits);
    for (size_t k = begin; k < end; k++) {
        const size_t number = r->ends[k];
        bits[number * words + (k - begin) / 64] |= (uint64_t)1 << (k - begin) % 64;
    }
    for (size_t k = 0; k < edges->n; k++) {
        const CadEdge edge = edges->items[r->forward ? k : edges->n - 1 - k];
        uint64_t *to = bits + (r->forward ? edge.of : edge.by) * words;
        const uint64_t *from = bits + (r->forward ? edge.by : edge.of) * words;
        for (size_t w = 0; w < words; w++) {
            to[w] |= from[w];
        }
    }
}

static CadStatus read_strip(const CadRows *r, const uint64_t *bits, size_t words, size_t begin,
                            size_t end, CadPairs *pairs) {
    CadStatus status = CAD_OK;
    for (size_t i = 0; i < r->n_others; i++) {
        const size_t number = r->others[i];
        for (size_t k = begin; k < end && status == CAD_OK; k++) {
            const uint64_t word = bits[number * words + (k - begin) / 64];
            if (word == 0) {
                k += 63 - (k - begin) % 64;
            } else if (word >> (k - begin) % 64 & 1) {
                status = cad_pairs_add(pairs, (uint32_t)(r->forward ? i : k),
                                       (uint32_t)(r->forward ? k : i));
            }
        }
    }
    return status;
}

static CadStatus find_by_bits(const CadRows *r, size_t needed, CadPattern *pattern) {
    const size_t numbers = r->edges->n_numbers + 1;
    size_t words = CAD_STRIP_ROOM / numbers;
    words = words < 1 ? 1 : words > needed ? needed : words;
    uint64_t *bits = cad_memory_resize(NULL, numbers * words, sizeof *bits);
    CadPairs pairs = {0};
    CadStatus status = bits == NULL ? CAD_NO_MEMORY : CAD_OK;
    for (size_t begin = 0; begin < r->n_ends && status == CAD_OK; begin += 64 * words) {
        const size_t left = r->n_ends - begin;
        const size_t end = begin + (left < 64 * words ? left : 64 * words);
        find_strip(r, bits, words, begin, end);
        status = read_strip(r, bits, words, begin, end, &pairs);
    }
    cad_memory_free(bits);
    if (status == CAD_OK) {
        status = cad_pattern_of_pairs(r->n_outputs, r->n_wrt, pairs.of, pairs.by, &pairs.n, NULL,
                                      pattern);
    }
    cad_pairs_free(&pairs);
    return status;
}

CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                       size_t n_outputs, CadPattern *pattern) {
    CadEdges edges;
    *pattern = (CadPattern){0};
    CadStatus status =
        cad_graph_edges(graph, wrt, n_wrt, outputs, n_outputs, MOST_EDGES, 1, &edges);
    if (status != CAD_OK || edges.too_many) {
        return status != CAD_OK ? status : cad_pattern_full(n_outputs, n_wrt, pattern);
    }
    CadRows rows = cad_rows_of(graph, &edges, wrt, n_wrt, outputs, n_outputs);
    CadRows *const r = &rows;
    status = cad_rows_begin(r);
    if (status == CAD_OK) {
        cad_rows_set_way(r, n_wrt <= n_outputs);
        const size_t words = (r->n_ends + 63) / 64;
        r->most_products = SIZE_MAX;
        r->most_work = words * (edges.n + edges.n_numbers);
        if (words > 1 && cad_rows_make(r, 0)) {
            status = cad_rows_read(r, pattern, NULL);
        } else if (graph->status == CAD_OK) {
            status = find_by_bits(r, words, pattern);
        }
        status = status == CAD_OK ? graph->status : status;
    }
    cad_rows_free(r);
    cad_edges_free(&edges);
    return status;
}
