/* Groups of instructions that go tile by tile, and large blocks: groups.c finds them for tiles.c.
 */
#ifndef CAD_PROGRAM_TILER_H
#define CAD_PROGRAM_TILER_H

#include "program/maker.h"

#define ANY_GROUP UINT32_MAX  /* several, or none of them */
#define HEAD_ALONE UINT32_MAX /* a member of a shifted group that has neither rows nor a tail */

enum {
    MOST_VIEWS = 4,
};

typedef struct Access {
    int64_t low, high;
    int writes;
} Access;

/* One of m->far. */
typedef struct Block {
    uint32_t group; /* the one that all accesses are in */
    uint32_t first, last;
    int is_used, is_whole; /* it has all its places, whoever reads it */
    int is_named;          /* single operations or lists name places of it */
    int is_referred;       /* it is a result, and written where that is wanted */
    uint32_t row;          /* numbers of one row, in its group */
    uint32_t room;         /* places that it is given, from `to` on */
    uint32_t after;        /* the next block that is needed as long */
    int32_t to;
} Block;

/* Instructions order[begin], ... */
typedef struct Group {
    uint32_t begin, count;
    int64_t rows, together; /* rows, and how many make a tile */
    int64_t turns, in_part; /* tiles of as many, and how many of these make a part */
    int64_t sums;           /* numbers in the sums of a part */
    int32_t place;          /* of the sums of all parts, if there are several */
    int is_shifted;         /* members have heads before the rows, and tails behind them */
} Group;

typedef struct Tiler {
    CadMaker *m;
    CadProgram *program;
    CadMemory memory;
    Access *accesses; /* those of instruction k from begin[k] on */
    size_t n_accesses, accesses_capacity;
    size_t *begin;
    uint32_t *order;
    uint8_t *axes;   /* of members: which one has the rows */
    uint32_t *heads; /* of shifted ones: numbers before the rows, or HEAD_ALONE */
    uint32_t *sums;  /* of members: where their sums stand among those of a part */
    Block *blocks;
    size_t blocks_capacity;
    Group *groups;
    size_t n_groups, groups_capacity;
    struct Found *found;
    uint32_t at, end, group; /* while blocks are noted */
    int names;
} Tiler;

/* So many numbers, and those behind them to the end of a line of the cache, which threads do not
 * share. */
static inline int64_t whole_lines(int64_t n) {
    return (n + CAD_LINE - 1) / CAD_LINE * CAD_LINE;
}

/* Each place of a list is a range. */
static inline int64_t n_ranges(const CadRegion *region) {
    return region->listed != NULL ? region->lengths[0] : 1;
}

static inline Access range_of(const CadRegion *region, int64_t k) {
    Access range = {region->first, region->first, region->writes};
    if (region->listed != NULL) {
        range.low = range.high = region->first + region->listed[k];
        return range;
    }
    for (int axis = 0; axis < region->n_axes; axis++) {
        const int64_t reach = region->steps[axis] * (region->lengths[axis] - 1);
        *(reach < 0 ? &range.low : &range.high) += reach;
    }
    return range;
}

/* Whether a member is a sum from all rows: what it adds to stays where it is. */
static inline int is_sum(const CadProgram *program, const CadInstruction *i, int axis) {
    return cad_step_is_of_kind(i) &&
           cad_plan_view((CadPlan *)(program->plans + i->x), 0)[1 + axis] == 0;
}

/* What instructions read and write. */
void cad_tiler_find_accesses(Tiler *t);

/* Divide instructions into groups, and bring them into an order in which those of one group follow
 * each other. */
void cad_tiler_find_groups(Tiler *t);

#endif
