/* Makes the SCAN of a recurrence. If turns compute arrays, all that a turn computes is in the
 * loop, but for known numbers; if they compute single numbers, scan.c has taken out rows and sums.
 */
#include "graph/inner.h"

/* An end of the loop. */
typedef struct End {
    CadId id;
    uint32_t size;
} End;

/* A sum over all turns of products of two matrices is one product: its operands are those of all
 * turns, one behind the other. */
typedef struct Product {
    int is_one;
    CadOp op;
    int64_t shape[3], result[3], strides[2][3];
    CadId operands[2]; /* of the body */
} Product;

typedef struct Blocks {
    CadGraph *graph, *body;
    const CadRecurrence *asked;
    int whole; /* all ends are asked for as they are */
    CadMemory memory;
    CadId *inputs;    /* of each operand its first input of the body, */
    CadId *names;     /* of each input what it is in the loop, */
    CadOverTurns *of; /* and of each operand what it is in all turns */
    uint8_t *is_read; /* of inputs */
    uint8_t *needed;  /* of records of the body: 2, or 3 where it is known */
    End *ends;        /* of the loop */
    size_t n_ends;
    Product *products; /* of what is added up */
} Blocks;

static size_t n_operands(const Blocks *b) {
    return b->asked->n_carried + b->asked->n_given;
}

static size_t n_asked_ends(const Blocks *b) {
    return b->asked->n_carried + b->asked->n_kept + b->asked->n_summed;
}

static uint32_t size_of_asked_end(const Blocks *b, size_t k) {
    return b->asked->sizes[k < b->asked->n_carried ? k : k + b->asked->n_given];
}

/* What each turn hands on as it is. */
static int is_carried_on(const Blocks *b, size_t j) {
    return b->whole || b->asked->ends[j] != b->inputs[j];
}

static int is_part(CadId first, size_t size, CadId whole, size_t size_of_whole) {
    return first >= whole && first + size <= whole + size_of_whole;
}

/* Which operand some numbers of the body are part of, or how many there are. */
static size_t operand_with(const Blocks *b, CadId first, size_t size) {
    size_t k = 0;
    while (k < n_operands(b) && !is_part(first, size, b->inputs[k], b->asked->sizes[k])) {
        k++;
    }
    return k;
}

/* --- sums of products --- */

/* How far on the same input of the next turn stands: blocks that are carried will be one behind
 * the other. */
static int64_t step_of_input(const Blocks *b, CadId id) {
    const size_t k = operand_with(b, id, 1);
    return k < b->asked->n_carried && is_carried_on(b, k) ? b->asked->sizes[k] : b->of[k].step;
}

/* Turns follow each other along the axis that is summed over. */
static int64_t along_turns(const int64_t *shape, int64_t stride, int64_t step) {
    return shape[1] == 1 ? step : stride * shape[1] == step ? stride : 0;
}

/* Whether a sum is that of products whose operands are read as blocks. */
static void find_product(const Blocks *b, size_t k, Product *result) {
    CadAxes axes;
    CadMade made;
    if (b->whole || !cad_graph_is_product(b->body, b->asked->ends[k], axes, &made) ||
        made.size != size_of_asked_end(b, k)) {
        return;
    }
    Product product = {.is_one = 1, .op = made.op};
    for (int axis = 0; axis < 3; axis++) {
        product.shape[axis] = made.shape[axis];
        product.result[axis] = made.views[0].strides[axis];
    }
    for (int x = 0; x < 2; x++) {
        const CadNumbers view = made.views[x + 1];
        const CadRecord *const record = cad_graph_record(b->body, view.first);
        const int64_t step = record->kind == CAD_RECORD_INPUT ? step_of_input(b, view.first)
                                                              : cad_record_size(record);
        product.operands[x] = view.first;
        memcpy(product.strides[x], view.strides, sizeof product.strides[x]);
        product.strides[x][1] = along_turns(made.shape, view.strides[1], step);
        product.is_one &= product.strides[x][1] != 0;
    }
    *result = product;
}

