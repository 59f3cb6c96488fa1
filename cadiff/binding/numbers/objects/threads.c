/* The tape of a thread: made when it is first asked for, freed when the thread has ended and no
 * Var of it is left. What is recorded on it is not known here. */
#include "numbers/objects/threads.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/state.h"

#include "tape/tape.h"

int cad_pin(CadTape *tape) {
    if (cad_check(cad_tape_ensure(tape)) < 0) {
        return -1;
    }
    cad_tape_pin(tape);
    return 0;
}

/* Tapes whose owners are gone while numbers of theirs are alive. */
typedef struct CadOrphan {
    CadTape *tape;
    struct CadOrphan *next;
} Orphan;

static void free_deserted_tapes(void) {
    for (Orphan **link = &cad_state.orphans; *link != NULL;) {
        Orphan *orphan = *link;
        if (cad_tape_all_handles(orphan->tape) == 0 && orphan->tape->hook == NULL) {
            *link = orphan->next;
            Py_XDECREF((PyObject *)orphan->tape->rules);
            cad_tape_free(orphan->tape);
            PyMem_Free(orphan);
        } else {
            link = &orphan->next;
        }
    }
}

void cad_desert_tape(CadTape *tape) {
    Orphan *orphan = PyMem_Malloc(sizeof *orphan);
    if (orphan != NULL) { /* else the tape is leaked, which is better than numbers that dangle */
        orphan->tape = tape;
        orphan->next = cad_state.orphans;
        cad_state.orphans = orphan;
        free_deserted_tapes();
    }
}

/* Capsules in the dictionaries of thread states own the tapes. */
static void end_of_thread(PyObject *capsule) {
    cad_desert_tape(PyCapsule_GetPointer(capsule, NULL));
}

static CadTape *new_thread_tape(PyObject *dict, PyObject *key) {
    free_deserted_tapes();
    CadTape *tape = cad_tape_new();
    if (tape == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    tape->make_room = cad_var_make_room;
    tape->second_rule = cad_state.second_rule_hook;
    tape->slopes = cad_state.slopes_hook;
    tape->rules = PyList_New(0);
    if (tape->rules == NULL) {
        cad_tape_free(tape);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(tape, NULL, end_of_thread);
    if (capsule == NULL) {
        Py_DECREF((PyObject *)tape->rules);
        cad_tape_free(tape);
        return NULL;
    }
    const int status = PyDict_SetItem(dict, key, capsule);
    Py_DECREF(capsule); /* on failure this orphans and frees the tape */
    return status < 0 ? NULL : tape;
}

CadTape *cad_current_tape(void) {
    PyThreadState *thread = PyThreadState_Get();
    const uint64_t id = PyThreadState_GetID(thread); /* never used twice, unlike the address */
    if (cad_state.last_tape != NULL && id == cad_state.last_thread) {
        return cad_state.last_tape;
    }
    if (cad_state.tape_key == NULL &&
        (cad_state.tape_key = PyUnicode_InternFromString("cadiff.tape")) == NULL) {
        return NULL;
    }
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cadiff: this thread has no Python state");
        return NULL;
    }
    PyObject *capsule = PyDict_GetItemWithError(dict, cad_state.tape_key);
    CadTape *tape = NULL;
    if (capsule != NULL) {
        tape = PyCapsule_GetPointer(capsule, NULL);
    } else if (!PyErr_Occurred()) {
        tape = new_thread_tape(dict, cad_state.tape_key);
    }
    if (tape != NULL) {
        cad_state.last_thread = id;
        cad_state.last_tape = tape;
    }
    return tape;
}

PyObject *cad_enter_new_tape(void) {
    if (cad_current_tape() == NULL) {
        return NULL;
    }
    PyObject *dict = PyThreadState_GetDict();
    PyObject *before = PyDict_GetItemWithError(dict, cad_state.tape_key);
    Py_XINCREF(before);
    if (before != NULL && new_thread_tape(dict, cad_state.tape_key) == NULL) {
        Py_CLEAR(before);
    }
    cad_state.last_tape = NULL;
    return before;
}

int cad_return_to_tape(PyObject *before) {
    cad_state.last_tape = NULL;
    return PyDict_SetItem(PyThreadState_GetDict(), cad_state.tape_key, before);
}
