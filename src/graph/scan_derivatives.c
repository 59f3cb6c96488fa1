/* Derivatives of recurrences are recurrences: the body is differentiated once. Backwards, turns
 * carry the cotangents of the carried numbers; what turns had found is read where the scan left
 * it, and all else is computed again. */
#include "graph/inner.h"

/* Blocks, number by number. */
typedef struct Numbers {
    CadId *ids;
    size_t n;
} Numbers;

/* A body of derivatives: its inputs are told one after the other. */
typedef struct Derived {
    CadGraph *graph;
    CadMemory memory;
    CadScanned of;
    CadRecurrence asked; /* its known numbers are results of the scan */
    CadId *names;        /* of the scan's body: its inputs, and its ends, in this one */
    CadId *kept;         /* carried and kept results, in this one */
    size_t n_inputs;     /* numbers */
    Numbers inputs, of_inputs, outputs, of_outputs; /* lists of the numbers of a turn */
    int is_guarded;                                 /* the last sum counts guards that fail */
} Derived;

static CadId next_input(Derived *d, CadOverTurns row, uint32_t size) {
    const CadId first = CAD_SCAN_INPUT + (CadId)d->n_inputs;
    d->asked.sizes[d->asked.n_carried + d->asked.n_given] = size;
    d->asked.given[d->asked.n_given++] = row;
    d->n_inputs += size;
    return first;
}

static size_t n_more(const Derived *d) {
    return d->asked.n_kept + d->asked.n_summed;
}

/* One that is kept, or summed, `n` of which there are. */
static void next_end(Derived *d, size_t *n, uint32_t size) {
    d->asked.sizes[d->asked.n_carried + d->asked.n_given + n_more(d)] = size;
    *n += 1;
}

static CadOverTurns backwards(CadOverTurns row, size_t n) {
    return (CadOverTurns){(CadId)(row.first + row.step * ((int64_t)n - 1)), -row.step};
}

static CadOverTurns in_order(CadOverTurns row, size_t n, int is_backwards) {
    return is_backwards ? backwards(row, n) : row;
}

/* Room for as many inputs as there may be, all that the scan had among them. */
static int begin_derived(Derived *d, CadGraph *graph, CadScanned of, size_t n_seeds) {
    const CadScan *const scan = of.scan;
    const size_t n_operands = cad_scan_n_operands(scan), n_ends = cad_scan_n_ends(scan);
    const size_t most = cad_sum_of_sizes(scan->sizes, scan->n_given + n_ends); /* of a turn */
    *d = (Derived){.graph = graph, .of = of};
    d->asked =
        (CadRecurrence){.n = scan->n, .n_carried = scan->n_carried, .input = CAD_SCAN_INPUT};
    d->asked.given = cad_memory_take(&d->memory, n_operands + n_seeds, sizeof *d->asked.given);
    d->names = cad_memory_take(&d->memory, n_operands + n_ends, sizeof *d->names);
    d->kept = cad_memory_take(&d->memory, n_ends, sizeof *d->kept);
    d->asked.known = cad_memory_take(&d->memory, n_ends, sizeof *d->asked.known);
    d->asked.initial = cad_memory_take(&d->memory, n_operands, sizeof *d->asked.initial);
    d->inputs.ids = cad_memory_take(&d->memory, most, sizeof *d->inputs.ids);
    d->of_inputs.ids = cad_memory_take(&d->memory, most, sizeof *d->of_inputs.ids);
    d->outputs.ids = cad_memory_take(&d->memory, most, sizeof *d->outputs.ids);
    d->of_outputs.ids = cad_memory_take(&d->memory, most, sizeof *d->of_outputs.ids);
    d->asked.ends = cad_memory_take(&d->memory, n_operands + n_ends + 1, sizeof *d->asked.ends);
    d->asked.sizes = cad_memory_take(&d->memory, 2 * (n_operands + n_ends) + n_seeds + 1,
                                     sizeof *d->asked.sizes);
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return 0;
    }
    memcpy(d->asked.sizes, scan->sizes, scan->n_carried * sizeof *d->asked.sizes);
    d->n_inputs = cad_sum_of_sizes(d->asked.sizes, d->asked.n_carried);
    return 1;
}

