/* From a graph to a program: all steps, in their order. */
#include "program/inner.h"

/* --- level by level --- */

static void emit_all(CadMaker *m) {
    CadByLevel sorted = cad_maker_sort_by_level(m);
    for (uint32_t level = 1; level < m->n_levels && m->status == CAD_OK; level++) {
        const uint32_t *begin = sorted.begin + 2 * (size_t)level;
        for (uint32_t k = begin[0]; k < begin[1]; k++) {
            cad_maker_emit_array(m, sorted.records[k]);
        }
        cad_maker_emit_singles(m, sorted.records + begin[1], begin[2] - begin[1], level);
        cad_maker_emit_checks(m, level);
        cad_maker_release_level(m, level);
    }
    if (m->status == CAD_OK) {
        cad_maker_emit_checks(m, FOREVER);
    }
    cad_maker_forget_order(&sorted);
}

/* --- all of it --- */

static int has_buffers(CadMaker *m) {
    const size_t n = m->graph->n_records;
    m->uses = cad_memory_zeroed(n, sizeof *m->uses);
    m->chain = cad_memory_zeroed(n, sizeof *m->chain);
    m->level = cad_memory_zeroed(n, sizeof *m->level);
    m->last = cad_memory_zeroed(n, sizeof *m->last);
    m->group = cad_memory_zeroed(n, sizeof *m->group);
    m->place = cad_memory_resize(NULL, n, sizeof *m->place);
    m->is_copied = cad_memory_zeroed(n, 1);
    m->is_early = cad_memory_zeroed(n, 1);
    m->other_level = cad_memory_zeroed(n, sizeof *m->other_level);
    m->check_level = cad_memory_zeroed(m->graph->n_guards, sizeof *m->check_level);
    if (m->uses == NULL || m->chain == NULL || m->level == NULL || m->last == NULL ||
        m->group == NULL || m->place == NULL || m->is_copied == NULL || m->is_early == NULL ||
        m->other_level == NULL || m->check_level == NULL) {
        return fail(m);
    }
    return 1;
}

static void free_buffers(CadMaker *m) {
    void *const buffers[] = {m->uses,        m->chain, m->level,     m->last,
                             m->group,       m->place, m->is_copied, m->is_early,
                             m->other_level, m->spare, m->blocks,    m->releases,
                             m->release_at,  m->terms, m->members,   m->check_level};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        cad_memory_free(buffers[i]);
    }
}

static int has_levels(CadMaker *m) {
    m->release_at = cad_memory_resize(NULL, m->n_levels, sizeof *m->release_at);
    if (m->release_at == NULL) {
        return fail(m);
    }
    memset(m->release_at, 0xff, m->n_levels * sizeof *m->release_at);
    return 1;
}

/* Which levels numbers get. Where chains of unequal length run side by side, the one way or the
 * other keeps in step. */
typedef enum Levels { LATEST, EARLIEST, AS_ESTIMATED } Levels;

/* Levels, and what follows from them, as set aside. */
typedef struct Ordering {
    uint32_t *level, *last, *check_level;
    uint32_t n_levels;
} Ordering;

static void exchange_orderings(CadMaker *m, Ordering *other) {
    const Ordering own = {m->level, m->last, m->check_level, m->n_levels};
    m->level = other->level;
    m->last = other->last;
    m->check_level = other->check_level;
    m->n_levels = other->n_levels;
    *other = own;
}

static void find_levels(CadMaker *m, int early, const CadId *roots, size_t n_roots) {
    cad_maker_find_levels(m, early);
    cad_maker_place_checks(m);
    cad_maker_find_last_reads(m, roots, n_roots);
}

/* The levels that promise the cheaper program. */
static void find_better_levels(CadMaker *m, const CadId *roots, size_t n_roots) {
    const size_t n = m->graph->n_records;
    find_levels(m, 0, roots, n_roots);
    const size_t cost = cad_maker_estimate(m);
    if (cost < n / 8) {
        return;
    }
    Ordering early = {
        .level = cad_memory_zeroed(n, sizeof *early.level),
        .last = cad_memory_zeroed(n, sizeof *early.last),
        .check_level = cad_memory_zeroed(m->graph->n_guards, sizeof *early.check_level),
    };
    if (early.level == NULL || early.last == NULL || early.check_level == NULL) {
        fail(m);
    } else {
        exchange_orderings(m, &early);
        find_levels(m, 1, roots, n_roots);
        if (cad_maker_estimate(m) >= cost) {
            exchange_orderings(m, &early);
        }
    }
    cad_memory_free(early.level);
    cad_memory_free(early.last);
    cad_memory_free(early.check_level);
}

/* What a program is made of, and what for. */
typedef struct Order {
    CadGraph *graph;
    const CadId *inputs;
    size_t n_inputs;
    const CadId *roots;
    size_t n_roots;
    int joins;
    int along; /* directions, of which the first n_shared inputs are no part */
    int compares_last;
    size_t n_shared;
    int refers; /* to inputs, where it can */
} Order;

/* What is to be computed: roots and, where the function indexes, what it finds there, even if that
 * is no part of a derivative. An index may be out of bounds. */
