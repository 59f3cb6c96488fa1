"""Loops of fused instructions as functions of C.

Loops that differ in nothing but their places are one function, which gets these: the steps of an
unrolled program are compiled once. This module does not know how loops are found.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from .. import binding
from .fused_loops import Loop
from .instructions import Stream, place_text
from .steps_in_c import FORMS, table

PARAMETERS = "const double *restrict s, double *w"
TURN_PARAMETERS = f"{PARAMETERS}, double *tiles, long turn, long part"

# No turn of these loops waits for another one, which compilers cannot see. Results are the same
# whatever vectors there are, since nothing is contracted. GCC 12 leaves out calls of such
# functions if it looks into them.
_HEAD = """\
#if defined(__clang__)
#define CADIFF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CADIFF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CADIFF_INDEPENDENT
#endif
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ < 8)
#define CADIFF_VECTORS __attribute__((noinlineTARGET))
#elif defined(__GNUC__)
#define CADIFF_VECTORS __attribute__((noipaTARGET))
#else
#define CADIFF_VECTORS
#endif

/* Else all code that knows no such vectors is slow from then on; with -O1 GCC leaves it out. */
#if defined(__GNUC__) && defined(__x86_64__) && HAS_TARGET
#define CADIFF_END __builtin_ia32_vzeroupper();
#else
#define CADIFF_END
#endif

/* cad_amul without a branch. */
static inline double cad_absorbed(double x, double y) {
    const double product = x * y;
    return (product == product) | ((x != 0.0) & (y != 0.0)) ? product : 0.0;
}
"""

_SUMS = """\
#ifdef __GNUC__
typedef double cadiff_pair __attribute__((vector_size(16), aligned(8), may_alias));

CADIFF_VECTORS static double cadiff_sum(const double *x, int n) {
    if (n > 128) {
        const int half = n / 16 * 8;
        return cadiff_sum(x, half) + cadiff_sum(x + half, n - half);
    }
    const cadiff_pair *pair = (const cadiff_pair *)x;
    cadiff_pair r0 = pair[0], r1 = pair[1], r2 = pair[2], r3 = pair[3];
    int i = 8;
    for (; i + 8 <= n; i += 8) {
        pair += 4;
        r0 += pair[0], r1 += pair[1], r2 += pair[2], r3 += pair[3];
    }
    double sum = ((r0[0] + r0[1]) + (r1[0] + r1[1])) + ((r2[0] + r2[1]) + (r3[0] + r3[1]));
    for (; i < n; i++) {
        sum += x[i];
    }
    return sum;
}
#else
#define cadiff_sum(x, n) cad_sum(x, 1, n)
#endif

