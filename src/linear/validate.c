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

/* Whether a view of a plan stays among `count` numbers. */
static int is_inside(CadPlan *plan, int view, size_t count) {
    const int64_t *const at = cad_plan_view(plan, view);
    if (at[0] < 0 || (uint64_t)at[0] >= count) {
        return 0;
    }
    int64_t low = at[0], high = at[0];
    for (int i = 0; i < plan->ndim; i++) {
        if (!stretch(cad_plan_shape(plan)[i], at[i + 1], count, &low, &high)) {
            return 0;
        }
    }
    return 1;
}

/* The elements of a shape; more than `most` are not told apart. */
static uint64_t size_of(CadPlan *plan, uint64_t most) {
    uint64_t size = 1;
    for (int i = 0; i < plan->ndim; i++) {
        const uint64_t length = (uint64_t)cad_plan_shape(plan)[i];
        size = size > most / length ? most + 1 : size * length;
    }
    return size;
}

/* Whether so many words are a plan of these parts. */
static int is_plan(const CadPlan *plan, size_t count, int n_views, size_t n_extra) {
    return plan->ndim <= CAD_MOST_AXES && plan->n_views == n_views && plan->n_extra == n_extra &&
           count == CAD_PLAN_WORDS + plan->ndim + n_views * (plan->ndim + (size_t)1) + n_extra;
}

static int is_add(const CadLinear *linear, CadPlan *plan) {
    const int64_t *const extra = cad_plan_extra(plan);
    const size_t numbers = cad_linear_count(linear, CAD_LINEAR_NUMBERS);
    if (!is_inside(plan, 0, linear->n_places) || !is_inside(plan, 1, linear->n_places)) {
        return 0;
    }
    if (extra[0] < 0) {
        return extra[1] == 0;
    }
    const uint64_t factors = extra[1] == 0 ? 1 : size_of(plan, numbers);
    return (extra[1] == 0 || extra[1] == 1) && (uint64_t)extra[0] <= numbers &&
           factors <= numbers - (uint64_t)extra[0];
}

static int is_terms(CadLinear *linear, CadPlan *plan, size_t count) {
    const size_t places = linear->n_places, all = cad_linear_count(linear, CAD_LINEAR_NUMBERS);
    if (!is_plan(plan, count, plan->n_views, 3)) {
        return 0;
    }
    const int64_t *const extra = cad_plan_extra(plan), op = extra[0], which = extra[1];
    if (op < 0 || op >= CAD_OP_LEAF || plan->n_views != cad_entry_kinds[op].n_views ||
        plan->ndim < cad_entry_kinds[op].core || which < 1 || which >= plan->n_views ||
        extra[2] < 0 || (uint64_t)extra[2] > all || !is_inside(plan, 0, places) ||
        !is_inside(plan, (int)which, places) ||
        (plan->n_views == 3 && !is_inside(plan, 3 - (int)which, all - (size_t)extra[2]))) {
        return 0;
    }
    const size_t room = cad_op_room((CadOp)op, plan->ndim, cad_plan_shape(plan), 8);
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
    const size_t count = (size_t)(step->end - step->begin);
    if (rows || count < CAD_PLAN_WORDS) {
        return rows;
    }
    CadPlan *const plan = cad_step_plan(linear, step);
    switch (step->kind) {
    case CAD_LINEAR_ADD:
        return is_plan(plan, count, 2, 2) && is_add(linear, plan);
    case CAD_LINEAR_TERMS:
        return is_terms(linear, plan, count);
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

/* Give back what the lists have room for beyond their items. */
static void trim(CadLinear *linear) {
    for (int k = 0; k < CAD_LINEAR_PARTS; k++) {
        CadItems *const items = &linear->part[k];
        void *const shrunk =
            items->capacity > items->count
                ? cad_memory_resize(items->data, items->count, cad_linear_item_size[k])
                : NULL;
        if (shrunk != NULL) {
            items->data = shrunk;
            items->capacity = items->count;
        }
    }
}

bool cad_linear_check(CadLinear *linear) {
    trim(linear);
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