static CadId *find_ends(const Order *order, size_t *count) {
    const CadGraph *const graph = order->graph;
    CadId *ends = cad_memory_resize(NULL, order->n_roots + graph->n_arrays + 1, sizeof *ends);
    if (ends == NULL) {
        return NULL;
    }
    *count = 0;
    for (size_t k = 0; k < order->n_roots; k++) {
        ends[(*count)++] = order->roots[k];
    }
    for (size_t i = 0; i < graph->n_own; i++) {
        if (cad_record_is_by_index(&graph->records[i])) {
            ends[(*count)++] = graph->records[i].of.array.first;
        }
    }
    return ends;
}

static CadStatus make(const Order *order, Levels levels, CadProgram **program) {
    CadGraph *const graph = order->graph;
    size_t n_ends;
    CadId *const ends = find_ends(order, &n_ends);
    CadMaker maker = {.graph = graph, .status = graph->status, .joins = order->joins};
    CadMaker *m = &maker;
    m->program = cad_memory_zeroed(1, sizeof *m->program);
    if (m->program == NULL || ends == NULL) {
        fail(m);
    }
    if (m->status == CAD_OK && has_buffers(m)) {
        m->program->compares_last = order->compares_last;
        cad_maker_place_inputs(m, order->inputs, order->n_inputs, order->n_shared);
        m->boundary = order->along ? (int32_t)m->program->n_shared : INT32_MIN;
        cad_maker_find_wanted(m, ends, n_ends);
        if (order->refers) {
            cad_maker_refer_to_inputs(m, order->inputs, order->n_inputs, ends, n_ends);
        }
        cad_maker_find_chains(m);
        if (levels == AS_ESTIMATED) {
            find_better_levels(m, ends, n_ends);
        } else {
            find_levels(m, levels == EARLIEST, ends, n_ends);
        }
    }
    if (m->status == CAD_OK && has_levels(m)) {
        emit_all(m);
    }
    if (m->status == CAD_OK) {
        cad_maker_emit_results(m, order->roots, order->n_roots);
        cad_maker_sort_constants(m);
        if (m->joins) {
            cad_maker_join_sines(m);
        }
        cad_maker_roll_up(m);
    }
    if (m->status == CAD_OK) {
        cad_maker_fuse(m);
        m->program->n_places = (size_t)m->n_places;
    }
    free_buffers(m);
    cad_memory_free(ends);
    if (m->status != CAD_OK) {
        cad_program_free(m->program);
        m->program = NULL;
    }
    *program = m->program;
    return m->status;
}

/* The better one of those with the latest and the earliest levels. */
static CadStatus make_better(const Order *order, CadProgram **program) {
    enum { MANY_SINGLES = 256, MANY_RECORDS = 1 << 15 };
    const Levels levels = order->graph->n_records < MANY_RECORDS ? LATEST : AS_ESTIMATED;
    const CadStatus status = make(order, levels, program);
    if (status != CAD_OK || (*program)->n_singles < MANY_SINGLES || levels == AS_ESTIMATED) {
        return status;
    }
    CadProgram *early;
    if (make(order, EARLIEST, &early) == CAD_OK) {
        const int is_better = cad_program_cost(early) < cad_program_cost(*program);
        cad_program_free(is_better ? *program : early);
        *program = is_better ? early : *program;
    }
    return CAD_OK;
}

CadStatus cad_program_make(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                           const CadId *roots, size_t n_roots, CadProgram **program) {
    const Order order = {
        graph, inputs, n_inputs, roots, n_roots, graph->optimize, 0, graph->compares_last, 0, 1};
    return make_better(&order, program);
}

CadStatus cad_program_make_along(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                                 size_t n_shared, const CadId *roots, size_t n_roots,
                                 CadProgram **program) {
    const Order order = {graph,           inputs, n_inputs, roots,    n_roots,
                         graph->optimize, 1,      1,        n_shared, 0};
    return make_better(&order, program);
}

CadStatus cad_program_make_for_lanes(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                                     const CadId *roots, size_t n_roots, CadProgram **program) {
    const Order order = {graph, inputs, n_inputs, roots, n_roots, 0, 0, 1, 0, 0};
    return make(&order, LATEST, program);
}

/* --- programs --- */

size_t cad_program_cost(const CadProgram *program) {
    return program->n_operations + 3 * program->n_singles + program->n_places;
}

void cad_program_free(CadProgram *program) {
    if (program != NULL) {
        cad_memory_free(program->code);
        cad_memory_free(program->singles);
        cad_memory_free(program->lists);
        cad_memory_free(program->plans);
        cad_memory_free(program->constants);
        cad_memory_free(program->outputs);
        cad_memory_free(program->checks);
        cad_memory_free(program->referred);
        cad_memory_free(program);
    }
}

size_t cad_program_bytes(const CadProgram *program) {
    return sizeof *program + program->n_code * sizeof *program->code +
           program->n_singles * sizeof *program->singles +
           program->n_lists * sizeof *program->lists +
           program->n_plan_words * sizeof *program->plans +
           program->n_constants * sizeof *program->constants +
           program->n_outputs * sizeof *program->outputs +
           program->n_checks * sizeof *program->checks +
           program->n_referred * sizeof *program->referred;
}
