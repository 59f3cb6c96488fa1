"""Jacobians and Hessians of graphs as matrices, mostly sparse, whose structure is found once."""

import numpy as np

cimport cython
from libc.stdint cimport int64_t, SIZE_MAX, uint32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.graph cimport *
from .c_numbers cimport *
from .generated.program cimport *
from .generated.tape cimport *
from .codes cimport Code, copied
from .graph_numbers cimport GraphTransaction, Ids, joined_ids, new_ids
from .graphs cimport Graph

from .rules import CallError
from .jacobians import check_room

cdef enum:
    BLOCK_NUMBERS = 1 << 22   # in the inputs and results of the products that are taken together
    SMALL_MATRIX = 64         # entries of a matrix whose zeros are not worth thinking of
    LONG_ARRAY = 1 << 11      # elements
    FEW_COLORS = 4            # whose products with gathered numbers are one code
    LARGE_MATRIX = 1 << 18    # entries; if half of them are there, colours are not worth it


@cython.final
cdef class Pattern:
    """The structure of a sparse matrix by rows, as SciPy has it: `indptr` and `indices`.

    `symmetric` makes it that of A + A'.
    """

    cdef CadPattern pattern

    def __dealloc__(self):
        cad_pattern_free(&self.pattern)

    def __init__(self, shape: tuple[int, int], rows: NDArray[Any], columns: NDArray[Any]):
        """From the rows and columns of entries, in any order."""
        cdef cnp.ndarray given_rows = np.ascontiguousarray(rows, dtype=np.uint32)
        cdef cnp.ndarray given_columns = np.ascontiguousarray(columns, dtype=np.uint32)
        cdef size_t count = cnp.PyArray_SIZE(given_rows)
        check(cad_pattern_of_pairs(
            shape[0], shape[1], <const uint32_t *>cnp.PyArray_DATA(given_rows),
            <const uint32_t *>cnp.PyArray_DATA(given_columns), &count, NULL, &self.pattern,
        ))

    @property
    def shape(self) -> tuple[int, int]:
        return (self.pattern.n_rows, self.pattern.n_columns)

    @property
    def count(self) -> int:
        return self.pattern.starts[self.pattern.n_rows]

    @property
    def indptr(self) -> NDArray[np.int64]:
        return copied(self.pattern.starts, self.pattern.n_rows + 1, np.int64)

    @property
    def indices(self) -> NDArray[np.int32]:
        return copied(self.pattern.columns, self.count, np.int32)

    def rows(self) -> NDArray[np.int64]:
        """Of each entry its row."""
        return np.repeat(np.arange(self.pattern.n_rows), np.diff(self.indptr))

    def transposed(self) -> Pattern:
        cdef Pattern result = new_pattern()
        check(cad_pattern_transpose(&self.pattern, NULL, &result.pattern))
        return result

    def symmetric(self) -> Pattern:
        cdef Pattern result = new_pattern()
        check(cad_pattern_symmetric(&self.pattern, &result.pattern))
        return result

    def find(self, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.int64]:
        """The index of each of some entries, or -1."""
        cdef cnp.ndarray wanted_rows = np.ascontiguousarray(rows, dtype=np.int64)
        cdef cnp.ndarray wanted_columns = np.ascontiguousarray(columns, dtype=np.int32)
        cdef cnp.ndarray result = np.empty(len(wanted_rows), dtype=np.int64)
        cdef const int64_t *i = <const int64_t *>cnp.PyArray_DATA(wanted_rows)
        cdef const int *j = <const int *>cnp.PyArray_DATA(wanted_columns)
        cdef int64_t *places = <int64_t *>cnp.PyArray_DATA(result)
        cdef Py_ssize_t k
        for k in range(cnp.PyArray_SIZE(result)):
            places[k] = cad_pattern_find(&self.pattern, i[k], j[k])
        return result

    def color_columns(self) -> tuple[NDArray[np.intp], int]:
        """Colours of the columns, such that no row has two entries of one; how many there are."""
        cdef CadColoring coloring
        check(cad_color_columns(&self.pattern, &coloring))
        return taken_colors(&coloring, self.pattern.n_columns)

    def color_star(self) -> tuple[NDArray[np.intp], int, NDArray[np.intp], NDArray[np.intp]]:
        """Star colours of a symmetric pattern, how many there are, and of each entry the row and
        the colour of the product that it is read from."""
        cdef CadColoring coloring
        cdef cnp.ndarray rows = np.empty(self.count, dtype=np.uint32)
        cdef cnp.ndarray colors = np.empty(self.count, dtype=np.uint32)
        check(cad_color_star(&self.pattern, &coloring))
        cdef CadStatus status = cad_read_star(
            &self.pattern, &coloring, <uint32_t *>cnp.PyArray_DATA(rows),
            <uint32_t *>cnp.PyArray_DATA(colors),
        )
        result = taken_colors(&coloring, self.pattern.n_columns)
        check(status)
        return (*result, rows.astype(np.intp), colors.astype(np.intp))


