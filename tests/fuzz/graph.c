/* Bytes as a graph that was written down, as in a pickle: cad_graph_restore makes a graph of them
 * or refuses. What it made is written down and made again, and programs of it, and of its
 * derivatives, run at a point and at several points. Memory may run out on the way.
 *
 * Bytes are a header and the parts that it counts, in the order of CadGraphParts; then outputs,
 * and guards with their outcomes. */
#include "fuzz.h"

#include "loops/loops.h"
#include "program/program.h"

#include "check.h"
#include "on_tape.h"
#include "replay.h"
#include "twin.h"

#include <math.h>
#include <stdlib.h>

enum { HEADER = 14, MOST_ITEMS = 400, MOST_ENDS = 16, POINTS = 5, LANES = 4 };

/* What is too large to be run: numbers, and steps of loops over them. */
static const double MOST_WORK = 4e3;

/* What is done with a graph, whatever it is, beside running it at a point. */
enum { OPTIMIZES = 1, AT_POINTS = 2, DIFFERENTIATES = 4, WRITES = 8 };

typedef struct Given {
    uint8_t wanted, n_inputs, n_outputs, n_guards;
    uint16_t granted; /* how many requests for memory pass; 0: all */
    uint16_t n_rows, n_words, n_lists, n_constants;
    uint32_t records[4 * MOST_ITEMS];
    int64_t words[MOST_ITEMS];
    CadId lists[MOST_ITEMS];
    double constants[MOST_ITEMS];
    CadId outputs[MOST_ENDS], guards[MOST_ENDS];
    double outcomes[MOST_ENDS];
} Given;

/* Copies a part from bytes, or to them if `writes`; 0 where they end. */
typedef struct Bytes {
    uint8_t *next, *end;
    int writes;
} Bytes;

static int pass(Bytes *bytes, void *items, size_t size) {
    if (size > (size_t)(bytes->end - bytes->next)) {
        return 0;
    }
    if (bytes->writes) {
        memcpy(bytes->next, items, size);
    } else {
        memcpy(items, bytes->next, size);
    }
    bytes->next += size;
    return 1;
}

static int pass_all(Bytes *b, Given *g) {
    return pass(b, &g->wanted, 1) && pass(b, &g->n_inputs, 1) && pass(b, &g->n_outputs, 1) &&
           pass(b, &g->n_guards, 1) && pass(b, &g->granted, 2) && pass(b, &g->n_rows, 2) &&
           pass(b, &g->n_words, 2) && pass(b, &g->n_lists, 2) && pass(b, &g->n_constants, 2) &&
           g->n_outputs <= MOST_ENDS && g->n_guards <= MOST_ENDS && g->n_rows <= MOST_ITEMS &&
           g->n_words <= MOST_ITEMS && g->n_lists <= MOST_ITEMS && g->n_constants <= MOST_ITEMS &&
           pass(b, g->records, 16u * g->n_rows) && pass(b, g->words, 8u * g->n_words) &&
           pass(b, g->lists, 4u * g->n_lists) && pass(b, g->constants, 8u * g->n_constants) &&
           pass(b, g->outputs, 4u * g->n_outputs) && pass(b, g->guards, 4u * g->n_guards) &&
           pass(b, g->outcomes, 8u * g->n_guards);
}

static int read_given(const uint8_t *bytes, size_t size, Given *given) {
    memset(given, 0, sizeof *given);
    return pass_all(&(Bytes){(uint8_t *)bytes, (uint8_t *)bytes + size, 0}, given);
}

static size_t write_given(Given *given, uint8_t *bytes, size_t most) {
    Bytes to = {bytes, bytes + most, 1};
    return pass_all(&to, given) ? (size_t)(to.next - bytes) : 0;
}

static CadGraphParts parts_of(Given *given) {
    return (CadGraphParts){.records = given->records,
                           .words = given->words,
                           .lists = given->lists,
                           .constants = given->constants,
                           .n_rows = given->n_rows,
                           .n_words = given->n_words,
                           .n_lists = given->n_lists,
                           .n_constants = given->n_constants};
}

/* --- what a graph comes to --- */

