/* Conditions of the table over strips: what the words IF, LT, AND, ... mean in algebras whose
 * numbers are many at once.
 *
 * A condition is a mask on a stack, and whether it holds everywhere, nowhere, or here and there;
 * most often only one branch of a choice is computed. An algebra includes this header once, after
 * it has said where its masks are (MASKS) and how it ends a choice: CHOSEN(x) where one branch was
 * all that was needed, BLEND(x, y) where both were; either takes the mask off the stack. P(x) and
 * C(constant) are strips. */
#ifndef CAD_KERNELS_MASKS_H
#define CAD_KERNELS_MASKS_H

#include "kernels/kernels.h"

#include <assert.h>
#include <string.h>

enum { CAD_MOST_MASKS = 32 }; /* no formula of the table nests more */

typedef enum CadTruth { CAD_NOWHERE, CAD_EVERYWHERE, CAD_PARTLY } CadTruth;

typedef struct CadMasks {
    size_t n; /* how many numbers are compared at once */
    int depth;
    unsigned char truth[CAD_MOST_MASKS];
    unsigned char mask[CAD_MOST_MASKS][CAD_TILE];
} CadMasks;

typedef unsigned char *CadMask;

static inline CadMask cad_mask_new(CadMasks *masks) {
    assert(masks->depth < CAD_MOST_MASKS);
    return masks->mask[masks->depth++];
}

/* The latest one, which is looked at no more. */
static inline CadMask cad_mask_pop(CadMasks *masks) {
    return masks->mask[--masks->depth];
}

#define COMPARE(word, sign)                                                                       \
    static CAD_APART CadMask cad_mask_##word(CadMasks *masks, CadStrip x, CadStrip y) {           \
        const CadMask mask = cad_mask_new(masks);                                                 \
        const size_t n = masks->n;                                                                \
        if (x.step == 1 && y.step == 0) {                                                         \
            const double here = y.data[0];                                                        \
            for (size_t i = 0; i < n; i++) {                                                      \
                mask[i] = x.data[i] sign here;                                                    \
            }                                                                                     \
        } else if (x.step == 0 && y.step == 1) {                                                  \
            const double here = x.data[0];                                                        \
            for (size_t i = 0; i < n; i++) {                                                      \
                mask[i] = here sign y.data[i];                                                    \
            }                                                                                     \
        } else if (x.step == 0 && y.step == 0) {                                                  \
            memset(mask, x.data[0] sign y.data[0], n);                                            \
        } else if (x.step == 1 && y.step == 1) {                                                  \
            for (size_t i = 0; i < n; i++) {                                                      \
                mask[i] = x.data[i] sign y.data[i];                                               \
            }                                                                                     \
        } else {                                                                                  \
            for (size_t i = 0; i < n; i++) {                                                      \
                mask[i] = x.data[(ptrdiff_t)i * x.step] sign y.data[(ptrdiff_t)i * y.step];       \
            }                                                                                     \
        }                                                                                         \
        return mask;                                                                              \
    }

COMPARE(less, <) /* cad_mask_less */
COMPARE(less_equal, <=)
COMPARE(equal, ==)
COMPARE(not_equal, !=)
#undef COMPARE

/* Both were made one after the other, in whatever order: the result takes the place of the lower
 * one. */
static CAD_APART CadMask cad_mask_both(CadMasks *masks, CadMask x, CadMask y) {
    const CadMask mask = x < y ? x : y;
    for (size_t i = 0; i < masks->n; i++) {
        mask[i] = x[i] & y[i];
    }
    masks->depth--;
    return mask;
}

static CAD_APART CadMask cad_mask_either(CadMasks *masks, CadMask x, CadMask y) {
    const CadMask mask = x < y ? x : y;
    for (size_t i = 0; i < masks->n; i++) {
        mask[i] = x[i] | y[i];
    }
    masks->depth--;
    return mask;
}

static CAD_APART CadTruth cad_mask_judge(CadMasks *masks, CadMask mask) {
    size_t count = 0;
    for (size_t i = 0; i < masks->n; i++) {
        count += mask[i];
    }
    const CadTruth truth = count == 0          ? CAD_NOWHERE
                           : count == masks->n ? CAD_EVERYWHERE
                                               : CAD_PARTLY;
    masks->truth[masks->depth - 1] = (unsigned char)truth;
    return truth;
}

static inline CadTruth cad_mask_judged(const CadMasks *masks) {
    return (CadTruth)masks->truth[masks->depth - 1];
}

#include "ops_no_words.h"
#define IF(c, x, y)                                                                               \
    (cad_mask_judge(MASKS, c) == CAD_EVERYWHERE ? CHOSEN(x)                                       \
     : cad_mask_judged(MASKS) == CAD_NOWHERE    ? CHOSEN(y)                                       \
                                                : BLEND(x, y))
#define AND(x, y) cad_mask_both(MASKS, x, y)
#define OR(x, y) cad_mask_either(MASKS, x, y)
#define LT(x, y) cad_mask_less(MASKS, x, y)
#define LE(x, y) cad_mask_less_equal(MASKS, x, y)
#define EQ(x, y) cad_mask_equal(MASKS, x, y)
#define NE(x, y) cad_mask_not_equal(MASKS, x, y)

#endif