static void find_products(Blocks *b) {
    const size_t n_rows = b->asked->n_carried + b->asked->n_kept;
    b->products = cad_memory_take(&b->memory, b->asked->n_summed, sizeof *b->products);
    for (size_t k = 0; k < b->asked->n_summed && b->products != NULL; k++) {
        find_product(b, n_rows + k, &b->products[k]);
    }
}

static const Product *product_for_end(const Blocks *b, size_t k) {
    const size_t n_rows = b->asked->n_carried + b->asked->n_kept;
    return k >= n_rows && b->products[k - n_rows].is_one ? &b->products[k - n_rows] : NULL;
}

/* --- what is read --- */

static void mark_inputs(const Blocks *b, CadId first, size_t size) {
    const CadId end = b->asked->input + (CadId)cad_sum_of_sizes(b->asked->sizes, n_operands(b));
    for (size_t e = 0; e < size && first >= b->asked->input && first + e < end; e++) {
        b->is_read[first + e - b->asked->input] = 1;
    }
}

static void mark_operands_of_record(const Blocks *b, size_t i) {
    CadAxes axes;
    CadMade made;
    CadOperands of;
    cad_graph_look(b->body, i, axes, &made);
    cad_graph_operands(b->body, i, &of);
    for (size_t k = 0; k < of.n && made.kind == CAD_RECORD_PACK; k++) {
        mark_inputs(b, of.ids[k], 1);
    }
    for (size_t k = 0; k < of.n && made.kind == CAD_RECORD_SCAN; k++) {
        const CadScan *const scan = cad_graph_scan(b->body, &b->body->records[i]);
        const CadReach reach = cad_scan_reach(scan, k, of.ids[k]);
        mark_inputs(b, reach.low, reach.high - reach.low + 1);
    }
    for (int k = made.n_views > 1 ? 1 : 0; k < made.n_views; k++) {
        const CadReach reach = cad_made_reach(&made, made.views[k]);
        mark_inputs(b, reach.low, reach.high - reach.low + 1);
    }
    if (made.former != CAD_NO_ID) {
        mark_inputs(b, made.former, made.size);
    }
}

/* A known number is given: its operands are not read. */
static void find_read_inputs(Blocks *b) {
    CadGraph *const body = b->body;
    CadId *const ends = cad_memory_take(&b->memory, 2 * n_asked_ends(b), sizeof *ends);
    b->needed = cad_memory_take(&b->memory, body->n_records, 1);
    if (b->memory.status != CAD_OK) {
        return;
    }
    size_t n = 0;
    for (size_t k = 0; k < n_asked_ends(b); k++) {
        const Product *const product = product_for_end(b, k);
        for (int x = 0; x < 2 && product != NULL; x++) {
            ends[n++] = product->operands[x]; /* those that are inputs are no part of the loop */
        }
        if (product == NULL && (k >= b->asked->n_carried || is_carried_on(b, k))) {
            ends[n++] = b->asked->ends[k];
            mark_inputs(b, b->asked->ends[k], size_of_asked_end(b, k));
        }
    }
    for (size_t k = 0; k < b->asked->n_known; k++) {
        b->needed[cad_graph_record_of(body, b->asked->known[k].of)] = 1;
    }
    cad_graph_mark_needed(body, ends, n, b->needed);
    for (size_t i = 1; i < body->n_records; i++) {
        if (b->needed[i] == 2 && cad_record_is_made(&body->records[i])) {
            mark_operands_of_record(b, i);
        }
    }
    for (size_t k = 0; k < b->asked->n_known; k++) {
        const uint32_t i = cad_graph_record_of(body, b->asked->known[k].of);
        if (b->needed[i] == 3) {
            mark_inputs(b, b->asked->known[k].by, cad_record_size(&body->records[i]));
        }
    }
}

/* --- the loop --- */

static void name_operand(Blocks *b, size_t k, CadId *next) {
    for (uint32_t e = 0; e < b->asked->sizes[k]; e++) {
        b->names[b->inputs[k] - b->asked->input + e] = (*next)++;
    }
}