/* Numbers, and elements of all that is done to them, in all turns. */
static double work_of(const CadGraph *graph) {
    double work = graph->n_numbers;
    for (size_t i = 0; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        if (cad_record_has_plan(record)) {
            CadPlan *const plan = cad_graph_plan(graph, record);
            double size = 1.0;
            for (int k = 0; k < plan->ndim; k++) {
                size *= (double)cad_plan_shape(plan)[k];
            }
            work += size;
        }
    }
    for (size_t k = 0; k < graph->n_scans; k++) {
        work += (double)graph->scans[k].n * work_of(graph->scans[k].body);
    }
    return work;
}

/* A graph as it is written down, in memory of the caller's. */
static CadGraphParts written(const CadGraph *graph) {
    CadGraphParts parts = {.n_records = graph->n_records - 1};
    cad_graph_write(graph, &parts);
    parts.records = test_memory(4 * parts.n_rows, sizeof *parts.records);
    parts.words = test_memory(parts.n_words, sizeof *parts.words);
    parts.lists = test_memory(parts.n_lists, sizeof *parts.lists);
    parts.constants = test_memory(parts.n_constants, sizeof *parts.constants);
    cad_graph_write(graph, &parts);
    return parts;
}

static void free_parts(CadGraphParts *parts) {
    free(parts->records);
    free(parts->words);
    free(parts->lists);
    free(parts->constants);
}

/* What a graph is written as makes one that is written alike. */
static void check_written(const CadGraph *graph, const Given *given) {
    CadGraphParts parts = written(graph);
    CadGraph *const other = cad_graph_new(given->wanted & OPTIMIZES);
    if (other != NULL) {
        const CadStatus status = cad_graph_restore(other, &parts, given->n_inputs);
        CHECK(status == CAD_OK || status == CAD_NO_MEMORY);
        if (status == CAD_OK) {
            CadGraphParts again = written(other);
            CHECK(again.n_rows == parts.n_rows && again.n_words == parts.n_words &&
                  again.n_lists == parts.n_lists && again.n_constants == parts.n_constants);
            CHECK(memcmp(again.records, parts.records, 16 * parts.n_rows) == 0);
            CHECK(other->n_numbers == graph->n_numbers);
            free_parts(&again);
        }
        cad_graph_free(other);
    }
    free_parts(&parts);
}

static size_t size_of_input(const CadGraph *graph, size_t k) {
    return cad_record_size(&graph->records[2 + k]);
}

/* Inputs as one list of their numbers. */
typedef struct Inputs {
    CadId firsts[4], *ids;
    size_t n_arrays, n;
} Inputs;

static Inputs inputs_of(CadGraph *graph, size_t n_arrays) {
    Inputs inputs = {.n_arrays = n_arrays};
    for (size_t k = 0; k < n_arrays; k++) {
        inputs.firsts[k] = cad_graph_first(graph, 2 + k);
        inputs.n += size_of_input(graph, k);
    }
    inputs.ids = test_memory(inputs.n, sizeof *inputs.ids);
    for (size_t k = 0, n = 0; k < n_arrays; k++) {
        for (size_t i = 0; i < size_of_input(graph, k); i++) {
            inputs.ids[n++] = inputs.firsts[k] + (CadId)i;
        }
    }
    return inputs;
}

/* A point, the same for all: whole numbers among them may be indices. */
static double *point_of(size_t n) {
    static const double some[] = {0.5, 1.0, -0.75, 2.0, 0.0, 1.5, -1.0, 0.25, 3.0};
    double *const point = test_memory(n, sizeof *point);
    for (size_t i = 0; i < n; i++) {
        point[i] = some[i % (sizeof some / sizeof *some)];
    }
    return point;
}

static CadProgram *make(CadGraph *graph, CadUse use, const CadId *inputs, size_t n_inputs,
                        const CadId *roots, size_t n_roots) {
    CadProgram *program = NULL;
    const CadStatus status =
        cad_program_make(graph, use, inputs, n_inputs, 0, roots, n_roots, &program);
    CHECK((status == CAD_OK) == (program != NULL));
    return program;
}

