/* See pattern.h. */
#include "graph/pattern.h"

#include <string.h>

void cad_pattern_free(CadPattern *pattern) {
    cad_memory_free(pattern->starts);
    cad_memory_free(pattern->columns);
    *pattern = (CadPattern){0};
}

static CadStatus make_pattern(size_t n_rows, size_t n_columns, size_t count, CadPattern *pattern) {
    *pattern = (CadPattern){.n_rows = n_rows, .n_columns = n_columns};
    pattern->starts = cad_memory_zeroed(n_rows + 1, sizeof *pattern->starts);
    pattern->columns = cad_memory_resize(NULL, count, sizeof *pattern->columns);
    if (pattern->starts == NULL || pattern->columns == NULL) {
        cad_pattern_free(pattern);
        return CAD_NO_MEMORY;
    }
    return CAD_OK;
}

CadStatus cad_pairs_add(CadPairs *pairs, uint32_t of, uint32_t by) {
    CadStatus status =
        cad_memory_grow((void **)&pairs->of, &pairs->of_capacity, pairs->n + 1, sizeof *pairs->of);
    if (status == CAD_OK) {
        status = cad_memory_grow((void **)&pairs->by, &pairs->by_capacity, pairs->n + 1,
                                 sizeof *pairs->by);
    }
    if (status == CAD_OK) {
        pairs->of[pairs->n] = of;
        pairs->by[pairs->n++] = by;
    }
    return status;
}

void cad_pairs_free(CadPairs *pairs) {
    cad_memory_free(pairs->of);
    cad_memory_free(pairs->by);
}

/* Counts at starts[k + 1] become the place where the k-th group begins. */
static void add_prefixes(int64_t *starts, size_t n) {
    for (size_t k = 0; k < n; k++) {
        starts[k + 1] += starts[k];
    }
}

/* Indices sorted by key, equal keys in the order they come in. starts[k] is moved to the end of
 * group k, which is where the next one begins. */
static void sort_by(const uint32_t *keys, size_t n_keys, const size_t *order, size_t count,
                    int64_t *starts, size_t *sorted) {
    memset(starts, 0, (n_keys + 1) * sizeof *starts);
    for (size_t i = 0; i < count; i++) {
        starts[keys[i] + 1]++;
    }
    add_prefixes(starts, n_keys);
    for (size_t i = 0; i < count; i++) {
        const size_t index = order != NULL ? order[i] : i;
        sorted[starts[keys[index]]++] = index;
    }
}

/* Whether pairs come as they are to stand, each but once. */
static int are_in_order(const uint32_t *rows, const uint32_t *columns, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (rows[i] < rows[i - 1] || (rows[i] == rows[i - 1] && columns[i] <= columns[i - 1])) {
            return 0;
        }
    }
    return 1;
}

CadStatus cad_pattern_of_pairs(size_t n_rows, size_t n_columns, const uint32_t *rows,
                               const uint32_t *columns, size_t *count, size_t *order,
                               CadPattern *pattern) {
    const size_t most = n_rows > n_columns ? n_rows : n_columns;
    CadMemory memory = {0};
    int64_t *starts = cad_memory_take(&memory, most + 1, sizeof *starts);
    size_t *by_column = cad_memory_take(&memory, *count, sizeof *by_column);
    size_t *by_row = cad_memory_take(&memory, *count, sizeof *by_row);
    CadStatus status = memory.status;
    *pattern = (CadPattern){0};
    if (status == CAD_OK) {
        status = make_pattern(n_rows, n_columns, *count, pattern);
    }
    if (status == CAD_OK) {
        if (are_in_order(rows, columns, *count)) {
            for (size_t i = 0; i < *count; i++) {
                by_row[i] = i;
            }
        } else {
            sort_by(columns, n_columns, NULL, *count, starts, by_column);
            sort_by(rows, n_rows, by_column, *count, starts, by_row);
        }
        size_t kept = 0;
        for (size_t i = 0; i < *count; i++) {
            const size_t at = by_row[i], before = i > 0 ? by_row[i - 1] : 0;
            if (i > 0 && rows[at] == rows[before] && columns[at] == columns[before]) {
                continue;
            }
            if (order != NULL) {
                order[kept] = at;
            }
            pattern->starts[rows[at] + 1]++;
            pattern->columns[kept++] = (int32_t)columns[at];
        }
        add_prefixes(pattern->starts, n_rows);
        *count = kept;
    }
    cad_memory_give_back(&memory);
    return status;
}

CadStatus cad_pattern_transpose(const CadPattern *pattern, size_t *order, CadPattern *result) {
    const size_t count = cad_pattern_count(pattern);
    const CadStatus status = make_pattern(pattern->n_columns, pattern->n_rows, count, result);
    if (status != CAD_OK) {
        return status;
    }
    for (size_t k = 0; k < count; k++) {
        result->starts[pattern->columns[k] + 1]++;
    }
    add_prefixes(result->starts, result->n_rows);
    for (size_t i = 0; i < pattern->n_rows; i++) {
        for (int64_t k = pattern->starts[i]; k < pattern->starts[i + 1]; k++) {
            const int64_t at = result->starts[pattern->columns[k]]++;
            result->columns[at] = (int32_t)i;
            if (order != NULL) {
                order[at] = (size_t)k;
            }
        }
    }
    /* Each start has moved on to the next one's place. */
    memmove(result->starts + 1, result->starts, result->n_rows * sizeof *result->starts);
    result->starts[0] = 0;
    return CAD_OK;
}

CadStatus cad_pattern_symmetric(const CadPattern *pattern, CadPattern *result) {
    CadPattern other;
    CadStatus status = cad_pattern_transpose(pattern, NULL, &other);
    if (status != CAD_OK) {
        *result = (CadPattern){0};
        return status;
    }
    const size_t most = 2 * cad_pattern_count(pattern);
    status = make_pattern(pattern->n_rows, pattern->n_columns, most, result);
    size_t kept = 0;
    for (size_t i = 0; status == CAD_OK && i < pattern->n_rows; i++) {
        int64_t a = pattern->starts[i], b = other.starts[i];
        const int64_t a_end = pattern->starts[i + 1], b_end = other.starts[i + 1];
        while (a < a_end || b < b_end) {
            const int32_t x = a < a_end ? pattern->columns[a] : INT32_MAX;
            const int32_t y = b < b_end ? other.columns[b] : INT32_MAX;
            const int32_t least = x < y ? x : y;
            a += x == least;
            b += y == least;
            result->columns[kept++] = least;
        }
        result->starts[i + 1] = (int64_t)kept;
    }
    cad_pattern_free(&other);
    return status;
}

int64_t cad_pattern_find(const CadPattern *pattern, size_t row, int32_t column) {
    int64_t low = pattern->starts[row], high = pattern->starts[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (pattern->columns[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pattern->starts[row + 1] && pattern->columns[low] == column ? low : -1;
}

CadStatus cad_pattern_full(size_t n_rows, size_t n_columns, CadPattern *pattern) {
    if (n_columns != 0 && n_rows > SIZE_MAX / 8 / n_columns) {
        *pattern = (CadPattern){0};
        return CAD_NO_MEMORY;
    }
    const CadStatus status = make_pattern(n_rows, n_columns, n_rows * n_columns, pattern);
    for (size_t i = 0; status == CAD_OK && i < n_rows; i++) {
        for (size_t j = 0; j < n_columns; j++) {
            pattern->columns[i * n_columns + j] = (int32_t)j;
        }
        pattern->starts[i + 1] = (int64_t)((i + 1) * n_columns);
    }
    return status;
}
