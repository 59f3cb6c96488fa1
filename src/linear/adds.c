/* Sums of views that wait for their only reader. An array that one entry writes and one entry
 * reads, both number by number, needs no places: where a result is a sum of factors times the
 * array, it is one of these factors times those that made the array. So a chain of elementwise
 * operations becomes one step, whose factors are products. */
#include "linear/inner.h"

#include <math.h>

static CadSpan span_from(int64_t slot, int64_t step, int64_t n) {
    const int64_t reach = (n - 1) * step;
    return (CadSpan){slot + (reach < 0 ? reach : 0), slot + (reach > 0 ? reach : 0)};
}

static CadSpan written(const CadAdd *add) {
    return span_from(add->to, add->to_step, add->n);
}

static CadSpan read_by(const CadAdd *add) {
    return span_from(add->from, add->from_step, add->n);
}

static int overlap(CadSpan a, CadSpan b) {
    return a.low <= b.high && b.low <= a.high;
}

static double *factors_of(const CadBuild *build, const CadAdd *add) {
    return (double *)cad_linear_items(build->linear, CAD_LINEAR_NUMBERS) + add->factors;
}

/* Append factors, unless it is 1 for all. */
static CadStatus append_factors(CadBuild *build, CadAdd *add, const double *factors) {
    add->factors = -1;
    if (add->step == 0 && factors[0] == 1.0) {
        return CAD_OK;
    }
    add->factors = (int64_t)cad_linear_count(build->linear, CAD_LINEAR_NUMBERS);
    return cad_linear_append(build->linear, CAD_LINEAR_NUMBERS, factors,
                             add->step == 1 ? (size_t)add->n : 1);
}

static CadStatus write_add(CadBuild *build, const CadAdd *add) {
    CadRequestedPlan room;
    CadPlan *const plan = cad_build_plan(1, &add->n, 2, 2, &room);
    const int64_t views_and_extra[] = {add->to,        add->to_step, add->from,
                                       add->from_step, add->factors, add->step};
    memcpy(cad_plan_view(plan, 0), views_and_extra, sizeof views_and_extra);
    cad_build_mark_all(build, written(add), CAD_PLACED);
    cad_build_mark_all(build, read_by(add), CAD_PLACED);
    return cad_build_step(build, CAD_LINEAR_ADD, plan);
}

static void remove_waiting(CadBuild *build, int k) {
    build->n_adds--;
    memmove(build->adds + k, build->adds + k + 1,
            (size_t)(build->n_adds - k) * sizeof *build->adds);
}

CadStatus cad_build_end_waiting(CadBuild *build, CadSpan span) {
    CadStatus status = CAD_OK;
    for (int k = 0; k < build->n_adds && status == CAD_OK;) {
        const CadAdd add = build->adds[k];
        if (overlap(written(&add), span)) {
            remove_waiting(build, k);
            status = write_add(build, &add);
        } else {
            k++;
        }
    }
    return status;
}

/* Whether the result has one reader, which reads it number by number, and nothing of what it is
 * made of is written to until then. */
static int can_wait(const CadBuild *build, const CadAdd *add) {
    return add->to_step == 1 && add->to >= build->base &&
           !cad_build_has_any(build, written(add), CAD_REUSED | CAD_MUTABLE | CAD_FIXED) &&
           !cad_build_has_any(build, read_by(add), CAD_MUTABLE);
}

/* A sum of factors; nan where it is not as good as one after the other. */
static double total(double x, double y) {
    const double sum = x + y;
    return isnormal(sum) || sum == 0.0 ? sum : NAN;
}

/* Add the factors of a sum to those of one that waits, has factors for each number as well, and
 * adds the same to the same. Answers whether there is one. */
