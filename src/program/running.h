/* Where the numbers of an instruction are while a program runs: what run.c shares with the files
 * that carry instructions out. */
#ifndef CAD_PROGRAM_RUNNING_H
#define CAD_PROGRAM_RUNNING_H

#include "arrays/walk.h"
#include "program/program.h"

/* Where places are. Constants and the first `n_shared` places may be those of many lanes, of which
 * each has the others for itself. Of tiles, from place `n_whole` on, each thread has its own. */
typedef struct Places {
    double *shared, *own, *tiles;
    int32_t n_shared, n_whole;
    const CadReferred *referred;
    size_t n_referred;
    int lists_refer; /* as the program's */
} Places;

/* Inputs and results that are referred to have a base of their own. */
static CAD_APART double *base_elsewhere(const Places *places, int64_t place) {
    for (size_t k = 0; k < places->n_referred; k++) {
        const int64_t inner = place - places->referred[k].place;
        if (inner >= 0 && inner < places->referred[k].size && places->referred[k].floats == -1) {
            return (double *)cad_program_referent(places->own, places->referred[k]) -
                   places->referred[k].place;
        }
    }
    return places->own;
}

/* Where place 0 would be. */
static CAD_INLINE double *base_of(const Places *places, int64_t place) {
    if (place >= places->n_whole) {
        return places->tiles;
    }
    if (places->n_referred > 0) {
        return base_elsewhere(places, place);
    }
    return place < places->n_shared ? places->shared : places->own;
}

static CAD_INLINE double *numbers_at(const Places *places, int32_t place) {
    return base_of(places, place) + place;
}

static CAD_INLINE CadStrip strip(const Places *places, int32_t place, int32_t step, size_t first) {
    return (CadStrip){base_of(places, place) + place + (ptrdiff_t)step * (ptrdiff_t)first, step};
}

/* to[k] = from[k]; to[k] += from[k]. Calls are not worth it for short rows. */
enum { CAD_SHORT_RUN = 64 };

static inline void cad_copy_numbers(double *restrict to, const double *restrict from, size_t n) {
    if (n > CAD_SHORT_RUN) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        to[k] = from[k];
    }
}

static inline void cad_add_numbers(double *restrict to, const double *restrict from, size_t n) {
    if (n > CAD_SHORT_RUN) {
        cad_strip_add((CadStrip){to, 1}, (CadStrip){(double *)from, 1}, 0, n);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        to[k] += from[k];
    }
}

/* The floats from a place on. */
static inline float *floats_at(const Places *places, int64_t place) {
    if (cad_place_of_double(place) >= places->n_whole) {
        return (float *)places->tiles + (place - CAD_FLOATS);
    }
    for (size_t k = 0; k < places->n_referred; k++) {
        const CadReferred referred = places->referred[k];
        const int64_t inner = place - (CAD_FLOATS + 2 * (int64_t)referred.floats);
        if (referred.floats >= 0 && inner >= 0 && inner < referred.size) {
            return (float *)cad_program_referent(places->own, referred) + inner;
        }
    }
    return (float *)places->own + (place - CAD_FLOATS);
}

/* --- machine.c --- */

/* One thread may set a pointer that others read meanwhile: whole, with all that it points to; or
 * exchange it for the former one, which no other has then.
 * Processors that MSVC compiles for read a pointer before its target. */
#ifdef _MSC_VER
#include <intrin.h>
#define CAD_PUBLISH(place, value) _InterlockedExchangePointer((void *volatile *)&(place), value)
#define CAD_PUBLISHED(place) (*(void *const volatile *)&(place))
#define CAD_EXCHANGED(place, value) CAD_PUBLISH(place, value)
#else
#define CAD_PUBLISH(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define CAD_PUBLISHED(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define CAD_EXCHANGED(place, value) __atomic_exchange_n(&(place), value, __ATOMIC_ACQ_REL)
#endif

/* The code of a program where pieces of it are one instruction, each the call of a function. */
struct CadMachine {
    size_t lanes; /* 0: any number, up to CAD_MACHINE_LANES */
    CadMachineCode **functions;
    CadInstruction *code;
};

/* Where places are of many points, whose numbers stand side by side; what they share stands once,
 * before all others. */
typedef struct Lanes {
    double *shared, *own;
    size_t count;
    int32_t n_shared;
} Lanes;

