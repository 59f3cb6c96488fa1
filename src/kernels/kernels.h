/* Loops over arrays: values, partials, and products of the chain rule.
 *
 * Everything is done in tiles of CAD_TILE numbers that stay in the cache. A partial is a formula
 * of the table in the algebra of tiles: each of its words is one loop over a tile. The loops are
 * those of the table of loops, which the binding fills with NumPy's. */
#ifndef CAD_KERNELS_H
#define CAD_KERNELS_H

#include "memory/memory.h"
#include "table/codes.h"

#include <stddef.h>
#include <stdint.h>

/* The simplest loops are compiled for several instruction sets, chosen at run time. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&  \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define CAD_INLINE inline __attribute__((always_inline))
#else
#define CAD_CLONES
#define CAD_INLINE inline
#endif

/* What rows of the table call where they would otherwise be given a copy each: a call is cheap,
 * and a hundred copies of a loop are most of the time that it takes to compile a file. */
#if defined(__GNUC__)
#define CAD_APART __attribute__((noinline))
#elif defined(_MSC_VER)
#define CAD_APART __declspec(noinline)
#else
#define CAD_APART
#endif

/* As NumPy's: args[k] and steps[k] (bytes) of each operand, the result last; dims[0] is the
 * length. */
typedef void (*CadLoopFunction)(char **args, const intptr_t *dims, const intptr_t *steps,
                                void *data);

typedef struct CadLoop {
    CadLoopFunction function;
    void *data;
} CadLoop;

/* Set the loop of an operation, or of matrix products (CAD_OP_MATMUL), in place of the core's own;
 * before any tape is in use. */
void cad_set_loop(CadOp op, CadLoopFunction function, void *data);

/* Run the loop of an operation. */
void cad_run_loop(CadOp op, char **args, const intptr_t *dims, const intptr_t *steps);

/* Numbers in a tile; tests have it a few. */
#ifndef CAD_TILE
#define CAD_TILE 1024
#endif

/* Some numbers, `step` apart; step 0 is one number for all. */
typedef struct CadStrip {
    double *data;
    ptrdiff_t step;
} CadStrip;

/* What stands from number `first` on. */
static inline CadStrip cad_strip_from(CadStrip x, size_t first) {
    return (CadStrip){x.data + (ptrdiff_t)first * x.step, x.step};
}

/* out[i] = op(x[0][i], x[1][i], ...) for i < n, of as many operands as the operation has. They are
 * not passed one by one: two would be copied on the stack, as halves, and a processor waits for
 * both to be written before it reads them as one. */
void cad_strip_value(CadOp op, CadStrip out, const CadStrip *x, size_t n);

/* The same by whichever loop is faster: that one, or one of vectors.h, whose values may differ in
 * the last place. */
void cad_strip_value_near(CadOp op, CadStrip out, const CadStrip *x, size_t n);

typedef void (*CadStripFunction)(CadOp op, CadStrip out, const CadStrip *x, size_t n);

/* Whether there is neither inf nor nan among numbers. */
int cad_are_finite(const double *numbers, size_t n);

/* out += sum of x over n numbers, pairwise. */
void cad_strip_sum(double *out, CadStrip x, size_t n);

/* to[i] += g[i] * p[i], an exact zero absorbing; to[i] = that, if `store`. Where to.step is 0, the
 * sum is added to the one number. n <= CAD_TILE. */
void cad_strip_add_product(CadStrip to, CadStrip g, CadStrip p, int store, size_t n);

/* to[i] += x[i], or to[i] = x[i]. As above; any n. */
void cad_strip_add(CadStrip to, CadStrip x, int store, size_t n);

/* Room for the intermediate results of a formula. */
typedef struct CadScratch CadScratch;

CadScratch *cad_scratch_new(void);

enum { CAD_SPARE_TILES = 64 };

/* CAD_TILE numbers for the caller's own use. */
double *cad_scratch_tile(CadScratch *scratch, int k);

/* The partial of an operation by operand `which`, n <= CAD_TILE; `x` holds the three operands and
 * the value. The result lives in these or in the scratch, until the next call. */
CadStrip cad_strip_partial(CadScratch *scratch, CadOp op, int which, const CadStrip x[4],
                           size_t n);

/* What an entry hands on to its operand `which`, n <= CAD_TILE: to[i] += g[i] * partial[i], as
 * cad_strip_add_product has it. */
void cad_strip_hand_on(CadScratch *scratch, CadOp op, int which, CadStrip to, CadStrip g,
                       const CadStrip x[4], int store, size_t n);

/* A partial and its derivative along one direction; data NULL is a zero. `t` holds the tangents of
 * x, y, z, v. */
typedef struct CadDualStrip {
    CadStrip value;
    CadStrip tangent;
} CadDualStrip;

CadDualStrip cad_strip_dual_partial(CadScratch *scratch, CadOp op, int which, const CadStrip x[4],
                                    const CadStrip t[4], size_t n);

/* cad_strip_hand_on together with its derivative along one direction: to[0], g[0] are adjoints,
 * to[1], g[1] their tangents, to[1][i] += g[1][i] * partial[i] + g[0][i] * its tangent[i]. */
void cad_strip_hand_on_second(CadScratch *scratch, CadOp op, int which, const CadStrip to[2],
                              const CadStrip g[2], const CadStrip x[4], const CadStrip t[4],
                              int store, size_t n);

/* Several lanes: numbers that stand side by side at each place of `to` and `t`.
 * to[i][k] += t[i][k]; += t[i][k] * p[i]; += g[i] * (p[i] * t[i][k]). Or = that, if `store`. Where
 * to.step is 0, the sums are added to the one place. Any n. */
void cad_lanes_add(size_t lanes, CadStrip to, CadStrip t, int store, size_t n);
void cad_lanes_add_product(size_t lanes, CadStrip to, CadStrip t, CadStrip p, int store, size_t n);
void cad_lanes_add_curve(size_t lanes, CadStrip to, CadStrip t, CadStrip p, CadStrip g, size_t n);

/* product (m x p, rows `out_step` apart) = A (m x n) B (n x p); steps in numbers. */
typedef struct CadMatrix {
    double *data;
    ptrdiff_t row;
    ptrdiff_t column;
} CadMatrix;

void cad_multiply_matrices(CadMatrix product, CadMatrix a, CadMatrix b, size_t m, size_t n,
                           size_t p);

/* Many small ones: of the first one there is what stands above, and the k-th stands steps[0] * k
 * behind it in product, steps[1] * k in a, steps[2] * k in b. */
void cad_multiply_each(CadMatrix product, CadMatrix a, CadMatrix b, size_t m, size_t n, size_t p,
                       size_t count, const ptrdiff_t steps[3]);

/* Of each row of logits (rows x classes): the loss -log softmax[label], and the residual softmax
 * less one at the label, neither of which cancels digits. */
void cad_cross_entropy(const double *logits, const int64_t *labels, size_t rows, size_t classes,
                       double *losses, double *residuals);

#endif
