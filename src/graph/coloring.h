/* Colours of columns, such that the entries of a sparse matrix can be read from few products with
 * it: of one colour's columns the sum is computed. */
#ifndef CAD_GRAPH_COLORING_H
#define CAD_GRAPH_COLORING_H

#include "graph/pattern.h"

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
