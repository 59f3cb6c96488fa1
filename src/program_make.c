/* From a graph to a program: which numbers are wanted, when, and where they stand.
 *
 * A number's level is one more than that of its operands; operations of one level do not wait for
 * each other. Those of one kind in a level are one vector, ordered so that operands stand side by
 * side wherever possible. A long chain of additions is one sum. Places of numbers that nobody
 * reads any more serve again. */
#include "program.h"

#include <stdlib.h>

enum {
    FEW = 24,       /* operations, from which on a vector is worth it */
    LONG_CHAIN = 8, /* terms of a sum */
    NOWHERE = INT32_MAX,
    SINGLE_GROUP = 0,
    CONSTANT_GROUP = 1,
    FIRST_GROUP = 2,
};

#define FOREVER UINT32_MAX

typedef struct FreeBlock {
    int32_t place;
    uint32_t size;
} FreeBlock;

typedef struct Release {
    int32_t place;
    uint32_t size;
    uint32_t next; /* at the same level */
} Release;

typedef struct Term {
    CadId id;
    int minus;
} Term;

typedef struct Maker {
    CadGraph *graph;
    CadProgram *program;
    CadStatus status;
    int joins; /* operations of one kind to vectors, chains to sums */
    /* of nodes */
    uint32_t *uses;
    uint32_t *level;
    uint32_t *last;  /* the level of whoever reads it last */
    uint32_t *chain; /* how many terms a sum would have; 0: it is part of another sum */
    uint32_t *group;
    int32_t *place;
    /* of arrays */
    uint8_t *array_is_live;
    uint32_t *array_level;
    uint32_t *array_last;
    int32_t *array_place;
    uint32_t *array_group;
    uint32_t *array_reads;
    uint32_t n_levels;
    uint32_t highest;
    uint32_t n_groups;
    /* places */
    int32_t n_places;
    int32_t *spare; /* single places */
    size_t n_spare, spare_capacity;
    FreeBlock *blocks;
    size_t n_blocks, block_capacity;
    Release *releases;
    size_t n_releases, release_capacity;
    uint32_t *release_at; /* by level: the first one */
    /* nodes in the order of their levels */
    uint32_t *order;
    uint32_t *level_begin;
    Term *terms; /* of a chain */
    size_t term_capacity;
    struct Member *members;
    size_t member_capacity;
} Maker;

static int fail(Maker *m) {
    if (m->status == CAD_OK) {
        m->status = CAD_NO_MEMORY;
    }
    return 0;
}

#define GROW(owner, items, n, capacity, more)                                                     \
    (cad_memory_grow((void **)&(owner)->items, &(owner)->capacity, (n) + (more),                  \
                     sizeof *(owner)->items) == CAD_OK ||                                         \
     fail(m))

/* --- which numbers are wanted --- */

/* What a number is called once those that only cut derivatives are left out. */
static CadId resolved(const Maker *m, CadId id) {
    while (!CAD_IS_ELEMENT(id) && m->graph->nodes[id].op == CAD_OP_stop) {
        id = m->graph->nodes[id].x;
    }
    return id;
}

static int is_constant_node(const Maker *m, CadId id) {
    return !CAD_IS_ELEMENT(id) && m->graph->nodes[id].op == CAD_NODE_CONSTANT;
}

static void use(Maker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        m->array_is_live[cad_graph_array_of(m->graph, id)] = 1;
    } else {
        m->uses[id] += m->uses[id] < UINT32_MAX;
    }
}

/* The numbers that an array is made of; `visit` is called with the first one of each view. */
static void visit_operands(Maker *m, const CadArray *array, void (*visit)(Maker *, CadId)) {
    if (array->op == CAD_ARRAY_PACK) {
        for (uint32_t k = 0; k < array->size; k++) {
            visit(m, m->graph->lists[array->list + k]);
        }
    } else if (array->plan != SIZE_MAX) {
        CadPlan *plan = cad_graph_plan(m->graph, array);
        for (int k = plan->n_views > 1 ? 1 : 0; k < plan->n_views; k++) {
            visit(m, (CadId)cad_plan_view(plan, k)[0]);
        }
        if (array->op == CAD_ARRAY_ADD_TO && cad_plan_extra(plan)[0] >= 0) {
            visit(m, (CadId)cad_plan_extra(plan)[0]);
        }
    }
}

static int operands_of(const CadNode *node, CadId x[3]) {
    if (node->op >= CAD_OP_COUNT) {
        return 0;
    }
    x[0] = node->x;
    x[1] = node->y;
    x[2] = node->z;
    return 1 + (node->y != CAD_NO_ID) + (node->z != CAD_NO_ID);
}

static void use_node(Maker *m, size_t i) {
    CadId x[3] = {0};
    if (m->uses[i] > 0 && m->graph->nodes[i].op != CAD_OP_stop) {
        const int arity = operands_of(&m->graph->nodes[i], x);
        for (int k = 0; k < arity; k++) {
            use(m, x[k]);
        }
    }
}

static void find_live(Maker *m, const CadId *roots, size_t n_roots) {
    for (size_t k = 0; k < n_roots; k++) {
        use(m, roots[k]);
    }
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        use(m, m->graph->guards[k].id);
    }
    size_t node = m->graph->n_nodes;
    for (size_t i = m->graph->n_arrays; i-- > 0;) {
        while (node > m->graph->arrays[i].before) {
            use_node(m, --node);
        }
        if (m->array_is_live[i]) {
            visit_operands(m, &m->graph->arrays[i], use);
        }
    }
    while (node > 0) {
        use_node(m, --node);
    }
}

/* --- chains of additions --- */

static int adds(const Maker *m, CadId id) {
    return !CAD_IS_ELEMENT(id) &&
           (m->graph->nodes[id].op == CAD_OP_add || m->graph->nodes[id].op == CAD_OP_subtract);
}

/* The operand of a sum or difference that is one itself, of nobody else's interest: the one of
 * more terms. What is subtracted is a term. */
static CadId inner_sum(const Maker *m, const CadNode *node) {
    CadId found = CAD_NO_ID;
    uint32_t most = 0;
    const CadId x[2] = {resolved(m, node->x), resolved(m, node->y)};
    for (int k = 0; k < (node->op == CAD_OP_add ? 2 : 1); k++) {
        if (adds(m, x[k]) && m->uses[x[k]] == 1 && m->chain[x[k]] > most) {
            found = x[k];
            most = m->chain[x[k]];
        }
    }
    return found;
}

