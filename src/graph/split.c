/* What depends on one input, as a graph of its own.
 *
 * Where the part is linear, as derivatives are in their direction, a chain of elementwise
 * operations is one product: the coefficients of all of them are multiplied and added in the graph
 * that stays.
 */
#include "graph/inner.h"
#include "table/codes.h"

/* An array as the elementwise product of another one, which varies, and of one that does not. */
typedef struct Multiple {
    CadId of; /* CAD_NO_ID: it is none */
    CadDerivatives factor;
    int absorbs; /* as a product of derivatives does */
    int length;  /* of the chain: a single operation is computed as it was */
} Multiple;

typedef struct Splitter {
    CadGraph *graph;
    CadPart *part;
    CadStatus status;
    size_t n_records;    /* those there are before coefficients are made */
    CadActive varies;    /* what depends on the input */
    uint8_t *is_needed;  /* of what varies, by roots and guards */
    Multiple *multiples; /* of what varies */
    CadCopier copier;
    size_t given_capacity;
} Splitter;

/* --- chains of linear operations --- */

static int does_vary(const Splitter *s, CadId id) {
    const uint32_t i = cad_graph_record_of(s->graph, id);
    return i < s->n_records && s->varies.records[i];
}

/* An operand that varies as a multiple of an array that stands in the same order. */
static int is_multiple(const Splitter *s, const CadShape *shape, CadNumbers x,
                       Multiple *multiple) {
    const uint32_t i = cad_graph_record_of(s->graph, x.first);
    const CadRecord *record = &s->graph->records[i];
    if (!cad_record_is_array(record) || record->of.array.first != x.first ||
        record->of.array.size != shape->size ||
        memcmp(x.strides, shape->in_order, (size_t)shape->ndim * sizeof *x.strides) != 0) {
        return 0;
    }
    *multiple = s->multiples[i];
    if (multiple->of == CAD_NO_ID) {
        *multiple = (Multiple){x.first, {cad_graph_constant(s->graph, 1.0), 0}, 0, 0};
    }
    return 1;
}

/* The coefficients over a shape, and back. */
static CadNumbers over(const CadShape *shape, CadDerivatives factor) {
    return (CadNumbers){factor.first, factor.step == 0 ? cad_no_strides : shape->in_order};
}

static CadDerivatives apply(const CadShape *shape, CadOp op, CadNumbers x, CadNumbers y) {
    const CadNumbers result = cad_graph_apply_over(shape, op, x, y, y);
    return cad_derivatives_in_order(shape, (CadNumbers){0, shape->in_order}, result);
}

/* An elementwise operation that is linear in what varies among its operands, as a multiple. */
static Multiple multiple_of_row(Splitter *s, const CadMade *made) {
    static const Multiple none = {CAD_NO_ID, {CAD_NO_ID, 0}, 0, 0};
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(s->graph, made, in_order);
    CadNumbers x[4];
    Multiple of[2];
    int varies[2];
    const int arity = cad_made_operands(made, x);
    if (arity > 2 || shape.size != made->size || made->views[0].first != 0 ||
        memcmp(made->views[0].strides, in_order, (size_t)made->ndim * sizeof *in_order) != 0) {
        return none;
    }
    for (int k = 0; k < 2; k++) {
        varies[k] = k < arity && does_vary(s, x[k].first);
        if (varies[k] && !is_multiple(s, &shape, x[k], &of[k])) {
            return none;
        }
    }
    const int k = varies[0] ? 0 : 1;
    Multiple result = of[k];
    result.length++;
    const CadNumbers factor = over(&shape, result.factor), other = x[1 - k];
    switch ((int)made->op) {
    case CAD_OP_positive:
        return result;
    case CAD_OP_negative:
        result.factor = apply(&shape, made->op, factor, factor);
        return result;
    case CAD_OP_multiply:
    case CAD_OP_amul:
        if (varies[0] && varies[1]) {
            return none;
        }
        result.absorbs |= made->op == CAD_OP_amul;
        result.factor = apply(&shape, made->op, factor, other);
        return result;
    case CAD_OP_add:
    case CAD_OP_subtract:
        if (!varies[0] || !varies[1] || of[0].of != of[1].of) {
            return none;
        }
        result.absorbs |= of[1].absorbs;
        result.length += of[1].length;
        result.factor = apply(&shape, made->op, factor, over(&shape, of[1].factor));
        return result;
    default:
        return none;
    }
}

