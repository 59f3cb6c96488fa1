/* From what was recorded to a graph: steps one by one, loops as recurrences. */
#include "loops/inner.h"
#include "loops/loops.h"

#include "tape/tape.h"

/* --- what is read outside of loops --- */

static void read_from_outside(Roller *o, CadId id, size_t begin, size_t end) {
    const int64_t step = step_of(o->r, id);
    if (step >= 0 && ((size_t)step < begin || (size_t)step >= end)) {
        o->is_read[step] = 1;
    }
}

static void find_read(Roller *o, const CadId *outputs, size_t n_outputs) {
    Recorded *const r = o->r;
    const Loop *loop = r->loops, *const last = r->loops + r->n_loops;
    CadOperands of;
    for (size_t step = 0; step < r->n_steps; step++) {
        while (loop < last && step >= loop->begin + steps_of_loop(loop)) {
            loop++;
        }
        const int inside = loop < last && step >= loop->begin;
        const size_t begin = inside ? loop->begin : step;
        const size_t end = inside ? begin + steps_of_loop(loop) : step;
        cad_graph_operands(r->graph, r->records[step], &of);
        for (size_t k = 0; k < of.n; k++) {
            read_from_outside(o, of.ids[k], begin, end);
        }
    }
    for (size_t k = 0; k < n_outputs; k++) {
        read_from_outside(o, outputs[k], 0, 0);
    }
}

/* --- all of it --- */

static void roll_all(Roller *o) {
    Recorded *const r = o->r;
    const Loop *loop = r->loops, *const last = r->loops + r->n_loops;
    for (size_t step = 0; step < r->n_steps && o->copier.to->status == CAD_OK;) {
        if (loop < last && step == loop->begin && cad_loops_roll(o, loop++, NULL)) {
            step += steps_of_loop(&loop[-1]);
            continue;
        }
        o->copier.names[r->records[step]] = cad_graph_copy(&o->copier, r->records[step]);
        step++;
    }
}

/* Loops of few turns are found if there are none of more, within which they might be; and if they
 * are asked for, as for a text. */
static void find_loops(Recorded *r, size_t least_numbers) {
    enum { FEW_TURNS = 3 };
    const size_t numbers = least_numbers > 0 ? least_numbers : LEAST_NUMBERS;
    const size_t waiting = least_numbers > 0 ? least_numbers : LEAST_WAITING;
    const size_t turns_that_call = least_numbers > 0 ? LEAST_TURNS : MANY_TURNS;
    cad_loops_find(r, (Least){LEAST_TURNS, numbers, waiting, 0, turns_that_call});
    if (least_numbers > 0 && r->n_loops == 0 && r->graph->status == CAD_OK) {
        cad_loops_find(r, (Least){FEW_TURNS, numbers, waiting, numbers, FEW_TURNS});
    }
}

/* Whether there may be loops: enough entries, and numbers. */
static int may_have_loops(const CadGraph *graph, const CadTape *tape, size_t begin, size_t end,
                          size_t least_numbers) {
    const size_t least = least_numbers > 0 ? least_numbers : LEAST_NUMBERS;
    size_t n = 0;
    for (size_t i = begin + 1; i < end && n < least; i++) {
        const CadEntry entry = tape->entries[i];
        n += CAD_IS_ARRAY_ENTRY(entry) ? entry.b : 1;
    }
    return graph->optimize && n >= least;
}

/* A graph with the inputs of another one, of the same owner. */
static CadGraph *with_inputs_of(const CadGraph *graph) {
    CadGraph *const copy = cad_graph_new(graph->optimize);
    if (copy != NULL) {
        copy->keeps_doubles = graph->keeps_doubles;
        copy->compares_last = graph->compares_last;
        copy->calls = graph->calls;
        copy->owner = graph->owner;
        for (size_t i = 2; i < graph->n_records; i++) {
            cad_graph_input(copy, cad_record_size(&graph->records[i]),
                            cad_graph_has_floats(graph, &graph->records[i]));
        }
    }
    return copy;
}

/* What was recorded, as a graph of its own; the given one begins anew, with its inputs. Calls are
 * made numbers of by the owner, who knows that one alone: so they change places after reading. */
static CadGraph *read_apart(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                            const CadId *inputs, size_t n_inputs, CadId *outputs,
                            size_t n_outputs) {
    CadGraph *const apart = with_inputs_of(graph);
    if (apart == NULL || apart->status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return apart;
    }
    graph->is_verbatim = 1;
    graph->status = cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
    if (graph->status == CAD_OK) {
        const CadGraph read = *graph;
        *graph = *apart;
        *apart = read;
    }
    return apart;
}

/* Whether the inputs are all that the graph has beside the constant 0. */
static int is_fresh(const CadGraph *graph) {
    for (size_t i = 2; i < graph->n_records; i++) {
        if (graph->records[i].kind != CAD_RECORD_INPUT) {
            return 0;
        }
    }
    return 1;
}

/* What was recorded with its loops in another graph; outputs are numbers of the former, then of
 * the latter. */
static void roll(Recorded *r, CadGraph *graph, CadId *outputs, size_t n_outputs) {
    Roller roller = {.r = r, .copier = {.from = r->graph, .to = graph, .folds = 1}};
    Roller *const o = &roller;
    o->is_read = cad_memory_take(&r->memory, r->n_steps + 1, 1);
    o->copier.names = cad_memory_take(&r->memory, r->graph->n_records, sizeof *o->copier.names);
    graph->status = r->memory.status;
    if (graph->status == CAD_OK) {
        for (size_t i = 2; i < graph->n_records; i++) {
            o->copier.names[i] = cad_graph_first(graph, i);
        }
        find_read(o, outputs, n_outputs);
        roll_all(o);
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        outputs[k] = cad_copier_name(&o->copier, outputs[k]);
    }
    cad_memory_free(o->room.ids);
}

CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs,
                         size_t least_numbers) {
    Recorded recorded = {0}, *const r = &recorded;
    int is_read = 0;
    if (is_fresh(graph) && may_have_loops(graph, tape, begin, end, least_numbers)) {
        CadId *const ends = cad_memory_take(&r->memory, n_outputs, sizeof *ends);
        if (ends == NULL) {
            return graph->status = CAD_NO_MEMORY;
        }
        memcpy(ends, outputs, n_outputs * sizeof *ends);
        r->graph = read_apart(graph, tape, begin, end, inputs, n_inputs, ends, n_outputs);
        if (graph->status == CAD_OK && cad_loops_list_steps(r)) {
            find_loops(r, least_numbers);
        }
        graph->status = graph->status == CAD_OK ? r->graph->status : graph->status;
        /* The owner numbers calls once. */
        is_read = graph->status == CAD_OK && (r->n_loops > 0 || cad_graph_has_calls(r->graph));
        if (is_read) {
            roll(r, graph, ends, n_outputs);
            memcpy(outputs, ends, n_outputs * sizeof *ends);
        }
        cad_graph_free(r->graph);
        cad_memory_give_back(&r->memory);
        cad_loops_free(r->loops, r->n_loops);
    }
    return graph->status != CAD_OK || is_read
               ? graph->status
               : cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
}
