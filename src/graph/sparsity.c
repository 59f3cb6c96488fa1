/* See sparsity.h. Each number has a set: of the variables that it depends on, or of the outputs
 * that depend on it, whichever are fewer. Sets are lists, which numbers share that have the same
 * one; or, where lists would be long, bits, which are found for a strip of them at a time. */
#include "graph/sparsity.h"

#include "graph/edges.h"

/* In words of 64 bits. */
#ifndef CAD_STRIP_ROOM
#define CAD_STRIP_ROOM ((size_t)1 << 23)
#endif

/* A graph of more edges is taken as one in which all depends on all. */
enum { MOST_EDGES = 1 << 27, MOST_LISTED = 1 << 26 };

typedef struct Sets {
    const CadEdges *edges;
    const CadId *ends, *others; /* sets are of the ends; the others' sets are the results */
    size_t n_ends, n_others;
    int forward;
    uint32_t *ends_found, *others_found;
    size_t n, ends_capacity, others_capacity;
} Sets;

static CadStatus add_pair(Sets *sets, size_t end, size_t other) {
    CadStatus status = cad_memory_grow((void **)&sets->ends_found, &sets->ends_capacity,
                                       sets->n + 1, sizeof *sets->ends_found);
    if (status == CAD_OK) {
        status = cad_memory_grow((void **)&sets->others_found, &sets->others_capacity, sets->n + 1,
                                 sizeof *sets->others_found);
    }
    if (status == CAD_OK) {
        sets->ends_found[sets->n] = (uint32_t)end;
        sets->others_found[sets->n++] = (uint32_t)other;
    }
    return status;
}

/* --- lists --- */

typedef struct List {
    size_t start, length;
} List;

static int is_same(List a, List b) {
    return a.start == b.start && a.length == b.length;
}

typedef struct Lists {
    Sets *sets;
    size_t *starts; /* of each number: where the edges that its list follows from are in `from` */
    uint32_t *from;
    List *lists;     /* of each number, once it is made; start SIZE_MAX: it is not */
    uint32_t *items; /* of all lists */
    size_t n, capacity;
    uint32_t *first_end, *next_end; /* which ends a number is; UINT32_MAX: none, or no further */
    uint32_t *last_list;            /* of each end: the list that it was put into last */
    uint32_t n_lists;
    size_t work, most_work;
    CadStatus status;
} Lists;

static int goes_on(const Lists *l) {
    return l->status == CAD_OK && l->work <= l->most_work && l->n <= MOST_LISTED;
}

static void add_item(Lists *l, uint32_t end) {
    if (l->last_list[end] == l->n_lists) {
        return;
    }
    l->last_list[end] = l->n_lists;
    l->status = cad_memory_grow((void **)&l->items, &l->capacity, l->n + 1, sizeof *l->items);
    if (l->status == CAD_OK) {
        l->items[l->n++] = end;
    }
}

/* What the numbers have that a number follows from, and itself if it is an end. */
static void make_list(Lists *l, size_t number) {
    const uint32_t *from = l->from + l->starts[number];
    const size_t n_from = l->starts[number + 1] - l->starts[number];
    List longest = {0, 0};
    int is_longest = l->first_end[number] == UINT32_MAX; /* the one longest list has them all */
    for (size_t k = 0; k < n_from; k++) {
        const List list = l->lists[from[k]];
        longest = list.length > longest.length ? list : longest;
    }
    for (size_t k = 0; k < n_from && is_longest; k++) {
        is_longest = is_same(l->lists[from[k]], longest) || l->lists[from[k]].length == 0;
    }
    l->work += n_from + 1;
    l->lists[number] = longest;
    if (is_longest) {
        return;
    }
    const size_t start = l->n;
    l->n_lists++;
    for (uint32_t k = l->first_end[number]; k != UINT32_MAX && goes_on(l); k = l->next_end[k]) {
        add_item(l, k);
    }
    for (size_t k = 0; k < n_from && goes_on(l); k++) {
        const List list = l->lists[from[k]];
        if (k > 0 && is_same(list, l->lists[from[k - 1]])) {
            continue;
        }
        for (size_t i = list.start; i < list.start + list.length && goes_on(l); i++) {
            add_item(l, l->items[i]);
        }
        l->work += list.length;
    }
    if (l->n - start == longest.length) {
        l->n = start;
    } else {
        l->lists[number] = (List){start, l->n - start};
    }
}

