/* Ranks along an axis, and where numbers stand in order: see rows.h. */
#include "kernels/room.h"
#include "kernels/row.h"

#include <math.h>
#include <string.h>

/* nan comes last. */
static inline int comes_before(double x, double y) {
    return x < y || (y != y && x == x);
}

typedef struct Place {
    double number, index;
} Place;

/* Equal numbers stay as they stand. */
static void merge_sort(Place *places, Place *room, ptrdiff_t n) {
    enum { FEW = 16 };
    for (ptrdiff_t first = 0; first < n; first += FEW) {
        const ptrdiff_t end = first + FEW < n ? first + FEW : n;
        for (ptrdiff_t k = first + 1; k < end; k++) {
            const Place moved = places[k];
            ptrdiff_t to = k;
            for (; to > first && comes_before(moved.number, places[to - 1].number); to--) {
                places[to] = places[to - 1];
            }
            places[to] = moved;
        }
    }
    for (ptrdiff_t width = FEW; width < n; width *= 2) {
        for (ptrdiff_t first = 0; first < n - width; first += 2 * width) {
            const ptrdiff_t middle = first + width;
            const ptrdiff_t end = middle + width < n ? middle + width : n;
            if (!comes_before(places[middle].number, places[middle - 1].number)) {
                continue;
            }
            memcpy(room, places + first, (size_t)width * sizeof *places);
            ptrdiff_t left = 0, right = middle;
            for (ptrdiff_t to = first; left < width; to++) {
                const int takes_right =
                    right < end && comes_before(places[right].number, room[left].number);
                places[to] = takes_right ? places[right++] : room[left++];
            }
        }
    }
}

/* Bits in the order of numbers; 0.0 and -0.0 are one, nan is the largest. */
static uint64_t key_of(double number) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    number += 0.0;
    memcpy(&bits, &number, sizeof bits);
    return isnan(number) ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

/* Many numbers by the upper half of their bits, from its last digit on; few are then in the wrong
 * order. */
static void sort_places(Place *places, Place *room, ptrdiff_t n) {
    enum { MANY = 4096, DIGITS = 3, DIGIT = 11, SIZE = 1 << DIGIT };
    for (int digit = DIGITS; digit > 0 && n >= MANY; digit--) {
        const int shift = 64 - DIGIT * digit;
        ptrdiff_t ends[SIZE] = {0}, end = 0;
        for (ptrdiff_t k = 0; k < n; k++) {
            ends[key_of(places[k].number) >> shift & (SIZE - 1)]++;
        }
        for (ptrdiff_t k = 0; k < SIZE; k++) {
            const ptrdiff_t count = ends[k];
            ends[k] = end;
            end += count;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            room[ends[key_of(places[k].number) >> shift & (SIZE - 1)]++] = places[k];
        }
        memcpy(places, room, (size_t)n * sizeof *places);
    }
    merge_sort(places, room, n);
}

/* The number of a rank, by partitions of [first, end) alone, outside of which all is in place. */
static double selected(double *x, ptrdiff_t first, ptrdiff_t end, ptrdiff_t rank) {
    uint64_t random = 1;
    while (end - first > 1) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const double a = x[first], c = x[end - 1];
        const double b = x[first + (ptrdiff_t)((random >> 33) % (uint64_t)(end - first))];
        const double pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        ptrdiff_t i = first, j = end - 1;
        while (i <= j) {
            while (x[i] < pivot) {
                i++;
            }
            while (x[j] > pivot) {
                j--;
            }
            if (i <= j) {
                const double moved = x[i];
                x[i++] = x[j];
                x[j--] = moved;
            }
        }
        if (rank <= j) {
            end = j + 1;
        } else if (rank >= i) {
            first = i;
        } else {
            break;
        }
    }
    return x[rank];
}

/* Where the number of a rank stands, among equal ones in their order. */
static ptrdiff_t place_of(Row x, ptrdiff_t n, double number, ptrdiff_t rank) {
    ptrdiff_t before = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        before += comes_before(*item(x, k), number);
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        const double each = *item(x, k);
        if ((each == number || (each != each && number != number)) && before++ == rank) {
            return k;
        }
    }
    return 0;
}

