/* Entries over arrays: how they are appended, and what each does in every traversal. */
#ifndef CAD_ARRAYS_H
#define CAD_ARRAYS_H

#include "kernels/series.h"
#include "tape/entries.h"

/* Where an operand stands: its first slot, and a stride for each axis of the entry's shape. */
typedef struct CadPlace {
    int64_t slot; /* of the result: CAD_OWN, if it is what the entry allocates */
    const int64_t *strides;
} CadPlace;

enum { CAD_OWN = -1 };

/* What cad_array_push is to append. The shape has no axis of length 0. */
typedef struct CadRequest {
    CadOp op;
    uint32_t passive; /* bit k: views[k] carries no derivative; CAD_IN_SINGLE */
    int ndim;
    const int64_t *shape;
    int n_views;
    CadPlace views[4];
    size_t slots;  /* to allocate for the entry */
    int64_t index; /* slot of offsets, or -1 */
    int64_t extra[2];
} CadRequest;

/* Append an entry over arrays and compute its values; answers the first slot that it allocated. */
CadStatus cad_array_push(CadTape *tape, const CadRequest *request, CadSlot *out);

/* What entries need beside the tape while their values are computed: the memory of the kernels,
 * and room for so many numbers; how many an entry needs. */
CadStatus cad_array_workspace(CadTape *tape, size_t count);
size_t cad_array_room(CadOp op, uint32_t passive, int ndim, const int64_t *shape);

/* Compute the values of an entry; one that overwrites values swaps them with its kept ones. */
void cad_array_value(CadTape *tape, CadEntry entry);

/* Undo, or do again, what an entry overwrote: the target's values and the kept ones change places.
 */
void cad_array_exchange(CadTape *tape, CadEntry entry, int undo);

/* Some numbers for each slot from `base` on: tangents along several directions. */
typedef struct CadLanes {
    double *data;
    CadSlot base;
    size_t count;
} CadLanes;

/* What a sweep of second order knows of the directions: the tangents of values and of adjoints,
 * and room for products of matrices (cad_lanes_open_room). */
struct CadAlong {
    CadLanes tangents;
    CadLanes adjoints;
    double *room;
};

/* Make adjoints [low, high] ready to be added to, with their tangents: from outside of a sweep. */
void cad_array_prepare(CadTape *tape, const CadAlong *along, int64_t low, int64_t high);

/* The tangents of what an entry computes; where it overwrites values, it does so again. */
void cad_array_tangent(CadTape *tape, CadEntry entry, CadLanes tangents, double *room);

/* Hand the adjoints of an entry's result on to its operands: those of the entry at an index and
 * maybe more below it, down to `begin`; answers the index of the lowest. Of the results of entries
 * from `transient` on no adjoint will be read any more: those may be left as if nothing had
 * reached them. With `along`, tangents of adjoints are handed on as well; else it is NULL. */
size_t cad_array_reverse(CadTape *tape, size_t begin, size_t at, size_t transient,
                         const CadAlong *along);

/* The coefficients of power series, as `order` lanes: see cad_sweep_taylor. */
CadStatus cad_array_taylor(CadTape *tape, CadEntry entry, CadSlot base, size_t order,
                           double *coefficients, CadSeries *series);

#endif
