/* Carrying out an operation of a kind of table/kinds.def on whatever buffers its views are in: the
 * value of an entry, its tangents, and what its requests add to adjoints. */
#ifndef CAD_ARRAYS_TERMS_H
#define CAD_ARRAYS_TERMS_H

#include "kernels/kernels.h"
#include "tape/entries.h"

/* The views of a plan: target, operands. Of one operand, and then of the target, there may be
 * several lanes, which stand side by side. */
typedef struct CadTerm {
    CadPlan *plan;
    double *data[3];  /* where the number 0 of each view is, or its first lane */
    float *floats[3]; /* the same if they are floats, and `data` is NULL; or NULL */
    size_t lanes;
    int along; /* the operand that has as many lanes as the target; 0: each has one */
    int store; /* the target is overwritten, else added to; of a kind that CAD_ADDS only where
                * it has a place for each term */
    int in_any_order; /* sums may be rounded otherwise than NumPy's */
    int absorbs;      /* an exact 0 absorbs any factor, as in derivatives */
    double *room;     /* cad_op_room numbers */
} CadTerm;

void cad_term_run(CadOp op, const CadTerm *term);

/* Have a term read, and write, the values of its views. */
void cad_term_bind_values(const CadTape *tape, CadTerm *term);

/* The same where one lane is computed; floats that its kernel reads are read where they are. */
void cad_term_bind(const CadTape *tape, CadOp op, CadTerm *term);

/* Have a term write adjoints that are ready for it, as floats if they are lent and all stored. */
void cad_term_bind_target(const CadTape *tape, CadOp op, CadTerm *term);

/* Room for the plan of a request, or of another operation over arrays: four views at most, and
 * three words of extra. */
typedef struct CadRequestedPlan {
    int64_t words[CAD_PLAN_WORDS + CAD_MOST_AXES + 4 * (CAD_MOST_AXES + 1) + 3];
} CadRequestedPlan;

/* A plan over a shape, whose views are left to the caller. */
CadPlan *cad_term_plan(int ndim, const int64_t *shape, int n_views, CadRequestedPlan *room);

/* The plan of the request by which view `which` of a plan has its adjoint added to: its target is
 * that view, its operands are those of the request. */
CadPlan *cad_term_request(const CadPull *pull, CadPlan *plan, int which, CadRequestedPlan *room);

/* Whether a view has a place of its own for each term that an operation adds: then, unless there
 * are gaps, it fills `span` places. */
int cad_term_fills(CadOp op, CadPlan *plan, int view, int64_t span);

#endif
