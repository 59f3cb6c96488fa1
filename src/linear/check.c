/* Whether a linear map that came from outside is sound: that no step reaches beyond the places and
 * numbers there are. What a map does not hold but derives is derived on the way. */
#include "linear/steps.h"
#include "tape/entries.h"

#include <math.h>

static int are_places(const CadLinear *linear, CadLinearPart part, int or_none) {
    const uint32_t *const places = cad_linear_items(linear, part);
    for (size_t i = 0; i < cad_linear_count(linear, part); i++) {
        if (places[i] >= linear->n_places && !(or_none && places[i] == CAD_NONE)) {
            return 0;
        }
    }
    return 1;
}

/* Rows come one after the other, and have the terms there are. */
static int are_rows(const CadLinear *linear) {
    const uint64_t *const ends = cad_linear_items(linear, CAD_LINEAR_ENDS);
    const size_t rows = cad_linear_count(linear, CAD_LINEAR_TARGETS);
    const size_t terms = cad_linear_count(linear, CAD_LINEAR_FACTORS);
    int sound = cad_linear_count(linear, CAD_LINEAR_ENDS) == rows &&
                cad_linear_count(linear, CAD_LINEAR_SOURCES) == terms &&
                are_places(linear, CAD_LINEAR_TARGETS, 0) &&
                are_places(linear, CAD_LINEAR_SOURCES, 0);
    for (size_t i = 0; i < rows && sound; i++) {
        sound = ends[i] <= terms && (i == 0 || ends[i - 1] <= ends[i]);
    }
    return sound;
}

/* Stretch [low, high] by an axis; 0 if it then reaches beyond `count` numbers. */
static int stretch(int64_t length, int64_t stride, size_t count, int64_t *low, int64_t *high) {
    if (length < 1 || stride == INT64_MIN) {
        return 0;
    }
    const uint64_t step = (uint64_t)(stride < 0 ? -stride : stride);
    if (step != 0 && (uint64_t)(length - 1) > count / step) {
        return 0;
    }
    const int64_t reach = (length - 1) * stride;
    *(reach < 0 ? low : high) += reach;
    return *low >= 0 && (uint64_t)*high < count;
}

/* Whether a view of a shape stays among `count` numbers. */
static int is_inside(const CadFrame *frame, int view, size_t count) {
    const int64_t *const at = frame->view[view];
    if (at[0] < 0 || (uint64_t)at[0] >= count) {
        return 0;
    }
    int64_t low = at[0], high = at[0];
    for (int i = 0; i < frame->ndim; i++) {
        if (!stretch(frame->shape[i], at[i + 1], count, &low, &high)) {
            return 0;
        }
    }
    return 1;
}

/* The elements of a shape; more than `most` are not told apart. */
static uint64_t size_of(const CadFrame *frame, uint64_t most) {
    uint64_t size = 1;
    for (int i = 0; i < frame->ndim; i++) {
        const uint64_t length = (uint64_t)frame->shape[i];
        size = size > most / length ? most + 1 : size * length;
    }
    return size;
}

static int are_within(int64_t begin, uint64_t size, size_t count) {
    return begin >= 0 && (uint64_t)begin <= count && size <= count - (uint64_t)begin;
}

/* The frame of a step of so many words. */
static int has_frame(int64_t kind, int64_t *words, size_t count) {
    const size_t head = cad_head_words(kind);
    const size_t views = (size_t)cad_frame_views(kind);
    if (count <= head || words[head] < 0 || words[head] > CAD_MOST_AXES) {
        return 0;
    }
    const size_t ndim = (size_t)words[head];
    return count == head + 1 + ndim + views * (ndim + 1);
}

static int is_add(const CadLinear *linear, int64_t *words) {
    const CadAddHead *const head = (const CadAddHead *)words;
    const CadFrame frame = cad_frame_of(CAD_LINEAR_ADD, words);
    const size_t numbers = cad_linear_count(linear, CAD_LINEAR_NUMBERS);
    if (!is_inside(&frame, 0, linear->n_places) || !is_inside(&frame, 1, linear->n_places)) {
        return 0;
    }
    if (head->factors < 0) {
        return head->step == 0;
    }
    const uint64_t factors = head->step == 0 ? 1 : size_of(&frame, numbers);
    return (head->step == 0 || head->step == 1) && are_within(head->factors, factors, numbers);
}

static int is_move(const CadLinear *linear, int64_t *words) {
    const CadMoveHead *const head = (const CadMoveHead *)words;
    const CadFrame frame = cad_frame_of(CAD_LINEAR_MOVE, words);
    return is_inside(&frame, 0, linear->n_places) &&
           (head->kept == -1 ||
            are_within(head->kept, size_of(&frame, linear->n_places), linear->n_places));
}