static int merge(CadBuild *build, const CadAdd *add) {
    const size_t n = (size_t)add->n;
    CadItems *const numbers = &build->linear->part[CAD_LINEAR_NUMBERS];
    for (int k = 0; k < build->n_adds && add->step == 1; k++) {
        CadAdd *const other = &build->adds[k];
        if (other->to != add->to || other->from != add->from || other->to_step != add->to_step ||
            other->from_step != add->from_step || other->n != add->n || other->step != 1) {
            continue;
        }
        double *const to = factors_of(build, other), *const from = factors_of(build, add);
        int sound = 1;
        for (size_t i = 0; i < n; i++) {
            sound &= !isnan(total(to[i], from[i]));
        }
        if (sound) { /* what comes last in the list can be given back */
            const int last = add->factors > other->factors;
            cad_strip_add((CadStrip){last ? to : from, 1}, (CadStrip){last ? from : to, 1}, 0, n);
            const int64_t spare = last ? add->factors : other->factors;
            other->factors = last ? other->factors : add->factors;
            numbers->count -= (size_t)spare + n == numbers->count ? n : 0;
            return 1;
        }
    }
    return 0;
}

static CadStatus append_or_wait(CadBuild *build, CadAdd add) {
    if (!can_wait(build, &add)) {
        return write_add(build, &add);
    }
    if (merge(build, &add)) {
        return CAD_OK;
    }
    CadStatus status = CAD_OK;
    if (build->n_adds == CAD_MOST_ADDS) {
        const CadAdd oldest = build->adds[0];
        remove_waiting(build, 0);
        status = write_add(build, &oldest);
    }
    build->adds[build->n_adds++] = add;
    return status;
}

/* A product of factors; nan where it is not as good as one after the other. */
static double product(double x, double y) {
    const double both = x * y;
    return isnormal(both) ? both : x == 0.0 || y == 0.0 ? 0.0 : NAN;
}

/* Multiply the factors of a sum that waits by those of its reader: answers whether that was done,
 * -1 if memory ran out. */
static int multiply(CadBuild *build, CadAdd *add, int64_t step, const double *factors) {
    const int64_t n = add->step == 1 || step == 1 ? add->n : 1;
    static const double one = 1.0;
    const double *const add_factors = add->factors < 0 ? &one : factors_of(build, add);
    for (int64_t i = 0; i < n; i++) {
        if (isnan(product(add_factors[i * add->step], factors[i * step]))) {
            return 0;
        }
    }
    if (step == 0 && factors[0] == 1.0) {
        return 1;
    }
    if (add->factors < 0 || add->step == 0) {
        const double scale = *add_factors;
        CadAdd fresh = *add;
        fresh.step = step;
        if (append_factors(build, &fresh, factors) != CAD_OK) {
            return -1;
        }
        *add = fresh;
        for (int64_t i = 0; i < n && add->factors >= 0; i++) {
            factors_of(build, add)[i] = product(factors_of(build, add)[i], scale);
        }
        return 1;
    }
    double *const to = factors_of(build, add);
    for (int64_t i = 0; i < n; i++) {
        to[i] = product(to[i], factors[i * step]);
    }
    return 1;
}

CadStatus cad_build_add(CadBuild *build, CadAdd add, const double *factors) {
    const CadSpan read = read_by(&add);
    CadStatus status = CAD_OK;
    for (int k = 0; k < build->n_adds && status == CAD_OK;) {
        CadAdd first = build->adds[k];
        const CadSpan target = written(&first);
        if (!overlap(target, read)) {
            k++;
            continue;
        }
        remove_waiting(build, k);
        int done = 0;
        if (add.from_step == 1 && read.low <= target.low && target.high <= read.high) {
            const int64_t skipped = target.low - read.low;
            done = multiply(build, &first, add.step, factors + skipped * add.step);
            first.to = done > 0 ? add.to + skipped * add.to_step : first.to;
            first.to_step = done > 0 ? add.to_step : first.to_step;
        }
        if (done < 0) {
            return CAD_NO_MEMORY;
        }
        status = done ? append_or_wait(build, first) : write_add(build, &first);
    }
    /* What no step has written to was made by those that waited, or is 0. */
    const int is_input = read.low < (int64_t)build->base + (int64_t)build->n_inputs;
    if (status != CAD_OK || !(is_input || cad_build_has_any(build, read, CAD_PLACED))) {
        return status;
    }
    status = append_factors(build, &add, factors);
    return status != CAD_OK ? status : append_or_wait(build, add);
}