static void find_multiples(Splitter *s) {
    CadAxes axes;
    CadMade made;
    for (size_t i = 0; i < s->n_records && s->graph->optimize; i++) {
        if (s->varies.records[i] && s->graph->records[i].kind == CAD_RECORD_MAP) {
            cad_graph_look(s->graph, i, axes, &made);
            if (!cad_made_is_kind(&made)) {
                s->multiples[i] = multiple_of_row(s, &made);
            }
        }
    }
}

/* --- the part --- */

static int is_replaced(const Splitter *s, size_t i) {
    return s->multiples[i].length > 1;
}

/* What a record that varies is made of in the part. */
static void find_operands(const Splitter *s, size_t i, CadOperands *of) {
    const Multiple multiple = s->multiples[i];
    if (!is_replaced(s, i)) {
        cad_graph_operands(s->graph, i, of);
        return;
    }
    of->few[0] = multiple.of;
    of->few[1] = multiple.factor.first;
    of->ids = of->few;
    of->n = 2;
}

static void find_needed(Splitter *s, const CadId *roots, size_t n_roots) {
    const CadGraph *const graph = s->graph;
    CadOperands of;
    for (size_t k = 0; k < n_roots + graph->n_guards; k++) {
        const CadId id = k < n_roots ? roots[k] : graph->guards[k - n_roots].id;
        s->is_needed[cad_graph_record_of(s->graph, id)] = 1;
    }
    for (size_t i = s->n_records; i-- > 0;) {
        if (s->is_needed[i] && s->varies.records[i]) {
            find_operands(s, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                s->is_needed[cad_graph_record_of(s->graph, of.ids[k])] = 1;
            }
        }
    }
}

static CadId copy(Splitter *s, size_t i) {
    const Multiple multiple = s->multiples[i];
    if (!is_replaced(s, i)) {
        return cad_graph_copy(&s->copier, i);
    }
    const int64_t size = (int64_t)cad_record_size(&s->graph->records[i]), one = 1;
    const CadShape shape = {s->part->graph, 1, &size, &one, (size_t)size};
    const CadNumbers x = {cad_copier_name(&s->copier, multiple.of), &one};
    const CadNumbers factor = cad_derivatives_in_row((CadDerivatives){
        cad_copier_name(&s->copier, multiple.factor.first), multiple.factor.step});
    const CadOp op = multiple.absorbs ? CAD_OP_amul : CAD_OP_multiply;
    const CadNumbers product = cad_graph_apply_over(&shape, op, factor, x, x);
    /* A chain that cancels is one zero for all: what reads it takes one number for each. */
    return size > 1 && cad_is_single(&shape, product)
               ? cad_derivatives_apart(shape.graph, (CadDerivatives){product.first, 0}, shape.size)
                     .first
               : product.first;
}

/* Of an array that is given, all elements are: they are numbers of the second input. */
static void add_given(Splitter *s, CadId id) {
    CadPart *part = s->part;
    const uint32_t i = cad_graph_record_of(s->graph, id);
    const CadRecord *record = &s->graph->records[i];
    const uint32_t size = cad_record_size(record);
    if (does_vary(s, id) || s->copier.names[i] != CAD_NO_ID || s->status != CAD_OK ||
        record->kind == CAD_RECORD_CONSTANT || record->kind == CAD_RECORD_CONSTANTS) {
        return;
    }
    s->status = cad_memory_grow((void **)&part->given, &s->given_capacity, part->n_given + size,
                                sizeof *part->given);
    if (s->status == CAD_OK) {
        const CadId first = cad_graph_first(s->graph, i);
        s->copier.names[i] = part->graph->n_numbers + (CadId)part->n_given;
        for (uint32_t k = 0; k < size; k++) {
            part->given[part->n_given++] = first + k;
        }
    }
}

