# What the binding sees of graphs in C: patterns, colours, derivatives as further numbers.

from libc.stdint cimport int64_t, uint8_t, uint32_t

from .c_entries cimport CadPlan, CadStatus, CadTape


cdef extern from "graph/pattern.h" nogil:
    ctypedef struct CadPattern:
        size_t n_rows
        size_t n_columns
        int64_t *starts
        int *columns

    void cad_pattern_free(CadPattern *pattern)
    CadStatus cad_pattern_of_pairs(size_t n_rows, size_t n_columns, const uint32_t *rows,
                                   const uint32_t *columns, size_t *count, size_t *order,
                                   CadPattern *pattern)
    CadStatus cad_pattern_transpose(const CadPattern *pattern, size_t *order, CadPattern *result)
    CadStatus cad_pattern_symmetric(const CadPattern *pattern, CadPattern *result)
    int64_t cad_pattern_find(const CadPattern *pattern, size_t row, int column)


cdef extern from "graph/coloring.h" nogil:
    ctypedef struct CadColoring:
        uint32_t *colors
        size_t n_colors

    void cad_coloring_free(CadColoring *coloring)
    CadStatus cad_color_columns(const CadPattern *pattern, CadColoring *coloring)
    CadStatus cad_color_star(const CadPattern *pattern, CadColoring *coloring)
    CadStatus cad_read_star(const CadPattern *pattern, const CadColoring *coloring,
                            uint32_t *rows, uint32_t *colors)


cdef extern from "graph/graph.h" nogil:
    ctypedef uint32_t CadId

    ctypedef struct CadOutcome:
        CadId id
        double value

    enum: CAD_RECORD_SINGLE, CAD_RECORD_MAP, CAD_RECORD_CALL
    const CadId CAD_ZERO

    ctypedef struct CadRecord:
        int kind
        int op

    ctypedef struct CadArray:
        uint32_t number

    enum: CAD_NOTED_CALL, CAD_NOTED_TAKE, CAD_NOTED_ADD

    ctypedef struct CadNoted:
        int kind "as"
        uint32_t number

    ctypedef struct CadLinks:
        bint is_known
        const uint32_t *of
        const uint32_t *by
        size_t n
        size_t n_between

    ctypedef struct CadScan:
        CadGraph *body

    ctypedef struct CadCalls:
        CadStatus (*note)(void *owner, CadTape *tape, size_t entry, uint8_t *passive,
                          CadNoted *noted) noexcept
        CadStatus (*pull)(void *owner, CadGraph *graph, uint32_t number, CadId operands,
                          CadId results, CadId given, int64_t step, const uint8_t *wanted,
                          CadId *made) noexcept
        CadStatus (*push)(void *owner, CadGraph *graph, uint32_t number, CadId operands,
                          CadId results, CadId given, int64_t step, const uint8_t *move,
                          CadId *made) noexcept
        CadStatus (*insert)(void *owner, CadTape *tape, size_t entry, const CadId *operands,
                            CadId *results) noexcept
        CadStatus (*form)(void *owner, uint32_t number, uint32_t *first) noexcept
        CadStatus (*link)(void *owner, uint32_t number, CadLinks *links) noexcept

    ctypedef struct CadGraph:
        CadRecord *records
        CadOutcome *guards
        uint32_t n_numbers
        size_t n_records
        size_t n_arrays
        size_t n_own
        size_t n_guards
        size_t n_scans
        CadScan *scans
        bint optimize
        bint takes_turns
        bint compares_last
        bint keeps_doubles
        const CadCalls *calls
        void *owner
        CadStatus status

    ctypedef struct CadGraphMark:
        pass

    ctypedef struct CadGraphParts:
        uint32_t *records
        int64_t *words
        CadId *lists
        double *constants
        size_t n_records
        size_t n_rows
        size_t n_words
        size_t n_lists
        size_t n_constants

    CadGraph *cad_graph_new(bint optimize)
    size_t cad_graph_bytes(const CadGraph *graph)
    void cad_graph_free(CadGraph *graph)
    CadGraphMark cad_graph_mark(const CadGraph *graph)
    void cad_graph_rewind(CadGraph *graph, const CadGraphMark *mark)
    CadId cad_graph_constant(CadGraph *graph, double value)
    CadId cad_graph_input(CadGraph *graph, size_t size, bint are_floats)
    int cad_graph_has_calls(const CadGraph *graph)
    CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome)
    void cad_graph_write(const CadGraph *graph, CadGraphParts *parts)
    CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs)
    bint cad_graph_has(CadGraph *graph, CadId id)
    CadStatus cad_graph_beginning(CadGraph *graph, size_t n_records, CadGraph **beginning,
                                  CadId *ends, size_t *n_ends)
    ctypedef struct CadPart:
        CadGraph *graph
        CadId own, inputs
        CadId *given
        size_t n_given

    CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                              CadPart *part)
    CadStatus cad_graph_insert(CadGraph *graph, CadGraph *origin, const CadId *inputs,
                               const CadId *operands, size_t n_inputs, const CadId *outputs,
                               size_t n_outputs, CadId *results)
    CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, bint by_value,
                              const CadId *outputs, size_t n_outputs, uint8_t *found)
    CadStatus cad_graph_copies(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                               const CadId *outputs, size_t n_outputs, CadId **copies,
                               uint32_t **origins, size_t *n)
    CadStatus cad_graph_pull(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                             size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results)
    CadStatus cad_graph_push(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                             const CadId *outputs, size_t n_outputs, CadId *results)
    CadStatus cad_graph_forward(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                                const CadId *outputs, size_t n_outputs, CadId *results)
    CadStatus cad_graph_jacobian(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                                 const CadId *outputs, size_t n_outputs, CadPattern *pattern,
                                 CadId **entries)
    CadId cad_graph_first(CadGraph *graph, size_t record)
    uint32_t cad_record_size(const CadRecord *record)
    const CadArray *cad_graph_array(const CadGraph *graph, const CadRecord *record)
    CadPlan *cad_graph_plan(const CadGraph *graph, const CadRecord *record)
    CadId cad_graph_pack(CadGraph *graph, const CadId *ids, size_t size)
    CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count,
                         size_t size)
    bint cad_graph_is_constant(CadGraph *graph, CadId id, double *value)


cdef extern from "loops/loops.h" nogil:
    CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                             const CadId *inputs, size_t n_inputs, CadId *outputs,
                             size_t n_outputs, size_t least_numbers)

cdef extern from "graph/edges.h" nogil:
    ctypedef struct CadEdge:
        uint32_t of
        uint32_t by

    ctypedef struct CadEdges:
        CadEdge *items
        size_t n
        size_t n_numbers
        bint too_many

    CadStatus cad_graph_edges(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                              const CadId *outputs, size_t n_outputs, size_t most,
                              bint with_calls, CadEdges *edges)
    void cad_edges_free(CadEdges *edges)


cdef extern from "graph/sparsity.h" nogil:
    CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                           size_t n_outputs, CadPattern *pattern)