static void find_chains(Maker *m) {
    const CadGraph *graph = m->graph;
    if (!m->joins) {
        return;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (m->uses[i] > 0 && adds(m, (CadId)i)) {
            const CadId inner = inner_sum(m, &graph->nodes[i]);
            m->chain[i] = inner == CAD_NO_ID ? 2 : m->chain[inner] + 1;
        }
    }
    /* Heads of long chains keep their number of terms; their parts are used no more. */
    for (size_t i = graph->n_nodes; i-- > 0;) {
        if (m->uses[i] == 0 || m->chain[i] < LONG_CHAIN) {
            continue;
        }
        CadId part = inner_sum(m, &graph->nodes[i]);
        while (part != CAD_NO_ID) {
            const CadId next = inner_sum(m, &graph->nodes[part]);
            m->uses[part] = 0;
            part = next;
        }
    }
}

/* Whether a live node is the sum of a chain. */
static int is_chain(const Maker *m, CadId id) {
    return m->chain[id] >= LONG_CHAIN;
}

/* The terms of a chain, in the order in which they were added; answers how many. Those that are
 * subtracted stand in m->terms with their `minus` set. */
static size_t terms_of(Maker *m, CadId head) {
    const size_t count = m->chain[head];
    if (!GROW(m, terms, 0, term_capacity, count)) {
        return 0;
    }
    CadId part = head;
    for (size_t k = count; k > 2;) {
        const CadNode *node = &m->graph->nodes[part];
        /* Its parts have no uses any more; that is what tells them. */
        const CadId x = resolved(m, node->x), y = resolved(m, node->y);
        const int x_is_part = adds(m, x) && m->uses[x] == 0 && m->chain[x] == k - 1;
        m->terms[--k] = (Term){x_is_part ? y : x, x_is_part && node->op == CAD_OP_subtract};
        part = x_is_part ? x : y;
    }
    const CadNode *first = &m->graph->nodes[part];
    m->terms[1] = (Term){resolved(m, first->y), first->op == CAD_OP_subtract};
    m->terms[0] = (Term){resolved(m, first->x), 0};
    return count;
}

/* --- levels, and who reads what last --- */

/* While levels are looked for, they are counted from the end: m->highest is that of the reader. */
static void put_before(Maker *m, CadId id) {
    id = resolved(m, id);
    uint32_t *level =
        CAD_IS_ELEMENT(id) ? &m->array_level[cad_graph_array_of(m->graph, id)] : &m->level[id];
    *level = m->highest + 1 > *level ? m->highest + 1 : *level;
}

static int is_operation(const Maker *m, size_t i) {
    return m->uses[i] > 0 && m->graph->nodes[i].op < CAD_OP_COUNT &&
           m->graph->nodes[i].op != CAD_OP_stop;
}

static int is_made(const Maker *m, size_t i) {
    const CadArray *array = &m->graph->arrays[i];
    return m->array_is_live[i] && array->op != CAD_ARRAY_INPUT && array->op != CAD_ARRAY_CONSTANTS;
}

static void put_operands_before(Maker *m, size_t i) {
    CadId x[3] = {0};
    if (!is_operation(m, i)) {
        return;
    }
    m->highest = m->level[i] = m->level[i] > 0 ? m->level[i] : 1;
    m->n_levels = m->highest > m->n_levels ? m->highest : m->n_levels;
    if (is_chain(m, (CadId)i)) {
        const size_t count = terms_of(m, (CadId)i);
        for (size_t k = 0; k < count; k++) {
            put_before(m, m->terms[k].id);
        }
        return;
    }
    const int arity = operands_of(&m->graph->nodes[i], x);
    for (int k = 0; k < arity; k++) {
        put_before(m, x[k]);
    }
}

static void put_parts_before(Maker *m, size_t i) {
    if (is_made(m, i)) {
        m->highest = m->array_level[i] = m->array_level[i] > 0 ? m->array_level[i] : 1;
        m->n_levels = m->highest > m->n_levels ? m->highest : m->n_levels;
        visit_operands(m, &m->graph->arrays[i], put_before);
    }
}

/* Each number as late as its readers allow. */
static void find_latest_levels(Maker *m) {
    size_t node = m->graph->n_nodes;
    for (size_t i = m->graph->n_arrays; i-- > 0 && m->status == CAD_OK;) {
        while (node > m->graph->arrays[i].before) {
            put_operands_before(m, --node);
        }
        put_parts_before(m, i);
    }
    while (node > 0) {
        put_operands_before(m, --node);
    }
    m->n_levels++; /* the first one is that of inputs and constants */
    for (size_t i = 0; i < m->graph->n_nodes; i++) {
        m->level[i] = is_operation(m, i) ? m->n_levels - m->level[i] : 0;
    }
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        m->array_level[i] = is_made(m, i) ? m->n_levels - m->array_level[i] : 0;
    }
}

static void look_at_level(Maker *m, CadId id) {
    id = resolved(m, id);
    const uint32_t level =
        CAD_IS_ELEMENT(id) ? m->array_level[cad_graph_array_of(m->graph, id)] : m->level[id];
    m->highest = level > m->highest ? level : m->highest;
}

static uint32_t level_after(Maker *m) {
    const uint32_t level = m->highest + 1;
    m->n_levels = level + 1 > m->n_levels ? level + 1 : m->n_levels;
    return level;
}

static void put_node_behind(Maker *m, size_t i) {
    CadId x[3] = {0};
    if (!is_operation(m, i)) {
        return;
    }
    m->highest = 0;
    if (is_chain(m, (CadId)i)) {
        const size_t count = terms_of(m, (CadId)i);
        for (size_t k = 0; k < count; k++) {
            look_at_level(m, m->terms[k].id);
        }
    } else {
        const int arity = operands_of(&m->graph->nodes[i], x);
        for (int k = 0; k < arity; k++) {
            look_at_level(m, x[k]);
        }
    }
    m->level[i] = level_after(m);
}

/* Each number as early as its operands allow. */
static void find_earliest_levels(Maker *m) {
    size_t node = 0;
    m->n_levels = 1;
    for (size_t i = 0; i < m->graph->n_arrays; i++) {
        for (; node < m->graph->arrays[i].before; node++) {
            put_node_behind(m, node);
        }
        if (is_made(m, i)) {
            m->highest = 0;
            visit_operands(m, &m->graph->arrays[i], look_at_level);
            m->array_level[i] = level_after(m);
        }
    }
    for (; node < m->graph->n_nodes; node++) {
        put_node_behind(m, node);
    }
}

