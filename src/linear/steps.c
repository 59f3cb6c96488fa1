/* Appending steps: rows, which are open until another step follows, and what stands in words. */
#include "linear/inner.h"

CadStatus cad_build_close_rows(CadBuild *build) {
    const size_t rows = cad_linear_count(build->linear, CAD_LINEAR_TARGETS);
    if (rows == build->open_row) {
        return CAD_OK;
    }
    const CadLinearStep step = {CAD_LINEAR_ROWS, (int64_t)build->open_row, (int64_t)rows};
    build->open_row = rows;
    return cad_linear_append(build->linear, CAD_LINEAR_STEPS, &step, 1);
}

CadPlan *cad_build_plan(int ndim, const int64_t *shape, int n_views, int n_extra,
                        CadRequestedPlan *room) {
    CadPlan *const plan = cad_term_plan(ndim, shape, n_views, room);
    plan->n_extra = (uint32_t)n_extra;
    plan->words += (uint32_t)n_extra;
    return plan;
}

CadStatus cad_build_step(CadBuild *build, CadLinearKind kind, const CadPlan *plan) {
    CadLinear *const linear = build->linear;
    const int64_t begin = (int64_t)cad_linear_count(linear, CAD_LINEAR_WORDS);
    const CadLinearStep step = {kind, begin, begin + plan->words};
    CadStatus status = cad_build_close_rows(build);
    if (status == CAD_OK) {
        status = cad_linear_append(linear, CAD_LINEAR_WORDS, plan, plan->words);
    }
    return status != CAD_OK ? status : cad_linear_append(linear, CAD_LINEAR_STEPS, &step, 1);
}
