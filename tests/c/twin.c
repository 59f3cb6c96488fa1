/* See twin.h. */
#include "twin.h"

#include "arrays/arrays.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- views --- */

size_t view_size(View view) {
    size_t size = 1;
    for (int i = 0; i < view.ndim; i++) {
        size *= (size_t)view.shape[i];
    }
    return size;
}

CadSlot view_slot(View view, size_t i) {
    int64_t slot = view.slot;
    for (int axis = view.ndim; axis-- > 0;) {
        slot += (int64_t)(i % (size_t)view.shape[axis]) * view.strides[axis];
        i /= (size_t)view.shape[axis];
    }
    return (CadSlot)slot;
}

View view_transposed(View view) {
    View result = view;
    for (int i = 0; i < view.ndim; i++) {
        result.shape[i] = view.shape[view.ndim - 1 - i];
        result.strides[i] = view.strides[view.ndim - 1 - i];
    }
    return result;
}

View view_sliced(View view, int axis, int64_t begin, int64_t step, int64_t length) {
    view.slot = (CadSlot)((int64_t)view.slot + begin * view.strides[axis]);
    view.strides[axis] *= step;
    view.shape[axis] = length;
    return view;
}

View view_reversed(View view, int axis) {
    return view_sliced(view, axis, view.shape[axis] - 1, -1, view.shape[axis]);
}

View view_item(View view, int axis, int64_t at) {
    view = view_sliced(view, axis, at, 1, 1);
    for (int i = axis + 1; i < view.ndim; i++) {
        view.shape[i - 1] = view.shape[i];
        view.strides[i - 1] = view.strides[i];
    }
    view.ndim--;
    return view;
}

View view_repeated(View view, int64_t length) {
    View result = {.slot = view.slot, .ndim = view.ndim + 1, .shape = {length}, .strides = {0}};
    for (int i = 0; i < view.ndim; i++) {
        result.shape[i + 1] = view.shape[i];
        result.strides[i + 1] = view.strides[i];
    }
    return result;
}

/* A whole array, in C order. */
static View whole(CadSlot slot, int ndim, const int64_t *shape) {
    View view = {.slot = slot, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim; i-- > 0;) {
        view.shape[i] = shape[i];
        view.strides[i] = stride;
        stride *= shape[i];
    }
    return view;
}

/* --- twins --- */

Twin *twin_new(void) {
    Twin *twin = test_memory(1, sizeof *twin);
    twin->arrays = cad_tape_new();
    twin->numbers = cad_tape_new();
    return twin;
}

void twin_free(Twin *twin) {
    cad_tape_free(twin->arrays);
    cad_tape_free(twin->numbers);
    free(twin->now);
    free(twin->original);
    free(twin->kept);
    free(twin);
}

static void *grown(void *old, size_t count, size_t capacity, size_t size) {
    void *fresh = test_memory(capacity, size);
    if (count > 0) {
        memcpy(fresh, old, count * size);
    }
    free(old);
    return fresh;
}

/* Follow the tape of arrays: new slots hold zeros that nobody wrote. */
static void follow(Twin *twin) {
    const size_t n = twin->arrays->n_slots, before = twin->capacity;
    if (n > before) {
        twin->capacity = 2 * n;
        twin->now = grown(twin->now, before, twin->capacity, sizeof *twin->now);
        twin->original = grown(twin->original, before, twin->capacity, sizeof *twin->original);
        twin->kept = grown(twin->kept, before, twin->capacity, 1);
        for (size_t slot = before; slot < twin->capacity; slot++) {
            twin->now[slot] = twin->original[slot] = constant(0.0);
        }
    }
}

static void set(Twin *twin, CadSlot slot, CadNumber number) {
    twin->now[slot] = twin->original[slot] = number;
}

static View noted(Twin *twin, View view) {
    if (twin->n_views < MOST_VIEWS) {
        twin->views[twin->n_views++] = view;
    }
    return view;
}

/* Whether all numbers of a view are constants. */
static int is_passive(const Twin *twin, View view) {
    for (size_t i = 0; i < view_size(view); i++) {
        if (twin->now[view_slot(view, i)].slot != CAD_NONE) {
            return 0;
        }
    }
    return 1;
}