static List list_of(Lists *l, size_t number) {
    if (l->lists[number].start == SIZE_MAX) {
        make_list(l, number);
    }
    return l->lists[number];
}

/* Edges stand in an order of their numbers: forward all that lead to a number are due at the first
 * of them; backward all that leave it are behind when the last one that leads to it comes. */
static void make_lists(Lists *l) {
    const Sets *sets = l->sets;
    const CadEdges *edges = sets->edges;
    for (size_t k = 0; k < sets->n_ends && goes_on(l) && sets->forward; k++) {
        list_of(l, sets->ends[k]);
    }
    for (size_t k = 0; k < edges->n && goes_on(l); k++) {
        list_of(l, edges->items[sets->forward ? k : edges->n - 1 - k].of);
    }
    for (size_t k = 0; k < sets->n_others && goes_on(l); k++) {
        const List list = list_of(l, sets->others[k]);
        for (size_t i = 0; i < list.length && goes_on(l); i++) {
            l->status = add_pair(l->sets, l->items[list.start + i], k);
        }
    }
}

/* Edges by the number whose list follows, and which ends each number is. */
static void sort_edges(Lists *l) {
    const Sets *sets = l->sets;
    const CadEdges *edges = sets->edges;
    memset(l->lists, 0xff, edges->n_numbers * sizeof *l->lists);
    memset(l->first_end, 0xff, edges->n_numbers * sizeof *l->first_end);
    for (size_t k = sets->n_ends; k-- > 0;) {
        uint32_t *first = &l->first_end[sets->ends[k]];
        l->next_end[k] = *first;
        *first = (uint32_t)k;
    }
    for (size_t k = 0; k < edges->n; k++) {
        const CadEdge *edge = &edges->items[k];
        l->starts[(sets->forward ? edge->of : edge->by) + 2]++;
    }
    for (size_t i = 0; i < edges->n_numbers; i++) {
        l->starts[i + 2] += l->starts[i + 1];
    }
    for (size_t k = 0; k < edges->n; k++) {
        const CadEdge *edge = &edges->items[k];
        const uint32_t to = sets->forward ? edge->of : edge->by;
        l->from[l->starts[to + 1]++] = sets->forward ? edge->by : edge->of;
    }
}

/* All pairs; *done is 0 if sets of bits take less. */
static CadStatus find_by_lists(Sets *sets, size_t words, int *done) {
    const size_t n_numbers = sets->edges->n_numbers;
    Lists lists = {.sets = sets, .most_work = words * (sets->edges->n + n_numbers)};
    Lists *l = &lists;
    l->starts = cad_memory_zeroed(n_numbers + 2, sizeof *l->starts);
    l->from = cad_memory_resize(NULL, sets->edges->n, sizeof *l->from);
    l->lists = cad_memory_resize(NULL, n_numbers, sizeof *l->lists);
    l->first_end = cad_memory_resize(NULL, n_numbers, sizeof *l->first_end);
    l->next_end = cad_memory_resize(NULL, sets->n_ends, sizeof *l->next_end);
    l->last_list = cad_memory_zeroed(sets->n_ends, sizeof *l->last_list);
    if (l->starts == NULL || l->from == NULL || l->lists == NULL || l->first_end == NULL ||
        l->next_end == NULL || l->last_list == NULL) {
        l->status = CAD_NO_MEMORY;
    } else {
        sort_edges(l);
        make_lists(l);
    }
    *done = goes_on(l);
    sets->n = *done ? sets->n : 0;
    cad_memory_free(l->starts);
    cad_memory_free(l->from);
    cad_memory_free(l->lists);
    cad_memory_free(l->items);
    cad_memory_free(l->first_end);
    cad_memory_free(l->next_end);
    cad_memory_free(l->last_list);
    return l->status;
}