/* Somebody on the level m->highest reads a number. */
static void read_later(Maker *m, CadId id) {
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

static void note_node_reads(Maker *m, size_t i) {
    CadId x[3] = {0};
    if (m->level[i] == 0) {
        return;
    }
    m->highest = m->level[i];
    if (is_chain(m, (CadId)i)) {
        const size_t count = terms_of(m, (CadId)i);
        for (size_t k = 0; k < count; k++) {
            read_later(m, m->terms[k].id);
        }
        return;
    }
    const int arity = operands_of(&m->graph->nodes[i], x);
    for (int k = 0; k < arity; k++) {
        read_later(m, x[k]);
    }
}

static void note_array_reads(Maker *m, size_t i) {
    if (m->array_level[i] == 0) {
        return;
    }
    /* An array that consists of numbers may turn out to be where they are: it keeps them. */
    m->highest = m->array_level[i];
    if (m->graph->arrays[i].op == CAD_ARRAY_PACK && m->array_last[i] > m->highest) {
        m->highest = m->array_last[i];
    }
    visit_operands(m, &m->graph->arrays[i], read_later);
}

static void find_last_reads(Maker *m, const CadId *roots, size_t n_roots) {
    m->highest = FOREVER;
    for (size_t k = 0; k < n_roots; k++) {
        read_later(m, roots[k]);
    }
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        read_later(m, m->graph->guards[k].id);
    }
    size_t node = m->graph->n_nodes;
    for (size_t i = m->graph->n_arrays; i-- > 0;) {
        while (node > m->graph->arrays[i].before) {
            note_node_reads(m, --node);
        }
        note_array_reads(m, i);
    }
    while (node > 0) {
        note_node_reads(m, --node);
    }
}

/* --- places --- */

/* Single places that are free: a heap, of which the lowest is taken. So the turns of a loop find
 * the same ones. */
static void give_place(Maker *m, int32_t place) {
    if (!GROW(m, spare, m->n_spare, spare_capacity, 1)) {
        return;
    }
    size_t k = m->n_spare++;
    for (; k > 0 && m->spare[(k - 1) / 2] > place; k = (k - 1) / 2) {
        m->spare[k] = m->spare[(k - 1) / 2];
    }
    m->spare[k] = place;
}

