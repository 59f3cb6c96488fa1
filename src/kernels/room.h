/* Numbers to compute with: few of them stand on the stack. */
#ifndef CAD_KERNELS_ROOM_H
#define CAD_KERNELS_ROOM_H

#include "memory/memory.h"

enum { CAD_FEW = 256 };

typedef struct CadRoom {
    double few[CAD_FEW];
    double *numbers;
} CadRoom;

static inline int cad_room_take(CadRoom *room, size_t n) {
    room->numbers = n <= CAD_FEW ? room->few : cad_memory_resize(NULL, n, sizeof(double));
    return room->numbers != NULL;
}

static inline void cad_room_give_back(CadRoom *room) {
    if (room->numbers != room->few) {
        cad_memory_free(room->numbers);
    }
}

#endif
