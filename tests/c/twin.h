/* Programs over arrays, and the same programs number by number.
 *
 * A twin holds two tapes. Whatever is done to arrays on the one is unrolled into entries on single
 * numbers on the other, where nothing is ever overwritten: an assignment only changes which number
 * stands at a slot. So the plain sweeps, which other tests judge, judge those over arrays. */
#ifndef TWIN_H
#define TWIN_H

#include "on_tape.h"

enum { MOST_VIEW_AXES = 4, MOST_VIEWS = 256 };

/* Some numbers of the tape of arrays. */
typedef struct View {
    CadSlot slot;
    int ndim;
    int64_t shape[MOST_VIEW_AXES];
    int64_t strides[MOST_VIEW_AXES];
} View;

size_t view_size(View view);
View view_transposed(View view);
View view_reversed(View view, int axis);
View view_sliced(View view, int axis, int64_t begin, int64_t step, int64_t length);
View view_item(View view, int axis, int64_t at);
/* The same numbers again and again along a new first axis. */
View view_repeated(View view, int64_t length);
/* The slot of the i-th number, in C order. */
CadSlot view_slot(View view, size_t i);

typedef struct Twin {
    CadTape *arrays;
    CadTape *numbers;
    CadNumber *now;      /* for each slot of `arrays`: the number that stands there */
    CadNumber *original; /* ... and the one that stood there before anything was assigned */
    unsigned char *kept; /* ... and whether it only keeps what an assignment overwrote */
    size_t capacity;
    View views[MOST_VIEWS]; /* of all arrays, whole */
    size_t n_views;
    View leaves[MOST_VIEWS];
    size_t n_leaves;
} Twin;

Twin *twin_new(void);
void twin_free(Twin *twin);

View twin_leaf(Twin *twin, int ndim, const int64_t *shape, Random *random);
View twin_constant(Twin *twin, int ndim, const int64_t *shape, Random *random);

/* Operands have one shape. */
View twin_row(Twin *twin, CadOp op, const View *operands);
/* Over the axes whose bit is set. */
View twin_sum(Twin *twin, View x, unsigned axes);
View twin_sum_of_products(Twin *twin, int n, const View *operands, unsigned axes);
/* Along the last axis. */
View twin_cumsum(Twin *twin, View x, int backwards);
/* The last two axes are those of the matrices; those before are equal. */
View twin_multiply(Twin *twin, View a, View b);
/* Of an array without gaps. */
View twin_gather(Twin *twin, View x, size_t count, const int64_t *offsets);

/* Single numbers. */
CadSlot twin_number(Twin *twin, CadOp op, const CadSlot *operands);
void twin_assign_number(Twin *twin, CadSlot target, CadSlot source);

/* The source has the shape of the target, or count. */
void twin_assign(Twin *twin, View target, View source);
void twin_scatter(Twin *twin, View target, size_t count, const int64_t *offsets, View source);

/* Of a target that nobody has read yet: what stood there is not kept. */
void twin_write(Twin *twin, View target, View source);
void twin_accumulate(Twin *twin, View target, View source);
void twin_add_at(Twin *twin, View target, size_t count, const int64_t *offsets, View source);

/* A step of any kind: some entries over arrays that are there. */
void twin_step(Twin *twin, Random *random);

/* Some leaves, and many steps of all kinds. */
Twin *random_twin(uint64_t seed, int steps);

#endif
