/* The rows of a linear map for entries on single numbers: a number is a sum of others times
 * factors, which is written out where it is used if it can wait until then. */
#include "linear/inner.h"

#include <math.h>

/* Longer sums are not multiplied through: it would take as long again for each factor. */
enum { LONG_SUM = 16 };

static CadSum *sum_at(const CadBuild *build, CadSlot slot) {
    return &build->sums[slot - build->base];
}

static CadLink *link_at(const CadBuild *build, uint32_t number) {
    return (CadLink *)build->links.data + number;
}

/* Links that were freed are chained by what their next is. */
static CadStatus new_link(CadBuild *build, uint32_t *number) {
    *number = build->free_link;
    if (*number != CAD_NONE) {
        build->free_link = link_at(build, *number)->next;
        return CAD_OK;
    }
    *number = (uint32_t)build->links.count;
    const CadStatus status = cad_items_reserve(&build->links, 1, sizeof(CadLink));
    build->links.count += status == CAD_OK;
    return status;
}

static void chain(CadBuild *build, CadSum *sum, uint32_t first, uint32_t last, uint32_t count) {
    if (count == 0) {
        return;
    }
    if (sum->count == 0) {
        sum->first = first;
    } else {
        link_at(build, sum->last)->next = first;
    }
    sum->last = last;
    sum->count += count;
}

static CadStatus add_term(CadBuild *build, CadSum *to, double factor, CadSlot source) {
    uint32_t number;
    const CadStatus status = new_link(build, &number);
    if (status == CAD_OK) {
        *link_at(build, number) = (CadLink){factor, source, CAD_NONE};
        chain(build, to, number, number, 1);
        to->steady &= !cad_build_has(build, source, CAD_MUTABLE);
    }
    return status;
}