static int32_t take_place(Maker *m) {
    if (m->n_spare == 0 && m->n_places == INT32_MAX - 1) {
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

static int32_t take_block(Maker *m, size_t size) {
    for (size_t k = 0; k < m->n_blocks; k++) {
        const FreeBlock block = m->blocks[k];
        if (block.size >= size && block.size <= size + size / 4) {
            m->blocks[k] = m->blocks[--m->n_blocks];
            return block.place;
        }
    }
    const int32_t place = m->n_places;
    if (size > (size_t)(INT32_MAX - 1 - place)) {
        m->status = CAD_TAPE_FULL;
        return 0;
    }
    m->n_places += (int32_t)size;
    return place;
}

static void release_after(Maker *m, uint32_t level, int32_t place, size_t size) {
    if (level == FOREVER || size == 0 || !GROW(m, releases, m->n_releases, release_capacity, 1)) {
        return;
    }
    m->releases[m->n_releases] = (Release){place, (uint32_t)size, m->release_at[level]};
    m->release_at[level] = (uint32_t)m->n_releases++;
}

/* The block at a place is not to be released after all. */
static void keep_block(Maker *m, uint32_t level, int32_t place) {
    for (uint32_t k = m->release_at[level]; k != UINT32_MAX; k = m->releases[k].next) {
        if (m->releases[k].place == place) {
            m->releases[k].size = 0;
        }
    }
}

static void release_level(Maker *m, uint32_t level) {
    enum { MOST_BLOCKS = 256 };
    for (uint32_t k = m->release_at[level]; k != UINT32_MAX; k = m->releases[k].next) {
        const Release release = m->releases[k];
        if (release.size == 0) {
            continue;
        }
        if (release.size == 1) {
            give_place(m, release.place);
        } else if (m->n_blocks < MOST_BLOCKS && GROW(m, blocks, m->n_blocks, block_capacity, 1)) {
            m->blocks[m->n_blocks++] = (FreeBlock){release.place, release.size};
        }
    }
}

static int32_t add_constants(Maker *m, const double *values, size_t count) {
    CadProgram *program = m->program;
    if (!GROW(program, constants, program->n_constants, constant_capacity, count)) {
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

static int32_t place_of(Maker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        const uint32_t i = cad_graph_array_of(m->graph, id);
        const CadArray *array = &m->graph->arrays[i];
        if (array->op == CAD_ARRAY_CONSTANTS && m->array_place[i] == NOWHERE) {
            m->array_place[i] = add_constants(m, m->graph->constants + array->list, array->size);
        }
        return m->array_place[i] + (int32_t)(id - array->first);
    }
    if (m->place[id] == NOWHERE) {
        const double value = cad_node_value(&m->graph->nodes[id]);
        m->place[id] = add_constants(m, &value, 1);
        m->group[id] = CONSTANT_GROUP;
    }
    return m->place[id];
}

static uint32_t group_of(const Maker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        return m->array_group[cad_graph_array_of(m->graph, id)];
    }
    return is_constant_node(m, id) ? CONSTANT_GROUP : m->group[id];
}

/* --- instructions --- */

static CadInstruction *emit(Maker *m, CadInstruction instruction) {
    CadProgram *program = m->program;
    if (!GROW(program, code, program->n_code, code_capacity, 1)) {
        return NULL;
    }
    instruction.fused = 1;
    program->code[program->n_code] = instruction;
    return &program->code[program->n_code++];
}

static void emit_single(Maker *m, CadId id) {
    CadProgram *program = m->program;
    const CadNode *node = &m->graph->nodes[id];
    CadId x[3] = {0};
    const int arity = operands_of(node, x);
    if (!GROW(program, singles, program->n_singles, single_capacity, 1)) {
        return;
    }
    CadSingle single = {.op = node->op};
    single.x = place_of(m, x[0]);
    single.y = arity > 1 ? place_of(m, x[1]) : single.x;
    single.z = arity > 2 ? place_of(m, x[2]) : single.x;
    single.out = m->place[id] = take_place(m);
    m->group[id] = SINGLE_GROUP;
    release_after(m, m->last[id], single.out, 1);
    CadInstruction *latest = program->n_code > 0 ? &program->code[program->n_code - 1] : NULL;
    if (latest != NULL && latest->kind == CAD_SINGLES) {
        latest->n++;
    } else {
        emit(m, (CadInstruction){
                    .kind = CAD_SINGLES, .n = 1, .x = (int32_t)program->n_singles, .y = 1});
    }
    program->singles[program->n_singles++] = single;
    program->n_operations++;
}

/* Where an operand stands that is another number for each element. */
typedef struct Strip {
    int32_t place;
    int32_t step;
} Strip;

static int32_t *append_list(Maker *m, size_t count) {
    CadProgram *program = m->program;
    if (!GROW(program, lists, program->n_lists, list_capacity, count)) {
        return NULL;
    }
    program->n_lists += count;
    return program->lists + program->n_lists - count;
}

/* Numbers at any places, brought side by side. */
static Strip emit_take(Maker *m, const int32_t *places, size_t count, int32_t to) {
    int32_t *list = append_list(m, count);
    if (list != NULL) {
        memcpy(list, places, count * sizeof *list);
        emit(m, (CadInstruction){.kind = CAD_TAKE,
                                 .n = (uint32_t)count,
                                 .out = to,
                                 .x = (int32_t)(list - m->program->lists)});
    }
    return (Strip){to, 1};
}

/* --- vectors --- */

typedef struct Member {
    uint32_t op;
    uint32_t x_group, y_group;
    int32_t x, y, z; /* places; of constants NOWHERE until they are wanted */
    CadId id;
} Member;

static int order_of_members(const void *left, const void *right) {
    const Member *a = left, *b = right;
    if (a->op != b->op) {
        return a->op < b->op ? -1 : 1;
    }
    if (a->x_group != b->x_group) {
        return a->x_group < b->x_group ? -1 : 1;
    }
    if (a->y_group != b->y_group) {
        return a->y_group < b->y_group ? -1 : 1;
    }
    if (a->x_group != CONSTANT_GROUP && a->x != b->x) {
        return a->x < b->x ? -1 : 1;
    }
    if (a->y_group != CONSTANT_GROUP && a->y != b->y) {
        return a->y < b->y ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static Member member_of(Maker *m, CadId id) {
    const CadNode *node = &m->graph->nodes[id];
    Member member = {.op = node->op, .id = id};
    CadId x[3] = {0};
    const int arity = operands_of(node, x);
    member.x_group = group_of(m, x[0]);
    member.x = member.x_group == CONSTANT_GROUP ? NOWHERE : place_of(m, x[0]);
    member.y_group = arity > 1 ? group_of(m, x[1]) : SINGLE_GROUP;
    member.y = arity < 2 ? 0 : member.y_group == CONSTANT_GROUP ? NOWHERE : place_of(m, x[1]);
    return member;
}

/* The k-th operands of members: where they stand, or are brought to. */
static Strip operands(Maker *m, const Member *members, size_t count, int k, uint32_t level) {
    CadId x[3] = {0};
    int all_constant = 1, one = 1;
    operands_of(&m->graph->nodes[members[0].id], x);
    const CadId first = resolved(m, x[k]);
    for (size_t i = 0; i < count; i++) {
        operands_of(&m->graph->nodes[members[i].id], x);
        one = one && resolved(m, x[k]) == first;
        all_constant = all_constant && is_constant_node(m, resolved(m, x[k]));
    }
    if (one) {
        return (Strip){place_of(m, first), 0};
    }
    if (all_constant) {
        double *values = cad_memory_resize(NULL, count, sizeof *values);
        if (values == NULL) {
            fail(m);
            return (Strip){0, 0};
        }
        for (size_t i = 0; i < count; i++) {
            operands_of(&m->graph->nodes[members[i].id], x);
            values[i] = cad_node_value(&m->graph->nodes[resolved(m, x[k])]);
        }
        const int32_t place = add_constants(m, values, count);
        cad_memory_free(values);
        return (Strip){place, 1};
    }
    int32_t *places = append_list(m, count);
    if (places == NULL) {
        return (Strip){0, 0};
    }
    const size_t begin = (size_t)(places - m->program->lists);
    for (size_t i = 0; i < count; i++) {
        operands_of(&m->graph->nodes[members[i].id], x);
        m->program->lists[begin + i] = place_of(m, x[k]);
    }
    places = m->program->lists + begin;
    const int32_t step = places[1] - places[0];
    int even = 1;
    for (size_t i = 1; i < count && even; i++) {
        even = places[i] - places[i - 1] == step;
    }
    if (even) {
        m->program->n_lists = begin;
        return (Strip){places[0], step};
    }
    const int32_t to = take_block(m, count);
    release_after(m, level, to, count);
    emit(m,
         (CadInstruction){.kind = CAD_TAKE, .n = (uint32_t)count, .out = to, .x = (int32_t)begin});
    return (Strip){to, 1};
}

static void emit_vector(Maker *m, const Member *members, size_t count, uint32_t level) {
    const int arity = cad_op_info[members[0].op].arity;
    Strip x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 0; k < arity; k++) {
        x[k] = operands(m, members, count, k, level);
    }
    const int32_t out = take_block(m, count);
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const CadId id = members[i].id;
        m->place[id] = out + (int32_t)i;
        m->group[id] = m->n_groups;
        last = m->last[id] > last ? m->last[id] : last;
    }
    m->n_groups++;
    release_after(m, last, out, count);
    emit(m, (CadInstruction){.kind = CAD_VECTOR,
                             .op = (uint16_t)members[0].op,
                             .n = (uint32_t)count,
                             .out = out,
                             .x = x[0].place,
                             .y = x[1].place,
                             .z = x[2].place,
                             .sx = x[0].step,
                             .sy = x[1].step,
                             .sz = x[2].step});
    m->program->n_operations += count;
}

/* All members are of one operation. */
static void emit_members(Maker *m, const Member *members, size_t count, uint32_t level) {
    if (count >= FEW) {
        emit_vector(m, members, count, level);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        emit_single(m, members[i].id);
    }
}

/* Operations of one kind on one level: those whose operands stand side by side together, the rest
 * together if it is many. */
static void emit_kind(Maker *m, Member *members, size_t count, uint32_t level) {
    size_t rest = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && members[end].x_group == members[i].x_group &&
               members[end].y_group == members[i].y_group) {
            end++;
        }
        if (end - i >= FEW) {
            emit_vector(m, members + i, end - i, level);
        } else {
            memmove(members + rest, members + i, (end - i) * sizeof *members);
            rest += end - i;
        }
        i = end;
    }
    emit_members(m, members, rest, level);
}