/* First the carried blocks, then the other operands that the body reads. */
static void name_inputs_of_loop(Blocks *b, CadScan *scan, CadId *operands) {
    const CadRecurrence *const asked = b->asked;
    CadId next = CAD_SCAN_INPUT;
    size_t n = 0;
    for (size_t j = 0; j < asked->n_carried; j++) {
        if (is_carried_on(b, j)) {
            scan->sizes[n] = asked->sizes[j];
            operands[n++] = asked->initial[j];
            name_operand(b, j, &next);
        }
    }
    for (size_t k = 0; k < n_operands(b); k++) {
        const uint8_t *const is_read = b->is_read + (b->inputs[k] - asked->input);
        if ((k >= asked->n_carried || !is_carried_on(b, k)) &&
            memchr(is_read, 1, asked->sizes[k]) != NULL) {
            scan->sizes[n] = asked->sizes[k];
            operands[n++] = b->of[k].first;
            scan->steps[scan->n_given++] = b->of[k].step;
            name_operand(b, k, &next);
        }
    }
}

/* Which end of the loop, or `n_ends`. */
static size_t end_with(const Blocks *b, CadId first, size_t size) {
    size_t k = 0;
    while (k < b->n_ends && !is_part(first, size, b->ends[k].id, b->ends[k].size)) {
        k++;
    }
    return k;
}

static void add_end(Blocks *b, CadId id, uint32_t size, size_t *n) {
    b->ends[b->n_ends++] = (End){id, size};
    *n += 1;
}

/* Keep some numbers, unless they are part of an operand or of an end. */
static void keep_end(Blocks *b, CadId id, uint32_t size, CadScan *scan) {
    if (operand_with(b, id, size) == n_operands(b) && end_with(b, id, size) == b->n_ends) {
        add_end(b, id, size, &scan->n_kept);
    }
}

static void keep_record(Blocks *b, size_t i, CadScan *scan) {
    keep_end(b, cad_graph_first(b->body, i), cad_record_size(&b->body->records[i]), scan);
}

/* The loop keeps costly numbers, too, so that derivatives need not compute them again, and what
 * products read. A program keeps only those that it reads. */
static void find_ends_of_loop(Blocks *b, CadScan *scan) {
    const CadRecurrence *const asked = b->asked;
    const size_t n_rows = asked->n_carried + asked->n_kept;
    for (size_t k = 0; k < asked->n_carried; k++) {
        if (is_carried_on(b, k)) {
            add_end(b, asked->ends[k], asked->sizes[k], &scan->n_carried);
        }
    }
    for (size_t k = asked->n_carried; k < n_rows; k++) {
        if (b->whole) {
            add_end(b, asked->ends[k], size_of_asked_end(b, k), &scan->n_kept);
        } else {
            keep_end(b, asked->ends[k], size_of_asked_end(b, k), scan);
        }
    }
    int is_needed = 0; /* so are all ends of a loop within */
    for (size_t i = 1; i < b->body->n_records && !b->whole; i++) {
        const CadRecord *const record = &b->body->records[i];
        is_needed = record->kind == CAD_RECORD_END ? is_needed : b->needed[i] == 2;
        if (is_needed && cad_record_is_made(record) && cad_record_is_costly(record)) {
            keep_record(b, i, scan);
        }
    }
    for (size_t k = n_rows; k < n_asked_ends(b); k++) {
        const Product *const product = product_for_end(b, k);
        for (int x = 0; x < 2 && product != NULL; x++) {
            const uint32_t i = cad_graph_record_of(b->body, product->operands[x]);
            if (b->body->records[i].kind != CAD_RECORD_INPUT) {
                keep_record(b, i, scan);
            }
        }
    }
    for (size_t k = n_rows; k < n_asked_ends(b); k++) {
        if (product_for_end(b, k) == NULL) {
            add_end(b, asked->ends[k], size_of_asked_end(b, k), &scan->n_summed);
        }
    }
    for (size_t k = scan->n_carried; k < b->n_ends; k++) {
        scan->sizes[scan->n_given + k] = b->ends[k].size;
    }
}

