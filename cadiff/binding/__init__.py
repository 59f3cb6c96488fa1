"""The compiled core: Var and Dual as types of C, and the way from Python into its sweeps.

`_core` is the one file of it: the core in C, the types, and all modules in Cython, which `loading`
makes of it when this package is imported. Each of these has a subject, its own names, and an order
among the others; what the rest of the package and its tests use of them is gathered here.
"""

from . import callers, foreign_names, interpreter, loading
from ._core import (
    Dual,
    MissingRuleError,
    StaleVarError,
    Var,
    elementwise,
    functions,
    helper_texts,
    is_recording,
    lent_names,
    operation_calls,
    operation_kinds,
    operation_names,
    operation_of,
    operation_texts,
    operations,
    register,
    tape_usage,
    vector_target,
)
from .arguments import (
    Structure,
    argument_names,
    element_name,
    index_text,
    leaves,
    structure_of,
    take_apart,
    unravel,
)
from .atoms import (
    absorb,
    array_of_lists,
    carries,
    check_alive,
    cross_entropy,
    dual_cell,
    dual_components,
    elements,
    final_parts,
    finalized,
    gather_numbers,
    highest_tag,
    is_cell,
    join_lanes,
    lane_of,
    lanes_of,
    make_dual,
    map_numbers,
    map_vars,
    matmul,
    ndim,
    nested_error,
    numbers_array,
    plain_constants,
    plain_values,
    shape,
    single,
    split_dual,
    tag_of,
)
from .borrowed import Loops, Retyped, Transformation, native_of, run_loop
from .calls import (
    ArgumentSnapshot,
    Call,
    Contents,
    StandIns,
    first_argument,
    ways_to_take,
)
from .codes import (
    FROM_POINTS,
    MACHINE_LANES,
    CallError,
    Code,
    ObstacleError,
    PointError,
    instruction_words,
    is_deriving,
    machine_value,
)
from .complex_arithmetic import bilinear, log_hypot, sqrt_parts
from .complexes import (
    COMPLEX_OPERATORS,
    Complex,
    array_of_pair,
    complex_in_precision,
    complex_of_pair,
    complex_of_parts,
    holds_complex,
    is_complex_number,
    is_nothing,
    make_complex,
    note_view,
    open_parts_of,
    pair_of_array,
    pair_of_joined,
    parts_of,
    register_complex,
    whole_parts_of,
)
from .crew import cores
from .digests import version_here
from .entries import (
    Entered,
    TapeProgram,
    WithoutPrograms,
    are_views_of_one,
    enter_after,
    takes_entries,
    tape_program_of,
)
from .factors import (
    are_finite,
    are_zeros,
    cho_solve,
    cholesky_pull,
    cholesky_push,
    determinant,
    factor_lu,
    folded,
    half_of_spectrum,
    inverse_adjoint,
    log_determinant,
    over_gaps,
    resized,
    solve_factored,
    solve_triangle,
    transformed,
    whole_of_spectrum,
)
from .fast_paths import FastPathTable, Missed, ProgramMethods, ProgramPullback, Trust
from .forward import (
    Forward,
    ForwardThen,
    OutsideDifferentiation,
    differential,
    is_differentiating,
    is_forward,
    open_forward,
    push_plain,
    readable_values,
    running_forward,
    stop_gradient,
    under_way,
)
from .functions import DispatchedFunction, Elementwise, WeakMethod, register_entered
from .gradients import (
    are_within,
    captures_of,
    pull_captures,
    pull_one,
    pull_recording,
    record_pull_of_captures,
    scalar_output,
    split_aux,
    value_and_grad,
)
from .graphs import (
    NO_LOOPS,
    Graph,
    Locked,
    graph_from_bytes,
    graph_of,
    reduced_graph,
    set_least_loop,
)
from .guards import (
    choices_of,
    chooses_anew,
    compare,
    compare_as_operators,
    depends,
    guards_serial,
    index_plain_arrays,
    indicator,
    is_eager,
    is_guarding,
    lend_rows,
    makes_plain,
    note_layout,
    note_obstacle,
    note_outcomes,
    note_reading,
    note_taken,
    note_warnings,
    notes_guards,
    put_in_types,
    read_for_user,
    register_callers,
    register_masks,
    register_scalars,
    share_memory,
    share_numbers,
    unguarded,
)
from .jacobians import (
    FrozenMap,
    check_room,
    freeze,
    hessian_by_rows,
    hessian_of,
    hessian_product,
    high_derivatives,
    jacobian_of,
    plain_jacobian,
    slope_of,
    thawed_map,
)
from .nan_check import Checking, NonFiniteError, PlaceNotes, seen
from .observers import Observer
from .recording import OUTER, Guarded, Recording, Replay, assign, plain_numbers, run_once, snapshot
from .rules import (
    WarningsOff,
    active_arguments,
    as_taken,
    call_linear,
    is_like,
    is_real_array,
    plain_arguments,
    record_rule,
    ruled,
    ruled_arguments,
    tag_of_arguments,
    taking_part,
)
from .signatures import are_exact, may_be_input, whole
from .sparse import MatrixPlan, Pattern, plan_matrix
from .tape import (
    active_array,
    apply_kind,
    constant_array,
    is_constant,
    is_hooked,
    is_in_order,
    is_opened,
    is_single,
    is_stale,
    narrowed,
    part_of,
    read_plan,
    recorded_shapes,
    sum_var,
    widened,
    write_into,
)
from .trees import (
    Container,
    Tree,
    are_opened,
    flattened,
    is_registered,
    key_of,
    map_leaves,
    opened,
    own_attribute,
    own_items,
    register_class,
    register_libraries,
)
from .watches import MISSING, Watch

register_callers(callers.advice, callers.called, callers.explain, callers.has_own)
for _kind, _others in ((Var, foreign_names.VARS), (Dual, foreign_names.DUALS)):
    put_in_types(
        (_kind,), foreign_names.absent(foreign_names.OF_NUMBERS, foreign_names.NUMBERS, _others)
    )
register_libraries(callers.is_class_of_library)