/* Add up numbers at some places: those that stand side by side, and then what lies between. */
static void emit_totals(Maker *m, int32_t *places, size_t count, int32_t out, int minus,
                        int *started, uint32_t level) {
    size_t rest = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        const int32_t step = end < count ? places[end] - places[i] : 0;
        while (end < count && places[end] - places[end - 1] == step) {
            end++;
        }
        if (end - i >= FEW) {
            emit(m, (CadInstruction){.kind = CAD_TOTAL,
                                     .n = (uint32_t)(end - i),
                                     .out = out,
                                     .x = places[i],
                                     .sx = step,
                                     .y = *started,
                                     .z = minus});
            *started = 1;
            i = end;
        } else {
            places[rest++] = places[i++];
        }
    }
    if (rest > 0) {
        const int32_t to = take_block(m, rest);
        release_after(m, level, to, rest);
        emit_take(m, places, rest, to);
        emit(m, (CadInstruction){.kind = CAD_TOTAL,
                                 .n = (uint32_t)rest,
                                 .out = out,
                                 .x = to,
                                 .sx = 1,
                                 .y = *started,
                                 .z = minus});
        *started = 1;
    }
}

/* The sum of a chain: what is added, less what is subtracted. */
static void emit_chain(Maker *m, CadId head, uint32_t level) {
    const size_t count = terms_of(m, head);
    int32_t *places = cad_memory_resize(NULL, count, sizeof *places);
    if (places == NULL || count == 0) {
        cad_memory_free(places);
        fail(m);
        return;
    }
    const int32_t out = m->place[head] = take_place(m);
    m->group[head] = SINGLE_GROUP;
    release_after(m, m->last[head], out, 1);
    int started = 0;
    for (int minus = 0; minus < 2; minus++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            if (m->terms[i].minus == minus) {
                places[n++] = place_of(m, m->terms[i].id);
            }
        }
        emit_totals(m, places, n, out, minus, &started, level);
    }
    m->program->n_operations += count - 1;
    cad_memory_free(places);
}

static void emit_level_of_nodes(Maker *m, const uint32_t *ids, size_t count, uint32_t level) {
    if (count < FEW || !m->joins) {
        for (size_t i = 0; i < count && m->status == CAD_OK; i++) {
            if (is_chain(m, ids[i])) {
                emit_chain(m, ids[i], level);
            } else {
                emit_single(m, ids[i]);
            }
        }
        return;
    }
    if (!GROW(m, members, 0, member_capacity, count)) {
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_chain(m, ids[i])) {
            emit_chain(m, ids[i], level);
        } else {
            m->members[n++] = member_of(m, ids[i]);
        }
    }
    int sorted = 1;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = order_of_members(&m->members[i - 1], &m->members[i]) < 0;
    }
    if (!sorted) {
        qsort(m->members, n, sizeof *m->members, order_of_members);
    }
    for (size_t i = 0; i < n && m->status == CAD_OK;) {
        size_t end = i + 1;
        while (end < n && m->members[end].op == m->members[i].op) {
            end++;
        }
        emit_kind(m, m->members + i, end - i, level);
        i = end;
    }
}

/* --- arrays --- */

/* A plan over places; answers its index. */
static int32_t emit_plan(Maker *m, const CadArray *array, int32_t own, int first_view) {
    CadProgram *program = m->program;
    const CadPlan *plan = cad_graph_plan(m->graph, array);
    if (!GROW(program, plans, program->n_plan_words, plan_capacity, plan->words)) {
        return 0;
    }
    const size_t at = program->n_plan_words;
    CadPlan *copy = (CadPlan *)(program->plans + at);
    memcpy(copy, plan, plan->words * sizeof *program->plans);
    for (int k = 0; k < copy->n_views; k++) {
        int64_t *view = cad_plan_view(copy, k);
        view[0] = k < first_view ? own + view[0] : place_of(m, (CadId)view[0]);
    }
    copy->index = -1;
    program->n_plan_words += copy->words;
    program->n_operations += (size_t)copy->size;
    program->has_arrays = 1;
    return (int32_t)at;
}

/* A row over one axis, or over several that can be gone through as one. */
static int emit_simple_row(Maker *m, const CadArray *array, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    if (plan->ndim > 1) {
        return 0;
    }
    Strip x[3] = {{0, 0}, {0, 0}, {0, 0}};
    for (int k = 1; k < plan->n_views; k++) {
        const int64_t *view = cad_plan_view(plan, k);
        x[k - 1] = (Strip){place_of(m, (CadId)view[0]), plan->ndim > 0 ? (int32_t)view[1] : 0};
    }
    const int64_t *own = cad_plan_view(plan, 0);
    if (plan->ndim > 0 && own[1] != 1) {
        return 0;
    }
    emit(m, (CadInstruction){
                .kind = CAD_VECTOR,
                .op = (uint16_t)(array->op == CAD_OP_stop ? CAD_OP_positive : (CadOp)array->op),
                .n = (uint32_t)plan->size,
                .out = out,
                .x = x[0].place,
                .y = x[1].place,
                .z = x[2].place,
                .sx = x[0].step,
                .sy = x[1].step,
                .sz = x[2].step});
    m->program->n_operations += (size_t)plan->size;
    return 1;
}

/* The places of an array that consists of numbers, if they stand side by side already. */
static int is_in_place(Maker *m, const CadArray *array, int32_t *place) {
    const CadId *ids = m->graph->lists + array->list;
    *place = place_of(m, ids[0]);
    for (uint32_t k = 1; k < array->size; k++) {
        if (place_of(m, ids[k]) != *place + (int32_t)k) {
            return 0;
        }
    }
    return 1;
}

static void emit_pack(Maker *m, const CadArray *array, int32_t out) {
    int32_t *list = append_list(m, array->size);
    if (list == NULL) {
        return;
    }
    const size_t begin = (size_t)(list - m->program->lists);
    for (uint32_t k = 0; k < array->size; k++) {
        m->program->lists[begin + k] = place_of(m, m->graph->lists[array->list + k]);
    }
    emit(m, (CadInstruction){.kind = CAD_TAKE, .n = array->size, .out = out, .x = (int32_t)begin});
}

