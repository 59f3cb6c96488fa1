/* Cotangents while a graph is pulled: what its numbers receive, and the sums of it.
 *
 * What a number propagates is added, number by number, where single ones take part, and array by
 * array where arrays do: of an array what was handed to it is kept as a list of contributions,
 * which are added up when the walk backwards arrives at it. */
#ifndef CAD_GRAPH_COTANGENTS_H
#define CAD_GRAPH_COTANGENTS_H

#include "graph/inner.h"

/* What an array has received as a whole. */
typedef struct Contribution {
    size_t next; /* the one that came next to the same array, counted from 1; 0: none has */
    enum { ALONG_VIEW, AT_PLACES, AT_INDICES } way;
    CadDerivatives source; /* along a view its first number alone counts */
    CadId target; /* the first number that it goes to; AT_PLACES the one that places count from */
    size_t at;    /* ALONG_VIEW: in `words`, shape, strides of source and target;
                     AT_PLACES: in the lists of the graph; AT_INDICES: the record that takes */
    size_t count; /* of axes, or of places */
} Contribution;

typedef struct Pull {
    CadGraph *graph;
    size_t n_records; /* that are walked over: later ones are results */
    CadActive active;
    CadId *cotangents;   /* of numbers by themselves, CAD_NO_ID where nothing has arrived */
    uint8_t *have_any;   /* whether anything has arrived at a number of a record by itself */
    uint8_t *is_rounded; /* whether a record is read by what rounds it */
    /* Of each record: the first and the latest contribution, counted from 1, or 0. */
    size_t *first, *latest;
    Contribution *contributions;
    size_t n_contributions, contribution_capacity;
    int64_t *words;
    size_t n_words, word_capacity;
    CadRoom room;
} Pull;

static inline int cad_pull_is_active(const Pull *p, CadId id) {
    return cad_is_active(p->graph, &p->active, id);
}

static const CadDerivatives none = {CAD_NO_ID, 0};

/* Add to the cotangent of a number. */
void cad_pull_add(Pull *p, CadId id, CadId cotangent);

/* Have an array receive something as a whole. */
void cad_pull_contribute(Pull *p, Contribution given);

/* Add numbers of a shape, times a factor, to the cotangents of targets of the same shape. Numbers
 * that are added up have the factor behind the sum. */
void cad_pull_add_scaled(Pull *p, int ndim, const int64_t *shape, CadNumbers target,
                         CadNumbers source, CadNumbers factor);
void cad_pull_add_view(Pull *p, int ndim, const int64_t *shape, CadNumbers target,
                       CadNumbers source);

/* The sum of all contributions to some numbers of an array; the others have received none. */
CadDerivatives cad_pull_sum_of_part(Pull *p, size_t record, CadId first, size_t size);
CadDerivatives cad_pull_sum(Pull *p, size_t record);

/* Whether nothing has arrived at an array but at numbers from `begin` up to `end`. */
int cad_pull_is_within(const Pull *p, size_t record, CadId begin, CadId end);

#endif
