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

static CadStatus append_words(CadBuild *build, const void *words, size_t count) {
    return cad_linear_append(build->linear, CAD_LINEAR_WORDS, words, count);
}

CadStatus cad_build_step(CadBuild *build, CadLinearKind kind, const void *head,
                         const int64_t *rest, size_t rest_words) {
    CadStatus status = cad_build_close_rows(build);
    const int64_t begin = (int64_t)cad_linear_count(build->linear, CAD_LINEAR_WORDS);
    const size_t head_words = cad_head_words(kind);
    if (status == CAD_OK) {
        status = append_words(build, head, head_words);
    }
    if (status == CAD_OK) {
        status = append_words(build, rest, rest_words);
    }
    const CadLinearStep step = {kind, begin, begin + (int64_t)(head_words + rest_words)};
    return status != CAD_OK ? status
                            : cad_linear_append(build->linear, CAD_LINEAR_STEPS, &step, 1);
}
