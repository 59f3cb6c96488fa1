/* Loops of second order: products of the chain rule and their derivatives along directions. */
#include "kernels/loops.h"

#define AMUL absorb
#include "table/duals.h"

#include <string.h>

/* --- one direction --- */

/* Number by number, so that compilers vectorise it. */
static CAD_INLINE Dual choose(int condition, Dual x, Dual y) {
    return (Dual){select_bits(condition, x.value, y.value),
                  select_bits(condition, x.tangent, y.tangent)};
}

#undef IF
#define IF(condition, x, y) choose(condition, x, y)

/* As in kernels.c, over dual numbers. */
#define CAD_DIRECT(name, which, reads, partial)                                                   \
    case CAD_OP_##name * 4 + which - 1:                                                           \
        if ((reads & scattered) != 0) {                                                           \
            return 0;                                                                             \
        }                                                                                         \
        CAD_NO_UNROLL                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            const Dual x = {xs[0][i], ts[0][i]}, y = {xs[1][i], ts[1][i]};                        \
            const Dual z = {xs[2][i], ts[2][i]}, v = {xs[3][i], ts[3][i]};                        \
            (void)x, (void)y, (void)z, (void)v;                                                   \
            const Dual d = partial;                                                               \
            const double curve = absorb(g[i], d.tangent);                                         \
            to[i] += absorb(g[i], d.value);                                                       \
            to_t[i] = to_t[i] + absorb(gt[i], d.value) + curve;                                   \
        }                                                                                         \
        return 1;

CAD_CLONES static int add_directly(int op_and_which, int scattered, double *restrict to,
                                   double *restrict to_t, const double *g, const double *gt,
                                   const double *const xs[4], const double *const ts[4],
                                   size_t n) {
    switch (op_and_which) {
#include "ops_direct.h"
    default:
        return 0;
    }
}

/* The tangent of what has none. */
static const double zeros[CAD_TILE];

void cad_strip_hand_on_second(CadScratch *s, CadOp op, int which, const CadStrip to[2],
                              const CadStrip g[2], const CadStrip x[4], const CadStrip t[4],
                              int store, size_t n) {
    if (to[0].step == 1 && to[1].step == 1 && g[0].step == 1 && g[1].step == 1) {
        const double *xs[4], *ts[4];
        int scattered = 0;
        for (int k = 0; k < 4; k++) {
            xs[k] = x[k].data;
            ts[k] = t[k].data == NULL ? zeros : t[k].data;
            scattered |= (x[k].step != 1 || (t[k].data != NULL && t[k].step != 1)) << k;
        }
        if (store) { /* which is added to zeros, whatever adds it */
            memset(to[0].data, 0, n * sizeof *to[0].data);
            memset(to[1].data, 0, n * sizeof *to[1].data);
            store = 0;
        }
        if (add_directly((int)op * 4 + which, scattered, to[0].data, to[1].data, g[0].data,
                         g[1].data, xs, ts, n)) {
            return;
        }
    }
    const CadDualStrip p = cad_strip_dual_partial(s, op, which, x, t, n);
    cad_strip_add_product(to[0], g[0], p.value, store, n);
    cad_strip_add_product(to[1], g[1], p.value, store, n);
    if (p.tangent.data != NULL) {
        cad_strip_add_product(to[1], g[0], p.tangent, 0, n);
    }
}

/* --- several --- */

enum { AT_ONCE = 8, PART = 64 };

typedef enum Term { PLAIN, PRODUCT, CURVE } Term;

static CAD_INLINE double term_of(const Term term, double t, double p, double g) {
    const double moved = term == PLAIN ? t : absorb(p, t);
    return term == CURVE ? absorb(g, moved) : moved;
}

/* Terms, factors and adjoints side by side, as many of each. */
static CAD_INLINE void add_flat_terms(const Term term, double *restrict to, const double *t,
                                      const double *p, const double *g, const int store,
                                      size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double factor = term == PLAIN ? 1.0 : p[i];
        const double adjoint = term == CURVE ? g[i] : 1.0;
        to[i] = (store ? 0.0 : to[i]) + term_of(term, t[i], factor, adjoint);
    }
}

/* Up to AT_ONCE lanes of places anywhere; those of a number and of its term do not overlap. Where
 * a factor is zero, all that it is multiplied with might as well be: so only the lanes are asked.
 */
static CAD_INLINE void add_terms(const Term term, const size_t lanes, CadStrip to, CadStrip t,
                                 CadStrip p, CadStrip g, const int store, size_t n) {
    static const double none[AT_ONCE];
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        double *restrict const target = to.data + i * to.step;
        const double factor = term == PLAIN ? 1.0 : p.data[i * p.step];
        const double adjoint = term == CURVE ? g.data[i * g.step] : 1.0;
        const int absorbs = factor == 0.0 || adjoint == 0.0;
        const double *restrict const from = absorbs ? none : t.data + i * t.step;
        CAD_NO_UNROLL
        for (size_t k = 0; k < lanes; k++) {
            const double product = factor * from[k];
            const double moved = term == PLAIN ? from[k] : from[k] == 0.0 ? 0.0 : product;
            const double x = term != CURVE ? moved : moved == 0.0 ? 0.0 : adjoint * moved;
            target[k] = (store ? 0.0 : target[k]) + x;
        }
    }
}