static double *cadiff_referred(const double *w, int place) {
    double *numbers;
    memcpy(&numbers, w + place, sizeof numbers);
    return numbers;
}
"""


def vectors_head() -> str:
    """What functions are written with that are to be vectors of the machine at hand."""
    target = binding.vector_target()
    head = _HEAD.replace("HAS_TARGET", str(int(bool(target))))
    return head.replace("TARGET", f', target("{target}")' if target else "")


class LoopFunctions:
    """Functions of C for loops. `base` tells of a place in which array it stands, and where."""

    def __init__(
        self,
        base: Callable[[int, bool], tuple[str, tuple[int, ...]]],
        number: Callable[[int], str],
    ) -> None:
        self.base = base
        self.number = number
        self.names: dict[str, str] = {}  # of functions, by their text
        self.places: list[int] = []

    def share(self, others: LoopFunctions) -> None:
        """Have the functions of another program, and add to them."""
        self.names, self.places = others.names, others.places

    def call(self, loop: Loop) -> str:
        """The statement that has a loop carried out."""
        written = _Writing(self, loop)
        in_tiles = loop.tiles is not None
        text = f"({TURN_PARAMETERS if in_tiles else PARAMETERS}, {written.text()}"
        name = self.names.setdefault(text, f"cadiff_loop{len(self.names)}")
        at = len(self.places)
        self.places += written.given
        arguments = "s, w, tiles, turn, part" if in_tiles else "s, w"
        return f"{name}({arguments}, cadiff_places + {at});"

    def texts(self) -> str:
        """All functions, and the places that are given to them."""
        if not self.names:
            return ""
        functions = [f"CADIFF_VECTORS static void {n}{text}" for text, n in self.names.items()]
        places = table("int cadiff_places[]", self.places)
        return "\n".join([vectors_head(), _SUMS, *functions, places])


class _Writing:
    """One loop, and the places that are given to it."""

    def __init__(self, functions: LoopFunctions, loop: Loop) -> None:
        self.functions = functions
        self.loop = loop
        self.given: list[int] = []  # places
        self.lines: list[list[str]] = [[] for _ in (None, *loop.axes)]  # within so many axes
        self.n_variables = 0
        self.arrays: dict[tuple[str, tuple[int, ...]], list[tuple[int, str]]] = {}
        self.names: dict[Stream, str] = {}

    def element(self, stream: Stream) -> str:
        """A number of a stream, by the pointer to it or to its neighbours."""
        first, steps, moves = stream
        base, own = self.functions.base(first, self.loop.tiles is not None)
        for move, by in zip(moves, ("turn", "part"), strict=True):
            base += f" + {move} * {by}" if move else ""
        known = self.arrays.setdefault((base, steps), [])
        width = min(map(abs, filter(None, steps)), default=1)
        near = [array for array in known if 0 <= first - array[0] < width]
        begin, name = near[0] if near else (first, f"a{sum(map(len, self.arrays.values()))}")
        if not near:
            known.append((begin, name))
            places = [f"p[{len(self.given) + k}]" for k in range(len(own))]
            self.given += own
            constant = "const " if base.startswith("s") else ""
            self.lines[0].append(f"{constant}double *const {name} = {base.format(*places)};")
        indices = [(step, f"i{axis}") for axis, step in enumerate(steps)]
        return place_text(first - begin, *indices, name=name)

    def operand(self, stream: Stream) -> str:
        """A variable that was handed on, or is read as far outside as can be; or a constant."""
        name = self.names.get(stream)
        if name is None:
            if stream.first < 0 and not any((*stream.steps, *stream.moves)):
                return self.functions.number(stream.first)
            depth = max((axis + 1 for axis, step in enumerate(stream.steps) if step), default=0)
            text = self.element(stream)
            name = self.names[stream] = self.fresh()
            self.lines[depth].append(f"const double {name} = {text};")
        return name

    def strip(self, stream: Stream, number: int) -> str:
        """Where the numbers of all turns stand side by side."""
        axes = self.loop.axes
        steps = tuple(prod(axes[k + 1 :]) for k in range(len(axes)))
        if stream not in self.loop.outs and stream.steps == steps:
            return f"&{self.element(stream._replace(steps=(0,) * len(axes)))}"
        name = f"t{number}"
        self.lines[0].append(f"double {name}[{prod(axes)}];")
        index = [(step, f"i{axis}") for axis, step in enumerate(steps)]
        self.lines[-1].append(f"{place_text(0, *index, name=name)} = {self.operand(stream)};")
        return name

    def fresh(self) -> str:
        self.n_variables += 1
        return f"v{self.n_variables}"

    def text(self) -> str:
        """All behind the other parameters."""
        inner = self.lines[-1]
        totals: list[str] = []
        kept: dict[Stream, str] = {}
        turns = prod(self.loop.axes)
        for s in self.loop.statements:
            if s.is_total:
                out, strip = self.element(s.out), self.strip(s.operands[-1], len(totals))
                given = [out] * (len(s.operands) - 1)
                total = s.form.format(*given, f"cadiff_sum({strip}, {turns})")
                totals.append(f"{out} = {total};")
                continue
            value = s.form.format(*map(self.operand, s.operands))
            name = self.fresh()
            inner.append(f"const double {name} = {value};")
            self.names[s.out] = name
            if s.is_kept:
                kept[s.out] = name
        inner += [f"{self.element(stream)} = {name};" for stream, name in kept.items()]
        body = ""
        for k in reversed(range(len(self.loop.axes))):
            begin = f"for (int i{k} = 0; i{k} < {self.loop.axes[k]}; i{k}++) {{"
            pragma = "CADIFF_INDEPENDENT\n" if k == len(self.loop.axes) - 1 else ""
            within = "\n".join([*self.lines[k + 1], *([body] if body else [])])
            body = f"{pragma}{begin}\n{within}\n}}"
        whole = "\n".join([*self.lines[0], body, *totals, "CADIFF_END"])
        return f"const int *restrict p) {{\n{whole}\n}}\n"


# Of each operation a form of which compilers make vectors in loops; "" if there is none.
VECTOR_FORMS = [
    "" if calls else form for form, calls in zip(FORMS, binding.operation_calls(), strict=True)
]
VECTOR_FORMS[binding.operation_names()[0].index("_amul")] = "cad_absorbed({0}, {1})"