/* Run at a point; what cad_program_run answers, or SKIPPED. */
enum { SKIPPED = -9 };

static long run_some(CadGraph *graph, const CadId *inputs, size_t n_inputs, const CadId *roots,
                     size_t n_roots, const double *point, double *results) {
    if (!(work_of(graph) < MOST_WORK)) {
        return SKIPPED;
    }
    CadProgram *const program = make(graph, CAD_AT_A_POINT, inputs, n_inputs, roots, n_roots);
    const long missed = program != NULL ? run(program, point, results) : SKIPPED;
    cad_program_free(program);
    return missed;
}

/* The same at several points at once: values as they were recorded have the same bits. */
static void run_points(CadGraph *graph, const Inputs *inputs, const CadId *roots, size_t n_roots,
                       const double *point, long missed, const double *expected, int exactly) {
    CadProgram *const program =
        make(graph, CAD_AT_MANY_POINTS, inputs->firsts, inputs->n_arrays, roots, n_roots);
    if (program == NULL) {
        return;
    }
    const size_t n = inputs->n, lanes = program->has_arrays ? 1 : LANES;
    double *const own = test_memory(POINTS * n, sizeof *own);
    double *const results = test_memory(POINTS * n_roots, sizeof *results);
    double *const room = test_memory(cad_program_room(program, lanes) + 1, sizeof *room);
    uint8_t misses[POINTS] = {0};
    for (size_t i = 0; i < POINTS * n; i++) {
        own[i] = point[i % n];
    }
    const CadColumns from = {own, (ptrdiff_t)n, n};
    const CadColumns to = {results, (ptrdiff_t)n_roots, n_roots};
    const CadPoints points = {&from, 1, n, NULL, &to, misses};
    cad_program_prepare_points(program, lanes, room, &points);
    const long n_missed = cad_program_run_points(program, lanes, room, &points, 0, POINTS);
    CHECK(n_missed == (missed == -1 ? 0 : POINTS));
    for (size_t i = 0; i < POINTS * n_roots && missed == -1 && exactly; i++) {
        CHECK_SAME(results[i], expected[i % n_roots]);
    }
    free(own);
    free(results);
    free(room);
    cad_program_free(program);
}

/* Cotangents of all inputs and tangents of all outputs, along ones. */
static void run_derivatives(CadGraph *graph, const Inputs *inputs, const CadId *outputs,
                            size_t n_outputs, const double *point) {
    const size_t n = inputs->n;
    CadId *const along = test_memory(n, sizeof *along);
    CadId *const made = test_memory(n + n_outputs, sizeof *made);
    double *const results = test_memory(n + n_outputs, sizeof *results);
    CadId seeds[MOST_ENDS];
    const CadId one = cad_graph_constant(graph, 1.0);
    for (size_t i = 0; i < n; i++) {
        along[i] = one;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        seeds[i] = one;
    }
    if (cad_graph_pull(graph, outputs, seeds, n_outputs, inputs->ids, n, made) == CAD_OK &&
        cad_graph_push(graph, inputs->ids, along, n, outputs, n_outputs, made + n) == CAD_OK &&
        graph->status == CAD_OK) {
        run_some(graph, inputs->firsts, inputs->n_arrays, made, n + n_outputs, point, results);
    }
    free(along);
    free(made);
    free(results);
}