static CadNumber calculate(Twin *twin, CadOp op, const CadNumber *operands) {
    const int arity = cad_op_info[op].arity;
    int plain = 1;
    for (int k = 0; k < arity; k++) {
        plain = plain && operands[k].slot == CAD_NONE;
    }
    if (plain) {
        return constant(cad_op_value(op, operands[0].value, arity > 1 ? operands[1].value : 0.0,
                                     arity > 2 ? operands[2].value : 0.0));
    }
    return variable(twin->numbers, append(twin->numbers, op, operands));
}

static CadNumber calculate2(Twin *twin, CadOp op, CadNumber x, CadNumber y) {
    const CadNumber operands[2] = {x, y};
    return calculate(twin, op, operands);
}

/* A number of its own: sums over one term are told apart from the term. */
static CadNumber copied(Twin *twin, CadNumber x) {
    return calculate(twin, CAD_OP_positive, &x);
}

View twin_leaf(Twin *twin, int ndim, const int64_t *shape, Random *random) {
    View view = whole(0, ndim, shape);
    const size_t size = view_size(view);
    double *values = test_memory(size, sizeof *values);
    for (size_t i = 0; i < size; i++) {
        values[i] = random_between(random, -1.5, 1.5);
    }
    view.slot = append_leaf(twin->arrays, size, values);
    const CadSlot first = append_leaf(twin->numbers, size, values);
    follow(twin);
    for (size_t i = 0; i < size; i++) {
        set(twin, (CadSlot)(view.slot + i), variable(twin->numbers, (CadSlot)(first + i)));
    }
    demand(cad_tape_note_block(twin->arrays, view.slot, view.slot + size, 0));
    free(values);
    twin->leaves[twin->n_leaves++] = view;
    return noted(twin, view);
}

View twin_constant(Twin *twin, int ndim, const int64_t *shape, Random *random) {
    View view = whole(0, ndim, shape);
    demand(cad_tape_block(twin->arrays, view_size(view), 1, &view.slot));
    follow(twin);
    for (size_t i = 0; i < view_size(view); i++) {
        const double value = random != NULL ? random_between(random, -1.5, 1.5) : 0.0;
        twin->arrays->values[view.slot + i] = value;
        set(twin, (CadSlot)(view.slot + i), constant(value));
    }
    return noted(twin, view);
}

/* --- entries --- */

static CadSlot push(Twin *twin, const CadRequest *request) {
    CadSlot out = CAD_NONE;
    demand(cad_array_push(twin->arrays, request, &out));
    follow(twin);
    return out;
}

/* Of one operand, into an array that is there. */
static CadRequest request_to(const Twin *twin, CadOp op, const View *target, const View *source) {
    return (CadRequest){
        .op = op,
        .passive = (uint32_t)is_passive(twin, *source) << 1,
        .ndim = target->ndim,
        .shape = target->shape,
        .n_views = 2,
        .views = {{target->slot, target->strides}, {source->slot, source->strides}},
        .slots = 1,
        .index = -1};
}

View twin_row(Twin *twin, CadOp op, const View *operands) {
    const int arity = cad_op_info[op].arity;
    View result = whole(0, operands[0].ndim, operands[0].shape);
    CadRequest request = {.op = op,
                          .ndim = result.ndim,
                          .shape = result.shape,
                          .n_views = arity + 1,
                          .views = {{CAD_OWN, result.strides}},
                          .slots = view_size(result),
                          .index = -1};
    for (int k = 0; k < arity; k++) {
        request.views[k + 1] = (CadPlace){operands[k].slot, operands[k].strides};
        request.passive |= (uint32_t)is_passive(twin, operands[k]) << (k + 1);
    }
    result.slot = push(twin, &request);
    for (size_t i = 0; i < view_size(result); i++) {
        CadNumber numbers[3];
        for (int k = 0; k < arity; k++) {
            numbers[k] = twin->now[view_slot(operands[k], i)];
        }
        set(twin, view_slot(result, i), calculate(twin, op, numbers));
    }
    return noted(twin, result);
}

View twin_sum(Twin *twin, View x, unsigned axes) {
    return twin_sum_of_products(twin, 1, &x, axes);
}