/* --- bits --- */

static void find_strip(const Sets *sets, uint64_t *bits, size_t words, size_t begin, size_t end) {
    const CadEdges *edges = sets->edges;
    memset(bits, 0, edges->n_numbers * words * sizeof *bits);
    for (size_t k = begin; k < end; k++) {
        const size_t number = sets->ends[k];
        bits[number * words + (k - begin) / 64] |= (uint64_t)1 << (k - begin) % 64;
    }
    for (size_t k = 0; k < edges->n; k++) {
        const CadEdge edge = edges->items[sets->forward ? k : edges->n - 1 - k];
        uint64_t *to = bits + (sets->forward ? edge.of : edge.by) * words;
        const uint64_t *from = bits + (sets->forward ? edge.by : edge.of) * words;
        for (size_t w = 0; w < words; w++) {
            to[w] |= from[w];
        }
    }
}

static CadStatus read_strip(Sets *sets, const uint64_t *bits, size_t words, size_t begin,
                            size_t end) {
    CadStatus status = CAD_OK;
    for (size_t i = 0; i < sets->n_others; i++) {
        const size_t number = sets->others[i];
        for (size_t k = begin; k < end; k++) {
            const uint64_t word = bits[number * words + (k - begin) / 64];
            if (word == 0) {
                k += 63 - (k - begin) % 64;
            } else if (word >> (k - begin) % 64 & 1) {
                status = add_pair(sets, k, i);
            }
            if (status != CAD_OK) {
                return status;
            }
        }
    }
    return status;
}

static CadStatus find_by_bits(Sets *sets, size_t needed) {
    const size_t numbers = sets->edges->n_numbers + 1;
    size_t words = CAD_STRIP_ROOM / numbers;
    words = words < 1 ? 1 : words > needed ? needed : words;
    uint64_t *bits = cad_memory_resize(NULL, numbers * words, sizeof *bits);
    CadStatus status = bits == NULL ? CAD_NO_MEMORY : CAD_OK;
    for (size_t begin = 0; begin < sets->n_ends && status == CAD_OK; begin += 64 * words) {
        const size_t left = sets->n_ends - begin;
        const size_t end = begin + (left < 64 * words ? left : 64 * words);
        find_strip(sets, bits, words, begin, end);
        status = read_strip(sets, bits, words, begin, end);
    }
    cad_memory_free(bits);
    return status;
}

static CadStatus find_pairs(Sets *sets) {
    const size_t words = (sets->n_ends + 63) / 64;
    int done = 0;
    CadStatus status = CAD_OK;
    if (words > 1) {
        status = find_by_lists(sets, words, &done);
    }
    return status == CAD_OK && !done ? find_by_bits(sets, words) : status;
}

CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                       size_t n_outputs, CadPattern *pattern) {
    CadEdges edges;
    *pattern = (CadPattern){0};
    CadStatus status =
        cad_graph_edges(graph, wrt, n_wrt, outputs, n_outputs, MOST_EDGES, 1, &edges);
    if (status != CAD_OK) {
        return status;
    }
    if (edges.too_many) {
        return cad_pattern_full(n_outputs, n_wrt, pattern);
    }
    const int forward = n_wrt <= n_outputs;
    Sets sets = {.edges = &edges,
                 .ends = forward ? wrt : outputs,
                 .others = forward ? outputs : wrt,
                 .n_ends = forward ? n_wrt : n_outputs,
                 .n_others = forward ? n_outputs : n_wrt,
                 .forward = forward};
    status = find_pairs(&sets);
    if (status == CAD_OK) {
        status = cad_pattern_of_pairs(
            n_outputs, n_wrt, forward ? sets.others_found : sets.ends_found,
            forward ? sets.ends_found : sets.others_found, &sets.n, NULL, pattern);
    }
    cad_memory_free(sets.ends_found);
    cad_memory_free(sets.others_found);
    cad_edges_free(&edges);
    return status;
}
