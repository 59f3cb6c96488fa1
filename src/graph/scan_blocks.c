/* Recurrences whose turns compute arrays: all that a turn computes is in the loop, but for what is
 * there already. */
#include "graph/inner.h"

typedef struct Blocks {
    CadGraph *graph, *body;
    const CadRecurrence *asked;
    int whole; /* all ends are asked for as they are */
    CadMemory memory;
    CadId *inputs;    /* of each operand its first input of the body, */
    CadId *names;     /* of each input what it is in the loop, */
    CadOverTurns *of; /* and of each operand what it is in all turns */
    uint8_t *is_read; /* of inputs */
} Blocks;

static size_t n_operands(const Blocks *b) {
    return b->asked->n_carried + b->asked->n_given;
}

static size_t n_ends(const Blocks *b) {
    return b->asked->n_carried + b->asked->n_kept + b->asked->n_summed;
}

static uint32_t size_of_end(const Blocks *b, size_t k) {
    return b->asked->sizes[k < b->asked->n_carried ? k : k + b->asked->n_given];
}

/* What each turn hands on as it is. */
static int is_carried_on(const Blocks *b, size_t j) {
    return b->whole || b->asked->ends[j] != b->inputs[j];
}

/* --- what is read --- */

static void mark(const Blocks *b, CadId first, size_t size) {
    const CadId end = b->asked->input + (CadId)cad_sum_of_sizes(b->asked->sizes, n_operands(b));
    for (size_t e = 0; e < size && first >= b->asked->input && first + e < end; e++) {
        b->is_read[first + e - b->asked->input] = 1;
    }
}

static void mark_operands(const Blocks *b, size_t i) {
    CadAxes axes;
    CadMade made;
    CadOperands of;
    cad_graph_look(b->body, i, axes, &made);
    if (made.kind == CAD_RECORD_PACK) {
        cad_graph_operands(b->body, i, &of);
        for (size_t k = 0; k < of.n; k++) {
            mark(b, of.ids[k], 1);
        }
    }
    for (int k = made.n_views > 1 ? 1 : 0; k < made.n_views; k++) {
        const CadReach reach = cad_made_reach(&made, made.views[k]);
        mark(b, reach.low, reach.high - reach.low + 1);
    }
}

static void find_read(Blocks *b) {
    uint32_t *const uses = cad_memory_take(&b->memory, b->body->n_records, sizeof *uses);
    CadOperands of;
    for (size_t k = 0; k < n_ends(b) && uses != NULL; k++) {
        if (k >= b->asked->n_carried || is_carried_on(b, k)) {
            uses[cad_graph_record_of(b->body, b->asked->ends[k])]++;
            mark(b, b->asked->ends[k], size_of_end(b, k));
        }
    }
    for (size_t i = b->body->n_records; i-- > 1 && uses != NULL;) {
        if (uses[i] > 0 && cad_record_is_made(&b->body->records[i])) {
            mark_operands(b, i);
            cad_graph_operands(b->body, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                uses[cad_graph_record_of(b->body, of.ids[k])]++;
            }
        }
    }
}

static int is_operand_read(const Blocks *b, size_t k) {
    const uint8_t *const marks = b->is_read + (b->inputs[k] - b->asked->input);
    return memchr(marks, 1, b->asked->sizes[k]) != NULL;
}

/* --- the loop --- */

static void name_operand(Blocks *b, size_t k, CadId *next) {
    for (uint32_t e = 0; e < b->asked->sizes[k]; e++) {
        b->names[b->inputs[k] - b->asked->input + e] = (*next)++;
    }
}

