/* See lanes.h. */
#include "arrays/lanes.h"
#include "tape/blocks.h"

/* --- memory --- */

/* More than a number a slot is kept only if it is little. */
enum { LITTLE = 1 << 18 };

CadStatus cad_lanes_take(CadTape *tape, size_t numbers, CadLaneBuffer *buffer) {
    CadLaneBuffer *const spare = tape->spare_lanes;
    CadLaneBuffer *const from = &spare[spare[0].capacity < numbers];
    if (from->capacity < numbers) {
        double *fresh = cad_memory_resize(NULL, numbers, sizeof *fresh);
        if (fresh == NULL) {
            return CAD_NO_MEMORY;
        }
        cad_memory_free(from->data);
        *from = (CadLaneBuffer){fresh, numbers};
    }
    *buffer = *from;
    *from = (CadLaneBuffer){NULL, 0};
#ifndef NDEBUG
    memset(buffer->data, 0xff, buffer->capacity * sizeof(double)); /* as fresh memory */
#endif
    return CAD_OK;
}

void cad_lanes_give_back(CadTape *tape, CadLaneBuffer buffer) {
    const size_t most = tape->slot_capacity > LITTLE ? tape->slot_capacity : LITTLE;
    CadLaneBuffer *const to = &tape->spare_lanes[tape->spare_lanes[0].data != NULL];
    if (buffer.capacity > most || to->capacity > buffer.capacity) {
        cad_memory_free(buffer.data);
        return;
    }
    cad_memory_free(to->data);
    *to = buffer;
}

/* --- clearing --- */

/* But for blocks of constants, or those that are cleared when they are first touched. */
static void clear_but(const CadTape *tape, CadLanes lanes, size_t begin, size_t end,
                      int constants) {
    for (size_t i = cad_tape_block_after(tape, begin); i < tape->n_blocks && begin < end; i++) {
        const CadBlock *block = &tape->blocks[i];
        const int is_left_out = constants ? block->constant : !block->eager;
        if (block->begin >= begin && block->end <= end && is_left_out) {
            clear_lanes(lanes, (int64_t)begin, block->begin);
            begin = block->end;
        }
    }
    clear_lanes(lanes, (int64_t)begin, (int64_t)end);
}

void cad_lanes_clear_constants(const CadTape *tape, CadLanes lanes, size_t begin, size_t end) {
    clear_but(tape, lanes, begin, end, 1);
}

void cad_lanes_clear_adjoints(const CadTape *tape, CadLanes lanes, size_t begin, size_t end) {
    clear_but(tape, lanes, begin, end, 0);
}

/* --- products of matrices --- */

CadStatus cad_lanes_open_room(const CadTape *tape, size_t begin, size_t end, size_t lanes,
                              double **room) {
    size_t most = 0;
    for (size_t i = begin; i < end && lanes > 1 && tape->n_plan_words > 0; i++) {
        const CadEntry entry = tape->entries[i];
        if (CAD_IS_ARRAY_ENTRY(entry) && cad_op_is_kind(CAD_CODE_OP(entry.code))) {
            CadPlan *plan = cad_tape_plan(tape, entry);
            const size_t needed =
                cad_op_room(CAD_CODE_OP(entry.code), plan->ndim, cad_plan_shape(plan), lanes);
            most = needed > most ? needed : most;
        }
    }
    *room = most > 0 ? cad_memory_resize(NULL, most, sizeof **room) : NULL;
    return most > 0 && *room == NULL ? CAD_NO_MEMORY : CAD_OK;
}

/* Rows of columns of lanes, side by side. */
static CadMatrix pack(CadMatrix t, size_t lanes, size_t rows, size_t columns, double *room) {
    double *place = room;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const double *from = t.data + (ptrdiff_t)i * t.row + (ptrdiff_t)j * t.column;
            for (size_t k = 0; k < lanes; k++) {
                *place++ = from[k];
            }
        }
    }
    return (CadMatrix){room, (ptrdiff_t)(columns * lanes), (ptrdiff_t)lanes};
}

/* Lanes are columns: the product of a with all of them is one product. */
void cad_lanes_multiply(CadMatrix target, CadMatrix a, CadMatrix t, size_t lanes, int store,
                        size_t rows, size_t inner, size_t columns, double *room) {
    const ptrdiff_t step = (ptrdiff_t)lanes;
    if (columns > 1 && t.column != step) {
        t = pack(t, lanes, inner, columns, room);
        room += inner * columns * lanes;
    }
    const int direct = store && (columns == 1 || target.column == step);
    const CadMatrix product = {direct ? target.data : room,
                               direct ? target.row : (ptrdiff_t)(columns * lanes), 1};
    cad_multiply_matrices(product, a, (CadMatrix){t.data, t.row, 1}, rows, inner, columns * lanes);
    for (size_t i = 0; i < rows && !direct; i++) {
        cad_lanes_add(lanes, (CadStrip){target.data + (ptrdiff_t)i * target.row, target.column},
                      (CadStrip){product.data + (ptrdiff_t)i * product.row, step}, store, columns);
    }
}
