/* Derivatives of recurrences are recurrences: the body is differentiated once. Backwards, what is
 * carried are the cotangents of what was carried; what turns had found is read where the scan left
 * it, and all else is computed again. */
#include "graph/inner.h"

/* A body of derivatives: its inputs are told one after the other. */
typedef struct Derived {
    CadGraph *graph, *body;
    CadMemory memory;
    CadScanned of;
    CadOverTurns *given; /* behind what is carried */
    CadId *found;        /* of the scan's body: its inputs, and its ends, in this one */
    CadId *ends;
    size_t n_carried, n_given;
} Derived;

static CadId next_input(Derived *d, CadOverTurns row) {
    d->given[d->n_given++] = row;
    return CAD_SCAN_INPUT + (CadId)(d->n_carried + d->n_given - 1);
}

static CadOverTurns backwards(CadOverTurns row, size_t n) {
    return (CadOverTurns){(CadId)(row.first + row.step * ((int64_t)n - 1)), -row.step};
}

static CadOverTurns in_order(CadOverTurns row, size_t n, int is_backwards) {
    return is_backwards ? backwards(row, n) : row;
}

static size_t n_ends_of(const CadScan *scan) {
    return scan->n_carried + scan->n_kept + scan->n_summed;
}

/* Room for as many inputs as there may be, all that the scan had among them. */
static int begin(Derived *d, CadGraph *graph, CadScanned of, size_t n_more) {
    const CadScan *const scan = of.scan;
    const size_t n_ends = n_ends_of(scan);
    *d = (Derived){.graph = graph, .of = of, .n_carried = scan->n_carried};
    d->given =
        cad_memory_take(&d->memory, scan->n_carried + scan->n_given + n_more, sizeof *d->given);
    d->found =
        cad_memory_take(&d->memory, scan->n_carried + scan->n_given + n_ends, sizeof *d->found);
    d->ends =
        cad_memory_take(&d->memory, n_ends + scan->n_carried + scan->n_given, sizeof *d->ends);
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return 0;
    }
    return 1;
}

static void finish(Derived *d) {
    cad_graph_free(d->body);
    cad_memory_give_back(&d->memory);
}

/* What turns found and were given is given; then the inputs are all there, and the scan's body is
 * computed in this one. */
static void insert_body(Derived *d, int is_backwards) {
    const CadScan *const scan = d->of.scan;
    const size_t n = scan->n, n_inputs = scan->n_carried + scan->n_given;
    CadId *const inputs = cad_memory_take(&d->memory, n_inputs, sizeof *inputs);
    for (size_t k = 0; k < n_inputs; k++) {
        const CadOverTurns row =
            k < scan->n_carried
                ? (CadOverTurns){d->of.first + (CadId)(k * (n + 1)), 1}
                : (CadOverTurns){d->of.operands[k], scan->steps[k - scan->n_carried]};
        d->found[k] = next_input(d, in_order(row, n, is_backwards));
    }
    d->body = cad_scan_body(d->n_carried + d->n_given);
    if (inputs == NULL || d->body == NULL) {
        d->graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < n_inputs; k++) {
        inputs[k] = CAD_SCAN_INPUT + (CadId)k;
    }
    cad_graph_insert(d->body, scan->body, inputs, d->found, n_inputs, scan->ends, n_ends_of(scan),
                     d->found + n_inputs);
    d->graph->status = d->body->status;
}

/* Its ends are in `ends`. */
static CadRecurrence recurrence(const Derived *d, const CadId *initial, size_t n_kept,
                                size_t n_summed) {
    return (CadRecurrence){.n = d->of.scan->n,
                           .n_carried = d->n_carried,
                           .n_given = d->n_given,
                           .n_kept = n_kept,
                           .n_summed = n_summed,
                           .body = d->body,
                           .input = CAD_SCAN_INPUT,
                           .ends = d->ends,
                           .initial = initial,
                           .given = d->given};
}

static int is_same_in_all(const CadScan *scan, size_t operand) {
    return scan->steps[operand - scan->n_carried] == 0;
}

/* What arrives at the ends of a turn goes on to its inputs. Those of what is carried are the first
 * ends, which what arrives beside is added to; then come rows, then sums. */
static void pull_body(Derived *d, const CadId *seeds, const CadId *before, const uint8_t *wanted,
                      CadPullBody *pull) {
    const CadScan *const scan = d->of.scan;
    const size_t n_inputs = scan->n_carried + scan->n_given, n_ends = n_ends_of(scan);
    CadMemory memory = {0};
    CadId *const outputs = cad_memory_take(&memory, n_ends, sizeof *outputs);
    CadId *const cotangents = cad_memory_take(&memory, n_ends, sizeof *cotangents);
    CadId *const wrt = cad_memory_take(&memory, n_inputs, sizeof *wrt);
    size_t n = 0, n_wrt = 0;
    if (memory.status != CAD_OK) {
        d->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return;
    }
    for (size_t k = 0; k < n_ends; k++) {
        outputs[n] = d->found[n_inputs + k];
        cotangents[n] = seeds[k];
        n += seeds[k] != CAD_NO_ID;
    }
    for (size_t k = 0; k < scan->n_carried; k++) {
        wrt[n_wrt++] = d->found[k];
    }
    for (int same = 0; same < 2; same++) {
        for (size_t k = scan->n_carried; k < n_inputs; k++) {
            if (wanted[k] && is_same_in_all(scan, k) == same) {
                wrt[n_wrt++] = d->found[k];
            }
        }
    }
    d->graph->status = pull(d->body, outputs, cotangents, n, wrt, n_wrt, d->ends);
    for (size_t k = 0; k < scan->n_carried && d->graph->status == CAD_OK; k++) {
        if (before[k] != CAD_NO_ID) {
            d->ends[k] = cad_graph_apply(d->body, CAD_OP_add, d->ends[k], before[k], before[k]);
        }
    }
    cad_memory_give_back(&memory);
}