/* What is carried on, then what is read of all else. */
static CadId name_inputs(Blocks *b, CadScan *scan, CadId *operands) {
    const CadRecurrence *const asked = b->asked;
    CadId next = CAD_SCAN_INPUT;
    for (size_t j = 0; j < asked->n_carried; j++) {
        if (is_carried_on(b, j)) {
            scan->sizes[scan->n_carried] = asked->sizes[j];
            operands[scan->n_carried++] = asked->initial[j];
            name_operand(b, j, &next);
        }
    }
    for (size_t k = 0; k < n_operands(b); k++) {
        if ((k >= asked->n_carried || !is_carried_on(b, k)) && is_operand_read(b, k)) {
            scan->sizes[scan->n_carried + scan->n_given] = asked->sizes[k];
            operands[scan->n_carried + scan->n_given] = b->of[k].first;
            scan->steps[scan->n_given++] = b->of[k].step;
            name_operand(b, k, &next);
        }
    }
    return next - CAD_SCAN_INPUT;
}

static int is_part(CadId first, size_t size, CadId whole, size_t size_of_whole) {
    return first >= whole && first + size <= whole + size_of_whole;
}

/* The blocks of an end that are there already, once those that are carried are known; else its
 * first is CAD_NO_ID. */
static CadOverTurns known(const Blocks *b, size_t k) {
    const CadRecurrence *const asked = b->asked;
    const CadId end = asked->ends[k];
    const size_t size = size_of_end(b, k);
    for (size_t j = 0; j < n_operands(b); j++) {
        if (is_part(end, size, b->inputs[j], asked->sizes[j])) {
            return (CadOverTurns){b->of[j].first + (end - b->inputs[j]), b->of[j].step};
        }
        if (j < asked->n_carried && is_part(end, size, asked->ends[j], asked->sizes[j])) {
            return (CadOverTurns){b->of[j].first + asked->sizes[j] + (end - asked->ends[j]),
                                  b->of[j].step};
        }
    }
    return (CadOverTurns){CAD_NO_ID, 0};
}

/* Whether an end is one of the loop: what is kept may be there already. */
static int is_end(const Blocks *b, size_t k) {
    const CadRecurrence *const asked = b->asked;
    return k < asked->n_carried ? is_carried_on(b, k)
           : k < asked->n_carried + asked->n_kept
               ? b->whole || known(b, k).first == CAD_NO_ID
               : 1;
}

static void add_ends(Blocks *b, CadScan *scan) {
    const CadRecurrence *const asked = b->asked;
    for (size_t k = 0; k < n_ends(b); k++) {
        if (is_end(b, k)) {
            const size_t at = scan->n_carried + scan->n_kept + scan->n_summed;
            if (k >= asked->n_carried) {
                scan->sizes[at + scan->n_given] = size_of_end(b, k);
                *(k < asked->n_carried + asked->n_kept ? &scan->n_kept : &scan->n_summed) += 1;
            }
        }
    }
}

/* The body of the loop, with its ends. */
static void insert_body(Blocks *b, CadScan *scan, size_t n_inputs) {
    const CadRecurrence *const asked = b->asked;
    const size_t n_old = cad_sum_of_sizes(asked->sizes, n_operands(b));
    size_t n = 0;
    CadMemory memory = {0};
    for (size_t k = 0; k < n_ends(b); k++) {
        n += is_end(b, k) ? size_of_end(b, k) : 0;
    }
    CadId *const inputs = cad_memory_take(&memory, n_old, sizeof *inputs);
    CadId *const numbers = cad_memory_take(&memory, n, sizeof *numbers);
    CadId *const results = cad_memory_take(&memory, n, sizeof *results);
    scan->body = cad_scan_body(n_inputs);
    if (scan->body == NULL || memory.status != CAD_OK) {
        b->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return;
    }
    for (size_t i = 0; i < n_old; i++) {
        inputs[i] = asked->input + (CadId)i;
    }
    n = 0;
    for (size_t k = 0; k < n_ends(b); k++) {
        for (uint32_t e = 0; e < size_of_end(b, k) && is_end(b, k); e++) {
            numbers[n++] = asked->ends[k] + e;
        }
    }
    cad_graph_insert(scan->body, b->body, inputs, b->names, n_old, numbers, n, results);
    CadId *end = scan->ends;
    n = 0;
    for (size_t k = 0; k < n_ends(b) && scan->body->status == CAD_OK; k++) {
        if (is_end(b, k)) {
            *end++ = cad_graph_block(scan->body, results + n, size_of_end(b, k));
            n += size_of_end(b, k);
        }
    }
    b->graph->status = b->graph->status == CAD_OK ? scan->body->status : b->graph->status;
    cad_memory_give_back(&memory);
}

