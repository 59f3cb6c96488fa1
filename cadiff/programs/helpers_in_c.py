"""The formulas of operations in C, and all functions and macros that written C relies on.

Formulas are the table's, functions in them those of src/table/special.c. A file has the helpers
that it names, and those that these name. This module does not know who writes the rest of a file.
"""

from __future__ import annotations

import re

from .. import binding

TEXTS = binding.operation_texts()
# Values of operations, with {0}, {1} and {2} in the place of x, y and z.
FORMS = [re.sub(r"\b[xyz]\b", lambda x: f"{{{'xyz'.index(x[0])}}}", text[1:-1]) for text in TEXTS]
# Of each a form of which compilers make vectors in loops; "" if there is none.
VECTOR_FORMS = [
    "" if calls else form for form, calls in zip(FORMS, binding.operation_calls(), strict=True)
]
VECTOR_FORMS[binding.operation_names()[0].index("_amul")] = "cad_absorbed({0}, {1})"

# Those that the core computes where there are several numbers, by their forms.
CALLED = {form: k for k, form in reversed([*enumerate(FORMS)]) if not VECTOR_FORMS[k]}

# An operation of the core on some numbers, set when a library is loaded.
VALUE = "cadiff_value"

# No turn of loops that are marked as independent waits for another one, which compilers cannot
# see. Results are the same whatever vectors there are, since nothing is contracted. GCC 12 leaves
# out calls of functions with such loops if it looks into them.
_MACROS = {
    "CADIFF_INDEPENDENT": """\
#if defined(__clang__)
#define CADIFF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CADIFF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CADIFF_INDEPENDENT
#endif
""",
    "CADIFF_VECTORS": """\
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ < 8)
#define CADIFF_VECTORS __attribute__((noinlineTARGET))
#elif defined(__GNUC__)
#define CADIFF_VECTORS __attribute__((noipaTARGET))
#else
#define CADIFF_VECTORS
#endif
""",
    "CADIFF_END": """\
/* Else all code that knows no such vectors is slow from then on; with -O1 GCC leaves it out. */
#if defined(__GNUC__) && defined(__x86_64__) && HAS_VECTORS
#define CADIFF_END __builtin_ia32_vzeroupper();
#else
#define CADIFF_END
#endif
""",
}

# A product of the chain rule is looked at again where it is nan. If that is done apart, gradients
# take 7 % less time, and the compiler a fifth less.
_SPECIAL = binding.helper_texts()
_OF_NAN = _SPECIAL.pop("cad_amul").replace(
    "static inline double cad_amul(",
    """\
#ifdef __GNUC__
__attribute__((noinline, cold))
#endif
static double cad_amul_of_nan(""",
)
_PRODUCTS = {
    "cad_amul_of_nan": _OF_NAN,
    "cad_amul": """\
static inline double cad_amul(double x, double y) {
    const double product = x * y;
    return product == product ? product : cad_amul_of_nan(x, y);
}
""",
    "cad_absorbed": """\
/* cad_amul without a branch. */
static inline double cad_absorbed(double x, double y) {
    const double product = x * y;
    return (product == product) | ((x != 0.0) & (y != 0.0)) ? product : 0.0;
}
""",
}

