"""Threads that help with large work, without the GIL.

A thread that has such work notes it as a job, calls the helpers that are idle, and works itself:
each takes the next few items, until none are left. So no thread waits for a helper that comes late
or not at all, and one that helps may have work of its own to share. Any thread may do any item, in
any order; nothing else is known of items here.
"""

import os
import threading

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_release_lock, WAIT_LOCK,
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.string cimport memset

from .generated.entries cimport *
from .c_numbers cimport *


cdef extern from "pythread.h" nogil:  # which take memory from the system alone
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock)


cdef enum:
    MOST_HELPERS = 64
    POLLS = 20_000        # about 0.1 ms: to wake a thread that sleeps takes longer than a small job
    TRIES = 200           # to enter, before the system is asked: whoever is inside is out at once
    MOST_WOKEN = 2        # sleeping helpers that one thread wakes, each of which takes it some µs
    MOST_KEPT = 1 << 17   # numbers in a room that a helper keeps


cdef struct Helper:
    PyThread_type_lock bell        # held, but for when it is rung
    bint is_idle
    bint is_asleep                 # so that to ring takes long
    double *room                   # of n_room numbers
    size_t n_room
    Helper *other


cdef struct Crew:
    PyThread_type_lock guard
    Job *jobs
    int n_jobs
    Helper *helpers


cdef Crew *crew = NULL


cdef int n_started = 0


cdef int n_cores = 0


def new_crew() -> None:
    """A crew for this process: a fork needs one of its own, as it has only one thread."""
    global crew, n_started
    cdef Crew *made = <Crew *>new_memory(1, sizeof(Crew))
    made.guard = PyThread_allocate_lock()
    if made.guard == NULL:
        raise MemoryError
    made.jobs = NULL
    made.n_jobs = 0
    made.helpers = NULL
    crew = made
    n_started = 0


new_crew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=new_crew)


cpdef int cores() except -1:
    """How many threads this process may run at once."""
    global n_cores
    if hasattr(os, "sched_getaffinity"):
        n_cores = min(len(os.sched_getaffinity(0)), MOST_HELPERS + 1)
    else:
        n_cores = min(os.cpu_count() or 1, MOST_HELPERS + 1)
    return n_cores


cdef inline void enter() noexcept nogil:
    cdef int k
    for k in range(TRIES):
        if PyThread_acquire_lock(crew.guard, NOWAIT_LOCK):
            return
    PyThread_acquire_lock(crew.guard, WAIT_LOCK)


cdef inline void leave() noexcept nogil:
    PyThread_release_lock(crew.guard)


cdef PyThread_type_lock held_lock() noexcept:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock != NULL:
        PyThread_acquire_lock(lock, NOWAIT_LOCK)
    return lock


cdef inline bint polls(PyThread_type_lock lock) noexcept nogil:
    """Whether another thread releases the lock soon."""
    cdef int k
    for k in range(POLLS):
        if PyThread_acquire_lock(lock, NOWAIT_LOCK):
            return True
    return False


# --- jobs ----------------------------------------------------------------------------------------

cdef void keep_error(Job *job, object error) noexcept:
    """Keep an exception for the thread that has the job; no further part is begun."""
    enter()
    job.begin = job.end
    if job.error == NULL:
        Py_INCREF(error)
        job.error = <PyObject *>error
    leave()


cdef void fail(Job *job) noexcept with gil:
    try:
        check(CAD_RAISED)
    except BaseException as raised:  # what interrupts a thread is for the caller to see
        keep_error(job, raised)


cdef void look_for_signals(Job *job) noexcept with gil:
    try:
        PyErr_CheckSignals()
    except BaseException as raised:
        keep_error(job, raised)


cdef bint take_part(Job *job, bint from_end, size_t *begin, size_t *end) noexcept nogil:
    """Take the next few items, if any are left. Helpers take from the end: after a job like this
    one, each core finds its own numbers in its cache. A part is the same few items, whoever takes
    it."""
    cdef size_t n
    enter()
    n = min(job.n_part, job.end - job.begin)
    if from_end:
        if job.end % job.n_part != 0:
            n = min(n, job.end % job.n_part)
        job.end -= n
        begin[0] = job.end
    else:
        begin[0] = job.begin
        job.begin += n
    leave()
    end[0] = begin[0] + n
    return n > 0


cdef void work_on(Job *job, double *room, bint from_end) noexcept nogil:
    cdef size_t begin, end
    cdef long found, count = 0
    if job.prepare != NULL:
        job.prepare(job.what, room)
    while take_part(job, from_end, &begin, &end):
        found = job.do(job.what, begin, end, room)
        if found < 0:
            fail(job)
        else:
            count += found
        if job.is_long and not from_end:
            look_for_signals(job)
    enter()
    job.count += count
    leave()


cdef void call_others(Job *job) noexcept nogil:
    """Ring for helpers that are idle, as many as are wanted. To wake those who sleep is left to
    others in part, who come first."""
    cdef Helper *helper
    cdef PyThread_type_lock[MOST_HELPERS] bells
    cdef int k, n = 0, n_woken = 0
    enter()
    helper = crew.helpers
    while helper != NULL and job.n_uncalled > 0:
        if helper.is_idle and (not helper.is_asleep or n_woken < MOST_WOKEN):
            n_woken += helper.is_asleep
            helper.is_idle = False
            job.n_uncalled -= 1
            bells[n] = helper.bell
            n += 1
        helper = helper.other
    leave()
    for k in range(n):
        PyThread_release_lock(bells[k])