/* For a few ranks the row is not put in order. */
static void select_ranks(Row x, Row ranks, Row places, ptrdiff_t n, ptrdiff_t m, double *room) {
    ptrdiff_t known = 0, first = 0, end;
    for (ptrdiff_t k = 0; k < n; k++) { /* but nan */
        room[known] = *item(x, k);
        known += room[known] == room[known];
    }
    end = known;
    for (ptrdiff_t k = 0; k < m; k++) {
        const ptrdiff_t rank = (ptrdiff_t)*item(ranks, k);
        const ptrdiff_t last = k > 0 ? (ptrdiff_t)*item(ranks, k - 1) : -1;
        first = k > 0 && rank > last ? last + 1 : 0;
        end = k > 0 && rank < last && last < known ? last : known;
        const double number = rank < known ? selected(room, first, end, rank) : NAN;
        *item(places, k) = (double)place_of(x, n, number, rank);
    }
}

/* Which numbers have these ranks. */
void cad_rows_ranked(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    enum { FEW_RANKS = 4 };
    const ptrdiff_t n = dims[1], m = dims[2];
    CadRoom room;
    const int has_room = cad_room_take(&room, (m > FEW_RANKS ? 4 : 1) * (size_t)(n + 1));
    Place *const order = (Place *)room.numbers;
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        ROWS_OF_THREE(x, ranks, places);
        if (!has_room) {
            *places.data = NAN;
            continue;
        }
        if (m <= FEW_RANKS) {
            select_ranks(x, ranks, places, n, m, room.numbers);
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            order[k] = (Place){*item(x, k), (double)k};
        }
        sort_places(order, order + n, n);
        for (ptrdiff_t k = 0; k < m; k++) {
            *item(places, k) = order[(ptrdiff_t)*item(ranks, k)].index;
        }
    }
    cad_room_give_back(&room);
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* The places in a row of the numbers of another one, which has them in some order; equal numbers
 * keep theirs. The table has the next place of each number. */
static int match(Row x, Row moved, Row places, int32_t *table, int32_t *next, ptrdiff_t n,
                 int bits) {
    const uint64_t most = ((uint64_t)1 << bits) - 1;
    memset(table, 0xff, (size_t)(most + 1) * sizeof *table);
    for (ptrdiff_t i = 2 * n; i-- > 0;) {
        const int is_asked = i < n;
        const ptrdiff_t k = is_asked ? n - 1 - i : i - n;
        const uint64_t number = bits_of(*item(is_asked ? moved : x, k));
        uint64_t at = number * 0x9e3779b97f4a7c15u >> (64 - bits);
        while (table[at] >= 0 && bits_of(*item(x, table[at])) != number) {
            at = (at + 1) & most;
        }
        if (!is_asked) {
            next[k] = table[at];
            table[at] = (int32_t)k;
        } else if (table[at] < 0) {
            return 0;
        } else {
            *item(places, k) = (double)table[at];
            table[at] = next[table[at]] >= 0 ? next[table[at]] : table[at];
        }
    }
    return 1;
}

void cad_rows_matched(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                      void *data) {
    const ptrdiff_t n = dims[1];
    int bits = 1;
    CadRoom room;
    (void)data;
    while (((ptrdiff_t)1 << bits) < 2 * n) {
        bits++;
    }
    const int has_room = cad_room_take(&room, ((size_t)1 << bits) / 2 + (size_t)n / 2 + 1);
    int32_t *const table = (int32_t *)room.numbers;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        ROWS_OF_THREE(x, moved, places);
        if (!has_room || n > INT32_MAX ||
            !match(x, moved, places, table, table + ((size_t)1 << bits), n, bits)) {
            *places.data = NAN;
        }
    }
    cad_room_give_back(&room);
}

/* How many edges come before a number (told 0), or before it or are equal. */
void cad_rows_searched(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        ROWS_OF_THREE(edges, numbers, places);
        for (ptrdiff_t k = 0; k < dims[2]; k++) {
            const double number = *item(numbers, k);
            ptrdiff_t first = 0, end = dims[1];
            while (first < end) {
                const ptrdiff_t middle = first + (end - first) / 2;
                const double edge = *item(edges, middle);
                const int is_before =
                    data != NULL ? !comes_before(number, edge) : comes_before(edge, number);
                *(is_before ? &first : &end) = middle + is_before;
            }
            *item(places, k) = (double)first;
        }
    }
}
