/* The levels of numbers, and who reads what last. */
#include "program/maker.h"

/* As late as readers allow. While these levels are looked for, they are counted from the end. No
 * call comes before one that was recorded earlier: cotangents of a loop find its turns then. */
static void find_latest_levels(CadMaker *m) {
    uint32_t calls = 1;
    m->n_levels = 0;
    for (size_t i = m->graph->n_records; i-- > 0;) {
        if (is_made(m, i)) {
            const bool is_call = m->graph->records[i].kind == CAD_RECORD_CALL;
            raise_to(&m->level[i], is_call ? calls : 1);
            calls = is_call ? m->level[i] : calls;
            raise_to(&m->n_levels, m->level[i]);
            EACH_READ(m, i, k) {
                raise_to(&m->level[m->reads[k]], m->level[i] + 1);
            }
        }
    }
    m->n_levels++; /* the first one is that of inputs and constants */
    for (size_t i = 0; i < m->graph->n_records; i++) {
        m->level[i] = is_made(m, i) ? m->n_levels - m->level[i] : 0;
    }
}

/* As early as operands allow; answers how many there are. */
static uint32_t find_earliest_levels(const CadMaker *m, uint32_t *levels) {
    uint32_t n_levels = 1;
    for (size_t i = 0; i < m->graph->n_records; i++) {
        if (is_made(m, i)) {
            uint32_t level = 0;
            EACH_READ(m, i, k) {
                raise_to(&level, levels[m->reads[k]]);
            }
            levels[i] = level + 1;
            raise_to(&n_levels, level + 2);
        }
    }
    return n_levels;
}

/* What guards need, early: the earliest level never comes after the latest one, and what guards
 * need has operands that they need, too, so both may be mixed. */
static void find_mixed_levels(CadMaker *m) {
    const size_t n = m->graph->n_records;
    uint8_t *const is_early = cad_memory_take(&m->memory, n, 1);
    uint32_t *const early = cad_memory_take(&m->memory, n, sizeof *early);
    if (m->memory.status != CAD_OK) {
        return;
    }
    find_earliest_levels(m, early);
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        is_early[record_of(m, m->graph->guards[k].id)] = 1;
    }
    for (size_t i = n; i-- > 0;) {
        EACH_READ(m, i, k) {
            is_early[m->reads[k]] |= is_early[i];
        }
    }
    find_latest_levels(m);
    for (size_t i = 0; i < n; i++) {
        m->level[i] = is_early[i] ? early[i] : m->level[i];
    }
}

/* Products that are put together come before their time, though never before they can. */
static void bring_products_together(CadMaker *m) {
    uint32_t *const early = cad_memory_take(&m->memory, m->graph->n_records, sizeof *early);
    if (early != NULL) {
        find_earliest_levels(m, early);
        cad_maker_bring_products_together(m, early);
    }
}

/* --- checks --- */

/* How many numbers are computed on each level. */
static size_t *count_work(CadMaker *m) {
    size_t *const work = cad_memory_take(&m->memory, m->n_levels, sizeof *work);
    for (size_t i = 0; i < m->graph->n_records && work != NULL; i++) {
        work[m->level[i]] += m->level[i] > 0 ? cad_record_size(&m->graph->records[i]) : 0;
    }
    return work;
}

/* Whether a call on the next level waits for a guard. */
static int is_waited_for(const CadMaker *m, size_t guard, uint32_t level) {
    return m->waiting[guard] > 0 && m->level[m->waiting[guard]] == level + 1;
}

/* Guards are compared soon after they can be, so that a program whose outcomes are not met ends
 * there; in their order, so each after the last one of the levels so far; and only once enough has
 * been computed since the last comparison: what a miss computes in vain is a share of what it had
 * to. But a call that waits for them is made behind. */
static void place_checks(CadMaker *m) {
    enum { LEAST_WORK = 32, SHARE = 8 };
    const size_t n_guards = m->graph->n_guards;
    if (m->program->compares_last) {
        for (size_t k = 0; k < n_guards; k++) {
            m->check_level[k] = m->waiting[k] > 0 ? m->level[m->waiting[k]] - 1 : FOREVER;
        }
        return;
    }
    size_t *const work = n_guards > 0 ? count_work(m) : NULL;
    if (work == NULL) {
        return;
    }
    size_t done = 0, since = 0, k = 0, waiting = 0;
    uint32_t ready =
        m->level[record_of(m, m->graph->guards[0].id)]; /* when the k-th guard can be */
    for (uint32_t level = 0; k < n_guards; level++) {
        since += level > 0 ? work[level] : 0;
        while (k < n_guards && ready <= level) {
            if (++k < n_guards) {
                raise_to(&ready, m->level[record_of(m, m->graph->guards[k].id)]);
            }
        }
        if (k == n_guards || (k > waiting && (since >= LEAST_WORK + done / SHARE ||
                                              is_waited_for(m, waiting, level)))) {
            for (; waiting < k; waiting++) {
                m->check_level[waiting] = level;
            }
            done += since;
            since = 0;
        }
    }
}

/* --- last reads --- */