cdef void work_with_others(Job *job, double *room) noexcept nogil:
    """Work on it, with as many helpers as it wants, if they are idle."""
    cdef Job **at
    enter()
    job.other = crew.jobs
    crew.jobs = job
    crew.n_jobs += 1
    leave()
    call_others(job)
    work_on(job, room, False)
    enter()
    at = &crew.jobs
    while at[0] != job:
        at = &at[0].other
    at[0] = job.other
    crew.n_jobs -= 1
    job.is_awaited = job.n_active > 0
    leave()
    if job.is_awaited:
        if not polls(job.finished):
            PyThread_acquire_lock(job.finished, WAIT_LOCK)
        enter()  # the thread that released the lock is done with it
        leave()


cdef long share(Job *job, double *own, int threads) except? -1:
    """Have so many threads do all items of a job, this one in a room of its own; answers all
    counts. Other threads may take the GIL."""
    if threads > 1:
        job.n_wanted = job.n_uncalled = call_helpers(threads - 1)
        job.finished = held_lock()
        if job.finished == NULL:
            check(CAD_NO_MEMORY)
    with nogil:
        if threads > 1:
            work_with_others(job, own)
        else:
            work_on(job, own, False)
    if job.finished != NULL:
        PyThread_free_lock(job.finished)
    if job.error != NULL:
        error = <object>job.error
        Py_DECREF(error)
        raise error
    return job.count


# --- helpers -------------------------------------------------------------------------------------

cdef bint has_room(Helper *helper, size_t n) noexcept nogil:
    """Whether there is a room of so many numbers, which is kept from job to job if it is small."""
    if helper.n_room >= n:
        return True
    cad_memory_free(helper.room)
    helper.room = <double *>cad_memory_resize(NULL, n, sizeof(double))
    helper.n_room = n if helper.room != NULL else 0
    return helper.room != NULL


cdef void leave_room(Helper *helper) noexcept nogil:
    if helper.n_room > MOST_KEPT:
        cad_memory_free(helper.room)
        helper.room = NULL
        helper.n_room = 0


cdef void help_others(Helper *helper) noexcept nogil:
    """Wait for jobs and help with them, forever."""
    cdef Job *job
    cdef bint calls = False
    while True:
        enter()
        job = crew.jobs
        while job != NULL and (job.n_wanted == 0 or job.begin == job.end):
            job = job.other
        helper.is_idle = job == NULL
        helper.is_asleep = False
        if job != NULL:
            job.n_wanted -= 1
            job.n_active += 1
            calls = job.n_uncalled > 0
        leave()
        if job == NULL:
            if not polls(helper.bell):
                enter()
                helper.is_asleep = True
                leave()
                PyThread_acquire_lock(helper.bell, WAIT_LOCK)
            continue
        if calls:
            call_others(job)
        if has_room(helper, job.n_room):
            work_on(job, helper.room, True)
        enter()
        job.n_active -= 1
        if job.n_active == 0 and job.is_awaited:
            PyThread_release_lock(job.finished)
        leave()
        leave_room(helper)


def serve() -> None:
    """What a helper's thread does."""
    cdef Helper *helper = <Helper *>cad_memory_zeroed(1, sizeof(Helper))
    cdef PyThread_type_lock bell = held_lock()
    if helper == NULL or bell == NULL:
        return
    helper.bell = bell
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


cdef int be_ready(int threads) except -1:
    """Have helpers for so many threads, or (0) as many as there are cores, if there are none yet."""
    if threads == 0:
        threads = n_cores or cores()
    if n_started < min(threads, n_cores or cores()) - 1:
        call_helpers(threads - 1)
    return 0


# --- parts of loops over tiles -------------------------------------------------------------------

cdef struct Parts:
    CadPartOfWork *run
    const void *work


cdef long run_parts(const void *what, size_t begin, size_t end, double *room) noexcept nogil:
    cdef const Parts *parts = <const Parts *>what
    cdef size_t k
    for k in range(begin, end):
        parts.run(parts.work, k, room)
    return 0


cdef void share_parts(void *threads, size_t n, size_t n_room, double *own,
                      CadPartOfWork *run, const void *work) noexcept nogil:
    """What a CadTeam does, whose `self` is the number of threads at most, or 0: with the helpers
    that there are, if there is a core for them beside the other threads that have work."""
    cdef Parts parts
    cdef Job job
    cdef size_t k
    cdef int most = (<int *>threads)[0]
    most = (min(n_cores, most) if most > 0 else n_cores) - 1
    most = min(n_started, min(most, n_cores - 1 - crew.n_jobs))
    parts.run, parts.work = run, work
    memset(&job, 0, sizeof(job))
    job.what = &parts
    job.do = run_parts
    job.n_room = n_room
    job.n_part = 1
    job.end = n
    job.n_wanted = job.n_uncalled = min(most, <int>n - 1)
    if job.n_wanted > 0:
        job.finished = PyThread_allocate_lock()
    if job.finished == NULL:
        run_parts(&parts, 0, n, own)
        return
    PyThread_acquire_lock(job.finished, NOWAIT_LOCK)
    work_with_others(&job, own)
    PyThread_free_lock(job.finished)
