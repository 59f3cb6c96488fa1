/* The structure of a sparse matrix, by rows: which entries may differ from 0. */
#ifndef CAD_GRAPH_PATTERN_H
#define CAD_GRAPH_PATTERN_H

#include "memory/memory.h"

#include <stdint.h>

/* The columns of row i are columns[starts[i] .. starts[i + 1]), in ascending order, each once. */
typedef struct CadPattern {
    size_t n_rows, n_columns;
    int64_t *starts;
    int32_t *columns;
} CadPattern;

static inline size_t cad_pattern_count(const CadPattern *pattern) {
    return (size_t)pattern->starts[pattern->n_rows];
}

void cad_pattern_free(CadPattern *pattern);

/* The structure of some entries, given by rows and columns. In `order`, if that is not NULL, as
 * many indices are left as there are entries: which of them comes first, second ...; those that
 * are there already are dropped, and *count is how many there are in the end. */
CadStatus cad_pattern_of_pairs(size_t n_rows, size_t n_columns, const uint32_t *rows,
                               const uint32_t *columns, size_t *count, size_t *order,
                               CadPattern *pattern);

/* Pairs of numbers that come one by one. */
typedef struct CadPairs {
    uint32_t *of, *by;
    size_t n, of_capacity, by_capacity;
} CadPairs;

CadStatus cad_pairs_add(CadPairs *pairs, uint32_t of, uint32_t by);
void cad_pairs_free(CadPairs *pairs);

/* With rows and columns exchanged. `order`, if it is not NULL, gets the index of each entry in the
 * former pattern. */
CadStatus cad_pattern_transpose(const CadPattern *pattern, size_t *order, CadPattern *result);

/* With the entry (j, i) wherever (i, j) is one. */
CadStatus cad_pattern_symmetric(const CadPattern *pattern, CadPattern *result);

/* The index of an entry, or -1. */
int64_t cad_pattern_find(const CadPattern *pattern, size_t row, int32_t column);

/* All entries. */
CadStatus cad_pattern_full(size_t n_rows, size_t n_columns, CadPattern *pattern);

/* --- colours --- */

/* Colours of columns, such that the entries of a sparse matrix can be read from few products with
 * it: of one colour's columns the sum is computed. */
typedef struct CadColoring {
    uint32_t *colors; /* of each column */
    size_t n_colors;
} CadColoring;

void cad_coloring_free(CadColoring *coloring);

/* Distance 1 in the graph of columns that meet in a row: no row has two entries of one colour. So
 * the entry (i, j) is the i-th number of the product of colour colors[j]. */
CadStatus cad_color_columns(const CadPattern *pattern, CadColoring *coloring);

/* A star colouring of a symmetric pattern: adjacent columns differ, and of every path of four at
 * least three colours are there. Then of the entries (i, j) and (j, i) one at least can be read:
 * cad_read_star leaves for each entry the row and the colour of the product to read it from. */
CadStatus cad_color_star(const CadPattern *pattern, CadColoring *coloring);
CadStatus cad_read_star(const CadPattern *pattern, const CadColoring *coloring, uint32_t *rows,
                        uint32_t *colors);

#endif