static void finish(Derived *d) {
    cad_graph_free(d->asked.body);
    cad_memory_give_back(&d->memory);
}

/* --- blocks, number by number --- */

static void begin_lists(Derived *d) {
    d->inputs.n = d->of_inputs.n = d->outputs.n = d->of_outputs.n = 0;
}

/* CAD_NO_ID: zeros. */
static void add_block(Numbers *numbers, CadId first, uint32_t size) {
    for (uint32_t e = 0; e < size; e++) {
        numbers->ids[numbers->n++] = first != CAD_NO_ID ? first + e : CAD_ZERO;
    }
}

/* Take numbers as blocks of the body, as many as there are sizes. */
static void join_blocks(Derived *d, const CadId *ids, const uint32_t *sizes, size_t n,
                        CadId *blocks) {
    for (size_t k = 0; k < n && d->asked.body->status == CAD_OK; ids += sizes[k++]) {
        blocks[k] = cad_graph_block(d->asked.body, ids, sizes[k]);
    }
}

/* The ends of the derived body, carried ones first. */
static void join_ends(Derived *d, const CadId *ids) {
    join_blocks(d, ids, d->asked.sizes, d->asked.n_carried, d->asked.ends);
    join_blocks(d, ids + cad_sum_of_sizes(d->asked.sizes, d->asked.n_carried),
                d->asked.sizes + d->asked.n_carried + d->asked.n_given, n_more(d),
                d->asked.ends + d->asked.n_carried);
}

/* Give the body the operands of the scan in each turn, and compute the scan's body in it again. */
static void recompute_turn(Derived *d, int is_backwards) {
    const CadScan *const scan = d->of.scan;
    const size_t n = scan->n, n_operands = cad_scan_n_operands(scan);
    const size_t n_ends = cad_scan_n_ends(scan);
    CadId first = d->of.first;
    for (size_t k = 0; k < n_operands; k++) {
        const CadOverTurns row =
            k < scan->n_carried
                ? (CadOverTurns){first, scan->sizes[k]}
                : (CadOverTurns){d->of.operands[k], scan->steps[k - scan->n_carried]};
        first += k < scan->n_carried ? (CadId)cad_scan_length_of_end(scan, k) : 0;
        d->names[k] = next_input(d, in_order(row, n, is_backwards), scan->sizes[k]);
    }
    d->asked.body = cad_scan_body_of(d->asked.sizes, d->asked.n_carried + d->asked.n_given);
    if (d->asked.body == NULL) {
        d->graph->status = CAD_NO_MEMORY;
        return;
    }
    d->asked.body->calls = d->graph->calls;
    d->asked.body->owner = d->graph->owner;
    begin_lists(d);
    add_block(&d->inputs, CAD_SCAN_INPUT, (uint32_t)cad_scan_n_inputs(scan));
    for (size_t k = 0; k < n_operands; k++) {
        add_block(&d->of_inputs, d->names[k], scan->sizes[k]);
    }
    for (size_t k = 0; k < n_ends; k++) {
        add_block(&d->outputs, scan->ends[k], cad_scan_size_of_end(scan, k));
    }
    const CadId *const results = d->of_outputs.ids;
    cad_graph_insert(d->asked.body, scan->body, d->inputs.ids, d->of_inputs.ids, d->inputs.n,
                     d->outputs.ids, d->outputs.n, d->of_outputs.ids);
    join_blocks(d, results, scan->sizes, scan->n_carried, d->names + n_operands);
    join_blocks(d, results + cad_sum_of_sizes(scan->sizes, scan->n_carried),
                scan->sizes + n_operands, n_ends - scan->n_carried,
                d->names + n_operands + scan->n_carried);
    d->graph->status = d->asked.body->status;
}

