/* From a recording to a graph: operations one by one, loops as recurrences. */
#include "loops/inner.h"
#include "loops/loops.h"

#include "tape/tape.h"

/* --- what is read outside of loops --- */

static void read_from_outside(Roller *o, CadId id, size_t begin, size_t end) {
    const int64_t operation = operation_of(o->u, id);
    if (operation >= 0 && ((size_t)operation < begin || (size_t)operation >= end)) {
        o->is_read[operation] = 1;
    }
}

static void find_read(Roller *o, const CadId *outputs, size_t n_outputs) {
    Unrolled *const u = o->u;
    const Loop *loop = u->loops, *const last = u->loops + u->n_loops;
    CadOperands of;
    for (size_t operation = 0; operation < u->n_operations; operation++) {
        while (loop < last && operation >= loop->begin + operations_of_loop(loop)) {
            loop++;
        }
        const int inside = loop < last && operation >= loop->begin;
        const size_t begin = inside ? loop->begin : operation;
        const size_t end = inside ? begin + operations_of_loop(loop) : operation;
        cad_graph_operands(u->graph, u->records[operation], &of);
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
    Unrolled *const u = o->u;
    const Loop *loop = u->loops, *const last = u->loops + u->n_loops;
    for (size_t operation = 0; operation < u->n_operations && o->copier.to->status == CAD_OK;) {
        if (loop < last && operation == loop->begin && cad_loops_roll(o, loop++, NULL)) {
            operation += operations_of_loop(&loop[-1]);
            continue;
        }
        o->copier.names[u->records[operation]] = cad_graph_copy(&o->copier, u->records[operation]);
        operation++;
    }
}

/* Loops of few turns are found if there are none of more, within which they might be; and if they
 * are asked for, as for a text. */
static void find_loops(Unrolled *u, size_t least_numbers) {
    enum { FEW_TURNS = 3 };
    const size_t numbers = least_numbers > 0 ? least_numbers : LEAST_NUMBERS;
    const size_t waiting = least_numbers > 0 ? least_numbers : LEAST_WAITING;
    const size_t turns_that_call = least_numbers > 0 ? LEAST_TURNS : MANY_TURNS;
    cad_loops_find(u, (Least){LEAST_TURNS, numbers, waiting, 0, turns_that_call});
    if (least_numbers > 0 && u->n_loops == 0 && u->graph->status == CAD_OK) {
        cad_loops_find(u, (Least){FEW_TURNS, numbers, waiting, numbers, FEW_TURNS});
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

/* Read the recording into a graph of its own; the given one begins anew, with its inputs. The
 * owner makes numbers of calls in the given one: so the two change places afterwards. */
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
static void roll(Unrolled *u, CadGraph *graph, CadId *outputs, size_t n_outputs) {
    Roller roller = {.u = u, .copier = {.from = u->graph, .to = graph, .folds = 1}};
    Roller *const o = &roller;
    o->is_read = cad_memory_take(&u->memory, u->n_operations + 1, 1);
    o->copier.names = cad_memory_take(&u->memory, u->graph->n_records, sizeof *o->copier.names);
    graph->status = u->memory.status;
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
    Unrolled recorded = {0}, *const u = &recorded;
    int is_read = 0;
    if (is_fresh(graph) && may_have_loops(graph, tape, begin, end, least_numbers)) {
        CadId *const ends = cad_memory_take(&u->memory, n_outputs, sizeof *ends);
        if (ends == NULL) {
            return graph->status = CAD_NO_MEMORY;
        }
        memcpy(ends, outputs, n_outputs * sizeof *ends);
        u->graph = read_apart(graph, tape, begin, end, inputs, n_inputs, ends, n_outputs);
        if (graph->status == CAD_OK && cad_loops_list_operations(u)) {
            find_loops(u, least_numbers);
        }
        graph->status = graph->status == CAD_OK ? u->graph->status : graph->status;
        /* The owner numbers calls once. */
        is_read = graph->status == CAD_OK && (u->n_loops > 0 || cad_graph_has_calls(u->graph));
        if (is_read) {
            roll(u, graph, ends, n_outputs);
            memcpy(outputs, ends, n_outputs * sizeof *ends);
        }
        cad_graph_free(u->graph);
        cad_memory_give_back(&u->memory);
        cad_loops_free(u->loops, u->n_loops);
    }
    return graph->status != CAD_OK || is_read
               ? graph->status
               : cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
}
