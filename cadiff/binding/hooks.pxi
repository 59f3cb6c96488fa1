# Watching a tape while it records: the shapes of arrays, which entries do not keep, and for
# _nan_check.pxi the places in the program where operations are written.

@cython.final
cdef class Checks:
    """What one thread looks for, and where it is in the program."""

    cdef int users
    cdef list places        # (code, file name, line, function, during), by their numbers
    cdef dict place_numbers
    cdef list suspects      # names of inputs that were not finite when a function was called
    cdef object step        # (name, place) of the operation that is being differentiated, ...
    cdef object step_frame  # ... and who asked for that

    def __cinit__(self):
        self.places = [None]
        self.place_numbers = {}
        self.suspects = []


@cython.final
cdef class Watch:
    """What is known of the entries of one tape while somebody watches it."""

    cdef CadTape *tape
    cdef CadHook functions
    cdef list shapes      # by the numbers that origins have for them
    cdef dict shape_numbers

    cdef int users        # how many want it
    cdef Checks checks    # what looks for numbers that are not finite; or None


cdef dict watches = {}  # by tape


cdef Watch begin_watch(CadTape *tape):
    """Watch a tape, until as many calls of end_watch."""
    cdef Watch watch = watches.get(<size_t>tape)
    if watch is None:
        watch = Watch.__new__(Watch)
        watch.tape = tape
        watch.functions.holder = <void *>watch
        watch.functions.array = watch_array
        watch.shapes = [None]
        watch.shape_numbers = {}
        watches[<size_t>tape] = watch
        cad_tape_set_hook(tape, &watch.functions)
    watch.users += 1
    return watch


cdef int end_watch(Watch watch) except -1:
    watch.users -= 1
    if watch.users == 0:
        cad_tape_set_hook(watch.tape, NULL)
        del watches[<size_t>watch.tape]
    return 0


cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()


cdef CadStatus watch_array(void *holder, int ndim, const Py_ssize_t *shape) noexcept:
    # The collector would run finalizers, and these may append entries.
    cdef bint collecting = PyGC_Disable()
    try:
        lengths = tuple([shape[i] for i in range(ndim)])
        note_shape(<Watch>holder, lengths)
        if (<Watch>holder).checks is not None:
            look_at_array(<Watch>holder, lengths)
        return CAD_OK
    except BaseException as error:
        cad_restore_exception(error)
        return CAD_RAISED
    finally:
        if collecting:
            PyGC_Enable()


cdef int note_shape(Watch watch, tuple shape) except -1:
    """Keep the shape of the array that the last entry made."""
    cdef object number = watch.shape_numbers.get(shape)
    if number is None:
        number = len(watch.shapes)
        watch.shapes.append(shape)
        watch.shape_numbers[shape] = number
    watch.tape.origins[watch.tape.n_entries - 1].shape = number
    return 0
