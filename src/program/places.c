/* Where numbers stand: inputs first, then single numbers and blocks of them at places that are
 * free; constants from place -1 downwards. */
#include "program/maker.h"

void cad_maker_place_inputs(CadMaker *m) {
    for (uint32_t i = 0; i < m->graph->n_records; i++) {
        m->place[i] = m->floats[i] = m->homes[i].block = NOWHERE;
        m->group[i] = FIRST_GROUP + i;
    }
    for (size_t k = 0; k < m->n_inputs; k++) {
        const uint32_t i = cad_graph_record_of(m->graph, m->inputs[k]);
        const uint32_t size = m->graph->records[i].of.array.size;
        if (size > (uint32_t)(INT32_MAX - 1 - m->n_places)) {
            m->status = CAD_TAPE_FULL;
            return;
        }
        m->place[i] = m->n_places;
        m->n_places += (int32_t)size;
        m->program->n_shared += k < m->n_shared ? size : 0;
    }
    m->program->n_inputs = (size_t)m->n_places;
    m->n_groups = FIRST_GROUP + (uint32_t)m->graph->n_records;
}

/* --- free places --- */

/* Single places that are free: a heap, of which the lowest is taken. So the turns of a loop find
 * the same ones. */
static void give_place(CadMaker *m, int32_t place) {
    if (!GROW(m, spare, m->n_spare, 1)) {
        return;
    }
    size_t k = m->n_spare++;
    for (; k > 0 && m->spare[(k - 1) / 2] > place; k = (k - 1) / 2) {
        m->spare[k] = m->spare[(k - 1) / 2];
    }
    m->spare[k] = place;
}

static int32_t most_places(const CadMaker *m) {
    return m->n_far > 0 ? FAR : INT32_MAX;
}

int32_t cad_maker_take_place(CadMaker *m) {
    if (m->n_spare == 0 && m->n_places == most_places(m) - 1) {
        m->status = CAD_TAPE_FULL;
        return 0;
    }
    if (m->n_spare == 0) {
        return m->n_places++;
    }
    const int32_t lowest = m->spare[0], last = m->spare[--m->n_spare];
    size_t k = 0;
    for (size_t child = 1; child < m->n_spare; child = 2 * k + 1) {
        child += child + 1 < m->n_spare && m->spare[child + 1] < m->spare[child];
        if (m->spare[child] >= last) {
            break;
        }
        m->spare[k] = m->spare[child];
        k = child;
    }
    m->spare[k] = last;
    return lowest;
}

int cad_maker_take_far(CadMaker *m, size_t size, int32_t *place) {
    const CadFarBlock *const last = m->n_far > 0 ? &m->far[m->n_far - 1] : NULL;
    const size_t end = last != NULL ? (size_t)last->place + last->size : FAR;
    if (m->use == CAD_AT_MANY_POINTS || size > INT32_MAX - 1 - end || m->n_places >= FAR / 2 ||
        !GROW(m, far, m->n_far, 1)) {
        return 0;
    }
    *place = (int32_t)end;
    m->far[m->n_far++] = (CadFarBlock){.place = *place, .size = (uint32_t)size};
    return 1;
}

int32_t cad_maker_take_array(CadMaker *m, size_t size) {
    enum { SMALL = CAD_TILE < 64 ? CAD_TILE : 64 };
    int32_t place;
    return size >= SMALL && cad_maker_take_far(m, size, &place) ? place
                                                                : cad_maker_take_block(m, size);
}

/* --- parts of blocks --- */

/* Have all of an array be part of another one, where that is all that is read of it. */
static void settle(CadMaker *m, uint32_t of, CadId first, size_t size, size_t uses, int64_t at) {
    const uint32_t i = cad_graph_record_of(m->graph, first);
    const CadRecord *const part = &m->graph->records[i];
    if (part->kind == CAD_RECORD_MAP && part->of.array.first == first &&
        part->of.array.size == size && m->uses[i] == uses) {
        m->homes[i].of = of;
        m->homes[i].at = (int32_t)at;
    }
}