/* Guards of the derivatives of calls are asked in each turn, and those that fail are counted. */
static void add_guards(Derived *d) {
    CadGraph *const body = d->asked.body;
    CadId sum = CAD_ZERO;
    for (size_t k = 0; k < body->n_guards; k++) {
        const CadOutcome guard = body->guards[k];
        const CadId outcome = cad_graph_constant(body, guard.value);
        const CadId broken = cad_graph_apply(body, CAD_OP_not_equal, guard.id, outcome, outcome);
        sum = cad_graph_apply(body, CAD_OP_add, sum, broken, broken);
    }
    d->is_guarded = body->n_guards > 0;
    if (d->is_guarded) {
        d->asked.ends[d->asked.n_carried + n_more(d)] = sum;
        next_end(d, &d->asked.n_summed, 1);
    }
}

/* Carried and kept results are given, too: they need not be computed again. */
static void give_ends(Derived *d, int is_backwards) {
    const CadScan *const scan = d->of.scan;
    CadId first = d->of.first;
    for (size_t k = 0; k < scan->n_carried + scan->n_kept; k++) {
        const uint32_t size = cad_scan_size_of_end(scan, k);
        const CadOverTurns row = {first + (k < scan->n_carried ? size : 0), size};
        d->kept[k] = next_input(d, in_order(row, scan->n, is_backwards), size);
        first += (CadId)cad_scan_length_of_end(scan, k);
    }
}

/* Those that stand for a record as a whole; or, forwards, for one that is costly: to compute again
 * is cheaper where what is read has tangents of its own. */
static void find_known(Derived *d, int is_backwards) {
    const CadScan *const scan = d->of.scan;
    const CadId *const ends = d->names + cad_scan_n_operands(scan);
    for (size_t k = 0; k < scan->n_carried + scan->n_kept; k++) {
        const CadRecord *const record = cad_graph_record(d->asked.body, ends[k]);
        if (cad_record_is_made(record) && (is_backwards || cad_record_is_costly(record)) &&
            ends[k] ==
                cad_graph_first(d->asked.body, cad_graph_record_of(d->asked.body, ends[k])) &&
            cad_record_size(record) == cad_scan_size_of_end(scan, k)) {
            d->asked.known[d->asked.n_known++] = (CadKnown){ends[k], d->kept[k]};
        }
    }
}

/* The initial carried blocks; CAD_NO_ID: zeros. */
static void begin_with(Derived *d, const CadId *first) {
    for (size_t k = 0; k < d->asked.n_carried; k++) {
        d->asked.initial[k] = first[k] != CAD_NO_ID
                                  ? first[k]
                                  : cad_graph_repeated(d->graph, CAD_ZERO, d->of.scan->sizes[k]);
    }
}

static int is_same_in_all(const CadScan *scan, size_t operand) {
    return scan->steps[operand - scan->n_carried] == 0;
}

/* What arrives at the ends of a turn goes on to its inputs. The first ends are the carried ones,
 * to which contributions from elsewhere are added; then come rows, then sums. */
static void pull_body(Derived *d, const CadId *seeds, const CadId *before, const uint8_t *wanted,
                      CadPullBody *pull) {
    const CadScan *const scan = d->of.scan;
    const size_t n_operands = cad_scan_n_operands(scan);
    begin_lists(d);
    for (size_t k = 0; k < cad_scan_n_ends(scan); k++) {
        if (seeds[k] != CAD_NO_ID) {
            add_block(&d->outputs, d->names[n_operands + k], cad_scan_size_of_end(scan, k));
            add_block(&d->of_outputs, seeds[k], cad_scan_size_of_end(scan, k));
        }
    }
    for (size_t k = 0; k < scan->n_carried; k++) {
        add_block(&d->inputs, d->names[k], scan->sizes[k]);
    }
    for (int same = 0; same < 2; same++) {
        for (size_t k = scan->n_carried; k < n_operands; k++) {
            if (wanted[k] && is_same_in_all(scan, k) == same) {
                add_block(&d->inputs, d->names[k], scan->sizes[k]);
                next_end(d, same ? &d->asked.n_summed : &d->asked.n_kept, scan->sizes[k]);
            }
        }
    }
    d->graph->status = pull(d->asked.body, d->outputs.ids, d->of_outputs.ids, d->outputs.n,
                            d->inputs.ids, d->inputs.n, d->of_inputs.ids);
    if (d->graph->status == CAD_OK) {
        join_ends(d, d->of_inputs.ids);
        add_guards(d);
    }
    for (size_t k = 0; k < scan->n_carried && d->graph->status == CAD_OK; k++) {
        if (before[k] != CAD_NO_ID) {
            d->asked.ends[k] =
                cad_graph_added(d->asked.body, d->asked.ends[k], before[k], scan->sizes[k]);
        }
    }
    d->graph->status = d->graph->status == CAD_OK ? d->asked.body->status : d->graph->status;
}

