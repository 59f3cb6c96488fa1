/* Derivatives of recurrences are recurrences: the body is differentiated once. Backwards, what is
 * carried are the cotangents of what was carried; what turns had found is read where the loop left
 * it, and all else is computed again. */
#include "graph/inner.h"

/* A body of derivatives: its inputs are told one after the other. */
typedef struct Derived {
    CadGraph *graph, *body;
    CadMemory memory;
    CadScanned of;
    CadOverTurns *given; /* behind what is carried */
    CadId *found;  /* of the loop's body: its inputs, and its ends, in this one */
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

/* Room for as many inputs as there may be, all that the loop had among them. */
static int begin(Derived *d, CadGraph *graph, CadScanned of, size_t n_more) {
    const CadScan *const loop = of.loop;
    const size_t n_ends = loop->n_carried + loop->n_kept;
    *d = (Derived){.graph = graph, .of = of, .n_carried = loop->n_carried};
    d->given = cad_memory_take(&d->memory, loop->n_carried + loop->n_given + n_more,
                               sizeof *d->given);
    d->found = cad_memory_take(&d->memory, loop->n_carried + loop->n_given + n_ends,
                               sizeof *d->found);
    d->ends = cad_memory_take(&d->memory, loop->n_carried + n_ends + loop->n_given,
                              sizeof *d->ends);
    d->body = cad_graph_new(1);
    if (d->memory.status != CAD_OK || d->body == NULL) {
        graph->status = CAD_NO_MEMORY;
        return 0;
    }
    return 1;
}

static void finish(Derived *d) {
    cad_graph_free(d->body);
    cad_memory_give_back(&d->memory);
}

/* What turns found and were given is given; then the inputs are all there, and the loop's body is
 * computed in this one. */
static void insert_body(Derived *d, int is_backwards) {
    const CadScan *const loop = d->of.loop;
    const size_t n = loop->n, n_inputs = loop->n_carried + loop->n_given;
    CadId *const inputs = cad_memory_zeroed(n_inputs, sizeof *inputs);
    for (size_t k = 0; k < n_inputs; k++) {
        const CadOverTurns row = k < loop->n_carried
                               ? (CadOverTurns){d->of.first + (CadId)(k * (n + 1)), 1}
                               : (CadOverTurns){d->of.operands[k], loop->steps[k - loop->n_carried]};
        d->found[k] = next_input(d, in_order(row, n, is_backwards));
    }
    if (inputs == NULL) {
        d->graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < n_inputs; k++) {
        inputs[k] = CAD_SCAN_INPUT + (CadId)k;
    }
    cad_graph_input(d->body, d->n_carried + d->n_given, 0);
    cad_graph_insert(d->body, loop->body, inputs, d->found, n_inputs, loop->ends,
                     loop->n_carried + loop->n_kept, d->found + n_inputs);
    d->graph->status = d->body->status;
    cad_memory_free(inputs);
}

static CadRecurrence recurrence(const Derived *d, size_t n_kept, const CadId *initial) {
    return (CadRecurrence){.n = d->of.loop->n,
                           .n_carried = d->n_carried,
                           .n_given = d->n_given,
                           .n_kept = n_kept,
                           .body = d->body,
                           .input = CAD_SCAN_INPUT,
                           .ends = d->ends,
                           .initial = initial,
                           .given = d->given};
}

/* What arrives at the ends of a turn goes on to its inputs. */
static size_t pull_body(Derived *d, const CadId *before, const CadId *kept, const uint8_t *wanted) {
    const CadScan *const loop = d->of.loop;
    const size_t n_inputs = loop->n_carried + loop->n_given;
    const CadId *const ends = d->found + n_inputs;
    CadId *const list = cad_memory_zeroed(4 * n_inputs + 2 * loop->n_kept, sizeof *list);
    CadId *const outputs = list, *const seeds = outputs + loop->n_carried + loop->n_kept;
    CadId *const wrt = seeds + loop->n_carried + loop->n_kept;
    CadId *const results = wrt + n_inputs;
    size_t n = 0, n_wrt = 0, n_kept = 0;
    if (list == NULL) {
        d->graph->status = CAD_NO_MEMORY;
        return 0;
    }
    for (size_t k = 0; k < loop->n_carried + loop->n_kept; k++) {
        const CadId seed =
            k < loop->n_carried ? CAD_SCAN_INPUT + (CadId)k : kept[k - loop->n_carried];
        outputs[n] = ends[k];
        seeds[n] = seed;
        n += seed != CAD_NO_ID;
    }
    for (size_t k = 0; k < n_inputs; k++) {
        wrt[n_wrt] = d->found[k];
        n_wrt += k < loop->n_carried || wanted[k];
    }
    d->graph->status = cad_graph_pull(d->body, outputs, seeds, n, wrt, n_wrt, results);
    for (size_t k = 0; k < n_wrt && d->graph->status == CAD_OK; k++) {
        if (k >= loop->n_carried) {
            n_kept++;
        } else if (before[k] != CAD_NO_ID) {
            results[k] =
                cad_graph_apply(d->body, CAD_OP_add, results[k], before[k], before[k]);
        }
        d->ends[k] = results[k];
    }
    cad_memory_free(list);
    return n_kept;
}

void cad_scan_pull(CadGraph *graph, CadScanned of, const CadId *last, const CadOverTurns *before,
                   const CadOverTurns *kept, const uint8_t *wanted, CadOverTurns *results) {
    const CadScan *const loop = of.loop;
    const size_t n_carried = loop->n_carried, n_seeds = n_carried + loop->n_kept;
    Derived derived, *const d = &derived;
    if (!begin(d, graph, of, n_seeds)) {
        finish(d);
        return;
    }
    CadId *const seeds = cad_memory_take(&d->memory, n_seeds, sizeof *seeds);
    CadId *const ends = cad_memory_take(&d->memory, 2 * n_carried, sizeof *ends);
    CadOverTurns *const rows = cad_memory_take(&d->memory, loop->n_given, sizeof *rows);
    if (d->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_seeds; k++) {
            const CadOverTurns row = k < n_carried ? before[k] : kept[k - n_carried];
            seeds[k] = row.first != CAD_NO_ID ? next_input(d, backwards(row, loop->n)) : CAD_NO_ID;
        }
        for (size_t k = 0; k < n_carried; k++) {
            ends[k] = last[k] != CAD_NO_ID ? last[k] : CAD_ZERO;
        }
        insert_body(d, 1);
    }
    if (graph->status == CAD_OK) {
        const size_t n_kept = pull_body(d, seeds, seeds + n_carried, wanted);
        const CadRecurrence asked = recurrence(d, n_kept, ends);
        if (graph->status == CAD_OK) {
            cad_graph_recur(graph, &asked, ends + n_carried, rows);
        }
    }
    for (size_t k = 0, next = 0; k < n_carried + loop->n_given && graph->status == CAD_OK; k++) {
        if (k < n_carried) {
            results[k] = (CadOverTurns){ends[n_carried + k], 0};
        } else if (wanted[k]) {
            results[k] = backwards(rows[next++], loop->n);
        }
    }
    finish(d);
}

CadId cad_scan_push(CadGraph *graph, CadScanned of, const CadOverTurns *tangents) {
    const CadScan *const loop = of.loop;
    const size_t n_carried = loop->n_carried, n_inputs = n_carried + loop->n_given;
    Derived derived, *const d = &derived;
    CadId first = CAD_NO_ID;
    if (!begin(d, graph, of, loop->n_given)) {
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
        graph->status = cad_graph_push(d->body, d->found, along, n_inputs, d->found + n_inputs,
                                       n_carried + loop->n_kept, d->ends);
    }
    if (graph->status == CAD_OK) {
        const CadRecurrence asked = recurrence(d, loop->n_kept, initial);
        first = cad_graph_recur_whole(graph, &asked);
    }
    finish(d);
    return first;
}