cdef Pattern new_pattern():
    return Pattern.__new__(Pattern)


cdef tuple taken_colors(CadColoring *coloring, Py_ssize_t n):
    """Colours as an array; their memory is given back."""
    cdef size_t count = coloring.n_colors
    try:
        colors = copied(coloring.colors, n, np.uint32)
    finally:
        cad_coloring_free(coloring)
    return colors.astype(np.intp), count


@cython.final
cdef class MatrixPlan:
    """How the numbers of a matrix are computed: in `evaluate`, as a vector.

    Either each is a result of one code, or a constant: with a few colours, too, whose directions
    that code knows. Or they are read from products with the matrix along several directions, one
    for each colour.
    """

    cdef readonly Code code
    cdef readonly Code point  #: Code | None  # of products: what does not depend on a direction
    cdef readonly Pattern pattern       # of the matrix
    cdef public object assemble         # for its users: what makes a matrix of its numbers
    cdef readonly Py_ssize_t size       # numbers in the vector
    cdef readonly Py_ssize_t n_colors   # 0: there are no products
    cdef readonly tuple unlinked        # steps of which no pattern is known, ...
    cdef readonly Py_ssize_t n_found    # ... how many entries there are, ...
    cdef readonly Py_ssize_t n_filled   # ... and how many of them for want of a pattern
    cdef readonly bint is_backward      # the products are with the transpose
    cdef readonly bint has_copies       # ... by copies of the variables, each by itself
    # By one code: numbers that are there from the outset, or zeros; where constants go, and the
    # results; and which numbers are there once more.
    cdef bint direct
    cdef cnp.ndarray template
    cdef cnp.ndarray fixed
    cdef cnp.ndarray values
    cdef cnp.ndarray places
    cdef cnp.ndarray sources
    cdef cnp.ndarray copies
    cdef cnp.ndarray colors             # of each number, if it is of one of a few products
    # By products: the direction of each, and for blocks of products the entries, and the places
    # that they are read from. Of a whole matrix each product is a column, or a row, as it stands.
    cdef readonly bint is_whole
    cdef readonly bint is_by_rows
    cdef bint adds                      # more than one number to an entry
    cdef readonly cnp.ndarray seeds  #: NDArray[np.float64]
    cdef readonly list blocks  #: list[tuple[int, int, NDArray[np.intp], NDArray[np.intp]]]

    def __init__(self):
        raise TypeError("a MatrixPlan comes from plan_matrix")

    @property
    def n_operations(self) -> int:
        """How many operations on numbers are carried out."""
        if self.point is not None:
            return self.point.n_operations + self.code.n_operations * self.n_colors
        return self.code.n_operations

    @property
    def nbytes(self) -> int:
        """Of the code and of what goes with it."""
        arrays = [
            self.template, self.fixed, self.values, self.places, self.sources, self.copies,
            self.seeds, self.colors,
        ]
        arrays += [array for block in self.blocks or [] for array in block[2:]]
        codes = [code for code in (self.point, self.code) if code is not None]
        return sum([part.nbytes for part in codes + arrays if part is not None])

    def directions(self) -> NDArray[np.intp] | None:
        """The colour of the product from which each number of the vector is read; of a sum over
        several products, that of the last one. None where there are no products."""
        if self.n_colors == 0 or self.is_whole:
            return None
        if self.point is None:
            return self.colors.astype(np.intp)
        found = np.zeros(self.size, dtype=np.intp)
        for begin, _, places, source in self.blocks:
            found[places] = begin + source // <Py_ssize_t>self.code.program.n_results
        return found

    cdef Py_ssize_t n_inputs(self):
        return (self.code if self.point is None else self.point).program.n_inputs

    def evaluate(self, cnp.ndarray inputs) -> NDArray[np.float64] | int:
        """A fresh vector for a contiguous float64 vector of inputs; or a pair, as Code.evaluate gives it,
        where a guard does not hold, with -1 if it is not known which."""
        cdef cnp.npy_intp n = self.size
        cdef double outcome = 0.0
        if self.point is not None:
            return self.run_products(inputs)
        if self.direct:
            return self.code.evaluate(inputs)
        self.code.check_inputs(inputs)
        cdef cnp.ndarray data
        if self.template is None:
            data = cnp.PyArray_ZEROS(1, &n, cnp.NPY_DOUBLE, 0)
        else:
            data = cnp.new_doubles(n)
            memcpy(cnp.PyArray_DATA(data), cnp.PyArray_DATA(self.template), n * sizeof(double))
        cdef double *room = self.code.take_room()
        cdef double *results = room + cad_program_room(self.code.program, 1)
        cdef long missed
        missed = self.code.run_at(room, cnp.doubles(inputs), results, &outcome)
        if missed == -1:
            put(cnp.doubles(data), results, cnp.places(self.places), self.code.program.n_results)
            put(
                cnp.doubles(data),
                cnp.doubles(self.values),
                cnp.places(self.fixed),
                cnp.PyArray_SIZE(self.fixed),
            )
            copy_some(
                cnp.doubles(data),
                cnp.places(self.copies),
                cnp.places(self.sources),
                cnp.PyArray_SIZE(self.copies),
            )
        self.code.give_back(room)
        if missed == CAD_CALL_FAILED:
            check(CAD_RAISED)
        return data if missed == -1 else (missed, outcome)

    def spread(self, results: NDArray[np.float64]) -> NDArray[np.float64]:
        """The vectors for rows of results of the code, where it has all numbers."""
        if self.direct:
            return results
        data = np.zeros((len(results), self.size))
        if self.template is not None:
            data[:] = self.template
        data[:, self.fixed] = self.values
        data[:, self.places] = results
        data[:, self.copies] = data[:, self.sources]
        return data

    def run_at(self, x) -> NDArray[np.float64] | None:
        """The vector for one argument that is a float64 vector; None if it is not, if a guard does
        not hold, a step raises, or a hook is set on the tape."""
        cdef cnp.ndarray array
        if not cnp.PyArray_CheckExact(x) or cad_current_tape().hook != NULL:
            return None
        array = <cnp.ndarray>x
        if (
            cnp.PyArray_NDIM(array) != 1
            or cnp.PyArray_DIM(array, 0) != self.n_inputs()
            or cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISCARRAY_RO(array)
        ):
            return None
        try:
            data = self.evaluate(array)
        except CallError:
            return None
        return data if cnp.PyArray_CheckExact(data) else None

    cdef object run_products(self, cnp.ndarray inputs):
        """The vector by products along directions; what these share is computed once."""
        cdef Code code = self.code
        cdef double *room = NULL
        cdef bint in_room = code.program.has_arrays or code.program.has_calls
        cdef cnp.ndarray shared = np.empty(0 if in_room else code.program.n_shared)
        cdef cnp.ndarray results, seeds
        cdef double *place
        cdef long missed
        cdef double outcome = 0.0
        cdef Py_ssize_t n = self.n_colors
        if self.is_whole:
            data = np.empty(self.size)
            lines = data.reshape(n, -1) if self.is_by_rows else data.reshape(-1, n).T
        else:
            data = np.zeros(self.size)
        try:
            if in_room:
                room = code.take_room()
                place = cad_program_places(code.program, room)
            else:
                place = cnp.doubles(shared)
            missed = self.point.carry_array(inputs, place, &outcome)
            if missed != -1:
                return missed, outcome
            for begin, end, entries, places in self.blocks:
                seeds = None
                if not self.is_whole:
                    seeds = self.seeds[begin:end]
                elif room == NULL:
                    seeds = np.eye(end - begin, n, begin)
                if self.is_whole and self.is_by_rows:
                    results = lines[begin:end]
                else:
                    results = np.empty((end - begin, code.program.n_results))
                if room != NULL:
                    missed = code.carry_along(
                        room, <const double *>(NULL if seeds is None else cnp.PyArray_DATA(seeds)),
                        begin, cnp.doubles(results), end - begin,
                    )
                else:
                    missed = -1
                    if code.run_points([seeds], shared, [results],
                                       np.empty(end - begin, dtype=np.uint8)):
                        missed = 0
                if missed != -1:
                    return -1, outcome  # whichever it is
                if not self.is_whole:
                    put_chosen(data, entries, results, places, self.adds)
                elif not self.is_by_rows:
                    lines[begin:end] = results
        finally:
            if room != NULL:
                code.give_back(room)
        return data


