"""The guide to kinds of array operations (docs/design/arrays.md) holds for a new one."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .test_c_core import BUILDS, COMPILER, CORE, output, run, write_headers

# Every other number with its sign changed, counted from the end of each row.
ROW = """
CAD_KIND(ALTERNATE, "_alternate", "r = x", 1, 1, 0, alternate,
         CAD_PULL(ALTERNATE, CAD_G, CAD_G, 0, 0, 0))
"""
KERNEL = """
static void cad_alternate_term(const CadTerm *term) {
    Walk walk = start(term, 1);
    do {
        const CadStrip to = row_of(term, &walk, 0), from = row_of(term, &walk, 1);
        for (size_t i = 0; i < walk.n * term->lanes; i++) {
            const ptrdiff_t k = (ptrdiff_t)(i / term->lanes), lane = (ptrdiff_t)(i % term->lanes);
            const double x = from.data[k * from.step + lane];
            double *const place = &to.data[k * to.step + lane];
            *place = (term->store ? 0.0 : *place) + ((walk.n - (size_t)k) % 2 ? x : -x);
        }
    } while (advance(&walk));
}

"""
# f(x) = sum of w alternate(x^2): its gradient, and its Hessian times e_1 + 2 e_2 + 3 e_3.
PROGRAM = """
#include "arrays/arrays.h"
#include "graph/edges.h"
#include "sweeps/sweeps.h"
#include "tape/tape.h"

#include <stdio.h>

static CadSlot push(CadTape *tape, CadOp op, int n, const CadSlot *operands) {
    static const int64_t three = 3, one = 1;
    CadRequest request = {.op = op, .ndim = 1, .shape = &three, .n_views = n + 1,
                          .views = {{CAD_OWN, &one}}, .slots = 3, .index = -1};
    for (int k = 0; k < n; k++) {
        request.views[k + 1] = (CadPlace){operands[k], &one};
    }
    CadSlot out = 0;
    return cad_array_push(tape, &request, &out) == CAD_OK ? out : CAD_NONE;
}

int main(void) {
    CadTape *tape = cad_tape_new();
    const double x[3] = {2.0, 3.0, 5.0}, w[3] = {1.0, 10.0, 100.0};
    double tangents[64] = {1.0, 2.0, 3.0}, second[64] = {0.0};
    CadSlot leaf;
    cad_tape_leaf(tape, x, 3, 0, &leaf);
    const CadSlot squares = push(tape, CAD_OP_square, 1, &leaf);
    const CadSlot y = push(tape, CAD_OP_ALTERNATE, 1, &squares);
    cad_tape_clear_adjoints(tape, 0, tape->n_slots);
    cad_sweep_tangent(tape, 0, 3, 3, leaf, 1, tangents);
    for (int i = 0; i < 3; i++) {
        tape->adjoints[y + i] = w[i];
        printf("%g %g\\n", tape->values[y + i], tangents[y + i]);
    }
    cad_sweep_second(tape, 0, 3, 3, leaf, 1, tangents, second);
    for (int i = 0; i < 3; i++) {
        printf("%g %g\\n", tape->adjoints[leaf + i], second[i]);
    }
    cad_tape_free(tape);

    /* Two rows of three as numbers of a graph: no entries, and a pattern of blocks. */
    CadGraph *graph = cad_graph_new(1);
    const int64_t shape[2] = {2, 3}, in_order[2] = {3, 1};
    const CadId inputs = cad_graph_input(graph, 6, 0);
    const CadNumbers views[2] = {{0, in_order}, {inputs, in_order}};
    const CadId results = cad_graph_map(graph, CAD_OP_ALTERNATE, 6, 2, shape, 2, views);
    CadId wrt[6], outputs[6], *entries = NULL;
    for (uint32_t i = 0; i < 6; i++) {
        wrt[i] = inputs + i;
        outputs[i] = results + i;
    }
    CadPattern pattern = {0};
    cad_graph_jacobian(graph, wrt, 6, outputs, 6, &pattern, &entries);
    printf("%d %d\\n", entries == NULL, (int)graph->status);
    cad_sparsity(graph, wrt, 6, outputs, 6, &pattern);
    for (int i = 0; i < 6; i++) {
        const int32_t *row = pattern.columns + pattern.starts[i];
        printf("%d %d\\n", (int)(pattern.starts[i + 1] - pattern.starts[i]), row[0]);
    }
    cad_pattern_free(&pattern);
    cad_graph_free(graph);
    return 0;
}
"""
OPTIONS = [*BUILDS["sanitized"], "-I"]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the core with the new kind."""
    directory = tmp_path_factory.mktemp("kinds")
    copy = directory / "src"
    shutil.copytree(CORE, copy, ignore=shutil.ignore_patterns("generated", "*.py"))
    write_headers(copy)
    table = copy / "table" / "kinds.def"
    rows, end, _ = table.read_text(encoding="utf-8").rpartition("#undef CAD_KIND")
    table.write_text(rows + ROW + end, encoding="utf-8")
    terms = copy / "arrays" / "terms.c"
    text = terms.read_text(encoding="utf-8")
    place = text.index("static CadTermKernel *const kernels")
    terms.write_text(text[:place] + KERNEL + text[place:], encoding="utf-8")
    return copy


@pytest.mark.slow
def test_a_row_and_a_kernel_are_a_kind(core: Path) -> None:
    (core / "main.c").write_text(PROGRAM, encoding="utf-8")
    folders = ("memory", "table", "kernels", "tape", "arrays", "sweeps", "graph")
    sources = [core / "main.c", *(path for f in folders for path in (core / f).glob("*.c"))]

    def compiled(source: Path) -> Path:
        made = source.with_suffix(".o")
        output([*COMPILER, *OPTIONS, core, "-c", source, "-o", made])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    output([*COMPILER, *OPTIONS, core, *objects, "-lm", "-o", core / "main"])
    done = run([core / "main"])
    assert done.returncode == 0, done.stderr
    numbers = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
    assert numbers == [
        *([4.0, 4.0], [-9.0, -12.0], [25.0, 30.0]),  # values and their tangents
        *([4.0, 2.0], [-60.0, -40.0], [1000.0, 600.0]),  # gradient, Hessian times direction
        [1.0, 0.0],  # no entries: which they are is not known
        *([[3.0, 0.0]] * 3 + [[3.0, 3.0]] * 3),  # of each row how many, and the first of them
    ]


@pytest.mark.parametrize(
    ("file", "part", "other", "message"),
    [
        (
            "tape/entries.c",
            '"r = x", 1,',
            '"r = x", 2,',
            "a_request_for_each_operand_of_ALTERNATE",
        ),
        ("arrays/terms.c", " alternate,", " missing,", "cad_missing_term"),
    ],
    ids=["request", "kernel"],
)
def test_a_row_that_lacks_a_part_does_not_compile(
    core: Path, file: str, part: str, other: str, message: str, tmp_path: Path
) -> None:
    table = core / "table" / "kinds.def"
    text = table.read_text(encoding="utf-8")
    assert part in text
    table.write_text(text.replace(part, other), encoding="utf-8")
    try:
        done = run([*COMPILER, *OPTIONS, core, "-c", core / file, "-o", tmp_path / "made.o"])
    finally:
        table.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    assert message in done.stderr