static void share_guards(Splitter *s) {
    CadGraph *graph = s->graph;
    size_t kept = 0;
    for (size_t k = 0; k < graph->n_guards && s->status == CAD_OK; k++) {
        const CadOutcome guard = graph->guards[k];
        if (cad_is_active(graph, &s->varies, guard.id)) {
            CadGraph *const part = s->part->graph;
            s->status = cad_graph_guard(part, cad_copier_name(&s->copier, guard.id), guard.value);
            if (s->status == CAD_OK) {
                part->guards[part->n_guards - 1].number = guard.number;
            }
        } else {
            graph->guards[kept++] = guard;
        }
    }
    graph->n_guards = s->status == CAD_OK ? kept : graph->n_guards;
}

static void make_part(Splitter *s, size_t input_record, CadId *roots, size_t n_roots) {
    CadGraph *const graph = s->graph;
    CadPart *part = s->part;
    CadOperands of;
    s->copier.names[input_record] = part->own =
        cad_graph_input(part->graph, graph->records[input_record].of.array.size, 0);
    for (size_t i = 0; i < s->n_records; i++) {
        s->varies.records[i] &= i == input_record || s->is_needed[i];
        if (s->varies.records[i]) {
            find_operands(s, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                add_given(s, of.ids[k]);
            }
        }
    }
    for (size_t k = 0; k < n_roots; k++) {
        add_given(s, roots[k]);
    }
    if (s->status != CAD_OK) {
        return;
    }
    part->inputs = part->n_given > 0 ? cad_graph_input(part->graph, part->n_given, 0) : CAD_NO_ID;
    for (size_t i = 0; i < s->n_records; i++) {
        if (s->varies.records[i] && i != input_record) {
            s->copier.names[i] = copy(s, i);
        }
    }
    for (size_t k = 0; k < n_roots && s->status == CAD_OK; k++) {
        roots[k] = cad_copier_name(&s->copier, roots[k]);
    }
    share_guards(s);
    s->status = s->status == CAD_OK ? part->graph->status : s->status;
}

CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                          CadPart *part) {
    Splitter splitter = {.graph = graph, .part = part, .n_records = graph->n_records};
    Splitter *s = &splitter;
    const size_t input_record = cad_graph_record_of(graph, input);
    const uint32_t size = graph->records[input_record].of.array.size;
    CadMemory memory = {0};
    CadId *const variables = cad_memory_take(&memory, size, sizeof *variables);
    for (uint32_t k = 0; k < size && variables != NULL; k++) {
        variables[k] = graph->records[input_record].of.array.first + k;
    }
    *part = (CadPart){.graph = cad_graph_new(graph->optimize)};
    s->varies = cad_graph_find_active(graph, &memory, variables, size, 1);
    s->multiples = cad_memory_take(&memory, graph->n_records, sizeof *s->multiples);
    if (memory.status == CAD_OK) {
        find_multiples(s);
        memory.status = graph->status;
    }
    s->copier = (CadCopier){.from = graph, .to = part->graph};
    s->copier.names = cad_memory_take(&memory, graph->n_records, sizeof *s->copier.names);
    s->is_needed = cad_memory_take(&memory, graph->n_records, 1);
    s->status = part->graph == NULL ? CAD_NO_MEMORY : memory.status;
    if (s->status == CAD_OK) {
        find_needed(s, roots, n_roots);
        make_part(s, input_record, roots, n_roots);
    }
    cad_memory_give_back(&memory);
    return s->status;
}
