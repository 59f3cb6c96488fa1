/* The steps of a frozen linear map, as they stand in its words: what steps.c writes,
 * sweep.c carries out and validate.c looks through. All but rows are plans, as those of entries
 * over arrays are (tape/entries.h), whose slots are places:
 *
 *   CAD_LINEAR_ROWS     each row sets its target to the sum of its terms
 *   CAD_LINEAR_ADD      views: target, source. The source is added, number by number, times the
 *                       factors. extra[0] is the first of these, or -1 for a 1, extra[1] the step
 *                       between them: 0 or 1
 *   CAD_LINEAR_TERMS    views: of an operation of a kind (table/kinds.def), extra[0], which is
 *                       added to its target. Operand extra[1] is the source, in places, the other
 *                       one (if there is one) stands among the numbers from extra[2] on */
#ifndef CAD_LINEAR_STEPS_H
#define CAD_LINEAR_STEPS_H

#include "arrays/terms.h"
#include "linear/linear.h"

typedef enum CadLinearKind { CAD_LINEAR_ROWS, CAD_LINEAR_ADD, CAD_LINEAR_TERMS } CadLinearKind;

static inline void *cad_linear_items(const CadLinear *linear, CadLinearPart part) {
    return linear->part[part].data;
}

static inline size_t cad_linear_count(const CadLinear *linear, CadLinearPart part) {
    return linear->part[part].count;
}

/* The plan of a step that is no row. */
static inline CadPlan *cad_step_plan(const CadLinear *linear, const CadLinearStep *step) {
    return (CadPlan *)((int64_t *)cad_linear_items(linear, CAD_LINEAR_WORDS) + step->begin);
}

#endif