/* What an array is made of: stretches of numbers, or what is added to zeros, in order. */
static void settle_parts(CadMaker *m, uint32_t i) {
    const CadRecord *const record = &m->graph->records[i];
    const size_t size = cad_record_size(record);
    if (record->kind == CAD_RECORD_PACK) {
        const CadId *const ids = cad_graph_packed(m->graph, record);
        for (size_t k = 0, n; k < size; k += n) {
            n = cad_graph_stretch(m->graph, ids + k, size - k);
            settle(m, i, ids[k], n, n < size ? n : 0, (int64_t)k);
        }
    } else if (record->kind == CAD_RECORD_ADD_TO &&
               cad_graph_array(m->graph, record)->former == CAD_NO_ID) {
        CadPlan *const plan = cad_graph_plan(m->graph, record);
        const int64_t *const to = cad_plan_view(plan, 0), *const from = cad_plan_view(plan, 1);
        if (plan->ndim == 1 && to[1] == 1 && from[1] == 1) {
            settle(m, i, (CadId)from[0], (size_t)plan->size, 1, to[0]);
        }
    }
}

void cad_maker_find_homes(CadMaker *m) {
    for (uint32_t i = 0; i < m->graph->n_records && m->joins; i++) {
        if (m->uses[i] > 0) {
            settle_parts(m, i);
        }
    }
}

int32_t cad_maker_take_home(CadMaker *m, uint32_t i) {
    CadHome *const home = &m->homes[i];
    if (home->of != 0) {
        return cad_maker_take_home(m, home->of) + home->at;
    }
    if (home->block == NOWHERE) {
        home->block = cad_maker_take_array(m, m->graph->records[i].of.array.size);
    }
    return home->block;
}

int32_t cad_maker_take_block(CadMaker *m, size_t size) {
    int32_t far;
    if (size >= LONG_VECTOR && cad_maker_take_far(m, size, &far)) {
        return far;
    }
    for (size_t k = 0; k < m->n_blocks; k++) {
        const CadFreeBlock block = m->blocks[k];
        if (block.size >= size && block.size <= size + size / 4) {
            m->blocks[k] = m->blocks[--m->n_blocks];
            return block.place;
        }
    }
    const int32_t place = m->n_places;
    if (size > (size_t)(most_places(m) - 1 - place)) {
        m->status = CAD_TAPE_FULL;
        return 0;
    }
    m->n_places += (int32_t)size;
    return place;
}

void cad_maker_release_after(CadMaker *m, uint32_t level, int32_t place, size_t size) {
    if (level == FOREVER || size == 0 || place >= FAR || !GROW(m, releases, m->n_releases, 1)) {
        return;
    }
    m->releases[m->n_releases] = (CadRelease){place, (uint32_t)size, m->release_at[level]};
    m->release_at[level] = (uint32_t)m->n_releases++;
}

void cad_maker_keep_block(CadMaker *m, uint32_t level, int32_t place) {
    for (uint32_t k = m->release_at[level]; k != UINT32_MAX; k = m->releases[k].next) {
        if (m->releases[k].place == place) {
            m->releases[k].size = 0;
        }
    }
}

void cad_maker_release_level(CadMaker *m, uint32_t level) {
    enum { MOST_BLOCKS = 256 };
    for (uint32_t k = m->release_at[level]; k != UINT32_MAX; k = m->releases[k].next) {
        const CadRelease release = m->releases[k];
        if (release.size == 0) {
            continue;
        }
        if (release.size == 1) {
            give_place(m, release.place);
        } else if (m->n_blocks < MOST_BLOCKS && GROW(m, blocks, m->n_blocks, 1)) {
            m->blocks[m->n_blocks++] = (CadFreeBlock){release.place, release.size};
        }
    }
}

/* --- constants --- */

int32_t cad_maker_add_constants(CadMaker *m, const double *values, size_t count) {
    CadProgram *program = m->program;
    if (!GROW(program, constants, program->n_constants, count)) {
        return -1;
    }
    /* Kept backwards until all are there. */
    for (size_t i = 0; i < count; i++) {
        program->constants[program->n_constants + i] = values[count - 1 - i];
    }
    program->n_constants += count;
    if (program->n_constants > INT32_MAX / 2) {
        m->status = CAD_TAPE_FULL;
    }
    return -(int32_t)program->n_constants;
}

/* Constants were kept backwards: the one at place -k - 1 is the k-th. */
void cad_maker_sort_constants(CadMaker *m) {
    CadProgram *program = m->program;
    for (size_t i = 0, j = program->n_constants; i + 1 < j; i++) {
        const double value = program->constants[i];
        program->constants[i] = program->constants[--j];
        program->constants[j] = value;
    }
}