/* The body of the loop, with its ends. */
static void make_loop_body(Blocks *b, CadScan *scan) {
    const CadRecurrence *const asked = b->asked;
    const size_t n_old = cad_sum_of_sizes(asked->sizes, n_operands(b));
    size_t n = 0;
    CadMemory memory = {0};
    for (size_t k = 0; k < b->n_ends; k++) {
        n += b->ends[k].size;
    }
    CadId *const inputs = cad_memory_take(&memory, n_old, sizeof *inputs);
    CadId *const numbers = cad_memory_take(&memory, n, sizeof *numbers);
    CadId *const results = cad_memory_take(&memory, n, sizeof *results);
    CadKnown *const known = cad_memory_take(&memory, asked->n_known, sizeof *known);
    scan->body = cad_scan_body_of(scan->sizes, cad_scan_n_operands(scan));
    if (scan->body == NULL || memory.status != CAD_OK) {
        b->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return;
    }
    for (size_t i = 0; i < n_old; i++) {
        inputs[i] = asked->input + (CadId)i;
    }
    n = 0;
    for (size_t k = 0; k < b->n_ends; k++) {
        for (uint32_t e = 0; e < b->ends[k].size; e++) {
            numbers[n++] = b->ends[k].id + e;
        }
    }
    for (size_t k = 0; k < asked->n_known; k++) {
        known[k].of = asked->known[k].of;
        known[k].by = b->names[asked->known[k].by - asked->input];
    }
    cad_graph_insert_rest(scan->body, b->body, known, asked->n_known, inputs, b->names, n_old,
                          numbers, n, results);
    n = 0;
    for (size_t k = 0; k < b->n_ends && scan->body->status == CAD_OK; k++) {
        scan->ends[k] = cad_graph_block(scan->body, results + n, b->ends[k].size);
        n += b->ends[k].size;
    }
    b->graph->status = b->graph->status == CAD_OK ? scan->body->status : b->graph->status;
    cad_memory_give_back(&memory);
}

static CadId make_loop(Blocks *b, CadScan *result) {
    const size_t most = n_operands(b) + n_asked_ends(b) + b->body->n_records;
    CadScan scan = {.n = b->asked->n,
                    .ends = cad_memory_zeroed(most, sizeof *scan.ends),
                    .steps = cad_memory_zeroed(most, sizeof *scan.steps),
                    .sizes = cad_memory_zeroed(2 * most, sizeof *scan.sizes)};
    CadId *const operands = cad_memory_take(&b->memory, most, sizeof *operands);
    CadId first = CAD_NO_ID;
    if (scan.ends == NULL || scan.steps == NULL || scan.sizes == NULL || operands == NULL) {
        b->graph->status = CAD_NO_MEMORY;
    } else {
        name_inputs_of_loop(b, &scan, operands);
        find_ends_of_loop(b, &scan);
        make_loop_body(b, &scan);
    }
    if (b->graph->status == CAD_OK && cad_scan_n_ends(&scan) > 0) {
        first = cad_graph_append_scan(b->graph, &scan, operands);
    }
    if (first == CAD_NO_ID) {
        cad_scan_free(&scan);
        scan = (CadScan){0};
    }
    *result = scan;
    return first;
}

/* --- results --- */

/* What some numbers of the body are in all turns: part of an operand, or of an end. */
static CadOverTurns row_in_loop(const Blocks *b, CadId id, size_t size, CadId first,
                                const CadScan *scan) {
    const size_t k = operand_with(b, id, size), end = end_with(b, id, size);
    if (k < n_operands(b)) {
        return (CadOverTurns){b->of[k].first + (id - b->inputs[k]), b->of[k].step};
    }
    for (size_t before = 0; before < end; before++) {
        first += (CadId)cad_scan_length_of_end(scan, before);
    }
    const CadId initial_size = end < scan->n_carried ? b->ends[end].size : 0;
    return (CadOverTurns){first + initial_size + (id - b->ends[end].id), b->ends[end].size};
}

