/* What elementwise functions of SciPy's kind get to compute with: SciPy's own loops, lent to
 * them, and their memory from one element to the next. */
#ifndef CAD_KERNELS_LENT_H
#define CAD_KERNELS_LENT_H

#include "kernels/stacks.h"

enum { CAD_MOST_NUMBERS = 4 };

/* What is lent: X(name in scipy.special, number of operands, the kind of numbers: double or
 * complex). */
#define CAD_LENT_FUNCTIONS(X)                                                                     \
    X(beta, 2, 'd')                                                                               \
    X(boxcox, 2, 'd')                                                                             \
    X(boxcox1p, 2, 'd')                                                                           \
    X(cosdg, 1, 'd')                                                                              \
    X(cotdg, 1, 'd')                                                                              \
    X(ellipe, 1, 'd')                                                                             \
    X(erfcx, 1, 'd')                                                                              \
    X(gamma, 1, 'D')                                                                              \
    X(gammaln, 1, 'd')                                                                            \
    X(hyp0f1, 2, 'd')                                                                             \
    X(hyp1f1, 3, 'd')                                                                             \
    X(hyp2f1, 4, 'd')                                                                             \
    X(inv_boxcox1p, 2, 'd')                                                                       \
    X(iv, 2, 'd')                                                                                 \
    X(ive, 2, 'd')                                                                                \
    X(jv, 2, 'd')                                                                                 \
    X(kl_div, 2, 'd')                                                                             \
    X(kn, 2, 'd')                                                                                 \
    X(kv, 2, 'd')                                                                                 \
    X(kve, 2, 'd')                                                                                \
    X(owens_t, 2, 'd')                                                                            \
    X(powm1, 2, 'd')                                                                              \
    X(pseudo_huber, 2, 'd')                                                                       \
    X(rgamma, 1, 'd')                                                                             \
    X(sindg, 1, 'd')                                                                              \
    X(stdtr, 2, 'd')                                                                              \
    X(stdtrit, 2, 'd')                                                                            \
    X(tandg, 1, 'd')                                                                              \
    X(zeta, 2, 'd')

typedef enum CadLentCode {
#define CAD_LENT_CODE(name, arity, kind) CAD_LENT_##name,
    CAD_LENT_FUNCTIONS(CAD_LENT_CODE)
#undef CAD_LENT_CODE
        CAD_LENT_COUNT
} CadLentCode;

typedef struct CadLent {
    CadStackLoop *loop;
    void *data;
} CadLent;

typedef struct CadLentName {
    const char *name;
    int arity;
    char kind;
} CadLentName;

extern const CadLentName cad_lent_names[CAD_LENT_COUNT];

/* Shape parameters are most often the same for all elements: what follows from them alone is
 * computed once. */
typedef struct CadMemo {
    double x, y, found;
} CadMemo;

enum { CAD_MEMOS = 4, CAD_NODES = 151 };

typedef struct CadHelp {
    const CadLent *lent; /* by its code */
    CadMemo memos[CAD_MEMOS];
    int has_nodes;
    double nodes[CAD_NODES], weights[CAD_NODES]; /* of quadrature: see tails.c */
} CadHelp;

typedef double CadOfNumbers(const double *x, CadHelp *help);

/* The value of a function of SciPy's. */
double cad_ask(const CadHelp *help, CadLentCode code, double x, double y, double z, double w);

static inline double cad_ask1(const CadHelp *help, CadLentCode code, double x) {
    return cad_ask(help, code, x, 0.0, 0.0, 0.0);
}

static inline double cad_ask2(const CadHelp *help, CadLentCode code, double x, double y) {
    return cad_ask(help, code, x, y, 0.0, 0.0);
}

static inline double cad_ask3(const CadHelp *help, CadLentCode code, double x, double y,
                              double z) {
    return cad_ask(help, code, x, y, z, 0.0);
}

#endif