cdef inline void put(double *data, const double *results, const cnp.npy_intp *places,
                     Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        data[places[k]] = results[k]


cdef void put_chosen(cnp.ndarray data, cnp.ndarray entries, cnp.ndarray results,
                     cnp.ndarray places, bint adds) noexcept:
    """Set, or add to, some numbers, which are `results` at some places."""
    cdef double *to = cnp.doubles(data)
    cdef const double *source = cnp.doubles(results)
    cdef const cnp.npy_intp *at = cnp.places(entries)
    cdef const cnp.npy_intp *place = cnp.places(places)
    cdef Py_ssize_t k
    with nogil:
        if adds:
            for k in range(cnp.PyArray_SIZE(entries)):
                to[at[k]] += source[place[k]]
        else:
            for k in range(cnp.PyArray_SIZE(entries)):
                to[at[k]] = source[place[k]]


cdef inline void copy_some(double *data, const cnp.npy_intp *targets, const cnp.npy_intp *sources,
                           Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        data[targets[k]] = data[sources[k]]


def plan_matrix(Graph graph, str what, ranges: tuple[tuple[int, int], ...], Pattern given or None,
                str layout, bint for_points=False, bint for_c=False) -> MatrixPlan:
    """A plan for the "jacobian" of the outputs, or the "hessian" of the one output, by inputs.

    "jacfwd" is the dense Jacobian by a push along each input.
    Its vector holds the entries of the pattern, by "rows" or by "columns", or the "dense" matrix.
    With a given pattern these are the entries that are wanted. `for_points`: of many points.
    `for_c`: of codes as `code_for_c` has them; where there are no products, one has all numbers.
    """
    with GraphTransaction(graph):
        graph.for_lanes = for_points
        graph.write_in_c(for_c)
        try:
            return planned_matrix(graph, what, ranges, given, layout)
        finally:
            graph.for_lanes = False
            graph.write_in_c(False)


cdef MatrixPlan planned_matrix(Graph graph, str what, ranges, Pattern known, str layout):
    cdef bint dense = layout == "dense"
    cdef Ids wrt = graph.elements(ranges)
    cdef Ids outputs = graph.all_outputs()
    cdef bint hessian = what == "hessian"
    cdef bint forward = what == "jacfwd" and outputs.n * wrt.n > 0
    if dense:
        check_room(wrt.n if hessian else outputs.n, wrt.n)
    # Rules of the user's may be at odds with values, and with what follows for forward mode.
    rules = [step.rule for step in graph.steps[:graph.kept_steps]]
    cdef bint exact = all([rule.is_exact for rule in rules])
    cdef bint backward = not all([rule.is_exact or rule.goes_forward for rule in rules])
    if hessian:
        backward = not exact
        outputs = graph.pulled(outputs, graph.ones(outputs.n), wrt)
        hessian = exact  # else it need not be symmetric
    cdef MatrixPlan plan = MatrixPlan.__new__(MatrixPlan)
    cdef Pattern pattern = new_pattern()
    cdef Ids entries = Ids.__new__(Ids)
    cdef Pattern of_entries = new_pattern()
    plan.unlinked = ()
    # Of long arrays few products are made sooner than entries, and are faster if there is one, or
    # numbers are gathered anyway.
    cdef bint is_known = not hessian and has_long_arrays(graph)
    if is_known:
        find_structure(plan, graph, wrt, outputs, pattern, dense)
    if not (forward or is_known and are_few_products(graph, pattern, wrt, outputs, backward)):
        check(cad_graph_jacobian(
            graph.graph, wrt.data, wrt.n, outputs.data, outputs.n, &of_entries.pattern,
            &entries.data
        ))
    cdef bint by_entries = entries.data != NULL
    if by_entries:
        pattern = of_entries
        entries.n = pattern.count
        plan.unlinked = ()
        plan.n_found = plan.n_filled = 0
    elif not is_known:
        find_structure(plan, graph, wrt, outputs, pattern, dense)
    if hessian:
        pattern, entries = symmetric_entries(pattern, entries if by_entries else None)
    plan.pattern = pattern if known is None else known
    plan.size = outputs.n * wrt.n if dense else plan.pattern.count
    plan.is_whole = dense and known is None and not by_entries and (  # no colours would save any
        forward or is_full(pattern) or hessian and pattern.count == wrt.n * wrt.n
    )
    if plan.is_whole:
        backward = not forward and (backward or outputs.n < wrt.n)
        plan.n_colors = outputs.n if backward else wrt.n
        set_directions(plan, graph, wrt, outputs, backward)
        plan.is_by_rows = plan.is_backward or hessian  # which is symmetric
        set_blocks(plan)
        return plan
    rows, columns = plan.pattern.rows(), plan.pattern.indices
    if dense:
        places = rows * wrt.n + columns
    elif layout == "columns":
        places = np.empty(len(columns), dtype=np.intp)
        places[np.argsort(columns, kind="stable")] = np.arange(len(columns))
    else:
        places = np.arange(len(columns))
    index = None if known is None else pattern.find(rows, columns)
    if by_entries or pattern.count == 0:
        set_entries(plan, graph, entries, index, places)
    else:
        set_products(plan, graph, pattern, wrt, outputs, hessian, backward, index, places)
    return plan


cdef bint has_long_arrays(Graph graph) noexcept:
    """Whether an operation has a long array for its result."""
    cdef size_t i
    cdef const CadRecord *record
    for i in range(graph.graph.n_records):
        record = &graph.graph.records[i]
        if record.kind == CAD_RECORD_MAP and cad_record_size(record) >= LONG_ARRAY:
            return True
    return False


cdef bint are_few_products(Graph graph, Pattern pattern, Ids wrt, Ids outputs,
                           bint backward) except -1:
    """Whether one product, or few by copies of what is gathered, tell all entries apart."""
    if pattern.count == 0:
        return False
    if not backward and np.diff(pattern.indptr).max() == 1:
        return True
    if np.diff(pattern.transposed().indptr).max() == 1:
        return True
    return _Copies(graph, wrt, outputs).have_fewer_colors(graph, outputs, FEW_COLORS + 1)


cdef int find_pattern(Pattern pattern, Graph graph, Ids wrt, Ids outputs) except -1:
    return check(cad_sparsity(
        graph.graph, wrt.data, wrt.n, outputs.data, outputs.n, &pattern.pattern
    ))


cdef int find_structure(MatrixPlan plan, Graph graph, Ids wrt, Ids outputs, Pattern pattern,
                        bint dense) except -1:
    """Find the pattern by sets; of a sparse matrix note what fills it, too."""
    find_pattern(pattern, graph, wrt, outputs)
    plan.unlinked = tuple(graph.unlinked())
    if plan.unlinked and not dense:
        plan.n_found = pattern.count
        plan.n_filled = filled(graph, wrt, outputs, pattern.count)
    graph.links.clear()
    return 0


cdef Py_ssize_t filled(Graph graph, Ids wrt, Ids outputs, Py_ssize_t count) except -1:
    """How many of the entries are there because nothing is known of some steps."""
    cdef Pattern known = new_pattern()
    graph.leaves_out = True
    try:
        find_pattern(known, graph, wrt, outputs)
    finally:
        graph.leaves_out = False
    return count - known.count


cdef bint are_mirrored(Pattern pattern, Ids entries) except -1:
    """Whether a pattern is symmetric. Then each pair of entries is one number: the upper one."""
    cdef CadPattern *own = &pattern.pattern
    cdef cnp.ndarray begin = copied(own.starts, own.n_rows, np.int64)
    # Of each row, what is left of it: entries of columns that have been rows are behind.
    cdef int64_t *left = <int64_t *>cnp.PyArray_DATA(begin)
    cdef int64_t j, i, k
    for j in range(<int64_t>own.n_rows):
        for k in range(left[j], own.starts[j + 1]):
            i = own.columns[k]
            if i < j or left[i] == own.starts[i + 1] or own.columns[left[i]] != j:
                return False
            if entries is not None:
                entries.data[left[i]] = entries.data[k]
            left[i] += 1
    return True


cdef tuple symmetric_entries(Pattern pattern, Ids entries):
    """The pattern with each entry's mirrored entry, and one number for both."""
    if are_mirrored(pattern, entries):
        return pattern, entries
    cdef Pattern whole = pattern.symmetric()
    cdef Ids result
    cdef Py_ssize_t k
    cdef int64_t at
    if entries is None:
        return whole, None
    rows = whole.rows()
    columns = whole.indices
    places = pattern.find(np.minimum(rows, columns), np.maximum(rows, columns))
    other = pattern.find(np.maximum(rows, columns), np.minimum(rows, columns))
    cdef cnp.ndarray chosen = np.where(places >= 0, places, other)
    result = new_ids(whole.count)
    for k in range(result.n):
        at = (<int64_t *>cnp.PyArray_DATA(chosen))[k]
        result.data[k] = entries.data[at]
    return whole, result


cdef int set_entries(MatrixPlan plan, Graph graph, Ids entries, index, places) except -1:
    """Set the plan up for one code. Each number is computed once, constants never."""
    cdef Py_ssize_t k, n = len(places), size = plan.size
    cdef Py_ssize_t n_constants = 0, n_copies = 0, n_roots = 0
    cdef cnp.npy_intp at
    cdef double value
    cdef Ids numbers = new_ids(n), roots = new_ids(n)
    # Of each number where it is computed to, or -1.
    cdef cnp.ndarray known = np.full(graph.graph.n_numbers, -1, dtype=np.intp)
    cdef cnp.ndarray own = np.ascontiguousarray(places, dtype=np.intp)
    cdef cnp.ndarray values = np.empty(n)
    cdef cnp.ndarray constants = np.empty(n, dtype=np.intp)
    cdef cnp.ndarray wanted = np.empty(n, dtype=np.intp)
    cdef cnp.ndarray copies = np.empty(n, dtype=np.intp)
    cdef cnp.ndarray sources = np.empty(n, dtype=np.intp)
    cdef cnp.ndarray chosen = None
    cdef cnp.npy_intp *first = cnp.places(known)
    cdef const cnp.npy_intp *to = cnp.places(own)
    if index is not None:
        chosen = np.ascontiguousarray(index, dtype=np.intp)
    for k in range(n):
        at = k if chosen is None else cnp.places(chosen)[k]
        numbers.data[k] = CAD_ZERO if at < 0 else entries.data[at]
        if cad_graph_is_constant(graph.graph, numbers.data[k], &value):
            cnp.places(constants)[n_constants] = to[k]
            cnp.doubles(values)[n_constants] = value
            n_constants += 1
            continue
        at = numbers.data[k]
        if first[at] >= 0:
            cnp.places(copies)[n_copies] = to[k]
            cnp.places(sources)[n_copies] = first[at]
            n_copies += 1
        else:
            first[at] = to[k]
            cnp.places(wanted)[n_roots] = to[k]
            roots.data[n_roots] = numbers.data[k]
            n_roots += 1
    cdef Ids ids = roots
    if size <= SMALL_MATRIX or 4 * n_roots > 3 * size or graph.graph.compares_last:
        plan.direct = True
        ids = new_ids(size)
        for k in range(size):
            ids.data[k] = CAD_ZERO
        for k in range(n):
            ids.data[to[k]] = numbers.data[k]
    else:
        if 2 * n_constants > size:  # to copy them all is faster, and takes less memory
            plan.template = np.zeros(size)
            plan.template[constants[:n_constants]] = values[:n_constants]
            n_constants = 0
        plan.fixed = constants[:n_constants].copy()
        plan.values = values[:n_constants].copy()
        plan.places = wanted[:n_roots].copy()
        plan.copies = copies[:n_copies].copy()
        plan.sources = sources[:n_copies].copy()
        roots.n = n_roots
    check(graph.graph.status)
    plan.code = graph.code([], [ids])
    return 0


cdef bint is_full(Pattern pattern):
    """Whether directions of unit vectors are worth no more thought: colours save few of them."""
    cdef size_t count = pattern.count
    return count > LARGE_MATRIX and 2 * count > pattern.pattern.n_rows * pattern.pattern.n_columns


cdef int set_directions(MatrixPlan plan, Graph graph, Ids wrt, Ids outputs,
                        bint backward) except -1:
    """The codes for products with the matrix along directions, or with its transpose."""
    cdef Ids along
    plan.is_backward = backward
    along = graph.more_inputs(outputs.n if backward else wrt.n)
    plan.point, plan.code = graph.codes_along(
        along,
        graph.pulled(outputs, along, wrt) if backward else graph.pushed(wrt, along, outputs),
        plan.n_colors,
    )
    return 0


cdef class _Copies:
    """The variables and all copies of them that a function makes, as variables of their own.

    Where rows of a few cameras were gathered for many observations, each copy is used by one of
    these: then few rows of the Jacobian by copies have an entry in common, where many have by
    originals. An entry by an original is the sum of those by its copies.
    """
    cdef Ids variables
    cdef size_t n_copies
    cdef cnp.ndarray origins    # of each variable the index of its original
    cdef Pattern pattern
    cdef object colors          # of the rows
    cdef size_t n_colors

    def __init__(self, Graph graph, Ids wrt, Ids outputs):
        cdef Ids copies = Ids.__new__(Ids)
        cdef uint32_t *origins = NULL
        check(cad_graph_copies(
            graph.graph, wrt.data, wrt.n, outputs.data, outputs.n, &copies.data, &origins,
            &self.n_copies,
        ))
        try:
            copies.n = self.n_copies
            indices = copied(origins, copies.n, np.uint32)
        finally:
            cad_memory_free(origins)
        self.variables = joined_ids([wrt, copies])
        self.origins = np.concatenate([np.arange(wrt.n), indices])
        self.n_colors = SIZE_MAX

    cdef bint have_fewer_colors(self, Graph graph, Ids outputs, size_t n_colors) except -1:
        """Color the rows, unless there would be as many colours at least as there are already."""
        if self.n_copies == 0:
            return False
        self.pattern = new_pattern()
        find_pattern(self.pattern, graph, self.variables, outputs)
        cdef Pattern columns = self.pattern.transposed()
        if np.diff(columns.indptr).max(initial=0) < n_colors:
            self.colors, self.n_colors = columns.color_columns()
        return self.n_colors < n_colors


cdef tuple colors_of_lines(Pattern pattern, bint backward):
    """Whether rows are to have colours, or columns: whichever are fewer, unless it has to be
    `backward`; and the colours, and how many there are.

    Columns have as many at least as the longest row has entries. What has as many at least as are
    found for the others need not be coloured, which may take long.
    """
    cdef list sides = [pattern, pattern.transposed()]
    cdef list least = [np.diff(side.indptr).max(initial=0) for side in sides]
    cdef bint chosen = backward or least[1] < least[0]
    colors, n_colors = sides[chosen].color_columns()
    if not backward and least[not chosen] < n_colors:
        others, n_others = sides[not chosen].color_columns()
        if n_others < n_colors:
            return not chosen, others, n_others
    return chosen, colors, n_colors


cdef int set_blocks(MatrixPlan plan) except -1:
    """Divide the directions into those that are taken together."""
    cdef Py_ssize_t n_colors = plan.n_colors
    cdef Py_ssize_t step = max(1, BLOCK_NUMBERS // <Py_ssize_t>plan.code.program.n_results)
    plan.blocks = [
        (begin, min(begin + step, n_colors), None, None) for begin in range(0, n_colors, step)
    ]
    return 0


cdef class _Products:
    """Along which directions the products with a matrix go that its entries are read from."""
    cdef Ids variables
    cdef bint backward
    cdef object colors          # of the columns; of the rows if they go backward
    cdef Py_ssize_t n_colors
    # For each number read from a product: its place there, the product's direction, and the index
    # of the entry that it is, or is a term of.
    cdef object at
    cdef object lane
    cdef object entries

    def __init__(self, MatrixPlan plan, Graph graph, Pattern pattern, Ids wrt, Ids outputs,
                 bint symmetric, bint backward):
        cdef _Copies copies
        self.variables = wrt
        self.backward = backward
        self.entries = np.arange(pattern.count)
        rows, columns = pattern.rows(), pattern.indices.astype(np.intp)
        if is_full(pattern):
            self.backward = backward or (not symmetric and outputs.n < wrt.n)
            self.n_colors = outputs.n if self.backward else wrt.n
            self.colors = np.arange(self.n_colors)
        elif symmetric:
            self.colors, self.n_colors, self.at, self.lane = pattern.color_star()
            return
        else:
            self.backward, self.colors, self.n_colors = colors_of_lines(pattern, backward)
            copies = _Copies(graph, wrt, outputs)
            if copies.have_fewer_colors(graph, outputs, self.n_colors):
                self.backward, self.colors, self.n_colors = True, copies.colors, copies.n_colors
                self.variables = copies.variables
                rows, columns = copies.pattern.rows(), copies.pattern.indices.astype(np.intp)
                self.entries = pattern.find(rows, copies.origins[columns])
                plan.adds = len(self.entries) > pattern.count
                plan.has_copies = True
        self.at, which = (columns, rows) if self.backward else (rows, columns)
        self.lane = self.colors[which]

    cdef Ids known_products(self, Graph graph, Ids wrt, Ids outputs):
        """The numbers of all entries, of products along directions that are known."""
        cdef Ids product, seeds, result = new_ids(len(self.entries))
        cdef Py_ssize_t k, color
        cdef CadId zero = cad_graph_constant(graph.graph, 0.0)
        cdef cnp.ndarray chosen, at
        for color in range(self.n_colors):
            seeds = graph.ones(len(self.colors))
            chosen = np.flatnonzero(self.colors != color)
            for k in range(cnp.PyArray_SIZE(chosen)):
                seeds.data[cnp.places(chosen)[k]] = zero
            if self.backward:
                product = graph.pulled(outputs, seeds, self.variables)
            else:
                product = graph.pushed(wrt, seeds, outputs)
            chosen = np.flatnonzero(self.lane == color)
            at = self.at[chosen]
            chosen = self.entries[chosen]
            for k in range(cnp.PyArray_SIZE(chosen)):
                result.data[cnp.places(chosen)[k]] = product.data[cnp.places(at)[k]]
        return result


cdef int set_products(MatrixPlan plan, Graph graph, Pattern pattern, Ids wrt, Ids outputs,
                      bint symmetric, bint backward, index, places) except -1:
    """Set the plan up for products along directions: each is the sum of the columns of one colour,
    or of the rows if `backward`. A few directions are constants of one code."""
    cdef _Products products = _Products(plan, graph, pattern, wrt, outputs, symmetric, backward)
    if products.n_colors <= (FEW_COLORS if plan.has_copies else 1) and not plan.adds:
        plan.is_backward = products.backward
        plan.n_colors = products.n_colors
        plan.colors = np.zeros(plan.size, dtype=np.uint8)
        lanes = np.empty(pattern.count, dtype=np.uint8)
        lanes[products.entries] = products.lane
        plan.colors[places] = lanes if index is None else np.where(index >= 0, lanes[index], 0)
        set_entries(plan, graph, products.known_products(graph, wrt, outputs), index, places)
        return 0
    plan.n_colors = products.n_colors
    set_directions(plan, graph, products.variables, outputs, products.backward)
    colors, at, lane = products.colors, products.at, products.lane
    plan.seeds = np.zeros((products.n_colors, len(colors)))
    plan.seeds[colors, np.arange(len(colors))] = 1.0
    if index is not None:  # of each entry that is found its place, or -1
        wanted = np.full(pattern.count, -1)
        wanted[index[index >= 0]] = places[index >= 0]
        places = wanted
    places = places[products.entries]
    at, lane, places = at[places >= 0], lane[places >= 0], places[places >= 0]
    set_blocks(plan)
    for k, (begin, end, _, _) in enumerate(plan.blocks):
        chosen = np.flatnonzero((lane >= begin) & (lane < end))
        source = (lane[chosen] - begin) * plan.code.program.n_results + at[chosen]
        plan.blocks[k] = (begin, end, places[chosen], source)
    return 0
