"""Threads that help with the points of a batch, without the GIL.

A thread that has a batch notes it as a job, wakes the helpers that are idle, and works itself:
each takes the next few points, until none are left. So no thread waits for a helper that comes
late or not at all. Waking a thread takes longer than a small batch; therefore a waiting thread
polls for a while before it sleeps.
"""

import os
import threading

from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.string cimport memset

from .c_numbers cimport *
from .c_program cimport *
from .c_entries cimport *

cdef enum:
    MOST_HELPERS = 64
    PARTS = 12         # for each thread, which may begin late, or be slower
    LONG_JOB = 20_000_000  # operations, of which a part is as many at most
    POLLS = 20_000     # about 0.1 ms


cdef struct Job:
    const CadProgram *program
    const CadPoints *points
    size_t n_lanes, n_part
    bint is_long                   # so that it has to react to interrupts
    # What follows belongs to the thread that holds the guard.
    size_t begin, end              # the points that are not taken yet
    size_t n_missed
    int n_wanted                   # helpers
    int n_active
    PyObject *error
    PyThread_type_lock finished    # released by the last helper, if a thread waits
    bint is_awaited
    Job *other


cdef struct Helper:
    PyThread_type_lock bell        # held, but for when it is rung
    bint is_idle
    Helper *other


cdef struct Crew:
    PyThread_type_lock guard
    Job *jobs
    Helper *helpers


cdef Crew *crew = NULL


cdef int n_started = 0


def new_crew():
    """A crew for this process: a fork needs one of its own, as it has only one thread."""
    global crew, n_started
    cdef Crew *made = <Crew *>cad_memory_resize(NULL, 1, sizeof(Crew))
    if made == NULL:
        raise MemoryError
    made.guard = PyThread_allocate_lock()
    made.jobs = NULL
    made.helpers = NULL
    crew = made
    n_started = 0


new_crew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=new_crew)


cdef inline void enter() noexcept nogil:
    PyThread_acquire_lock(crew.guard, WAIT_LOCK)


cdef inline void leave() noexcept nogil:
    PyThread_release_lock(crew.guard)


cdef PyThread_type_lock held_lock() noexcept:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock != NULL:
        PyThread_acquire_lock(lock, NOWAIT_LOCK)
    return lock


cdef void wait_for(PyThread_type_lock lock) noexcept nogil:
    """Wait until another thread releases the lock."""
    cdef int k
    for k in range(POLLS):
        if PyThread_acquire_lock(lock, NOWAIT_LOCK):
            return
    PyThread_acquire_lock(lock, WAIT_LOCK)


cdef void keep_error(Job *job, object error) noexcept:
    """Keep an exception for the thread that has the job; no further part is begun."""
    enter()
    job.begin = job.end
    if job.error == NULL:
        Py_INCREF(error)
        job.error = <PyObject *>error
    leave()


cdef void fail(Job *job, CadStatus status) noexcept with gil:
    try:
        check(status)
    except BaseException as raised:  # what interrupts a thread is for the caller to see
        keep_error(job, raised)


cdef void look_for_signals(Job *job) noexcept with gil:
    try:
        PyErr_CheckSignals()
    except BaseException as raised:
        keep_error(job, raised)


cdef bint take_part(Job *job, bint from_end, size_t *begin, size_t *end) noexcept nogil:
    """Take a part of the points, if any are left. Helpers take from the end, so that in the next
    batch each core finds in its cache what it has written there."""
    cdef size_t n
    enter()
    n = min(job.n_part, job.end - job.begin)
    if from_end:
        job.end -= n
        begin[0] = job.end
    else:
        begin[0] = job.begin
        job.begin += n
    leave()
    end[0] = begin[0] + n
    return n > 0