static inline Lanes cad_lanes_in(const CadProgram *program, double *places, size_t count) {
    return (Lanes){places, places + program->n_shared, count, (int32_t)program->n_shared};
}

static CAD_INLINE double *cad_lanes_at(Lanes lanes, int64_t place) {
    return place < lanes.n_shared ? lanes.shared + place
                                  : lanes.own + (place - lanes.n_shared) * (int64_t)lanes.count;
}

/* A number of each lane. */
static CAD_INLINE void cad_lanes_copy(double *to, Lanes lanes, int64_t place) {
    const double *const from = cad_lanes_at(lanes, place);
    if (place >= lanes.n_shared) {
        memcpy(to, from, lanes.count * sizeof *to);
        return;
    }
    for (size_t k = 0; k < lanes.count; k++) {
        to[k] = *from;
    }
}

/* What all lanes share is one number. */
static CAD_INLINE CadStrip lanes_of_operand(Lanes lanes, int32_t place) {
    return (CadStrip){cad_lanes_at(lanes, place), place < lanes.n_shared ? 0 : 1};
}

/* The code to run, as it is now: machine code may be there from one call to the next. */
static inline const CadInstruction *cad_program_code(const CadProgram *program, size_t lanes) {
    const CadMachine *const machine = CAD_PUBLISHED(program->in_use);
    if (machine == NULL) {
        return program->code;
    }
    const bool is_any = machine->lanes == 0 && lanes > 1 && lanes <= CAD_MACHINE_LANES;
    return is_any || machine->lanes == lanes ? machine->code : program->code;
}

/* One of the turns of tiles: of them all, and of the parts that they are divided into. */
typedef struct Turn {
    size_t number, part;
} Turn;

/* What an operand of `n` numbers a turn reads in one of them. */
static CAD_INLINE CadStrip strip_in_turn(const CadProgram *program, const Places *places,
                                         int32_t place, int32_t step, uint32_t n, size_t turn) {
    return strip(places, place, step,
                 turn > 0 && place < (int32_t)program->n_whole ? n * turn : 0);
}

/* By which loops an instruction has its values. */
static inline CadStripFunction value_of(const CadInstruction *i) {
    return i->near ? cad_strip_value_near : cad_strip_value;
}

static inline int adds_terms(const CadInstruction *i) {
    return (cad_entry_kinds[i->op].traits & CAD_ADDS) != 0;
}

static inline const CadNative *cad_native_of(const CadProgram *program,
                                             const CadInstruction *call) {
    return program->natives != NULL ? program->natives[call->z] : NULL;
}

/* --- run_calls.c --- */

/* A call for each lane that the checks before it let pass. Operands stand side by side, shared
 * ones in a room of their own. 0 if it has failed. */
int cad_call_for_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes);

/* --- run_scans.c --- */

/* How programs within a loop are carried out: for so many lanes, and for one point. Both answer
 * -1, or CAD_CALL_FAILED; nothing else in them can fail. */
typedef struct CadInnerRuns {
    long (*lanes)(const CadProgram *program, double *places, size_t lanes);
    long (*code)(const CadProgram *program, double *places);
} CadInnerRuns;

/* Answers the same. */
long cad_run_scan(const CadProgram *program, const CadInstruction *i, const Places *places,
                  CadInnerRuns runs);

/* The same for many points, whose numbers stand side by side. */
long cad_run_scan_of_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes,
                           CadInnerRuns runs);

/* --- run.c --- */

/* All code, for so many lanes: answers as cad_program_run, but for guards. */
long cad_run_lanes(const CadProgram *program, double *places, size_t lanes);

/* --- run_arrays.c --- */

/* A walk over the views of a plan in one of the turns, where their numbers are. */
void cad_start_walk(Walk *walk, const Places *places, CadPlan *plan, int kept, Turn turn);

void cad_run_elements(const CadInstruction *i, CadPlan *plan, const Places *places, Turn turn);

/* An operation of a kind; what it adds to is there. */
void cad_run_terms(const CadInstruction *i, CadPlan *plan, const Places *places, Turn turn);

/* Take from a source at indices, or add to a target there. The last view holds the indices. 0 if
 * one is out of bounds. */
int cad_run_by_index(const CadProgram *program, const CadInstruction *i, const Places *places,
                     int adds);

/* --- run_floats.c --- */

/* Carry out an instruction that knows of floats. */
void cad_run_floats(const CadProgram *program, const CadInstruction *i, const Places *places,
                    Turn turn);

#endif