View twin_sum_of_products(Twin *twin, int n, const View *operands, unsigned axes) {
    const View x = operands[0];
    int64_t shape[MOST_VIEW_AXES] = {0}, to[MOST_VIEW_AXES] = {0};
    int ndim = 0;
    for (int i = 0; i < x.ndim; i++) {
        if (!(axes >> i & 1)) {
            shape[ndim++] = x.shape[i];
        }
    }
    View result = whole(0, ndim, shape);
    for (int i = 0, k = 0; i < x.ndim; i++) {
        to[i] = axes >> i & 1 ? 0 : result.strides[k++];
    }
    CadRequest request = {.op = n == 1 ? CAD_OP_SUM : CAD_OP_VECDOT,
                          .ndim = x.ndim,
                          .shape = x.shape,
                          .n_views = n + 1,
                          .views = {{CAD_OWN, to}},
                          .slots = view_size(result),
                          .index = -1};
    for (int k = 0; k < n; k++) {
        request.passive |= (uint32_t)is_passive(twin, operands[k]) << (k + 1);
        request.views[k + 1] = (CadPlace){operands[k].slot, operands[k].strides};
    }
    result.slot = push(twin, &request);
    View target = x;
    target.slot = result.slot;
    memcpy(target.strides, to, sizeof to);
    for (size_t i = 0; i < view_size(x); i++) {
        const CadSlot slot = view_slot(target, i);
        const CadNumber first = twin->now[view_slot(x, i)];
        const CadNumber term = n == 1 ? copied(twin, first)
                                      : calculate2(twin, CAD_OP_multiply, first,
                                                   twin->now[view_slot(operands[1], i)]);
        set(twin, slot, calculate2(twin, CAD_OP_add, twin->now[slot], term));
    }
    return noted(twin, result);
}

View twin_cumsum(Twin *twin, View x, int backwards) {
    View result = whole(0, x.ndim, x.shape);
    CadRequest request =
        request_to(twin, backwards ? CAD_OP_CUMSUM_BACK : CAD_OP_CUMSUM, &result, &x);
    request.views[0].slot = CAD_OWN;
    request.slots = view_size(result);
    result.slot = push(twin, &request);
    const size_t n = (size_t)x.shape[x.ndim - 1];
    for (size_t row = 0; row < view_size(x); row += n) {
        CadNumber sum = constant(0.0);
        for (size_t k = 0; k < n; k++) {
            const size_t i = row + (backwards ? n - 1 - k : k);
            sum = calculate2(twin, CAD_OP_add, sum, copied(twin, twin->now[view_slot(x, i)]));
            set(twin, view_slot(result, i), copied(twin, sum)); /* an adjoint of its own */
        }
    }
    return noted(twin, result);
}

View twin_multiply(Twin *twin, View a, View b) {
    const int stack = a.ndim - 2;
    const int64_t m = a.shape[stack], n = a.shape[stack + 1], p = b.shape[stack + 1];
    int64_t shape[MOST_VIEW_AXES], lengths[MOST_VIEW_AXES + 1];
    int64_t strides[3][MOST_VIEW_AXES + 1];
    memcpy(shape, a.shape, sizeof shape);
    shape[stack + 1] = p;
    View result = whole(0, a.ndim, shape);
    for (int i = 0; i < stack; i++) {
        lengths[i] = a.shape[i];
        strides[0][i] = result.strides[i];
        strides[1][i] = a.strides[i];
        strides[2][i] = b.strides[i];
    }
    const int64_t core[3][3] = {{result.strides[stack], 0, result.strides[stack + 1]},
                                {a.strides[stack], a.strides[stack + 1], 0},
                                {0, b.strides[stack], b.strides[stack + 1]}};
    lengths[stack] = m;
    lengths[stack + 1] = n;
    lengths[stack + 2] = p;
    for (int k = 0; k < 3; k++) {
        memcpy(strides[k] + stack, core[k], sizeof core[k]);
    }
    const uint32_t passive = (uint32_t)is_passive(twin, a) << 1 | (uint32_t)is_passive(twin, b)
                                                                      << 2;
    const CadRequest request = {
        .op = CAD_OP_MATMUL,
        .passive = passive,
        .ndim = stack + 3,
        .shape = lengths,
        .n_views = 3,
        .views = {{CAD_OWN, strides[0]}, {a.slot, strides[1]}, {b.slot, strides[2]}},
        .slots = view_size(result),
        .index = -1};
    result.slot = push(twin, &request);
    for (size_t i = 0; i < view_size(result); i++) {
        const size_t above = i / (size_t)(m * p), row = i / (size_t)p % (size_t)m;
        CadNumber sum = constant(0.0);
        for (size_t k = 0; k < (size_t)n; k++) {
            const size_t left = (above * (size_t)m + row) * (size_t)n + k;
            const size_t right = (above * (size_t)n + k) * (size_t)p + i % (size_t)p;
            const CadNumber term = calculate2(twin, CAD_OP_multiply, twin->now[view_slot(a, left)],
                                              twin->now[view_slot(b, right)]);
            sum = calculate2(twin, CAD_OP_add, sum, term);
        }
        set(twin, view_slot(result, i), sum);
    }
    return noted(twin, result);
}