/* To one place: part by part, so that errors do not add up. */
static CAD_INLINE void sum_terms(const Term term, const size_t lanes, CadStrip to, CadStrip t,
                                 CadStrip p, CadStrip g, const int store, size_t n) {
    double total[AT_ONCE] = {0.0};
    for (size_t first = 0; first < n; first += PART) {
        double part[AT_ONCE] = {0.0};
        add_terms(term, lanes, (CadStrip){part, 0}, cad_strip_from(t, first),
                  cad_strip_from(p, first), cad_strip_from(g, first), 0,
                  n - first < PART ? n - first : PART);
        for (size_t k = 0; k < lanes; k++) {
            total[k] += part[k];
        }
    }
    for (size_t k = 0; k < lanes; k++) {
        to.data[k] = (store ? 0.0 : to.data[k]) + total[k];
    }
}

/* A loop for each term, and for whether it is stored. */
#define FOR_TERM(run, ...)                                                                        \
    do {                                                                                          \
        switch (term * 2 + (store != 0)) {                                                        \
        case PLAIN * 2:                                                                           \
            run(PLAIN, __VA_ARGS__, 0, n);                                                        \
            break;                                                                                \
        case PLAIN * 2 + 1:                                                                       \
            run(PLAIN, __VA_ARGS__, 1, n);                                                        \
            break;                                                                                \
        case PRODUCT * 2:                                                                         \
            run(PRODUCT, __VA_ARGS__, 0, n);                                                      \
            break;                                                                                \
        case PRODUCT * 2 + 1:                                                                     \
            run(PRODUCT, __VA_ARGS__, 1, n);                                                      \
            break;                                                                                \
        default: /* curves are only ever added */                                                 \
            run(CURVE, __VA_ARGS__, 0, n);                                                        \
        }                                                                                         \
    } while (0)

CAD_CLONES static void run_flat(Term term, double *to, const double *t, const double *p,
                                const double *g, int store, size_t n) {
    FOR_TERM(add_flat_terms, to, t, p, g);
}

#define LANES(name, at_once, loop)                                                                \
    static void name(Term term, size_t lanes, CadStrip to, CadStrip t, CadStrip p, CadStrip g,    \
                     int store, size_t n) {                                                       \
        (void)lanes;                                                                              \
        FOR_TERM(loop, at_once, to, t, p, g);                                                     \
    }
CAD_CLONES LANES(run_eight, AT_ONCE, add_terms)
CAD_CLONES LANES(sum_eight, AT_ONCE, sum_terms)
    /* Fewer lanes than a vector has gain nothing by other instruction sets. */
    LANES(run_few, lanes, add_terms) LANES(sum_few, lanes, sum_terms)
#undef LANES

    /* A number for each lane. */
    static CAD_INLINE void widen(double *wide, CadStrip x, const size_t lanes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < lanes; k++) {
            wide[i * lanes + k] = x.data[(ptrdiff_t)i * x.step];
        }
    }
}

/* Where all places stand side by side, the loop is over all lanes of all of them, once there is a
 * factor for each. */
static void run_side_by_side(Term term, size_t lanes, CadStrip to, CadStrip t, CadStrip p,
                             CadStrip g, int store, size_t n) {
    double factors[PART * AT_ONCE], adjoints[PART * AT_ONCE];
    const size_t most = term == PLAIN ? n : PART;
    for (size_t first = 0; first < n; first += most) {
        const size_t count = n - first < most ? n - first : most;
        if (term != PLAIN) {
            widen(factors, cad_strip_from(p, first), lanes, count);
        }
        if (term == CURVE) {
            widen(adjoints, cad_strip_from(g, first), lanes, count);
        }
        run_flat(term, to.data + first * lanes, t.data + first * lanes, factors, adjoints, store,
                 count * lanes);
    }
}

static void run_some(Term term, size_t lanes, CadStrip to, CadStrip t, CadStrip p, CadStrip g,
                     int store, size_t n) {
    if (lanes == AT_ONCE) {
        (to.step == 0 ? sum_eight : run_eight)(term, lanes, to, t, p, g, store, n);
    } else if (to.step == (ptrdiff_t)lanes && t.step == to.step) {
        run_side_by_side(term, lanes, to, t, p, g, store, n);
    } else {
        (to.step == 0 ? sum_few : run_few)(term, lanes, to, t, p, g, store, n);
    }
}

static void run_all(Term term, size_t lanes, CadStrip to, CadStrip t, CadStrip p, CadStrip g,
                    int store, size_t n) {
    for (; lanes > AT_ONCE; lanes -= AT_ONCE, to.data += AT_ONCE, t.data += AT_ONCE) {
        run_some(term, AT_ONCE, to, t, p, g, store, n);
    }
    run_some(term, lanes, to, t, p, g, store, n);
}

static const CadStrip none = {NULL, 0};

void cad_lanes_add(size_t lanes, CadStrip to, CadStrip t, int store, size_t n) {
    if (lanes == 1) {
        cad_strip_add(to, t, store, n);
    } else {
        run_all(PLAIN, lanes, to, t, none, none, store, n);
    }
}

void cad_lanes_add_product(size_t lanes, CadStrip to, CadStrip t, CadStrip p, int store,
                           size_t n) {
    if (p.step == 0 && p.data[0] == 1.0) {
        cad_lanes_add(lanes, to, t, store, n);
        return;
    }
    run_all(PRODUCT, lanes, to, t, p, none, store, n);
}

void cad_lanes_add_curve(size_t lanes, CadStrip to, CadStrip t, CadStrip p, CadStrip g, size_t n) {
    run_all(CURVE, lanes, to, t, p, g, 0, n);
}