/* What arrives at an end in each turn, if anything does. */
static CadId seed_of(Derived *d, size_t end, CadOverTurns row) {
    return row.first != CAD_NO_ID ? next_input(d, backwards(row, d->of.scan->n),
                                               cad_scan_size_of_end(d->of.scan, end))
                                  : CAD_NO_ID;
}

/* The seeds of the ends of a turn: what is carried, and inputs for those that there are. */
static void name_seeds(Derived *d, const CadScanSeeds *cotangents, CadId *seeds, CadId *before) {
    const CadScan *const scan = d->of.scan;
    const size_t n_rows = scan->n_carried + scan->n_kept;
    CadId input = CAD_SCAN_INPUT;
    for (size_t k = 0; k < scan->n_carried; k++) {
        seeds[k] = input;
        input += scan->sizes[k];
        before[k] = seed_of(d, k, cotangents->before[k]);
    }
    for (size_t k = scan->n_carried; k < cad_scan_n_ends(scan); k++) {
        seeds[k] = seed_of(d, k,
                           k < n_rows ? cotangents->kept[k - scan->n_carried]
                                      : (CadOverTurns){cotangents->sums[k - n_rows], 0});
    }
}

void cad_scan_pull(CadGraph *graph, CadScanned of, const CadScanSeeds *seeds,
                   const uint8_t *wanted, CadPullBody *pull, CadOverTurns *results) {
    const CadScan *const scan = of.scan;
    const size_t n_carried = scan->n_carried, n_operands = cad_scan_n_operands(scan);
    const size_t n_ends = cad_scan_n_ends(scan);
    Derived derived, *const d = &derived;
    if (!begin_derived(d, graph, of, n_carried + 2 * n_ends)) {
        finish(d);
        return;
    }
    CadId *const names = cad_memory_take(&d->memory, n_carried + n_ends, sizeof *names);
    const CadScanResults pulled = {
        cad_memory_take(&d->memory, n_carried, sizeof *pulled.last),
        cad_memory_take(&d->memory, scan->n_given, sizeof *pulled.kept),
        cad_memory_take(&d->memory, scan->n_given + 1, sizeof *pulled.sums)};
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        name_seeds(d, seeds, names + n_carried, names);
        give_ends(d, 1);
        recompute_turn(d, 1);
    }
    if (graph->status == CAD_OK) {
        find_known(d, 1);
        begin_with(d, seeds->last);
        pull_body(d, names + n_carried, names, wanted, pull);
    }
    if (graph->status == CAD_OK) {
        cad_graph_divide_recurrence(graph, &d->asked, &pulled);
    }
    if (graph->status == CAD_OK && d->is_guarded) {
        cad_graph_guard(graph, pulled.sums[d->asked.n_summed - 1], 0.0);
    }
    for (size_t k = 0, row = 0, sum = 0; k < n_operands && graph->status == CAD_OK; k++) {
        if (k < n_carried) {
            results[k] = (CadOverTurns){pulled.last[k], 0};
        } else if (wanted[k]) {
            results[k] = is_same_in_all(scan, k) ? (CadOverTurns){pulled.sums[sum++], 0}
                                                 : backwards(pulled.kept[row++], scan->n);
        }
    }
    finish(d);
}