static void explore(CadGraph *graph, Given *given) {
    const size_t n_outputs = given->n_outputs;
    for (size_t i = 0; i < n_outputs; i++) {
        if (!cad_graph_has(graph, given->outputs[i])) {
            return;
        }
    }
    for (size_t i = 0; i < given->n_guards; i++) {
        if (!cad_graph_has(graph, given->guards[i]) ||
            cad_graph_guard(graph, given->guards[i], given->outcomes[i]) != CAD_OK) {
            return;
        }
    }
    if (n_outputs == 0 || given->n_inputs == 0 || given->n_inputs > 4 ||
        cad_graph_has_calls(graph) || !(work_of(graph) < MOST_WORK)) {
        return;
    }
    for (size_t k = 0; k < given->n_inputs; k++) { /* a program is not asked for empty ones */
        if (size_of_input(graph, k) == 0 ||
            cad_graph_array(graph, &graph->records[2 + k])->number) {
            return;
        }
    }
    Inputs inputs = inputs_of(graph, given->n_inputs);
    double *const point = point_of(inputs.n);
    double results[MOST_ENDS];
    const long missed =
        run_some(graph, inputs.firsts, inputs.n_arrays, given->outputs, n_outputs, point, results);
    if (missed != SKIPPED) {
        if (given->wanted & AT_POINTS) {
            run_points(graph, &inputs, given->outputs, n_outputs, point, missed, results,
                       !(given->wanted & OPTIMIZES));
        }
        if (given->wanted & DIFFERENTIATES) {
            run_derivatives(graph, &inputs, given->outputs, n_outputs, point);
        }
    }
    free(inputs.ids);
    free(point);
}

int fuzz_graph(const uint8_t *bytes, size_t size) {
    Given *const given = test_memory(1, sizeof *given);
    int kept = -1;
    if (read_given(bytes, size, given)) {
        const CadGraphParts parts = parts_of(given);
        cad_memory_fail_after(given->granted > 0 ? given->granted : -1);
        CadGraph *const graph = cad_graph_new(given->wanted & OPTIMIZES);
        if (graph != NULL) {
            const CadStatus status = cad_graph_restore(graph, &parts, given->n_inputs);
            if (status == CAD_OK) {
                if (given->wanted & WRITES) {
                    check_written(graph, given);
                }
                explore(graph, given);
            }
            cad_graph_free(graph);
        }
        cad_memory_fail_after(-1);
        kept = 0;
    }
    free(given);
    return kept;
}

/* --- other graphs of a graph --- */

static uint32_t near_number(Random *random, uint32_t x) {
    static const uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 63, 64};
    switch (random_below(random, 4)) {
    case 0:
        return x + 1;
    case 1:
        return x - 1;
    case 2:
        return (uint32_t)random_below(random, 40);
    default:
        return edges[random_below(random, sizeof edges / sizeof *edges)];
    }
}

static void change_word(Random *random, Given *g) {
    int64_t *const word = &g->words[random_below(random, g->n_words)];
    switch (random_below(random, 4)) {
    case 0:
        *word = -*word;
        break;
    case 1:
        *word = g->words[random_below(random, g->n_words)];
        break;
    default:
        *word = (int32_t)near_number(random, (uint32_t)*word);
    }
}

static void change_row(Random *random, Given *g) {
    uint32_t *const row = g->records + 4 * random_below(random, g->n_rows);
    const size_t column = random_below(random, 4);
    if (column == 0 && random_below(random, 4) > 0) { /* another operation */
        row[0] = (row[0] & 0xffff0000u) | (uint32_t)random_below(random, CAD_OP_COUNT);
    } else if (column == 0) { /* or a record of another kind */
        row[0] = (uint32_t)random_below(random, CAD_RECORD_CALL + 2) << 16 | (row[0] & 0xffff);
    } else {
        row[column] = near_number(random, row[column]);
    }
}

/* Insert the copy of a row, or drop one: what the rows want behind it moves. */
static void move_rows(Random *random, Given *g) {
    const size_t at = random_below(random, g->n_rows), size = 4 * sizeof *g->records;
    uint32_t *const row = g->records + 4 * at;
    if (random_below(random, 3) == 0) {
        memmove(row, row + 4, (g->n_rows - at - 1) * size);
        g->n_rows--;
    } else if (g->n_rows < MOST_ITEMS) {
        uint32_t copy[4];
        memcpy(copy, g->records + 4 * random_below(random, g->n_rows), size);
        memmove(row + 4, row, (g->n_rows - at) * size);
        memcpy(row, copy, size);
        g->n_rows++;
    }
}