/* Slots of offsets, as the binding has them. */
static CadSlot offsets_at(Twin *twin, size_t count, const int64_t *offsets) {
    CadSlot slot = CAD_NONE;
    demand(cad_tape_block(twin->arrays, count, 0, &slot));
    memcpy(twin->arrays->values + slot, offsets, count * sizeof *offsets);
    follow(twin);
    return slot;
}

static CadRequest indexed_request(Twin *twin, CadOp op, View array, const int64_t *count,
                                  const int64_t *offsets) {
    return (CadRequest){.op = op,
                        .ndim = 1,
                        .shape = count,
                        .n_views = 1,
                        .slots = 1,
                        .index = offsets_at(twin, (size_t)*count, offsets),
                        .extra = {array.slot, array.slot + (int64_t)view_size(array) - 1}};
}

View twin_gather(Twin *twin, View x, size_t count, const int64_t *offsets) {
    const int64_t length = (int64_t)count, one = 1;
    CadRequest request = indexed_request(twin, CAD_OP_GATHER, x, &length, offsets);
    request.passive = (uint32_t)is_passive(twin, x) << 1;
    request.views[0] = (CadPlace){CAD_OWN, &one};
    request.slots = count;
    View result = whole(push(twin, &request), 1, &length);
    for (size_t i = 0; i < count; i++) {
        set(twin, (CadSlot)(result.slot + i), copied(twin, twin->now[x.slot + offsets[i]]));
    }
    return noted(twin, result);
}

CadSlot twin_number(Twin *twin, CadOp op, const CadSlot *operands) {
    CadNumber here[3], there[3];
    for (int k = 0; k < cad_op_info[op].arity; k++) {
        cad_tape_use_singly(twin->arrays, operands[k]);
        there[k] = twin->now[operands[k]];
        here[k] = there[k].slot == CAD_NONE ? constant(twin->arrays->values[operands[k]])
                                            : variable(twin->arrays, operands[k]);
    }
    const CadSlot slot = append(twin->arrays, op, here);
    follow(twin);
    set(twin, slot, calculate(twin, op, there));
    return slot;
}

static void keep(Twin *twin, CadSlot kept, CadSlot target, CadNumber assigned) {
    twin->now[kept] = twin->original[kept] = twin->now[target];
    twin->kept[kept] = 1;
    twin->now[target] = assigned;
}

void twin_assign_number(Twin *twin, CadSlot target, CadSlot source) {
    CadTape *const tape = twin->arrays;
    demand(cad_tape_ensure(tape));
    cad_tape_use_singly(tape, target);
    cad_tape_use_singly(tape, source);
    const int passive = twin->now[source].slot == CAD_NONE ? CAD_PASSIVE_B : 0;
    const double former = tape->values[target];
    tape->values[target] = tape->values[source];
    const CadSlot out =
        cad_tape_push(tape, CAD_CODE(CAD_OP_ASSIGN, passive), target, source, former);
    tape->n_assigned++;
    follow(twin);
    cad_tape_activate(tape, target);
    keep(twin, out, target, copied(twin, twin->now[source]));
}