cdef void work_on(Job *job, bint from_end) noexcept nogil:
    cdef size_t begin, end, n_missed = 0
    cdef long missed
    cdef double *room = <double *>cad_memory_resize(
        NULL, cad_program_room(job.program, job.n_lanes), sizeof(double)
    )
    if room == NULL:
        fail(job, CAD_NO_MEMORY)
        return
    cad_program_prepare(job.program, job.n_lanes, room)
    while take_part(job, from_end, &begin, &end):
        missed = cad_program_run_points(job.program, job.n_lanes, room, job.points, begin, end)
        if missed == CAD_CALL_FAILED:
            fail(job, CAD_RAISED)
        else:
            n_missed += missed
        if job.is_long and not from_end:
            look_for_signals(job)
    enter()
    job.n_missed += n_missed
    leave()
    cad_memory_free(room)


cdef void share(Job *job) noexcept nogil:
    """Work on it, with as many helpers as it wants, if they are idle."""
    cdef Helper *helper
    cdef PyThread_type_lock[MOST_HELPERS] bells
    cdef Job **at
    cdef int k, n = 0
    enter()
    job.other = crew.jobs
    crew.jobs = job
    helper = crew.helpers
    while helper != NULL and n < job.n_wanted:
        if helper.is_idle:
            helper.is_idle = False
            bells[n] = helper.bell
            n += 1
        helper = helper.other
    leave()
    for k in range(n):
        PyThread_release_lock(bells[k])
    work_on(job, False)
    enter()
    at = &crew.jobs
    while at[0] != job:
        at = &at[0].other
    at[0] = job.other
    job.is_awaited = job.n_active > 0
    leave()
    if job.is_awaited:
        wait_for(job.finished)
        enter()  # the thread that released the lock is done with it
        leave()


cdef void help_others(Helper *helper) noexcept nogil:
    """Wait for jobs and help with them, forever."""
    cdef Job *job
    while True:
        enter()
        job = crew.jobs
        while job != NULL and job.n_wanted == 0:
            job = job.other
        if job == NULL:
            helper.is_idle = True
        else:
            job.n_wanted -= 1
            job.n_active += 1
        leave()
        if job == NULL:
            wait_for(helper.bell)
            continue
        work_on(job, True)
        enter()
        job.n_active -= 1
        if job.n_active == 0 and job.is_awaited:
            PyThread_release_lock(job.finished)
        leave()


def serve():
    """What a helper's thread does."""
    cdef Helper *helper = <Helper *>cad_memory_resize(NULL, 1, sizeof(Helper))
    cdef PyThread_type_lock bell = held_lock()
    if helper == NULL or bell == NULL:
        return
    helper.bell = bell
    helper.is_idle = False
    enter()
    helper.other = crew.helpers
    crew.helpers = helper
    leave()
    with nogil:
        help_others(helper)


cdef int call_helpers(int n) except -1:
    """Have so many threads; fewer, if the system gives no more."""
    global n_started
    n = min(n, MOST_HELPERS)
    while n_started < n:
        n_started += 1
        try:
            threading.Thread(target=serve, name=f"cadiff-{n_started}", daemon=True).start()
        except RuntimeError:
            n_started -= 1
            break
    return n


cdef inline size_t in_whole_lanes(size_t n_points, size_t n_lanes) noexcept:
    """So many points, or a few more: all lanes are to be of use."""
    return (n_points // n_lanes + 1) * n_lanes


cdef size_t run_shared(const CadProgram *program, const CadPoints *points, size_t n_points,
                       size_t n_lanes, int threads) except? 0:
    """All points, by so many threads; how many of them missed."""
    cdef Job job
    memset(&job, 0, sizeof(job))
    job.program = program
    job.points = points
    job.end = n_points
    job.n_lanes = n_lanes
    job.n_part = in_whole_lanes(LONG_JOB // (program.n_operations + 1), n_lanes)
    job.is_long = n_points > job.n_part
    if threads > 1:
        job.n_part = min(
            job.n_part, in_whole_lanes(n_points // (<size_t>PARTS * threads), n_lanes)
        )
        job.n_wanted = call_helpers(threads - 1)
        job.finished = held_lock()
        if job.finished == NULL:
            check(CAD_NO_MEMORY)
    with nogil:
        if threads > 1:
            share(&job)
        else:
            work_on(&job, False)
    if job.finished != NULL:
        PyThread_free_lock(job.finished)
    if job.error != NULL:
        error = <object>job.error
        Py_DECREF(error)
        raise error
    return job.n_missed