/* The seeds of the ends of a turn: what is carried, and inputs for those that there are. */
static void name_seeds(Derived *d, const CadScanSeeds *given, CadId *seeds, CadId *before) {
    const CadScan *const scan = d->of.scan;
    for (size_t k = 0; k < scan->n_carried; k++) {
        seeds[k] = CAD_SCAN_INPUT + (CadId)k;
        before[k] = given->before[k].first != CAD_NO_ID
                        ? next_input(d, backwards(given->before[k], scan->n))
                        : CAD_NO_ID;
    }
    for (size_t k = 0; k < scan->n_kept; k++) {
        seeds[scan->n_carried + k] = given->kept[k].first != CAD_NO_ID
                                         ? next_input(d, backwards(given->kept[k], scan->n))
                                         : CAD_NO_ID;
    }
    for (size_t k = 0; k < scan->n_summed; k++) {
        seeds[scan->n_carried + scan->n_kept + k] =
            given->sums[k] != CAD_NO_ID ? next_input(d, (CadOverTurns){given->sums[k], 0})
                                        : CAD_NO_ID;
    }
}

void cad_scan_pull(CadGraph *graph, CadScanned of, const CadScanSeeds *seeds,
                   const uint8_t *wanted, CadPullBody *pull, CadOverTurns *results) {
    const CadScan *const scan = of.scan;
    const size_t n_carried = scan->n_carried, n_inputs = n_carried + scan->n_given;
    Derived derived, *const d = &derived;
    size_t n_kept = 0, n_summed = 0;
    if (!begin(d, graph, of, n_carried + n_ends_of(scan))) {
        finish(d);
        return;
    }
    CadId *const names = cad_memory_take(&d->memory, n_carried + n_ends_of(scan), sizeof *names);
    CadId *const initial = cad_memory_take(&d->memory, n_carried, sizeof *initial);
    const CadScanResults found = {cad_memory_take(&d->memory, n_carried, sizeof *found.last),
                                  cad_memory_take(&d->memory, scan->n_given, sizeof *found.kept),
                                  cad_memory_take(&d->memory, scan->n_given, sizeof *found.sums)};
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        name_seeds(d, seeds, names + n_carried, names);
        insert_body(d, 1);
    }
    for (size_t k = n_carried; k < n_inputs; k++) {
        *(is_same_in_all(scan, k) ? &n_summed : &n_kept) += wanted[k];
    }
    if (graph->status == CAD_OK) {
        for (size_t k = 0; k < n_carried; k++) {
            initial[k] = seeds->last[k] != CAD_NO_ID ? seeds->last[k] : CAD_ZERO;
        }
        pull_body(d, names + n_carried, names, wanted, pull);
    }
    if (graph->status == CAD_OK) {
        const CadRecurrence asked = recurrence(d, initial, n_kept, n_summed);
        cad_graph_recur(graph, &asked, &found);
    }
    for (size_t k = 0, row = 0, sum = 0; k < n_inputs && graph->status == CAD_OK; k++) {
        if (k < n_carried) {
            results[k] = (CadOverTurns){found.last[k], 0};
        } else if (wanted[k]) {
            results[k] = is_same_in_all(scan, k) ? (CadOverTurns){found.sums[sum++], 0}
                                                 : backwards(found.kept[row++], scan->n);
        }
    }
    finish(d);
}

CadId cad_scan_push(CadGraph *graph, CadScanned of, const CadOverTurns *tangents,
                    CadPushBody *push) {
    const CadScan *const scan = of.scan;
    const size_t n_carried = scan->n_carried, n_inputs = n_carried + scan->n_given;
    Derived derived, *const d = &derived;
    CadId first = CAD_NO_ID;
    if (!begin(d, graph, of, scan->n_given)) {
        finish(d);
        return first;
    }
    CadId *const along = cad_memory_take(&d->memory, n_inputs, sizeof *along);
    CadId *const initial = cad_memory_take(&d->memory, n_carried, sizeof *initial);
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_inputs; k++) {
            const CadOverTurns t = tangents[k];
            const int is_zero = t.first == CAD_NO_ID;
            if (k < n_carried) {
                initial[k] = is_zero ? CAD_ZERO : t.first;
                along[k] = CAD_SCAN_INPUT + (CadId)k;
            } else {
                along[k] = is_zero ? CAD_ZERO : next_input(d, t);
            }
        }
        insert_body(d, 0);
    }
    if (graph->status == CAD_OK) {
        graph->status = push(d->body, d->found, along, n_inputs, d->found + n_inputs,
                             n_ends_of(scan), d->ends);
    }
    if (graph->status == CAD_OK) {
        const CadRecurrence asked = recurrence(d, initial, scan->n_kept, scan->n_summed);
        first = cad_graph_recur_whole(graph, &asked);
    }
    finish(d);
    return first;
}
