/* The levels of numbers, and who reads what last. */
#include "program/visit.h"

/* The level of a node, or of the array that an element belongs to. */
static uint32_t *level_of(CadMaker *m, CadId id) {
    id = resolved(m, id);
    return CAD_IS_ELEMENT(id) ? &m->array_level[cad_graph_array_of(m->graph, id)] : &m->level[id];
}

/* Whether an array is wanted and has to be computed. */
static int is_made(const CadMaker *m, size_t i) {
    const CadArray *array = &m->graph->arrays[i];
    return m->array_is_live[i] && array->op != CAD_ARRAY_INPUT && array->op != CAD_ARRAY_CONSTANTS;
}

/* --- as late as readers allow --- */

/* While these levels are looked for, they are counted from the end: m->highest is that of the
 * reader. */
static void put_before(CadMaker *m, CadId id) {
    uint32_t *level = level_of(m, id);
    *level = m->highest + 1 > *level ? m->highest + 1 : *level;
}

static void begin_reading(CadMaker *m, uint32_t *level) {
    m->highest = *level = *level > 0 ? *level : 1;
    m->n_levels = m->highest > m->n_levels ? m->highest : m->n_levels;
}

static void put_operands_before(CadMaker *m, size_t i) {
    if (is_operation(m, i)) {
        begin_reading(m, &m->level[i]);
        visit_operands(m, i, put_before);
    }
}

static void put_parts_before(CadMaker *m, size_t i) {
    if (is_made(m, i)) {
        begin_reading(m, &m->array_level[i]);
        visit_parts(m, i, put_before);
    }
}

static void find_latest_levels(CadMaker *m) {
    go_back(m, put_operands_before, put_parts_before);
    m->n_levels++; /* the first one is that of inputs and constants */
    for (size_t i = 0; i < m->graph->n_nodes; i++) {
        m->level[i] = is_operation(m, i) ? m->n_levels - m->level[i] : 0;
    }
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        m->array_level[i] = is_made(m, i) ? m->n_levels - m->array_level[i] : 0;
    }
}

/* --- as early as operands allow --- */

static void look_at_level(CadMaker *m, CadId id) {
    const uint32_t level = *level_of(m, id);
    m->highest = level > m->highest ? level : m->highest;
}

static uint32_t level_after(CadMaker *m) {
    const uint32_t level = m->highest + 1;
    m->n_levels = level + 1 > m->n_levels ? level + 1 : m->n_levels;
    return level;
}

static void put_node_behind(CadMaker *m, size_t i) {
    if (is_operation(m, i)) {
        m->highest = 0;
        visit_operands(m, i, look_at_level);
        m->level[i] = level_after(m);
    }
}

static void put_array_behind(CadMaker *m, size_t i) {
    if (is_made(m, i)) {
        m->highest = 0;
        visit_parts(m, i, look_at_level);
        m->array_level[i] = level_after(m);
    }
}

static void find_earliest_levels(CadMaker *m) {
    size_t node = 0;
    m->n_levels = 1;
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        for (; node < m->graph->arrays[i].before; node++) {
            put_node_behind(m, node);
        }
        put_array_behind(m, i);
    }
    for (; node < m->graph->n_nodes; node++) {
        put_node_behind(m, node);
    }
}

/* --- what guards need, early --- */

static void want_early(CadMaker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        m->array_is_early[cad_graph_array_of(m->graph, id)] = 1;
    } else {
        m->is_early[id] = 1;
    }
}

static void want_operands_early(CadMaker *m, size_t i) {
    if (m->is_early[i] && is_operation(m, i)) {
        visit_operands(m, i, want_early);
    }
}

static void want_parts_early(CadMaker *m, size_t i) {
    if (m->array_is_early[i] && is_made(m, i)) {
        visit_parts(m, i, want_early);
    }
}

static void exchange_levels(CadMaker *m) {
    uint32_t *const level = m->level, *const array_level = m->array_level;
    m->level = m->other_level;
    m->array_level = m->other_array_level;
    m->other_level = level;
    m->other_array_level = array_level;
}

