/* What each kind of entry over arrays computes: its value, its tangents, the adjoints of its
 * operands, and a power series. See kinds.c for the table. */
#ifndef CAD_ARRAYS_KINDS_H
#define CAD_ARRAYS_KINDS_H

#include "arrays/terms.h"
#include "arrays/walk.h"
#include "kernels/series.h"

typedef void CadValueKernel(CadTape *tape, CadEntry entry, CadPlan *plan);

/* The tangents of the result; `room` is that of cad_lanes_open_room. */
typedef void CadTangentKernel(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                              double *room);

/* In sweeps of second order (`along` is not NULL) the tangents of adjoints as well. */
typedef void CadReverseKernel(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan);

typedef CadStatus CadTaylorKernel(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                                  CadSeries *series);

typedef struct CadKernels {
    CadValueKernel *value;
    CadTangentKernel *tangent;
    CadReverseKernel *reverse;
    CadTaylorKernel *taylor; /* NULL: numbers are moved, so coefficients go like tangents */
} CadKernels;

const CadKernels *cad_kernels_of(CadOp op);

CadValueKernel cad_row_value, cad_term_value, cad_move_value;
CadTangentKernel cad_row_tangent, cad_term_tangent, cad_move_tangent;
CadReverseKernel cad_row_reverse, cad_term_reverse, cad_move_reverse;
CadTaylorKernel cad_row_taylor, cad_term_taylor;

/* Make the adjoints of all operands of a row ready. They take turns, so what one of them
 * overwrites another must not have added to before. */
void cad_array_touch_operands(CadTape *tape, const CadAlong *along, CadPlan *plan, int store[4]);

#endif
