/* See pattern.h. Greedy: columns take, one after the other, the first colour that is free; those
 * with the most neighbours go first. */
#include "graph/pattern.h"

#include <string.h>

#define NO_COLOR UINT32_MAX

void cad_coloring_free(CadColoring *coloring) {
    cad_memory_free(coloring->colors);
    *coloring = (CadColoring){0};
}

/* The columns, those of the largest degree first, else as they come. */
static CadStatus order_by_degree(const size_t *degrees, size_t n, uint32_t *order) {
    size_t most = 0;
    for (size_t j = 0; j < n; j++) {
        most = degrees[j] > most ? degrees[j] : most;
    }
    /* Degrees may be far larger than n; beyond it they count as equal. */
    const size_t top = most < 4 * n ? most : 4 * n;
    size_t *starts = cad_memory_zeroed(top + 2, sizeof *starts);
    if (starts == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t j = 0; j < n; j++) {
        starts[top - (degrees[j] < top ? degrees[j] : top) + 1]++;
    }
    for (size_t k = 0; k <= top; k++) {
        starts[k + 1] += starts[k];
    }
    for (size_t j = 0; j < n; j++) {
        order[starts[top - (degrees[j] < top ? degrees[j] : top)]++] = (uint32_t)j;
    }
    cad_memory_free(starts);
    return CAD_OK;
}

/* Of each colour the last column that has seen it, counted from 1. Others than itself have as many
 * colours as there are columns but one, so that one is free. */
static void mark_seen(uint32_t *seen_by, uint32_t color, uint32_t j) {
    seen_by[color] = j + 1;
}

/* The first colour that column j does not see. */
static uint32_t free_color(const uint32_t *seen_by, uint32_t j) {
    uint32_t color = 0;
    while (seen_by[color] == j + 1) {
        color++;
    }
    return color;
}

static void give_color(CadColoring *coloring, uint32_t j, uint32_t color) {
    coloring->colors[j] = color;
    if (color >= coloring->n_colors) {
        coloring->n_colors = (size_t)color + 1;
    }
}

/* --- columns --- */

static void color_columns(const CadPattern *pattern, const CadPattern *columns,
                          const uint32_t *order, uint32_t *seen_by, CadColoring *coloring) {
    for (size_t k = 0; k < pattern->n_columns; k++) {
        const uint32_t j = order[k];
        for (int64_t e = columns->starts[j]; e < columns->starts[j + 1]; e++) {
            const size_t row = (size_t)columns->columns[e];
            for (int64_t i = pattern->starts[row]; i < pattern->starts[row + 1]; i++) {
                const uint32_t color = coloring->colors[pattern->columns[i]];
                if (color != NO_COLOR) {
                    mark_seen(seen_by, color, j);
                }
            }
        }
        give_color(coloring, j, free_color(seen_by, j));
    }
}

/* --- stars --- */

/* Of each column the colours of its neighbours are kept, each once: where its entries stand in the
 * pattern there is room for them. A path i - j - k may have one colour at both ends only if that
 * is larger than the one in its middle; so of two such paths, the one's middle being the other's
 * end, the colours differ. Hence a new i may not repeat, beyond a neighbour j, what is smaller
 * than the colour of j, or anything if j has none yet. */
static void color_star(const CadPattern *pattern, const uint32_t *order, uint32_t *seen_by,
                       uint32_t *kept, size_t *n_kept, CadColoring *coloring) {
    for (size_t k = 0; k < pattern->n_columns; k++) {
        const uint32_t i = order[k];
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            const uint32_t j = (uint32_t)pattern->columns[e];
            const uint32_t color_of_j = coloring->colors[j];
            if (j == i) {
                continue;
            }
            if (color_of_j != NO_COLOR) {
                mark_seen(seen_by, color_of_j, i);
            }
            for (size_t c = 0; c < n_kept[j]; c++) {
                const uint32_t color = kept[pattern->starts[j] + (int64_t)c];
                if (color_of_j == NO_COLOR || color < color_of_j) {
                    mark_seen(seen_by, color, i);
                }
            }
        }
        const uint32_t color = free_color(seen_by, i);
        give_color(coloring, i, color);
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            const uint32_t j = (uint32_t)pattern->columns[e];
            uint32_t *kept_of_j = kept + pattern->starts[j];
            size_t c = n_kept[j];
            while (c > 0 && kept_of_j[c - 1] != color) {
                c--;
            }
            if (c == 0 && j != i) {
                kept_of_j[n_kept[j]++] = color;
            }
        }
    }
}