static void emit_add_to(Maker *m, const CadArray *array, int32_t out, int in_place) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    const int64_t former = cad_plan_extra(plan)[0];
    if (former < 0) {
        emit(m, (CadInstruction){.kind = CAD_ZEROS, .n = array->size, .out = out});
    } else if (!in_place) {
        emit(m, (CadInstruction){.kind = CAD_VECTOR,
                                 .op = CAD_OP_positive,
                                 .n = array->size,
                                 .out = out,
                                 .x = place_of(m, (CadId)former),
                                 .sx = 1});
    }
    if (plan->index < 0) {
        const int32_t at = emit_plan(m, array, out, 1);
        emit(m, (CadInstruction){.kind = CAD_ADD_TO, .x = at, .out = out});
        return;
    }
    const size_t count = (size_t)plan->size;
    int32_t *list = append_list(m, count);
    if (list == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = (int32_t)m->graph->lists[(size_t)plan->index + i];
    }
    const int32_t at = (int32_t)(list - m->program->lists);
    const int64_t *source = cad_plan_view(plan, 0);
    emit(m, (CadInstruction){.kind = CAD_ADD_AT,
                             .n = (uint32_t)count,
                             .out = out,
                             .x = place_of(m, (CadId)source[0]),
                             .sx = (int32_t)source[1],
                             .z = at});
    m->program->n_operations += count;
}

static void emit_product(Maker *m, const CadArray *array, int32_t out) {
    const int32_t at = emit_plan(m, array, out, 1);
    emit(m, (CadInstruction){.kind = CAD_PRODUCT, .x = at, .out = out});
}

static void emit_call(Maker *m, const CadArray *array, int32_t out) {
    CadPlan *plan = cad_graph_plan(m->graph, array);
    emit(m, (CadInstruction){.kind = CAD_CALL,
                             .n = (uint32_t)plan->size,
                             .out = out,
                             .x = place_of(m, (CadId)cad_plan_view(plan, 0)[0]),
                             .y = (int32_t)array->size,
                             .z = (int32_t)cad_plan_extra(plan)[0]});
    m->program->n_operations++;
    m->program->has_arrays = m->program->has_calls = 1;
}

/* Whether an array can take over the places of the one that something is added to. */
static int takes_over(Maker *m, const CadArray *array, uint32_t level, uint32_t *former) {
    if (array->op != CAD_ARRAY_ADD_TO) {
        return 0;
    }
    const int64_t id = cad_plan_extra(cad_graph_plan(m->graph, array))[0];
    if (id < 0) {
        return 0;
    }
    *former = cad_graph_array_of(m->graph, (CadId)id);
    return m->graph->arrays[*former].op == CAD_ARRAY_ADD_TO && m->array_last[*former] == level &&
           m->array_reads[*former] == 1;
}

static void emit_array(Maker *m, uint32_t i) {
    const CadArray *array = &m->graph->arrays[i];
    const uint32_t level = m->array_level[i];
    int32_t place;
    uint32_t former = 0;
    m->array_group[i] = m->n_groups++;
    if (array->op == CAD_ARRAY_PACK && is_in_place(m, array, &place)) {
        m->array_place[i] = place;
        return;
    }
    const int in_place = takes_over(m, array, level, &former);
    if (in_place) {
        keep_block(m, level, m->array_place[former]);
    }
    place = in_place ? m->array_place[former] : take_block(m, array->size);
    m->array_place[i] = place;
    release_after(m, m->array_last[i], place, array->size);
    if (m->status != CAD_OK) {
        return;
    }
    switch ((int)array->op) {
    case CAD_ARRAY_PACK:
        emit_pack(m, array, place);
        break;
    case CAD_ARRAY_ADD_TO:
        emit_add_to(m, array, place, in_place);
        break;
    case CAD_OP_SUM: {
        const int32_t at = emit_plan(m, array, place, 1);
        emit(m, (CadInstruction){.kind = CAD_SUMS, .n = array->size, .out = place, .x = at});
        break;
    }
    case CAD_OP_MATMUL:
        emit_product(m, array, place);
        break;
    case CAD_ARRAY_CALL:
        emit_call(m, array, place);
        break;
    default:
        if (!emit_simple_row(m, array, place)) {
            const int32_t at = emit_plan(m, array, place, 1);
            emit(m, (CadInstruction){.kind = CAD_ROWS,
                                     .op = (uint16_t)(array->op == CAD_OP_stop ? CAD_OP_positive
                                                                               : (CadOp)array->op),
                                     .x = at,
                                     .out = place});
        }
    }
}

/* --- level by level --- */

/* The live ones of `count` items in the order of their levels; `begin` has n_levels + 1 places. */
static uint32_t *sort_by_level(Maker *m, const uint32_t *levels, size_t count, uint32_t *begin) {
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

static void emit_all(Maker *m) {
    uint32_t *node_begin = cad_memory_resize(NULL, (size_t)m->n_levels + 1, sizeof *node_begin);
    uint32_t *array_begin = cad_memory_resize(NULL, (size_t)m->n_levels + 1, sizeof *array_begin);
    uint32_t *nodes = NULL, *arrays = NULL;
    if (node_begin == NULL || array_begin == NULL) {
        fail(m);
    } else {
        nodes = sort_by_level(m, m->level, m->graph->n_nodes, node_begin);
        arrays = sort_by_level(m, m->array_level, m->graph->n_arrays, array_begin);
    }
    for (uint32_t level = 1; level < m->n_levels && m->status == CAD_OK; level++) {
        for (uint32_t k = array_begin[level]; k < array_begin[level + 1]; k++) {
            emit_array(m, arrays[k]);
        }
        emit_level_of_nodes(m, nodes + node_begin[level],
                            node_begin[level + 1] - node_begin[level], level);
        release_level(m, level);
    }
    cad_memory_free(nodes);
    cad_memory_free(arrays);
    cad_memory_free(node_begin);
    cad_memory_free(array_begin);
}

/* --- results --- */

static int emit_stretch(Maker *m, CadStretch stretch) {
    CadProgram *program = m->program;
    if (stretch.n == 0) {
        return 1;
    }
    if (!GROW(program, outputs, program->n_outputs, output_capacity, 1)) {
        return 0;
    }
    program->outputs[program->n_outputs++] = stretch;
    program->n_results += stretch.n;
    return 1;
}

/* Stretches of results that stand evenly, and lists of what lies between. */
static void emit_results(Maker *m, const CadId *roots, size_t n_roots) {
    enum { SHORT = 4 };
    int32_t *places = append_list(m, n_roots);
    if (places == NULL) {
        return;
    }
    const size_t begin = (size_t)(places - m->program->lists);
    for (size_t k = 0; k < n_roots; k++) {
        const int32_t place = place_of(m, roots[k]);
        m->program->lists[begin + k] = place;
    }
    places = m->program->lists + begin;
    size_t listed = 0; /* numbers before k that are in no stretch yet */
    for (size_t k = 0; k < n_roots && m->status == CAD_OK;) {
        size_t end = k + 1;
        const int32_t step = end < n_roots ? places[end] - places[k] : 0;
        while (end < n_roots && places[end] - places[end - 1] == step) {
            end++;
        }
        if (end - k >= SHORT || (end == n_roots && listed == 0)) {
            emit_stretch(m, (CadStretch){(int32_t)(begin + k - listed), 0, (uint32_t)listed, 1});
            emit_stretch(m, (CadStretch){places[k], step, (uint32_t)(end - k), 0});
            listed = 0;
            k = end;
        } else {
            listed++;
            k++;
        }
    }
    emit_stretch(m, (CadStretch){(int32_t)(begin + n_roots - listed), 0, (uint32_t)listed, 1});
}

static void emit_checks(Maker *m) {
    CadProgram *program = m->program;
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        const CadOutcome guard = m->graph->guards[k];
        double value;
        if (cad_graph_is_constant(m->graph, resolved(m, guard.id), &value) &&
            value == guard.value) {
            continue;
        }
        if (!GROW(program, checks, program->n_checks, check_capacity, 1)) {
            return;
        }
        program->checks[program->n_checks++] =
            (CadCheck){place_of(m, guard.id), (uint32_t)k, guard.value};
    }
}