static CadId product_of_all(const Blocks *b, const Product *product, CadId first,
                            const CadScan *scan) {
    const int64_t shape[3] = {product->shape[0], product->shape[1] * (int64_t)scan->n,
                              product->shape[2]};
    CadNumbers views[3] = {{0, product->result}};
    for (int x = 0; x < 2; x++) {
        const CadId operand = product->operands[x];
        const uint32_t i = cad_graph_record_of(b->body, operand);
        CadId whole = operand; /* an input is part of an operand of the loop */
        size_t size = 1;
        if (b->body->records[i].kind != CAD_RECORD_INPUT) {
            whole = cad_graph_first(b->body, i);
            size = cad_record_size(&b->body->records[i]);
        }
        views[x + 1] =
            (CadNumbers){row_in_loop(b, whole, size, first, scan).first + (operand - whole),
                         product->strides[x]};
    }
    return cad_graph_map(b->graph, product->op, (size_t)(shape[0] * shape[2]), 3, shape, 3, views);
}

/* Carried results are named first, since others may be part of them. */
static void place_results(Blocks *b, CadId first, const CadScan *scan,
                          const CadScanResults *results) {
    const CadRecurrence *const asked = b->asked;
    const size_t n_rows = asked->n_carried + asked->n_kept;
    CadId next = first, sum = first + (CadId)cad_scan_size(scan);
    for (size_t j = 0, end = 0; j < asked->n_carried; j++) {
        results->last[j] = asked->initial[j];
        if (is_carried_on(b, j)) {
            b->of[j] = (CadOverTurns){next, asked->sizes[j]};
            next += (CadId)cad_scan_length_of_end(scan, end++);
            results->last[j] = next - asked->sizes[j];
        }
    }
    for (size_t k = 0; k < asked->n_kept; k++) {
        const size_t end = asked->n_carried + k;
        results->kept[k] =
            row_in_loop(b, asked->ends[end], size_of_asked_end(b, end), first, scan);
    }
    for (size_t k = asked->n_summed; k-- > 0;) {
        if (product_for_end(b, n_rows + k) != NULL) {
            results->sums[k] = product_of_all(b, &b->products[k], first, scan);
        } else {
            results->sums[k] = sum -= size_of_asked_end(b, n_rows + k);
        }
    }
}

/* Answers 0 without memory. */
static int begin_loop(Blocks *b) {
    const CadRecurrence *const asked = b->asked;
    const size_t n = n_operands(b), n_inputs = cad_sum_of_sizes(asked->sizes, n);
    CadId input = asked->input;
    b->inputs = cad_memory_take(&b->memory, n, sizeof *b->inputs);
    b->of = cad_memory_take(&b->memory, n, sizeof *b->of);
    b->names = cad_memory_take(&b->memory, n_inputs, sizeof *b->names);
    b->is_read = cad_memory_take(&b->memory, n_inputs, 1);
    if (b->memory.status != CAD_OK) {
        return 0;
    }
    for (size_t k = 0; k < n; k++) {
        b->inputs[k] = input;
        b->of[k] = k < asked->n_carried ? (CadOverTurns){asked->initial[k], 0}
                                        : asked->given[k - asked->n_carried];
        input += asked->sizes[k];
    }
    for (size_t i = 0; i < n_inputs; i++) {
        b->names[i] = CAD_ZERO; /* what is not read */
    }
    b->ends = cad_memory_take(&b->memory, n_asked_ends(b) + b->body->n_records, sizeof *b->ends);
    find_products(b);
    if (b->memory.status == CAD_OK) {
        find_read_inputs(b);
    }
    return b->memory.status == CAD_OK;
}

CadId cad_graph_make_scan(CadGraph *graph, const CadRecurrence *asked,
                          const CadScanResults *results) {
    Blocks blocks = {
        .graph = graph, .body = asked->body, .asked = asked, .whole = results == NULL};
    Blocks *const b = &blocks;
    CadScan scan;
    CadId first = CAD_NO_ID;
    if (begin_loop(b)) {
        first = make_loop(b, &scan);
    } else {
        graph->status = CAD_NO_MEMORY;
    }
    if (graph->status == CAD_OK && results != NULL) {
        place_results(b, first, &scan, results);
    }
    cad_memory_give_back(&b->memory);
    return first;
}