/* The earliest level never comes after the latest one, and what guards need has operands that they
 * need, too: so both may be mixed. */
static void find_mixed_levels(CadMaker *m) {
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        want_early(m, m->graph->guards[k].id);
    }
    go_back(m, want_operands_early, want_parts_early);
    exchange_levels(m);
    find_earliest_levels(m);
    exchange_levels(m);
    m->n_levels = 0;
    find_latest_levels(m);
    for (size_t i = 0; i < m->graph->n_nodes; i++) {
        m->level[i] = m->is_early[i] ? m->other_level[i] : m->level[i];
    }
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        m->array_level[i] = m->array_is_early[i] ? m->other_array_level[i] : m->array_level[i];
    }
}

void cad_maker_find_levels(CadMaker *m, int early) {
    if (early) {
        find_earliest_levels(m);
    } else if (m->graph->n_guards > 0 && !m->program->compares_last) {
        find_mixed_levels(m);
    } else {
        find_latest_levels(m);
    }
}

/* --- checks --- */

/* How many numbers are computed on each level. */
static size_t *count_work(CadMaker *m) {
    size_t *const work = cad_memory_zeroed(m->n_levels, sizeof *work);
    if (work == NULL) {
        fail(m);
        return NULL;
    }
    for (size_t i = 0; i < m->graph->n_nodes; i++) {
        work[m->level[i]] += m->level[i] > 0;
    }
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        work[m->array_level[i]] += m->array_level[i] > 0 ? m->graph->arrays[i].size : 0;
    }
    return work;
}

/* Guards are compared in their order, so each after the last one of the levels so far; and only
 * once enough has been computed since the last comparison: what a miss computes in vain is a
 * share of what it had to. */
void cad_maker_place_checks(CadMaker *m) {
    enum { LEAST_WORK = 32, SHARE = 8 };
    const size_t n_guards = m->graph->n_guards;
    if (m->program->compares_last) {
        memset(m->check_level, 0xff, n_guards * sizeof *m->check_level);
        return;
    }
    size_t *const work = n_guards > 0 ? count_work(m) : NULL;
    if (work == NULL) {
        return;
    }
    size_t done = 0, since = 0, k = 0, waiting = 0;
    uint32_t ready = *level_of(m, m->graph->guards[0].id); /* when the k-th guard can be */
    for (uint32_t level = 0; k < n_guards; level++) {
        since += level > 0 ? work[level] : 0;
        while (k < n_guards && ready <= level) {
            if (++k < n_guards) {
                const uint32_t own = *level_of(m, m->graph->guards[k].id);
                ready = own > ready ? own : ready;
            }
        }
        if (k == n_guards || (k > waiting && since >= LEAST_WORK + done / SHARE)) {
            for (; waiting < k; waiting++) {
                m->check_level[waiting] = level;
            }
            done += since;
            since = 0;
        }
    }
    cad_memory_free(work);
}

/* --- last reads --- */

/* A number is read on the level m->highest. */
static void read_later(CadMaker *m, CadId id) {
    id = resolved(m, id);
    uint32_t *last;
    if (CAD_IS_ELEMENT(id)) {
        const uint32_t i = cad_graph_array_of(m->graph, id);
        last = &m->array_last[i];
        m->array_reads[i]++;
    } else {
        last = &m->last[id];
    }
    *last = m->highest > *last ? m->highest : *last;
}

static void note_node_reads(CadMaker *m, size_t i) {
    if (m->level[i] > 0) {
        m->highest = m->level[i];
        visit_operands(m, i, read_later);
    }
}

static void note_array_reads(CadMaker *m, size_t i) {
    if (m->array_level[i] == 0) {
        return;
    }
    /* An array that consists of numbers may turn out to be where they are: it keeps them. */
    m->highest = m->array_level[i];
    if (m->graph->arrays[i].op == CAD_ARRAY_PACK && m->array_last[i] > m->highest) {
        m->highest = m->array_last[i];
    }
    visit_parts(m, i, read_later);
}

