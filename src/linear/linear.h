/* A frozen linear map: the derivative of a recording, with copies of all its factors.
 *
 * It is a list of steps over places, which hold one number for each direction (lane): tangents of
 * the recorded numbers in a push, adjoints in a pull. Operations on single numbers are rows: one
 * place is a sum of others times factors. A number that is used once, or is a multiple of another
 * one, has no row of its own: it is written out where it is used. Operations on arrays are steps
 * over views. A step and its transpose read the same words.
 *
 * A map that was built is never written to, so any number of threads may push and pull at once,
 * each with a workspace of its own. */
#ifndef CAD_LINEAR_H
#define CAD_LINEAR_H

#include "memory/memory.h"
#include "tape/entries.h"

/* A map is these lists of items, and nothing else. */
typedef enum CadLinearPart {
    CAD_LINEAR_INPUTS,  /* uint32_t: the place of each input, or CAD_NONE */
    CAD_LINEAR_OUTPUTS, /* uint32_t: the place of each output, or CAD_NONE */
    CAD_LINEAR_STEPS,   /* CadLinearStep, in the order of a push */
    CAD_LINEAR_TARGETS, /* uint32_t: for each row the place that it sets, */
    CAD_LINEAR_ENDS,    /* uint64_t: and where its terms end */
    CAD_LINEAR_FACTORS, /* double: of each term, which is this times */
    CAD_LINEAR_SOURCES, /* uint32_t: what stands at this place */
    CAD_LINEAR_WORDS,   /* int64_t: shapes and views of the other steps; see steps.h */
    CAD_LINEAR_NUMBERS, /* double: their factors and matrices */
    CAD_LINEAR_PARTS
} CadLinearPart;

extern const size_t cad_linear_item_size[CAD_LINEAR_PARTS];

typedef struct CadLinearStep {
    int64_t kind;  /* a CadLinearKind */
    int64_t begin; /* of its rows, or of its words, */
    int64_t end;   /* and past the last one */
} CadLinearStep;

typedef struct CadItems {
    void *data;
    size_t count;
    size_t capacity;
} CadItems;

/* Have room for more items of a size. */
static inline CadStatus cad_items_reserve(CadItems *items, size_t more, size_t size) {
    return items->count + more <= items->capacity
               ? CAD_OK
               : cad_memory_grow(&items->data, &items->capacity, items->count + more, size);
}

typedef struct CadLinear {
    size_t n_places;
    CadItems part[CAD_LINEAR_PARTS];
    /* Derived by cad_linear_check: */
    size_t terms_room; /* of an operation of a kind, for each lane */
    int tame;          /* no factor of a row is infinite or nan, so that none need absorb */
    uint32_t first[2]; /* place of the inputs and of the outputs, if they stand side by side */
} CadLinear;

/* The derivative of numbers, at some slots (-1: a constant), by the `n_inputs` ones from `base`
 * on. Entries [begin, end) hold all that lies between; they read no variable below `base`, and
 * none is a rule that calls Python. */
CadStatus cad_linear_build(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t n_inputs,
                           const int64_t *outputs, size_t n_outputs, CadLinear **linear);

/* An empty map, whose parts the caller appends; cad_linear_check has to follow. */
CadLinear *cad_linear_new(size_t n_places);
void cad_linear_free(CadLinear *linear);
CadStatus cad_linear_append(CadLinear *linear, CadLinearPart part, const void *items,
                            size_t count);

/* Append items that the caller then writes. */
CadStatus cad_linear_extend(CadLinear *linear, CadLinearPart part, size_t count);

/* Compute the derived members, and give back spare room of the lists; 0 if a step would reach
 * beyond the places or the numbers, so that the map cannot be used. */
bool cad_linear_check(CadLinear *linear);

/* Numbers of workspace for so many lanes; 0 if they are more than can be counted. */
size_t cad_linear_room(const CadLinear *linear, size_t lanes);

/* Tangents of the outputs for those of the inputs, or (`pull`) cotangents of the inputs for those
 * of the outputs: `lanes` numbers for each, side by side. */
void cad_linear_carry(const CadLinear *linear, bool pull, size_t lanes, const double *in,
                      double *out, double *room);

/* Columns or (`pull`) rows [first, first + lanes) of the matrix (outputs x inputs) of the map,
 * written to their places in all of it. */
void cad_linear_units(const CadLinear *linear, bool pull, size_t first, size_t lanes,
                      double *matrix, double *room);

#endif