_FUNCTIONS = {
    # Sums as NumPy adds up, to the last bit: in halves, so that rounding hardly grows with the
    # number of terms, and of few terms eight at a time.
    "cad_sum": """\
CADIFF_VECTORS static double cad_sum(const double *x, int step, int n) {
    if (n > 128) {
        const int half = n / 16 * 8;
        return cad_sum(x, step, half) + cad_sum(x + half * step, step, n - half);
    }
    double sum = x[0];
    int i = 1;
#ifdef __GNUC__
    if (n >= 8 && step == 1) {
        typedef double cad_pair __attribute__((vector_size(16), aligned(8), may_alias));
        const cad_pair *pair = (const cad_pair *)x;
        cad_pair r0 = pair[0], r1 = pair[1], r2 = pair[2], r3 = pair[3];
        for (i = 8; i + 8 <= n; i += 8) {
            pair += 4;
            r0 += pair[0], r1 += pair[1], r2 += pair[2], r3 += pair[3];
        }
        sum = ((r0[0] + r0[1]) + (r1[0] + r1[1])) + ((r2[0] + r2[1]) + (r3[0] + r3[1]));
    } else
#endif
    if (n >= 8) {
        double DECLARED;
        for (i = 8; i + 8 <= n; i += 8) {
            const double *const next = x + i * step;
            ADDED;
        }
        sum = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7));
    }
    for (; i < n; i++) {
        sum += x[i * step];
    }
    return sum;
}
""".replace("DECLARED", ", ".join(f"r{k} = x[{k} * step]" for k in range(8))).replace(
        "ADDED", "; ".join(f"r{k} += next[{k} * step]" for k in range(8))
    ),
    # Of numbers in a row: equal shares of 1 for those that are extreme, as in src/kernels/rows.c.
    "cad_share_extreme": """\
static void cad_share_extreme(double *to, const double *x, int rows, int n, int least) {
    for (const double *const end = x + (long)rows * n; x < end; x += n, to += n) {
        double found = x[0], count = 0.0;
        for (int i = 1; i < n; i++) {
            found = x[i] != x[i] || (least ? x[i] < found : x[i] > found) ? x[i] : found;
        }
        for (int i = 0; i < n; i++) {
            to[i] = x[i] == found || (x[i] != x[i] && found != found);
            count += to[i];
        }
        for (int i = 0; i < n; i++) {
            to[i] /= count;
        }
    }
}
""",
    # Along the axis of n numbers: where the extreme is; of several the first, less n.
    "cad_place_extreme": """\
static void cad_place_extreme(double *to, const double *x, int rows, int n, int inner, int least) {
    for (int row = 0; row < rows; row++, x += (long)n * inner) {
        for (int j = 0; j < inner; j++, to++) {
            double found = x[j], place = 0.0, ties = 0.0;
            for (int i = 1; i < n; i++) {
                const double one = x[(long)i * inner + j];
                if (one == found || (one != one && found != found)) {
                    ties = 1.0;
                } else if (one != one || (least ? one < found : one > found)) {
                    found = one, place = i, ties = 0.0;
                }
            }
            *to = ties != 0.0 ? place - n : place;
        }
    }
}
""",
    # Along the first axis: of each number the product of all others.
    "cad_multiply_others": """\
static void cad_multiply_others(double *to, const double *x, int n, int columns) {
    for (int j = 0; j < columns; j++) {
        double before = 1.0, behind = 1.0;
        for (long i = j; i < (long)n * columns; i += columns) {
            to[i] = before;
            before *= x[i];
        }
        for (long i = (long)n * columns - columns + j; i >= 0; i -= columns) {
            to[i] *= behind;
            behind *= x[i];
        }
    }
}
""",
    "cadiff_referred": """\
static double *cadiff_referred(const double *place) {
    double *numbers;
    memcpy(&numbers, place, sizeof numbers);
    return numbers;
}
""",
    VALUE: f"void (*{VALUE})(int, long, double *, long{', const double *, long' * 3});\n",
}

HELPERS = {**_MACROS, **_SPECIAL, **_PRODUCTS, **_FUNCTIONS}  # callees come first


def with_helpers(body: str, has_vectors: bool = True) -> str:
    """A file of some functions: with what they include, and the helpers that they need.

    Those of a file for all machines are no vectors of the one at hand.
    """
    target = binding.vector_target()
    wanted = {*re.findall(r"\w+", body)}
    chosen = [body]
    for name, text in reversed(HELPERS.items()):
        if name in wanted:
            text = text if has_vectors else text.replace("CADIFF_VECTORS ", "")
            text = text.replace("HAS_VECTORS", str(int(bool(target))))
            text = text.replace("TARGET", f', target("{target}")' if target else "")
            wanted |= {*re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))}
            chosen.append(text)
    for_words = {"malloc": "stdlib", "uint32_t": "stdint"}
    names = sorted({"math", "string"} | {for_words[word] for word in wanted & {*for_words}})
    head = "".join(f"#include <{name}.h>\n" for name in names)
    return "\n".join([head, *reversed(chosen)])