/* --- vectors tile by tile --- */

typedef struct Range {
    int64_t low, high;
} Range;

static Range range_of(int32_t place, int32_t step, uint32_t n) {
    const int64_t last = place + (int64_t)step * (n - 1);
    return (Range){place < last ? place : last, place < last ? last : place};
}

static int overlap(Range a, Range b) {
    return a.low <= b.high && b.low <= a.high;
}

/* Whether an instruction may be carried out tile by tile together with one before it. */
static int can_share_tiles(const CadInstruction *a, const CadInstruction *b) {
    const int32_t places[3] = {b->x, b->y, b->z}, steps[3] = {b->sx, b->sy, b->sz};
    const Range written = range_of(a->out, 1, a->n), own = range_of(b->out, 1, b->n);
    for (int k = 0; k < cad_op_info[b->op].arity; k++) {
        const int same = places[k] == a->out && steps[k] == 1;
        if (!same && overlap(range_of(places[k], steps[k], b->n), written)) {
            return 0;
        }
    }
    const int32_t read[3] = {a->x, a->y, a->z}, along[3] = {a->sx, a->sy, a->sz};
    for (int k = 0; k < cad_op_info[a->op].arity; k++) {
        const int same = read[k] == b->out && along[k] == 1;
        if (!same && overlap(range_of(read[k], along[k], a->n), own)) {
            return 0;
        }
    }
    return b->out == a->out || !overlap(written, own);
}

static void fuse(CadProgram *program) {
    enum { LONG_VECTOR = 2048 };
    for (size_t i = 0; i < program->n_code;) {
        CadInstruction *first = &program->code[i];
        size_t end = i + 1;
        int fits = first->kind == CAD_VECTOR && first->n >= LONG_VECTOR;
        while (fits && end < program->n_code) {
            const CadInstruction *next = &program->code[end];
            fits = next->kind == CAD_VECTOR && next->n == first->n;
            for (size_t k = i; k < end && fits; k++) {
                fits = can_share_tiles(&program->code[k], next);
            }
            end += (size_t)fits;
        }
        first->fused = (uint32_t)(end - i);
        i = end;
    }
}

/* --- loops --- */

/* Numbers of one turn of a loop go where those of the turn before went: places serve again. So the
 * instructions of a long loop repeat themselves word by word; they are kept once, or reading them
 * would take longer than carrying them out. */