static CadId make_scan(Blocks *b, CadScan *made) {
    const size_t most = n_operands(b) + n_ends(b);
    CadScan scan = {.n = b->asked->n,
                    .ends = cad_memory_zeroed(most, sizeof *scan.ends),
                    .steps = cad_memory_zeroed(most, sizeof *scan.steps),
                    .sizes = cad_memory_zeroed(2 * most, sizeof *scan.sizes)};
    CadId *const operands = cad_memory_take(&b->memory, most, sizeof *operands);
    CadId first = CAD_NO_ID;
    if (scan.ends == NULL || scan.steps == NULL || scan.sizes == NULL || operands == NULL) {
        b->graph->status = CAD_NO_MEMORY;
    } else {
        const CadId n_inputs = name_inputs(b, &scan, operands);
        add_ends(b, &scan);
        insert_body(b, &scan, n_inputs);
    }
    if (b->graph->status == CAD_OK && cad_scan_n_ends(&scan) > 0) {
        first = cad_graph_append_scan(b->graph, &scan, operands);
    }
    if (first == CAD_NO_ID) {
        cad_scan_free(&scan);
        scan = (CadScan){0};
    }
    *made = scan;
    return first;
}

/* --- results --- */

static void read_results(Blocks *b, CadId first, const CadScan *scan,
                         const CadScanResults *results) {
    const CadRecurrence *const asked = b->asked;
    CadId next = first;
    for (size_t k = 0, end = 0; k < n_ends(b); k++) {
        const CadId length = is_end(b, k) ? (CadId)cad_scan_length_of_end(scan, end++) : 0;
        const CadId size = size_of_end(b, k);
        if (k < asked->n_carried) {
            if (length > 0) {
                b->of[k] = (CadOverTurns){next, size};
            }
            results->last[k] = length > 0 ? next + length - size : asked->initial[k];
        } else if (k < asked->n_carried + asked->n_kept) {
            results->kept[k - asked->n_carried] =
                length > 0 ? (CadOverTurns){next, size} : known(b, k);
        } else {
            results->sums[k - asked->n_carried - asked->n_kept] = next;
        }
        next += length;
    }
}

static int begin(Blocks *b) {
    const CadRecurrence *const asked = b->asked;
    const size_t n = n_operands(b), n_inputs = cad_sum_of_sizes(asked->sizes, n);
    CadId input = asked->input;
    b->inputs = cad_memory_take(&b->memory, n, sizeof *b->inputs);
    b->of = cad_memory_take(&b->memory, n, sizeof *b->of);
    b->names = cad_memory_take(&b->memory, n_inputs, sizeof *b->names);
    b->is_read = cad_memory_take(&b->memory, n_inputs, 1);
    if (b->memory.status != CAD_OK) {
        b->graph->status = CAD_NO_MEMORY;
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
    find_read(b);
    return b->memory.status == CAD_OK;
}

CadId cad_graph_recur_in_blocks(CadGraph *graph, const CadRecurrence *asked,
                                const CadScanResults *results) {
    Blocks blocks = {.graph = graph, .body = asked->body, .asked = asked, .whole = results == NULL};
    Blocks *const b = &blocks;
    CadScan scan;
    CadId first = CAD_NO_ID;
    if (begin(b)) {
        first = make_scan(b, &scan);
    } else {
        graph->status = CAD_NO_MEMORY;
    }
    if (graph->status == CAD_OK && results != NULL) {
        read_results(b, first, &scan, results);
    }
    cad_memory_give_back(&b->memory);
    return first;
}