void cad_maker_find_last_reads(CadMaker *m, const CadId *roots, size_t n_roots) {
    m->highest = FOREVER;
    for (size_t k = 0; k < n_roots; k++) {
        read_later(m, roots[k]);
    }
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        m->highest = m->check_level[k];
        read_later(m, m->graph->guards[k].id);
    }
    go_back(m, note_node_reads, note_array_reads);
}

/* --- in the order of levels --- */

uint32_t *cad_maker_sort_by_level(CadMaker *m, const uint32_t *levels, size_t count,
                                  uint32_t *begin) {
    memset(begin, 0, ((size_t)m->n_levels + 1) * sizeof *begin);
    for (size_t i = 0; i < count; i++) {
        if (levels[i] > 0) {
            begin[levels[i] + 1]++;
        }
    }
    for (uint32_t k = 1; k <= m->n_levels; k++) {
        begin[k] += begin[k - 1];
    }
    uint32_t *order = cad_memory_resize(NULL, begin[m->n_levels], sizeof *order);
    uint32_t *next = cad_memory_resize(NULL, m->n_levels, sizeof *next);
    if (order == NULL || next == NULL) {
        fail(m);
    } else {
        memcpy(next, begin, m->n_levels * sizeof *next);
        for (size_t i = 0; i < count; i++) {
            if (levels[i] > 0) {
                order[next[levels[i]]++] = (uint32_t)i;
            }
        }
    }
    cad_memory_free(next);
    return order;
}

/* How many of the nodes of one level are in no vector. `counts` has a zero for each operation, and
 * again in the end. */
static size_t count_singles(const CadMaker *m, const uint32_t *ids, size_t count,
                            uint32_t *counts) {
    size_t singles = 0;
    if (count < FEW || !m->joins) {
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        counts[m->graph->nodes[ids[i]].op]++;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t *own = &counts[m->graph->nodes[ids[i]].op];
        singles += *own < FEW ? *own : 0;
        *own = 0;
    }
    return singles;
}

/* The most numbers that are there at once. `change` has a zero for each level. */
static size_t count_places(const CadMaker *m, int64_t *change) {
    for (size_t i = 0; i < m->graph->n_nodes; i++) {
        if (m->level[i] > 0) {
            change[m->level[i]]++;
            if (m->last[i] < m->n_levels) {
                change[m->last[i] + 1]--;
            }
        }
    }
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        if (m->array_level[i] > 0) {
            change[m->array_level[i]] += m->graph->arrays[i].size;
            if (m->array_last[i] < m->n_levels) {
                change[m->array_last[i] + 1] -= m->graph->arrays[i].size;
            }
        }
    }
    int64_t now = 0, most = 0;
    for (uint32_t level = 1; level < m->n_levels; level++) {
        now += change[level];
        most = now > most ? now : most;
    }
    return (size_t)most;
}

size_t cad_maker_estimate(CadMaker *m) {
    uint32_t counts[CAD_OP_COUNT] = {0};
    uint32_t *begin = cad_memory_resize(NULL, (size_t)m->n_levels + 1, sizeof *begin);
    int64_t *change = cad_memory_zeroed((size_t)m->n_levels + 1, sizeof *change);
    uint32_t *nodes = NULL;
    size_t cost = 0;
    if (begin == NULL || change == NULL) {
        fail(m);
    } else {
        nodes = cad_maker_sort_by_level(m, m->level, m->graph->n_nodes, begin);
    }
    if (m->status == CAD_OK) {
        cost = count_places(m, change);
        for (uint32_t level = 1; level < m->n_levels; level++) {
            cost += 3 * count_singles(m, nodes + begin[level], begin[level + 1] - begin[level],
                                      counts);
        }
    }
    cad_memory_free(nodes);
    cad_memory_free(begin);
    cad_memory_free(change);
    return cost;
}