/* The same of words or numbers of lists, as many as a view might have. */
static void move_words(Random *random, Given *g) {
    const size_t at = random_below(random, g->n_words + 1u);
    const size_t count = 1 + random_below(random, 6);
    if (random_below(random, 3) == 0 && at + count <= g->n_words) {
        memmove(g->words + at, g->words + at + count,
                (g->n_words - at - count) * sizeof *g->words);
        g->n_words = (uint16_t)(g->n_words - count);
    } else if (g->n_words + count <= MOST_ITEMS) {
        memmove(g->words + at + count, g->words + at, (g->n_words - at) * sizeof *g->words);
        for (size_t i = 0; i < count; i++) {
            g->words[at + i] = (int64_t)random_below(random, 7) - 1;
        }
        g->n_words = (uint16_t)(g->n_words + count);
    }
}

static void move_lists(Random *random, Given *g) {
    const size_t at = random_below(random, g->n_lists + 1u);
    if (random_below(random, 3) == 0 && at < g->n_lists) {
        memmove(g->lists + at, g->lists + at + 1, (g->n_lists - at - 1) * sizeof *g->lists);
        g->n_lists--;
    } else if (g->n_lists < MOST_ITEMS) {
        memmove(g->lists + at + 1, g->lists + at, (g->n_lists - at) * sizeof *g->lists);
        g->lists[at] = (CadId)random_below(random, 40);
        g->n_lists++;
    }
}

/* Another operation of a record, with as many operands. */
static void change_operation(Random *random, Given *g) {
    uint32_t *const row = g->records + 4 * random_below(random, g->n_rows);
    const uint32_t old = row[0] & 0xffff;
    for (int tries = 0; tries < 20 && old < CAD_OP_COUNT; tries++) {
        const uint32_t op = (uint32_t)random_below(random, CAD_OP_COUNT);
        if (cad_op_info[op].arity == cad_op_info[old].arity) {
            row[0] = (row[0] & 0xffff0000u) | op;
            return;
        }
    }
}

static void change_ends(Random *random, Given *g) {
    const size_t k = random_below(random, MOST_ENDS);
    switch (random_below(random, 5)) {
    case 0:
        g->outputs[k] = near_number(random, g->outputs[k]);
        break;
    case 1:
        g->n_outputs = (uint8_t)(1 + random_below(random, MOST_ENDS));
        break;
    case 2:
        g->guards[k] = near_number(random, g->guards[k]);
        g->outcomes[k] = (double)random_below(random, 3);
        g->n_guards = (uint8_t)random_below(random, MOST_ENDS);
        break;
    case 3:
        g->wanted ^= (uint8_t)(1u << random_below(random, 4));
        break;
    default:
        g->granted = (uint16_t)(random_below(random, 2) * random_below(random, 400));
    }
}

size_t fuzz_graph_mutate(uint8_t *bytes, size_t size, size_t most, unsigned seed) {
    Given *const g = test_memory(1, sizeof *g);
    Random random = {seed};
    if (read_given(bytes, size, g)) {
        for (size_t n = 1 + random_below(&random, 3); n > 0 && g->n_rows > 0; n--) {
            switch (random_below(&random, 10)) {
            case 0:
                move_rows(&random, g);
                break;
            case 1:
                move_words(&random, g);
                break;
            case 2:
                move_lists(&random, g);
                break;
            case 3:
                change_ends(&random, g);
                break;
            case 4:
            case 5:
                change_operation(&random, g);
                break;
            case 6:
            case 7:
                change_row(&random, g);
                break;
            case 8:
                if (g->n_lists > 0) {
                    CadId *const id = &g->lists[random_below(&random, g->n_lists)];
                    *id = near_number(&random, *id);
                    break;
                } /* fall through */
            default:
                if (g->n_words > 0) {
                    change_word(&random, g);
                }
            }
        }
        const size_t written = write_given(g, bytes, most);
        size = written > 0 ? written : size;
    }
    free(g);
    return size;
}

/* --- to begin with --- */

static const double START[3] = {0.3, 0.8, -0.4};

