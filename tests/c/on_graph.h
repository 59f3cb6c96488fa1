/* Graphs of what is on a tape, and all programs of them, against the sweeps over the tape. */
#ifndef ON_GRAPH_H
#define ON_GRAPH_H

#include "on_tape.h"
#include "program/program.h"

enum { MOST_OUTPUTS = 24 };

/* A graph, read from a tape whose leaf at `base` holds n inputs. */
typedef struct GraphCase {
    CadTape *tape;
    CadSlot base;
    size_t n;
    CadSlot slots[MOST_OUTPUTS]; /* of the outputs */
    size_t m;
    CadGraph *graph;
    CadId input;
    CadId outputs[MOST_OUTPUTS];
    int rolls; /* what repeats itself becomes a recurrence */
} GraphCase;

/* Of some outputs at random, the last slot of the tape among them. */
GraphCase case_of(CadTape *tape, CadSlot base, size_t n, Random *random);

/* Make the graph of a case, which the caller frees. */
CadStatus read_graph(GraphCase *c, int optimize);

/* An operation over n numbers in a row each, and the sum of them. */
CadId map_rows(CadGraph *graph, CadOp op, size_t n, CadId x, CadId y);
CadId sum_of(CadGraph *graph, size_t n, CadId x);

/* Numbers in a row. */
void name_row(CadId *ids, CadId first, size_t n);

/* A program for a point. */
CadProgram *make_program(CadGraph *graph, const CadId *inputs, size_t n_inputs, const CadId *roots,
                         size_t n_roots);

/* What is written of a graph; the caller frees it. */
CadGraphParts written_parts(const CadGraph *graph);
void free_written(CadGraphParts *parts);

/* Values, pushed tangents, pulled cotangents and second derivatives, against the tangent sweep;
 * what is split and what is inserted elsewhere. */
void check_case(GraphCase *c, int optimize);

#endif