void twin_assign(Twin *twin, View target, View source) {
    CadRequest request = request_to(twin, CAD_OP_ASSIGN, &target, &source);
    request.slots = view_size(target);
    const CadSlot out = push(twin, &request);
    cad_tape_activate(twin->arrays, target.slot);
    for (size_t i = 0; i < view_size(target); i++) {
        keep(twin, (CadSlot)(out + i), view_slot(target, i),
             copied(twin, twin->now[view_slot(source, i)]));
    }
}

void twin_scatter(Twin *twin, View target, size_t count, const int64_t *offsets, View source) {
    const int64_t length = (int64_t)count;
    CadRequest request = indexed_request(twin, CAD_OP_SCATTER, target, &length, offsets);
    request.passive = (uint32_t)is_passive(twin, source);
    request.views[0] = (CadPlace){source.slot, source.strides};
    request.slots = count;
    const CadSlot out = push(twin, &request);
    cad_tape_activate(twin->arrays, target.slot);
    for (size_t i = 0; i < count; i++) {
        keep(twin, (CadSlot)(out + i), (CadSlot)(target.slot + offsets[i]),
             copied(twin, twin->now[view_slot(source, i)]));
    }
}

void twin_write(Twin *twin, View target, View source) {
    const CadRequest request = request_to(twin, CAD_OP_positive, &target, &source);
    push(twin, &request);
    cad_tape_activate(twin->arrays, target.slot);
    for (size_t i = 0; i < view_size(target); i++) {
        set(twin, view_slot(target, i), copied(twin, twin->now[view_slot(source, i)]));
    }
}

static void accumulate(Twin *twin, CadSlot target, CadSlot source) {
    const CadNumber term = copied(twin, twin->now[source]);
    set(twin, target, calculate2(twin, CAD_OP_add, twin->now[target], term));
}

void twin_accumulate(Twin *twin, View target, View source) {
    CadRequest request = request_to(twin, CAD_OP_SUM, &target, &source);
    request.extra[0] = 1;
    push(twin, &request);
    cad_tape_activate(twin->arrays, target.slot);
    for (size_t i = 0; i < view_size(target); i++) {
        accumulate(twin, view_slot(target, i), view_slot(source, i));
    }
}

void twin_add_at(Twin *twin, View target, size_t count, const int64_t *offsets, View source) {
    const int64_t length = (int64_t)count;
    CadRequest request = indexed_request(twin, CAD_OP_ADD_AT, target, &length, offsets);
    request.passive = (uint32_t)is_passive(twin, source);
    request.views[0] = (CadPlace){source.slot, source.strides};
    push(twin, &request);
    cad_tape_activate(twin->arrays, target.slot);
    for (size_t i = 0; i < count; i++) {
        accumulate(twin, (CadSlot)(target.slot + offsets[i]), view_slot(source, i));
    }
}

/* --- at random --- */

static View any_view(const Twin *twin, Random *random) {
    return twin->views[random_below(random, twin->n_views)];
}

/* A part of an array, seen in any way. */
static View any_part(const Twin *twin, Random *random) {
    View view = any_view(twin, random);
    for (int i = 0; i < view.ndim; i++) {
        const int64_t length = view.shape[i];
        const size_t choice = random_below(random, 6);
        if (choice == 0) {
            view = view_reversed(view, i);
        } else if (choice == 1 && length > 3) {
            view = view_sliced(view, i, 1, 2, (length - 1) / 2);
        }
    }
    if (random_below(random, 3) == 0) {
        view = view_transposed(view);
    }
    if (view.ndim > 1 && random_below(random, 5) == 0) {
        const int axis = (int)random_below(random, (size_t)view.ndim);
        view = view_item(view, axis, (int64_t)random_below(random, (size_t)view.shape[axis]));
    }
    return view;
}

/* A part broadcast to a shape: all numbers, a row, or a single number of it. */
static View any_of_shape(const Twin *twin, Random *random, View like) {
    for (int tries = 0; tries < 20; tries++) {
        View view = any_part(twin, random);
        if (view.ndim == like.ndim - 1) {
            view = view_repeated(view, like.shape[0]);
        }
        int fits = view.ndim == like.ndim;
        for (int i = 0; i < like.ndim && fits; i++) {
            if (view.shape[i] == 1) {
                view.shape[i] = like.shape[i];
                view.strides[i] = 0;
            }
            fits = view.shape[i] == like.shape[i];
        }
        if (fits) {
            return view;
        }
    }
    View single = any_view(twin, random);
    single.slot = view_slot(single, random_below(random, view_size(single)));
    single.ndim = like.ndim;
    memcpy(single.shape, like.shape, sizeof single.shape);
    memset(single.strides, 0, sizeof single.strides);
    return single;
}