/* Turns that wait for each other: u, v = sin(u) w, u v; s += v. */
static CadSlot record_turns(CadTape *tape, CadSlot x, int turns) {
    CadSlot u = x, v = x + 1, s = x + 2;
    for (int t = 0; t < turns; t++) {
        const CadSlot sine = append1(tape, CAD_OP_sin, u);
        v = append2(tape, CAD_OP_multiply, variable(tape, u), variable(tape, v));
        u = append2(tape, CAD_OP_multiply, variable(tape, sine), variable(tape, x + 2));
        s = append2(tape, CAD_OP_add, variable(tape, s), variable(tape, v));
    }
    return s;
}

/* A loop with arrays, guards or calls among them comes about by mutation of these. */
static size_t seed_of(CadTape *tape, size_t begin, size_t n, CadId *outputs, size_t n_outputs,
                      int rolls, unsigned kind, uint8_t *bytes, size_t most) {
    Given *const given = test_memory(1, sizeof *given);
    CadId *const inputs = test_memory(n, sizeof *inputs);
    CadGraph *const graph = cad_graph_new(kind & 1);
    const CadId first = cad_graph_input(graph, n, 0);
    for (size_t i = 0; i < n; i++) {
        inputs[i] = first + (CadId)i;
    }
    const size_t end = tape->n_entries;
    const CadStatus status =
        rolls ? cad_loops_read(graph, tape, begin, end, inputs, n, outputs, n_outputs, 1)
              : cad_graph_read(graph, tape, begin, end, inputs, n, outputs, n_outputs);
    CHECK(status == CAD_OK);
    CadGraphParts parts = {.n_records = graph->n_records - 1};
    cad_graph_write(graph, &parts);
    size_t size = 0;
    if (parts.n_rows <= MOST_ITEMS && parts.n_words <= MOST_ITEMS && parts.n_lists <= MOST_ITEMS &&
        parts.n_constants <= MOST_ITEMS && n_outputs <= MOST_ENDS) {
        parts = parts_of(given);
        parts.n_records = graph->n_records - 1;
        cad_graph_write(graph, &parts);
        given->n_rows = (uint16_t)parts.n_rows;
        given->n_words = (uint16_t)parts.n_words;
        given->n_lists = (uint16_t)parts.n_lists;
        given->n_constants = (uint16_t)parts.n_constants;
        given->wanted = (uint8_t)(kind % 16);
        given->n_inputs = 1;
        given->n_outputs = (uint8_t)n_outputs;
        memcpy(given->outputs, outputs, n_outputs * sizeof *outputs);
        size = write_given(given, bytes, most);
    }
    cad_graph_free(graph);
    free(inputs);
    free(given);
    return size;
}

static size_t seed_of_turns(unsigned kind, uint8_t *bytes, size_t most) {
    CadTape *const tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 3, START);
    CadId output = record_turns(tape, x, 30);
    const size_t size = seed_of(tape, 0, 3, &output, 1, 1, kind, bytes, most);
    cad_tape_free(tape);
    return size;
}

/* Arrays, of a leaf that comes last, so that it holds all inputs. */
static size_t seed_of_arrays(unsigned kind, uint8_t *bytes, size_t most) {
    static const int64_t shapes[][2] = {{3, 4}, {6, 1}};
    Random random = {kind};
    Twin *const twin = twin_new();
    for (int i = 0; i < 2; i++) {
        twin_constant(twin, 2, shapes[i], &random);
    }
    const View leaf = twin_leaf(twin, 2, shapes[kind / 2 % 2], &random);
    for (unsigned i = 0; i < 2 + kind / 4 % 6; i++) {
        twin_step(twin, &random);
    }
    CadId outputs[4];
    const View last = twin->views[twin->n_views - 1];
    const size_t n = view_size(last) < 4 ? view_size(last) : 4;
    for (size_t i = 0; i < n; i++) {
        outputs[i] = view_slot(last, i);
    }
    const size_t begin = cad_tape_find(twin->arrays, leaf.slot);
    const size_t size =
        seed_of(twin->arrays, begin, view_size(leaf), outputs, n, 0, kind, bytes, most);
    twin_free(twin);
    return size;
}

size_t fuzz_graph_seed(unsigned kind, uint8_t *bytes, size_t most) {
    return kind < 2 ? seed_of_turns(kind, bytes, most) : seed_of_arrays(kind, bytes, most);
}