static int is_offsets(const CadLinear *linear, int64_t kind, int64_t *words, size_t count) {
    const CadOffsetsHead *const head = (const CadOffsetsHead *)words;
    const size_t head_words = sizeof *head / sizeof(int64_t), places = linear->n_places;
    if (count < head_words || head->size < 1 || (uint64_t)head->size != count - head_words) {
        return 0;
    }
    int64_t low = head->view, high = head->view;
    const int has_view = head->view >= 0 && (uint64_t)head->view < places &&
                         stretch(head->size, head->stride, places, &low, &high);
    const int needs_view = kind != CAD_LINEAR_SCATTER || head->view != -1;
    int sound = (has_view || !needs_view) &&
                (head->kept == -1 || are_within(head->kept, (uint64_t)head->size, places));
    for (int64_t i = 0; i < head->size && sound; i++) {
        sound = head->offsets[i] >= 0 && (uint64_t)head->offsets[i] < places;
    }
    return sound;
}

static int is_terms(CadLinear *linear, int64_t *words) {
    const CadTermsHead *const head = (const CadTermsHead *)words;
    const CadFrame frame = cad_frame_of(CAD_LINEAR_TERMS, words);
    const size_t places = linear->n_places, all = cad_linear_count(linear, CAD_LINEAR_NUMBERS);
    if (head->op < 0 || head->op >= CAD_OP_LEAF) {
        return 0;
    }
    const CadEntryKind *const kind = &cad_entry_kinds[head->op];
    const int64_t operands = kind->n_views - 1;
    if (frame.ndim < kind->core || head->which < 1 || head->which > operands ||
        head->numbers < 0 || (uint64_t)head->numbers > all || !is_inside(&frame, 0, places) ||
        !is_inside(&frame, (int)head->which, places) ||
        (operands == 2 && !is_inside(&frame, 3 - (int)head->which, all - (size_t)head->numbers))) {
        return 0;
    }
    const size_t room = cad_op_room((CadOp)head->op, frame.ndim, frame.shape, 8);
    linear->terms_room = room / 8 > linear->terms_room ? room / 8 : linear->terms_room;
    return room != SIZE_MAX;
}

static int is_step(CadLinear *linear, const CadLinearStep *step) {
    const int rows = step->kind == CAD_LINEAR_ROWS;
    const CadLinearPart part = rows ? CAD_LINEAR_TARGETS : CAD_LINEAR_WORDS;
    if (step->begin < 0 || step->end < step->begin ||
        (uint64_t)step->end > cad_linear_count(linear, part)) {
        return 0;
    }
    int64_t *const words =
        (int64_t *)cad_linear_items(linear, CAD_LINEAR_WORDS) + (rows ? 0 : step->begin);
    const size_t count = (size_t)(step->end - step->begin);
    switch (step->kind) {
    case CAD_LINEAR_ROWS:
        return 1;
    case CAD_LINEAR_ADD:
        return has_frame(step->kind, words, count) && is_add(linear, words);
    case CAD_LINEAR_MOVE:
        return has_frame(step->kind, words, count) && is_move(linear, words);
    case CAD_LINEAR_PICK:
    case CAD_LINEAR_PUT:
    case CAD_LINEAR_SCATTER:
        return is_offsets(linear, step->kind, words, count);
    case CAD_LINEAR_TERMS:
        return has_frame(step->kind, words, count) && is_terms(linear, words);
    default:
        return 0;
    }
}

/* The first of places that stand side by side; else CAD_NONE. */
static uint32_t first_of(const CadLinear *linear, CadLinearPart part) {
    const uint32_t *const places = cad_linear_items(linear, part);
    for (size_t i = 0; i < cad_linear_count(linear, part); i++) {
        if (places[0] == CAD_NONE || places[i] != places[0] + (uint32_t)i) {
            return CAD_NONE;
        }
    }
    return cad_linear_count(linear, part) > 0 ? places[0] : CAD_NONE;
}

int cad_linear_check(CadLinear *linear) {
    const double *const factors = cad_linear_items(linear, CAD_LINEAR_FACTORS);
    const CadLinearStep *const steps = cad_linear_items(linear, CAD_LINEAR_STEPS);
    linear->terms_room = 0;
    linear->tame = 1;
    linear->first[0] = first_of(linear, CAD_LINEAR_INPUTS);
    linear->first[1] = first_of(linear, CAD_LINEAR_OUTPUTS);
    for (size_t i = 0; i < cad_linear_count(linear, CAD_LINEAR_FACTORS); i++) {
        linear->tame &= isfinite(factors[i]) != 0;
    }
    int sound = linear->n_places <= CAD_MOST_SLOTS && are_rows(linear) &&
                are_places(linear, CAD_LINEAR_INPUTS, 1) &&
                are_places(linear, CAD_LINEAR_OUTPUTS, 1);
    for (size_t i = 0; i < cad_linear_count(linear, CAD_LINEAR_STEPS) && sound; i++) {
        sound = is_step(linear, &steps[i]);
    }
    return sound;
}
