/* See slabs.h; no other file knows what a slab is. */
#include "numbers/objects/slabs.h"

enum { SLAB = 255, MANY_SLABS = 64 };

typedef struct CadSlab {
    struct CadSlab *next;
    CadVar vars[SLAB];
} Slab;

int cad_var_refill(void) {
    Slab *slab = cad_memory_resize(NULL, 1, sizeof *slab);
    if (slab == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    slab->next = cad_state.slabs;
    cad_state.slabs = slab;
    cad_state.n_slabs++;
    for (int i = SLAB; i-- > 0;) {
        CadVar *var = &slab->vars[i];
        memset(var, 0, sizeof *var);
        Py_SET_TYPE(var, &CadVar_Type);
        var->tape = (CadTape *)cad_state.free_vars;
        cad_state.free_vars = var;
    }
    return 0;
}

static int is_deserted(const Slab *slab) {
    for (int i = 0; i < SLAB; i++) {
        if (Py_REFCNT(&slab->vars[i]) > 0) {
            return 0;
        }
    }
    return 1;
}

/* The list of free ones is made anew from what is left. */
void cad_slabs_release(void) {
    if (cad_state.n_slabs <= MANY_SLABS) {
        return;
    }
    cad_state.free_vars = NULL;
    for (Slab **link = &cad_state.slabs; *link != NULL;) {
        Slab *slab = *link;
        if (is_deserted(slab)) {
            *link = slab->next;
            cad_memory_free(slab);
            cad_state.n_slabs--;
            continue;
        }
        for (int i = SLAB; i-- > 0;) {
            CadVar *var = &slab->vars[i];
            if (Py_REFCNT(var) == 0) {
                var->tape = (CadTape *)cad_state.free_vars;
                cad_state.free_vars = var;
            }
        }
        link = &slab->next;
    }
}

void cad_each_var(const CadTape *tape, void (*visit)(CadVar *, void *), void *context) {
    for (Slab *slab = cad_state.slabs; slab != NULL; slab = slab->next) {
        for (int i = 0; i < SLAB; i++) {
            CadVar *var = &slab->vars[i];
            if (Py_REFCNT(var) > 0 && var->tape == tape) {
                visit(var, context);
            }
        }
    }
}
