/* Programs on a tape, by hand and at random, and helpers to differentiate them.
 *
 * A random program calls all operations of the table but `stop`, with all combinations of
 * variables and constants as operands. The operands are kept inside the domains, which a header
 * made from the table tells (domains.h, written by tests/c/test_c_core.py), away from kinks, and
 * where partials are moderate: so derivatives of the whole can be compared with differences. */
#ifndef ON_TAPE_H
#define ON_TAPE_H

#include "tape/blocks.h"
#include "tape/captures.h"
#include "tape/find.h"
#include "sweeps/sweeps.h"

/* --- chance, the same on every machine --- */

typedef struct Random {
    uint64_t state;
} Random;

uint64_t random_bits(Random *random);
size_t random_below(Random *random, size_t bound);
double random_between(Random *random, double low, double high);

/* Bytes that are drawn from before chance is, by all that draw below a bound or between bounds;
 * and how many of them are left. */
void random_lead(const uint8_t *bytes, size_t count);
size_t random_led(void);

/* --- by hand --- */

/* End the tests where they have no memory themselves. */
void demand(CadStatus status);

/* Operands are numbers: a variable has a slot, a constant has none. */
CadNumber variable(const CadTape *tape, CadSlot slot);
CadNumber constant(double value);

CadSlot append_leaf(CadTape *tape, size_t count, const double *values);
CadSlot append1(CadTape *tape, CadOp op, CadSlot x);
CadSlot append2(CadTape *tape, CadOp op, CadNumber x, CadNumber y);
CadSlot append(CadTape *tape, CadOp op, const CadNumber *operands);

/* Entries past the one that wrote a slot: where sweeps from it begin. */
size_t past(const CadTape *tape, CadSlot slot);

/* A copy of all values, and whether they have its bits. */
double *copy_of_values(const CadTape *tape);
void check_kept_values(const CadTape *tape, const double *values);

/* As cad_tape_clear_adjoints, where memory does not fail. */
void clear_adjoints(CadTape *tape, size_t begin, size_t end);

/* Clear the adjoints, seed one, and sweep over [begin, past the seeded one). */
void reverse_from(CadTape *tape, size_t begin, CadSlot seeded);
void backward_from(CadTape *tape, CadSlot seeded);

/* Numbers of a recorded sweep, all {0, CAD_NONE}. */
CadNumber *zero_numbers(size_t count);

/* --- at random --- */

typedef struct Domain {
    double low;
    double high;
    int whole; /* a constant whole number, not negative */
} Domain;

extern const Domain domains[CAD_OP_COUNT][3];

/* Kinks, poles, saturation, infinities, nan. */
enum { CORNERS = 16 };
extern const double corners[CORNERS];

/* Orders of derivatives are whole numbers of ordinary size. */
int is_order(double x);

/* An operation with some of its operands constant: a bit for each that is. */
typedef struct Variant {
    CadOp op;
    int constants;
} Variant;

/* All variants, in order; after the last one comes op == CAD_OP_COUNT. */
Variant first_variant(void);
Variant next_variant(Variant variant);

/* Operations of random programs are smooth as far as an operand moves by this alone. */
extern const double MARGIN;

/* The variables that a random program may read. */
typedef struct Pool {
    CadSlot *slots;
    size_t count;
    size_t capacity;
} Pool;

void pool_add(Pool *pool, CadSlot slot);
void pool_free(Pool *pool);

/* Append an operation on random variables of the pool and random constants; adds its result. */
void append_random(CadTape *tape, Random *random, Pool *pool, Variant variant);

/* A function of `inputs` variables: one leaf at `base`, then the entries up to `end`, which read
 * nothing below. The tape holds other things before it. */
typedef struct Program {
    CadTape *tape;
    CadSlot base;
    size_t inputs;
    size_t begin;
    size_t end;
    size_t slots; /* from base on */
    Pool pool;
} Program;

enum { INPUTS = 48, OPERATIONS = 1000, PROGRAMS = 6 };

Program random_program(uint64_t seed);
void program_free(Program *program);

/* Seed the adjoints of some variables of a program with random weights, which are also written to
 * `weights`, one for each slot from base on. */
void program_seed(Program *program, Random *random, double *weights);

#endif