/* --- both --- */

/* Looking at more pairs of entries than this is not worth it: each column has a colour. */
#define MOST_PAIRS ((uint64_t)1 << 32)

/* Leave the degrees of columns, of which those of stars are the lengths of rows; answers whether
 * fewer colours than columns are worth looking for. */
static int find_degrees(const CadPattern *pattern, int of_star, size_t *degrees) {
    const uint64_t n = pattern->n_columns, count = cad_pattern_count(pattern);
    uint64_t pairs = 0;
    for (size_t i = 0; i < pattern->n_rows; i++) {
        const size_t row_length = (size_t)(pattern->starts[i + 1] - pattern->starts[i]);
        pairs += (uint64_t)row_length * row_length;
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1] && !of_star; e++) {
            degrees[pattern->columns[e]] += row_length - 1;
        }
        if (of_star) {
            degrees[i] = row_length;
        }
    }
    return of_star ? count <= n || count * 4 <= n * n || n <= 256 : pairs <= MOST_PAIRS;
}

static CadStatus color(const CadPattern *pattern, int of_star, CadColoring *coloring) {
    const size_t n = pattern->n_columns, count = cad_pattern_count(pattern);
    CadMemory memory = {0};
    CadPattern columns = {0};
    uint32_t *order = cad_memory_take(&memory, n, sizeof *order);
    uint32_t *seen_by = cad_memory_take(&memory, n, sizeof *seen_by);
    size_t *degrees = cad_memory_take(&memory, n, sizeof *degrees);
    size_t *n_kept = cad_memory_take(&memory, n, sizeof *n_kept);
    uint32_t *kept = cad_memory_take(&memory, of_star ? count : 0, sizeof *kept);
    *coloring = (CadColoring){.colors = cad_memory_resize(NULL, n, sizeof *coloring->colors)};
    CadStatus status = coloring->colors == NULL ? CAD_NO_MEMORY : memory.status;
    if (status == CAD_OK && !find_degrees(pattern, of_star, degrees)) {
        for (size_t j = 0; j < n; j++) {
            coloring->colors[j] = (uint32_t)j;
        }
        coloring->n_colors = n;
    } else if (status == CAD_OK) {
        memset(coloring->colors, 0xff, n * sizeof *coloring->colors);
        status = order_by_degree(degrees, n, order);
        if (status == CAD_OK && !of_star) {
            status = cad_pattern_transpose(pattern, NULL, &columns);
        }
        if (status == CAD_OK && of_star) {
            color_star(pattern, order, seen_by, kept, n_kept, coloring);
        } else if (status == CAD_OK) {
            color_columns(pattern, &columns, order, seen_by, coloring);
        }
        cad_pattern_free(&columns);
    }
    cad_memory_give_back(&memory);
    if (status != CAD_OK) {
        cad_coloring_free(coloring);
    }
    return status;
}

CadStatus cad_color_columns(const CadPattern *pattern, CadColoring *coloring) {
    return color(pattern, 0, coloring);
}

CadStatus cad_color_star(const CadPattern *pattern, CadColoring *coloring) {
    return color(pattern, 1, coloring);
}

/* An entry (i, j) can be read in row i if no other one there has the colour of j. */
CadStatus cad_read_star(const CadPattern *pattern, const CadColoring *coloring, uint32_t *rows,
                        uint32_t *colors) {
    const size_t n = pattern->n_rows;
    uint32_t *repeats = cad_memory_zeroed(coloring->n_colors, sizeof *repeats);
    if (repeats == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            repeats[coloring->colors[pattern->columns[e]]]++;
        }
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            const uint32_t j = (uint32_t)pattern->columns[e];
            const int here = repeats[coloring->colors[j]] == 1;
            rows[e] = here ? (uint32_t)i : j;
            colors[e] = coloring->colors[here ? j : i];
        }
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            repeats[coloring->colors[pattern->columns[e]]] = 0;
        }
    }
    cad_memory_free(repeats);
    return CAD_OK;
}