static void find_last_reads(CadMaker *m) {
    const size_t n = m->n_ends - m->graph->n_guards;
    for (size_t k = 0; k < m->n_ends; k++) {
        const int is_kept = k < n || m->program->compares_last;
        raise_to(&m->last[record_of(m, m->ends[k])], is_kept ? FOREVER : m->check_level[k - n]);
    }
    for (size_t i = m->graph->n_records; i-- > 0;) {
        uint32_t level = m->level[i];
        if (level == 0) {
            continue;
        }
        /* An array that consists of numbers may turn out to be where they are: it keeps them. */
        if (m->graph->records[i].kind == CAD_RECORD_PACK) {
            raise_to(&level, m->last[i]);
        }
        EACH_READ(m, i, k) {
            raise_to(&m->last[m->reads[k]], level);
        }
    }
}

/* --- in the order of levels --- */

CadByLevel cad_maker_sort_by_level(CadMaker *m) {
    const size_t n = m->graph->n_records, places = 2 * (size_t)m->n_levels;
    CadByLevel sorted = {cad_memory_take(&m->memory, n, sizeof *sorted.records),
                         cad_memory_take(&m->memory, places + 2, sizeof *sorted.begin)};
    if (sorted.records == NULL || sorted.begin == NULL) {
        fail(m);
        return sorted;
    }
    uint32_t *const next =
        sorted.begin + 1; /* of each place where the next one goes, in the end */
    for (size_t i = 0; i < n; i++) {
        if (m->level[i] > 0) {
            next[2 * (size_t)m->level[i] + !is_array(m, i) + 1]++;
        }
    }
    for (size_t k = 1; k <= places; k++) {
        next[k] += next[k - 1];
    }
    for (size_t i = 0; i < n; i++) {
        if (m->level[i] > 0) {
            sorted.records[next[2 * (size_t)m->level[i] + !is_array(m, i)]++] = (uint32_t)i;
        }
    }
    return sorted;
}

/* How many of the single numbers of one level are in no vector. `counts` has a zero for each
 * operation, and again in the end. */
static size_t count_singles(const CadMaker *m, const uint32_t *records, size_t count,
                            uint32_t *counts) {
    size_t singles = 0;
    if (count < FEW || !m->joins) {
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        counts[m->graph->records[records[i]].op]++;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t *count_of_op = &counts[m->graph->records[records[i]].op];
        singles += *count_of_op < FEW ? *count_of_op : 0;
        *count_of_op = 0;
    }
    return singles;
}

/* The most numbers that are there at once. `change` has a zero for each level. */
static size_t count_places(const CadMaker *m, int64_t *change) {
    for (size_t i = 0; i < m->graph->n_records; i++) {
        if (m->level[i] > 0) {
            const uint32_t size = cad_record_size(&m->graph->records[i]);
            change[m->level[i]] += size;
            if (m->last[i] < m->n_levels) {
                change[m->last[i] + 1] -= size;
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

/* What a program with these levels would cost, as cad_program_cost() has it, but for its loops:
 * the numbers that are there at once have to have places. */
static size_t estimate(CadMaker *m) {
    uint32_t counts[CAD_OP_COUNT] = {0};
    int64_t *change = cad_memory_take(&m->memory, (size_t)m->n_levels + 1, sizeof *change);
    CadByLevel sorted = cad_maker_sort_by_level(m);
    size_t cost = 0;
    if (change == NULL) {
        fail(m);
    }
    if (m->status == CAD_OK) {
        cost = count_places(m, change);
        for (size_t level = 1; level < m->n_levels; level++) {
            const uint32_t *begin = sorted.begin + 2 * level + 1;
            cost += 3 * count_singles(m, sorted.records + begin[0], begin[1] - begin[0], counts);
        }
    }
    return cost;
}

/* --- all of it --- */

static void find_levels(CadMaker *m, int early) {
    if (early) {
        m->n_levels = find_earliest_levels(m, m->level);
    } else if (m->graph->n_guards > 0 && !m->program->compares_last) {
        find_mixed_levels(m);
    } else {
        find_latest_levels(m);
    }
    if (!early && cad_maker_has_products(m)) {
        bring_products_together(m);
    }
    place_checks(m);
    find_last_reads(m);
    if (m->memory.status != CAD_OK) {
        fail(m);
    }
}

void cad_maker_find_levels(CadMaker *m, CadLevels levels) {
    const size_t n = m->graph->n_records;
    find_levels(m, levels == CAD_EARLIEST);
    const size_t cost = levels == CAD_AS_ESTIMATED ? estimate(m) : 0;
    if (cost < n / 8 || levels != CAD_AS_ESTIMATED) {
        return;
    }
    const CadMaker latest = *m;
    m->level = cad_memory_take(&m->memory, n, sizeof *m->level);
    m->last = cad_memory_take(&m->memory, n, sizeof *m->last);
    m->check_level = cad_memory_take(&m->memory, m->graph->n_guards, sizeof *m->check_level);
    if (m->memory.status != CAD_OK) {
        fail(m);
        return;
    }
    find_levels(m, 1);
    if (estimate(m) >= cost) {
        m->level = latest.level;
        m->last = latest.last;
        m->check_level = latest.check_level;
        m->n_levels = latest.n_levels;
    }
}
