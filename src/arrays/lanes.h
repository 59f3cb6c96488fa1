/* Buffers of several lanes, numbers that belong to one slot and stand side by side: tangents along
 * several directions. */
#ifndef CAD_ARRAYS_LANES_H
#define CAD_ARRAYS_LANES_H

#include "arrays/arrays.h"
#include "kernels/kernels.h"

#include <string.h>

static inline double *lanes_of(CadLanes lanes, int64_t slot) {
    return lanes.data + (slot - lanes.base) * (int64_t)lanes.count;
}

/* Where those of slot 0 would be. */
static inline double *origin_of(CadLanes lanes) {
    return lanes.data - (ptrdiff_t)lanes.base * (ptrdiff_t)lanes.count;
}

/* Of slots [begin, end). */
static inline void clear_lanes(CadLanes lanes, int64_t begin, int64_t end) {
    memset(lanes_of(lanes, begin), 0, (size_t)(end - begin) * lanes.count * sizeof *lanes.data);
}

/* Borrow memory for so many numbers from the tape, and give it back. What is in it is left as it
 * is. */
CadStatus cad_lanes_take(CadTape *tape, size_t numbers, CadLaneBuffer *buffer);
void cad_lanes_give_back(CadTape *tape, CadLaneBuffer buffer);

/* Clear slots [begin, end), which no entry wrote, but for blocks whose tangents are not read. */
void cad_lanes_clear_constants(const CadTape *tape, CadLanes lanes, size_t begin, size_t end);

/* Clear slots [begin, end) but for blocks whose adjoints are cleared when they are first touched.
 */
void cad_lanes_clear_adjoints(const CadTape *tape, CadLanes lanes, size_t begin, size_t end);

/* Room for the products of matrices of entries [begin, end), to be freed; NULL if they need none.
 */
CadStatus cad_lanes_open_room(const CadTape *tape, size_t begin, size_t end, size_t lanes,
                              double **room);

/* target (rows x columns) += or = a t, all lanes of t at once. Steps of target and t are counted
 * in numbers. */
void cad_lanes_multiply(CadMatrix target, CadMatrix a, CadMatrix t, size_t lanes, int store,
                        size_t rows, size_t inner, size_t columns, double *room);

/* target += or = t b, all lanes of t at once. */
static inline void cad_lanes_multiply_left(CadMatrix target, CadMatrix t, CadMatrix b,
                                           size_t lanes, int store, size_t rows, size_t inner,
                                           size_t columns, double *room) {
    cad_lanes_multiply((CadMatrix){target.data, target.column, target.row},
                       (CadMatrix){b.data, b.column, b.row}, (CadMatrix){t.data, t.column, t.row},
                       lanes, store, columns, inner, rows, room);
}

#endif