static View copy_of(Twin *twin, View view) {
    return twin_row(twin, CAD_OP_positive, &view);
}

/* Numbers that have grown are brought back, so that derivatives stay moderate. */
static void tame(Twin *twin, View view) {
    for (size_t i = 0; i < view_size(view); i++) {
        if (fabs(twin->arrays->values[view_slot(view, i)]) > 3.0) {
            twin_row(twin, CAD_OP_sin, &view);
            return;
        }
    }
}

static void step_row(Twin *twin, Random *random) {
    static const CadOp ops[] = {CAD_OP_add,     CAD_OP_subtract,  CAD_OP_multiply, CAD_OP_sin,
                                CAD_OP_tanh,    CAD_OP_expit,     CAD_OP_arctan,   CAD_OP_softplus,
                                CAD_OP_arctan2, CAD_OP_logaddexp, CAD_OP_where,    CAD_OP_square};
    const CadOp op = ops[random_below(random, sizeof ops / sizeof *ops)];
    View operands[3] = {any_part(twin, random)};
    for (int k = 1; k < cad_op_info[op].arity; k++) {
        operands[k] = any_of_shape(twin, random, operands[0]);
    }
    if (cad_op_info[op].arity > 1 && random_below(random, 2) == 0) {
        const View first = operands[0];
        operands[0] = operands[1];
        operands[1] = first;
    }
    tame(twin, twin_row(twin, op, operands));
}

static void step_multiply(Twin *twin, Random *random) {
    const View a = any_part(twin, random);
    if (a.ndim < 2 || view_size(a) > 200) {
        return;
    }
    View like = a; /* stacked matrices keep the axes of the stack */
    like.shape[a.ndim - 2] = a.shape[a.ndim - 1];
    like.shape[a.ndim - 1] = a.shape[a.ndim - 2];
    tame(twin, twin_multiply(twin, a, any_of_shape(twin, random, like)));
}

static void step_sum(Twin *twin, Random *random) {
    const View x = any_part(twin, random);
    if (x.ndim == 0) {
        return;
    }
    const View sum = twin_sum(twin, x, 1 + (unsigned)random_below(random, (1u << x.ndim) - 1));
    tame(twin, sum);
}

static void step_sum_of_products(Twin *twin, Random *random) {
    View x[2] = {any_part(twin, random)};
    x[1] = any_of_shape(twin, random, x[0]);
    if (x[0].ndim > 0 && view_size(x[0]) <= 200) {
        const unsigned axes = 1 + (unsigned)random_below(random, (1u << x[0].ndim) - 1);
        tame(twin, twin_sum_of_products(twin, 2, x, axes));
    }
}

static void step_cumsum(Twin *twin, Random *random) {
    const View x = any_part(twin, random);
    if (x.ndim > 0 && x.shape[x.ndim - 1] < 50) { /* else derivatives get large */
        tame(twin, twin_cumsum(twin, x, (int)random_below(random, 2)));
    }
}

static size_t random_offsets(Random *random, View array, int64_t *offsets, size_t most) {
    const size_t count = 1 + random_below(random, most);
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (int64_t)random_below(random, view_size(array));
    }
    return count;
}

enum { MOST_OFFSETS = 40 };

static void step_gather(Twin *twin, Random *random) {
    int64_t offsets[MOST_OFFSETS];
    const View x = any_view(twin, random);
    twin_gather(twin, x, random_offsets(random, x, offsets, MOST_OFFSETS), offsets);
}

static View vector_of(Twin *twin, Random *random, size_t count) {
    const View like = {.ndim = 1, .shape = {(int64_t)count}};
    return any_of_shape(twin, random, like);
}

/* An array to assign to: a copy, or one of constants. */
static View fresh_target(Twin *twin, Random *random) {
    const View like = any_view(twin, random);
    return random_below(random, 2) == 0 ? copy_of(twin, like)
                                        : twin_constant(twin, like.ndim, like.shape, random);
}