static int is_same(const CadSingle *a, const CadSingle *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* How many of `n` operations repeat the `period` ones before them. */
static size_t repeated(const CadSingle *singles, size_t at, size_t n, size_t period) {
    size_t k = at;
    while (k < n && is_same(&singles[k], &singles[k - period])) {
        k++;
    }
    return k - at;
}

static uint32_t hash_of_single(CadSingle s) {
    uint64_t hash = (uint64_t)s.op << 32 ^ (uint32_t)s.out;
    hash = hash * 0x9e3779b97f4a7c15u ^ ((uint64_t)(uint32_t)s.x << 32 ^ (uint32_t)s.y);
    hash = hash * 0x9e3779b97f4a7c15u ^ (uint32_t)s.z;
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

static void emit_repeated(Maker *m, const CadSingle *singles, size_t n, size_t times) {
    CadProgram *program = m->program;
    if (n == 0 || !GROW(program, singles, program->n_singles, single_capacity, n)) {
        return;
    }
    const size_t at = program->n_singles;
    memcpy(program->singles + at, singles, n * sizeof *singles);
    program->n_singles += n;
    emit(m, (CadInstruction){
                .kind = CAD_SINGLES, .n = (uint32_t)n, .x = (int32_t)at, .y = (int32_t)times});
}

/* Of one stretch of single operations: bodies of loops once, and what lies between. */
static void roll_up(Maker *m, const CadSingle *singles, size_t n) {
    enum { LATEST = 1 << 12, LEAST_TURNS = 4 };
    uint32_t *latest = cad_memory_resize(NULL, LATEST, sizeof *latest); /* by hash: where */
    if (latest == NULL) {
        fail(m);
        return;
    }
    memset(latest, 0xff, LATEST * sizeof *latest);
    size_t done = 0;
    for (size_t i = 0; i < n;) {
        uint32_t *place = &latest[hash_of_single(singles[i]) % LATEST];
        const size_t before = *place;
        *place = (uint32_t)i;
        const size_t period = before != UINT32_MAX && before >= done ? i - before : 0;
        const size_t more = period > 0 && is_same(&singles[before], &singles[i])
                                ? repeated(singles, i, n, period)
                                : 0;
        if (more >= LEAST_TURNS * period && more > 0) {
            const size_t turns = 1 + more / period;
            emit_repeated(m, singles + done, before - done, 1);
            emit_repeated(m, singles + before, period, turns);
            i = done = before + turns * period;
        } else {
            i++;
        }
    }
    emit_repeated(m, singles + done, n - done, 1);
    cad_memory_free(latest);
}

static void roll_up_all(Maker *m) {
    enum { LONG = 256 };
    CadProgram *program = m->program;
    CadInstruction *code = program->code;
    CadSingle *singles = program->singles;
    const size_t n_code = program->n_code, n_singles = program->n_singles;
    if (n_singles < LONG) {
        return;
    }
    program->code = NULL;
    program->singles = NULL;
    program->n_code = program->code_capacity = 0;
    program->n_singles = program->single_capacity = 0;
    for (size_t k = 0; k < n_code && m->status == CAD_OK; k++) {
        if (code[k].kind == CAD_SINGLES && code[k].n >= LONG) {
            roll_up(m, singles + code[k].x, code[k].n);
        } else if (code[k].kind == CAD_SINGLES) {
            emit_repeated(m, singles + code[k].x, code[k].n, 1);
        } else {
            emit(m, code[k]);
        }
    }
    cad_memory_free(code);
    cad_memory_free(singles);
}

/* --- all of it --- */

/* Constants were kept backwards: the one at place -k - 1 is the k-th. */
static void settle_constants(CadProgram *program) {
    for (size_t i = 0, j = program->n_constants; i + 1 < j; i++) {
        const double value = program->constants[i];
        program->constants[i] = program->constants[--j];
        program->constants[j] = value;
    }
}

static void place_inputs(Maker *m, const CadId *inputs, size_t n_inputs) {
    for (uint32_t i = 0; i < m->graph->n_arrays; i++) {
        m->array_place[i] = NOWHERE;
        m->array_group[i] = FIRST_GROUP + i;
    }
    for (size_t k = 0; k < n_inputs; k++) {
        const uint32_t i = cad_graph_array_of(m->graph, inputs[k]);
        m->array_place[i] = m->n_places;
        m->n_places += (int32_t)m->graph->arrays[i].size;
    }
    m->program->n_inputs = (size_t)m->n_places;
    m->n_groups = FIRST_GROUP + (uint32_t)m->graph->n_arrays;
}

static int has_buffers(Maker *m) {
    const size_t nodes = m->graph->n_nodes, arrays = m->graph->n_arrays;
    m->uses = cad_memory_zeroed(nodes, sizeof *m->uses);
    m->level = cad_memory_zeroed(nodes, sizeof *m->level);
    m->last = cad_memory_zeroed(nodes, sizeof *m->last);
    m->chain = cad_memory_zeroed(nodes, sizeof *m->chain);
    m->group = cad_memory_zeroed(nodes, sizeof *m->group);
    m->place = cad_memory_resize(NULL, nodes, sizeof *m->place);
    m->array_is_live = cad_memory_zeroed(arrays, 1);
    m->array_level = cad_memory_zeroed(arrays, sizeof *m->array_level);
    m->array_last = cad_memory_zeroed(arrays, sizeof *m->array_last);
    m->array_place = cad_memory_zeroed(arrays, sizeof *m->array_place);
    m->array_group = cad_memory_zeroed(arrays, sizeof *m->array_group);
    m->array_reads = cad_memory_zeroed(arrays, sizeof *m->array_reads);
    if (m->uses == NULL || m->level == NULL || m->last == NULL || m->chain == NULL ||
        m->group == NULL || m->place == NULL || m->array_is_live == NULL ||
        m->array_level == NULL || m->array_last == NULL || m->array_place == NULL ||
        m->array_group == NULL || m->array_reads == NULL) {
        return fail(m);
    }
    for (size_t i = 0; i < nodes; i++) {
        m->place[i] = NOWHERE;
    }
    return 1;
}

static void free_buffers(Maker *m) {
    void *const buffers[] = {m->uses,       m->level,       m->last,          m->chain,
                             m->group,      m->place,       m->array_is_live, m->array_level,
                             m->array_last, m->array_place, m->array_group,   m->array_reads,
                             m->spare,      m->blocks,      m->releases,      m->release_at,
                             m->terms,      m->members};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        cad_memory_free(buffers[i]);
    }
}

static int has_levels(Maker *m) {
    m->release_at = cad_memory_resize(NULL, m->n_levels, sizeof *m->release_at);
    if (m->release_at == NULL) {
        return fail(m);
    }
    memset(m->release_at, 0xff, m->n_levels * sizeof *m->release_at);
    return 1;
}

static CadStatus make(CadGraph *graph, const CadId *inputs, size_t n_inputs, const CadId *roots,
                      size_t n_roots, int joins, int early, CadProgram **program) {
    Maker maker = {.graph = graph, .status = graph->status, .joins = joins};
    Maker *m = &maker;
    m->program = cad_memory_zeroed(1, sizeof *m->program);
    if (m->program == NULL) {
        fail(m);
    }
    if (m->status == CAD_OK && has_buffers(m)) {
        place_inputs(m, inputs, n_inputs);
        find_live(m, roots, n_roots);
        find_chains(m);
        (early ? find_earliest_levels : find_latest_levels)(m);
    }
    if (m->status == CAD_OK && has_levels(m)) {
        find_last_reads(m, roots, n_roots);
        emit_all(m);
    }
    if (m->status == CAD_OK) {
        emit_results(m, roots, n_roots);
        emit_checks(m);
        settle_constants(m->program);
        roll_up_all(m);
    }
    if (m->status == CAD_OK) {
        fuse(m->program);
        m->program->n_places = (size_t)m->n_places;
    }
    free_buffers(m);
    if (m->status != CAD_OK) {
        cad_program_free(m->program);
        m->program = NULL;
    }
    *program = m->program;
    return m->status;
}

size_t cad_program_cost(const CadProgram *program) {
    return program->n_operations + 3 * program->n_singles + program->n_places;
}

CadStatus cad_program_make(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                           const CadId *roots, size_t n_roots, CadProgram **program) {
    enum { MANY_SINGLES = 256 };
    const int joins = graph->optimize;
    const CadStatus status = make(graph, inputs, n_inputs, roots, n_roots, joins, 0, program);
    if (status != CAD_OK || (*program)->n_singles < MANY_SINGLES) {
        return status;
    }
    /* Where chains of unequal length run side by side, the one way or the other keeps in step. */
    CadProgram *early;
    if (make(graph, inputs, n_inputs, roots, n_roots, joins, 1, &early) == CAD_OK) {
        const int is_better = cad_program_cost(early) < cad_program_cost(*program);
        cad_program_free(is_better ? *program : early);
        *program = is_better ? early : *program;
    }
    return CAD_OK;
}

CadStatus cad_program_make_for_lanes(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                                     const CadId *roots, size_t n_roots, CadProgram **program) {
    return make(graph, inputs, n_inputs, roots, n_roots, 0, 0, program);
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
           program->n_checks * sizeof *program->checks;
}