/* Ends one behind the other: numbers, then blocks. */
static void push_body(Derived *d, const CadId *along, CadPushBody *push) {
    const CadScan *const scan = d->of.scan;
    const size_t n_operands = cad_scan_n_operands(scan), n_ends = cad_scan_n_ends(scan);
    begin_lists(d);
    for (size_t k = 0; k < n_operands; k++) {
        add_block(&d->inputs, d->names[k], scan->sizes[k]);
        add_block(&d->of_inputs, along[k], scan->sizes[k]);
    }
    for (size_t k = 0; k < n_ends; k++) {
        add_block(&d->outputs, d->names[n_operands + k], cad_scan_size_of_end(scan, k));
        if (k >= scan->n_carried) {
            next_end(d, k < scan->n_carried + scan->n_kept ? &d->asked.n_kept : &d->asked.n_summed,
                     cad_scan_size_of_end(scan, k));
        }
    }
    d->graph->status = push(d->asked.body, d->inputs.ids, d->of_inputs.ids, d->inputs.n,
                            d->outputs.ids, d->outputs.n, d->of_outputs.ids);
    if (d->graph->status == CAD_OK) {
        join_ends(d, d->of_outputs.ids);
        add_guards(d);
        d->graph->status = d->asked.body->status;
    }
}

/* The tangents of a turn, in a body of their own. Those of what is carried are carried, or zero.
 */
static void derive_push(Derived *d, const CadOverTurns *tangents, int carries, CadPushBody *push) {
    const CadScan *const scan = d->of.scan;
    const size_t n_operands = cad_scan_n_operands(scan);
    CadId *const along = cad_memory_take(&d->memory, n_operands, sizeof *along);
    CadId input = CAD_SCAN_INPUT;
    if (along == NULL) {
        d->graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < n_operands; k++) {
        if (k < scan->n_carried) {
            along[k] = carries ? input : CAD_NO_ID;
            input += scan->sizes[k];
        } else if (tangents[k].first != CAD_NO_ID) {
            along[k] = next_input(d, tangents[k], scan->sizes[k]);
        }
    }
    give_ends(d, 0);
    recompute_turn(d, 0);
    if (d->graph->status == CAD_OK) {
        push_body(d, along, push);
        find_known(d, 0);
    }
}

/* Whether nothing moves: nothing is carried at first, and turns bring nothing. */
static int is_at_rest(CadGraph *graph, CadScanned of, const CadOverTurns *tangents,
                      CadPushBody *push) {
    const CadScan *const scan = of.scan;
    Derived derived, *const d = &derived;
    int rests = 1;
    for (size_t k = 0; k < scan->n_carried; k++) {
        rests &= tangents[k].first == CAD_NO_ID;
    }
    if (!rests) {
        return 0;
    }
    if (begin_derived(d, graph, of, scan->n_given + cad_scan_n_ends(scan))) {
        derive_push(d, tangents, 0, push);
    }
    for (size_t k = 0; k < cad_scan_n_ends(scan) && graph->status == CAD_OK; k++) {
        for (uint32_t e = 0; e < cad_scan_size_of_end(scan, k) && rests; e++) {
            rests = cad_graph_is(d->asked.body, d->asked.ends[k] + e, 0.0);
        }
    }
    finish(d);
    return rests && graph->status == CAD_OK;
}

CadId cad_scan_push(CadGraph *graph, CadScanned of, const CadOverTurns *tangents,
                    CadPushBody *push) {
    const CadScan *const scan = of.scan;
    Derived derived, *const d = &derived;
    CadId first = CAD_NO_ID;
    if (is_at_rest(graph, of, tangents, push) || graph->status != CAD_OK) {
        return first;
    }
    if (begin_derived(d, graph, of, scan->n_given + cad_scan_n_ends(scan))) {
        for (size_t k = 0; k < scan->n_carried; k++) {
            d->asked.initial[k] = tangents[k].first;
        }
        begin_with(d, d->asked.initial);
        derive_push(d, tangents, 1, push);
    }
    if (graph->status == CAD_OK) {
        first = cad_graph_divide_recurrence(graph, &d->asked, NULL);
    }
    if (first != CAD_NO_ID && d->is_guarded) { /* behind the ends that the scan has */
        cad_graph_guard(graph, first + (CadId)cad_scan_size(scan), 0.0);
    }
    finish(d);
    return first;
}