static void step_assign(Twin *twin, Random *random) {
    const View whole_target = fresh_target(twin, random);
    View target = whole_target;
    if (target.ndim > 0 && random_below(random, 2) == 0) {
        target = view_reversed(target, 0);
        target = view_sliced(target, 0, 0, 1, (target.shape[0] + 1) / 2);
    }
    /* The source may be a part of the target itself: the binding copies it, too. */
    twin_assign(twin, target, copy_of(twin, any_of_shape(twin, random, target)));
    View source = any_of_shape(twin, random, target);
    if (source.slot + 4000 < target.slot) { /* somewhere else for sure */
        twin_assign(twin, target, source);
    }
    View again[2] = {target, target};
    twin_assign(twin, target, twin_row(twin, CAD_OP_multiply, again));
    tame(twin, whole_target);
}

static void step_assign_numbers(Twin *twin, Random *random) {
    const View target = fresh_target(twin, random);
    for (size_t i = 0; i < 3; i++) {
        const View from = any_view(twin, random);
        const CadSlot source = view_slot(from, random_below(random, view_size(from)));
        const CadSlot single = twin_number(twin, CAD_OP_sin, &source);
        twin_assign_number(twin, view_slot(target, random_below(random, view_size(target))),
                           single);
    }
    twin_row(twin, CAD_OP_tanh, &target);
}

static void step_scatter(Twin *twin, Random *random) {
    int64_t offsets[MOST_OFFSETS];
    const View target = fresh_target(twin, random);
    const size_t most = view_size(target) < 8 ? 8 : MOST_OFFSETS; /* some targets several times */
    const size_t count = random_offsets(random, target, offsets, most);
    const View source = copy_of(twin, vector_of(twin, random, count));
    twin_scatter(twin, target, count, offsets, source);
    twin_row(twin, CAD_OP_tanh, &target);
    twin_scatter(twin, target, count, offsets, view_reversed(source, 0));
}

/* Arrays that are written once, piece by piece, or added to; then read. */
static void step_join(Twin *twin, Random *random) {
    const View part = any_part(twin, random);
    if (part.ndim == MOST_VIEW_AXES || view_size(part) > 2000) {
        return;
    }
    const View like = view_repeated(part, 3), other = any_of_shape(twin, random, part);
    const View joined = twin_constant(twin, like.ndim, like.shape, NULL);
    twin_write(twin, view_item(joined, 0, 0), part);
    twin_write(twin, view_item(joined, 0, 2), other);
    twin_row(twin, CAD_OP_sin, &joined);
}

static void step_accumulate(Twin *twin, Random *random) {
    int64_t offsets[MOST_OFFSETS];
    const View like = any_view(twin, random);
    const size_t count = random_offsets(random, like, offsets, MOST_OFFSETS);
    const View first = any_of_shape(twin, random, like), last = any_of_shape(twin, random, like);
    const View source = vector_of(twin, random, count);
    const View target = twin_constant(twin, like.ndim, like.shape, NULL);
    twin_accumulate(twin, target, first);
    twin_add_at(twin, target, count, offsets, source);
    twin_accumulate(twin, view_reversed(target, 0), last);
    twin_row(twin, CAD_OP_sin, &target);
}

void twin_step(Twin *twin, Random *random) {
    static void (*const kinds[])(Twin *, Random *) = {
        step_row,    step_row,        step_row,    step_multiply,       step_sum,
        step_gather, step_assign,     step_assign, step_assign_numbers, step_scatter,
        step_join,   step_accumulate, step_cumsum, step_sum_of_products};
    kinds[random_below(random, sizeof kinds / sizeof *kinds)](twin, random);
}

Twin *random_twin(uint64_t seed, int steps) {
    static const int64_t shapes[][MOST_VIEW_AXES] = {{5}, {3, 4}, {30, 20}, {600}, {2, 3, 4}, {1}};
    static const int axes[] = {1, 2, 2, 1, 3, 1};
    Random random = {seed};
    Twin *twin = twin_new();
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        twin_leaf(twin, axes[i], shapes[i], &random);
        twin_constant(twin, axes[i], shapes[i], &random);
    }
    for (int i = 0; i < steps; i++) {
        twin_step(twin, &random);
    }
    return twin;
}
