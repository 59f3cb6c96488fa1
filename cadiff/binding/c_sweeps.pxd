# What the binding sees of the sweeps in C, and of replays.

from libc.stdint cimport int64_t

from .c_entries cimport CadAlong, CadLanes, CadSlot, CadStatus, CadTape


cdef extern from "sweeps/replay.h" nogil:
    ctypedef struct CadReplay:
        CadTape *tape

    CadStatus cad_replay_new(CadTape *tape, size_t begin, size_t n_inputs, size_t n_active,
                             CadReplay **replay)
    void cad_replay_free(CadReplay *replay)
    size_t cad_replay_bytes(const CadReplay *replay)
    bint cad_replay_run(CadReplay *replay, const double *inputs)


cdef extern from "sweeps/sweeps.h" nogil:
    ctypedef struct CadNumber:
        double value
        CadSlot slot

    void cad_sweep_redo(CadTape *tape, size_t begin, size_t end)
    void cad_sweep_undo(CadTape *tape, size_t begin, size_t end)
    void cad_sweep_value(CadTape *tape, size_t begin, size_t end)
    CadStatus cad_sweep_taylor(CadTape *tape, size_t begin, size_t end, CadSlot base,
                               size_t order, double *coefficients)
    ctypedef struct CadLaneBuffer:
        double *data
        size_t capacity

    void cad_array_prepare(CadTape *tape, const CadAlong *along, int64_t low, int64_t high)
    CadStatus cad_lanes_take(CadTape *tape, size_t numbers, CadLaneBuffer *buffer)
    void cad_lanes_give_back(CadTape *tape, CadLaneBuffer buffer)
    void cad_lanes_clear_adjoints(const CadTape *tape, CadLanes lanes, size_t begin, size_t end)
    CadStatus cad_sweep_tangent(CadTape *tape, size_t begin, size_t end, size_t inputs_end,
                                CadSlot base, size_t lanes, double *tangents)
    CadStatus cad_sweep_second(CadTape *tape, size_t begin, size_t end, size_t transient,
                               CadSlot base, size_t lanes, double *tangents,
                               double *adjoint_tangents)
    CadStatus cad_sweep_record(CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                               CadNumber *adjoints)