static CadStatus append_term(CadBuild *build, double factor, CadSlot source) {
    CadItems *const factors = &build->linear->part[CAD_LINEAR_FACTORS];
    CadItems *const sources = &build->linear->part[CAD_LINEAR_SOURCES];
    if (cad_items_reserve(factors, 1, sizeof factor) != CAD_OK ||
        cad_items_reserve(sources, 1, sizeof source) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    cad_build_mark(build, source, CAD_PLACED);
    ((double *)factors->data)[factors->count++] = factor;
    ((CadSlot *)sources->data)[sources->count++] = source;
    return CAD_OK;
}

/* End a row, whose terms were appended. */
static CadStatus append_row(CadBuild *build, CadSlot target) {
    CadItems *const targets = &build->linear->part[CAD_LINEAR_TARGETS];
    CadItems *const ends = &build->linear->part[CAD_LINEAR_ENDS];
    if (cad_items_reserve(targets, 1, sizeof target) != CAD_OK ||
        cad_items_reserve(ends, 1, sizeof(uint64_t)) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    cad_build_mark(build, target, CAD_PLACED);
    ((CadSlot *)targets->data)[targets->count++] = target;
    ((uint64_t *)ends->data)[ends->count++] = cad_linear_count(build->linear, CAD_LINEAR_FACTORS);
    return CAD_OK;
}

/* Write the row of a sum: the slot is a place from now on. */
static CadStatus write_row(CadBuild *build, CadSlot slot) {
    CadSum *const sum = sum_at(build, slot);
    CadStatus status = CAD_OK;
    uint32_t at = sum->first;
    for (uint32_t k = 0; k < sum->count && status == CAD_OK; k++) {
        const CadLink link = *link_at(build, at);
        status = append_term(build, link.factor, link.source);
        at = link.next;
    }
    if (status == CAD_OK) {
        status = append_row(build, slot);
    }
    if (sum->count > 0) {
        link_at(build, sum->last)->next = build->free_link;
        build->free_link = sum->first;
    }
    cad_build_unmark(build, slot, CAD_WAITS);
    return status;
}

/* Whether a sum times a factor is as good as its terms one by one: no product may overflow, or
 * lose digits. */
static int is_scalable(const CadBuild *build, const CadSum *sum, double factor) {
    if (factor == 1.0) {
        return 1;
    }
    int scalable = sum->count <= LONG_SUM;
    uint32_t at = sum->first;
    for (uint32_t k = 0; k < sum->count && scalable; k++) {
        scalable = isnormal(link_at(build, at)->factor * factor);
        at = link_at(build, at)->next;
    }
    return scalable;
}

static void scale(CadBuild *build, const CadSum *sum, double factor) {
    uint32_t at = sum->first;
    for (uint32_t k = 0; k < sum->count && factor != 1.0; k++) {
        link_at(build, at)->factor *= factor;
        at = link_at(build, at)->next;
    }
}

/* Add an operand to a sum: what it is itself, if that is not more than its name. */
static CadStatus add_operand(CadBuild *build, CadSum *to, double factor, CadSlot operand) {
    CadSum *const sum = sum_at(build, operand);
    if (!cad_build_has(build, operand, CAD_WAITS)) {
        return add_term(build, to, factor, operand);
    }
    if (!is_scalable(build, sum, factor)) {
        const CadStatus status = write_row(build, operand);
        return status != CAD_OK ? status : add_term(build, to, factor, operand);
    }
    if (!cad_build_has(build, operand, CAD_REUSED)) {
        scale(build, sum, factor);
        chain(build, to, sum->first, sum->last, sum->count);
        cad_build_unmark(build, operand, CAD_WAITS);
        return CAD_OK;
    }
    if (sum->count == 0) {
        return CAD_OK;
    }
    const CadLink link = *link_at(build, sum->first);
    return add_term(build, to, link.factor * factor, link.source);
}

CadStatus cad_build_number(CadBuild *build, size_t i) {
    const CadTape *const tape = build->tape;
    const CadEntry e = tape->entries[i];
    const CadOp op = CAD_CODE_OP(e.code);
    const double *const value = tape->values;
    CadSlot operands[3];
    int which[3];
    int wanted = 0;
    const int n = cad_build_operands(tape, i, operands, which);
    for (int k = 0; k < n; k++) {
        wanted |= cad_build_has(build, operands[k], CAD_REACHED) << which[k];
    }
    const CadSlot third = cad_op_info[op].arity == 3 ? tape->entries[i - 1].a : e.a;
    double partials[3];
    cad_op_partials(op, wanted, value[e.a], value[e.b], value[third], value[e.out], partials);
    CadSum *const sum = sum_at(build, e.out);
    *sum = (CadSum){CAD_NONE, CAD_NONE, 0, 1};
    for (int k = 0; k < n; k++) {
        /* A factor of 0 absorbs whatever comes. */
        if (wanted >> which[k] & 1 && partials[which[k]] != 0.0 &&
            add_operand(build, sum, partials[which[k]], operands[k]) != CAD_OK) {
            return CAD_NO_MEMORY;
        }
    }
    /* It can be written out where it is used, however much later that is. */
    const int can_wait = sum->steady && !cad_build_has(build, e.out, CAD_PINNED) &&
                         (!cad_build_has(build, e.out, CAD_REUSED) || sum->count <= 1);
    cad_build_mark(build, e.out, CAD_WAITS);
    return can_wait ? CAD_OK : write_row(build, e.out);
}

/* A row of at most two sources, -1 for none, with factors of 1. */
static CadStatus append_moves(CadBuild *build, CadSlot to, int64_t from, int64_t more) {
    CadStatus status = from < 0 ? CAD_OK : append_term(build, 1.0, (CadSlot)from);
    if (status == CAD_OK && more >= 0) {
        status = append_term(build, 1.0, (CadSlot)more);
    }
    return status != CAD_OK ? status : append_row(build, to);
}

CadStatus cad_build_replace(CadBuild *build, CadSlot to, int64_t from, int64_t kept) {
    const CadStatus status = kept < 0 ? CAD_OK : append_moves(build, (CadSlot)kept, to, -1);
    return status != CAD_OK ? status : append_moves(build, to, from, -1);
}

CadStatus cad_build_add_number(CadBuild *build, CadSlot to, CadSlot from) {
    return append_moves(build, to, to, from);
}

CadStatus cad_build_assignment(CadBuild *build, CadEntry e) {
    const int active = !(e.code & CAD_PASSIVE_B) && cad_build_has(build, e.b, CAD_REACHED);
    return cad_build_replace(build, e.a, active ? (int64_t)e.b : -1,
                             cad_build_is_live(build, e.out) ? (int64_t)e.out : -1);
}

CadStatus cad_build_rule(CadBuild *build, size_t i) {
    const CadEntry e = build->tape->entries[i];
    CadSlopes slopes;
    if (build->tape->slopes(build->tape, i, &slopes) < 0) {
        return CAD_RAISED;
    }
    CadStatus status = CAD_OK;
    for (size_t row = 0; row < slopes.n_results && status == CAD_OK; row++) {
        for (int64_t k = slopes.starts[row]; k < slopes.starts[row + 1] && status == CAD_OK; k++) {
            const CadSlot source = slopes.sources[slopes.columns[k]];
            /* A factor of 0 absorbs whatever comes. */
            if (slopes.values[k] != 0.0 && cad_build_has(build, source, CAD_REACHED)) {
                status = append_term(build, slopes.values[k], source);
            }
        }
        status = status == CAD_OK ? append_row(build, e.out + (CadSlot)row) : status;
    }
    cad_memory_free(slopes.sources);
    cad_memory_free(slopes.values);
    return status;
}
