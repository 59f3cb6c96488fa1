"""Functions of hot modules that are compiled for size: what makes, describes, refuses or pickles.

A hot module (`HOT`, in extension.py) is compiled to run fast. Most calls run none of the functions
here, and these take two thirds of the room if they are compiled for size. Cython has no word for
that, so it is put into the C that Cython has written. This module does not know how that is
compiled.
"""

from __future__ import annotations

import re

__all__ = ["SMALL", "mark_small"]

# By module, as the sources name them: `Class.method`, or the name of a function.
SMALL = {
    "arguments": """
        ArgumentNode.refuse ArgumentNode.to_state _where element_name index_text node_of_state
        refuse_leaf structure_of_states""",
    "calls": """
        Call.assign Call.is_one_vector Call.marks Call.single_ints Entered.forget Missed.__init__
        StandIns.__init__ StandIns.arguments StandIns.changes StandIns.lend
        StandIns.next_integer StandIns.next_other StandIns.put_back_sets first_argument""",
    "complexes": "Complex.__dir__ Complex.__reduce_ex__",
    "entries": """
        ActiveProgram.active_shapes ActiveProgram.made TapeProgram.shows name tape_program_of""",
    "fast_paths": """
        FastPathTable.add FastPathTable.add_fallback FastPathTable.clear FastPathTable.forget
        MethodSignatures.__init__ MethodSignatures.forget Signature.describe forget_error
        new_path""",
    "functions": """
        BoundProgram.__eq__ BoundProgram.__func__ BoundProgram.__getattribute__
        BoundProgram.__hash__ BoundProgram.__init__ BoundProgram.__reduce__ BoundProgram.__repr__
        BoundProgram.__self__ BoundProgram.__wrapped__ BoundProgram._own_derivative
        BoundProgram.called BoundProgram.program BoundProgram.vjp DispatchedFunction.__get__
        DispatchedFunction.__init__ DispatchedFunction.__reduce__ DispatchedFunction.__repr__
        DispatchedFunction.opening Elementwise.__init__ Elementwise.__reduce__
        Elementwise.__repr__ Forgetting.__call__ Forgetting.__init__ Objects.add
        Objects.are_in_vain Objects.note_program Owned.is_used ProgramMethods.__get__
        ProgramMethods._forget_objects ProgramMethods._own_program ProgramMethods.into
        WeakMethod.__call__ WeakMethod.__init__ call_carrying enable_vectorcall forget has_complex
        is_listed keeping of_constants one_holds register_entered separated""",
    "results": """
        copy_into find_rows pair_arrays place_of result_from result_of result_of_complex whole""",
    "signatures": """
        ask_for_no_more forget_references has_names node_of_complex node_of_joined node_of_plain
        refer""",
    "trees": """
        Container.__reduce__ Container.describe Container.make_derived attribute_of
        container_of_state in_class is_mutable namespace_of own_names put_attribute
        register_class""",
}

# Where functions begin, behind Cython's name for what compilers are to make small.
BODIES = b"/* #### Code section: module_code ### */"
HEAD = rb"^static (?=[^\n;={]*\b__pyx_(?:pw|pf|f|getprop|setprop)_([^\W_]\w*)\()"


def name_of(mangled: str, module: str) -> str:
    """What the source calls a function of a module; a property by its name alone."""
    own = mangled.removeprefix(f"6cadiff_7binding_{len(module)}{module}_")
    kind = ""
    if found := re.match(r"\d+", own):
        end = found.end() + int(found[0])
        if own[end : end + 1] == "_" and own[found.end() : end].strip("_")[:1].isupper():
            kind, own = own[found.end() : end], own[end + 1 :]
    name = re.sub(r"^\d+|_(?:\d+)?__[gs]et__$", "", own)
    return f"{kind}.{name}" if kind else name


def mark_small(text: bytes, module: str) -> bytes:
    """The C of a module, in which functions that are to be small are marked as such."""
    small = set(SMALL.get(module, "").split())
    head, section, bodies = text.partition(BODIES)
    found = set()

    def mark(match: re.Match[bytes]) -> bytes:
        name = name_of(match[1].decode(), module)
        if name not in small:
            return match[0]
        found.add(name)
        return b"static CYTHON_SMALL_CODE "

    bodies = re.sub(HEAD, mark, bodies, flags=re.MULTILINE)
    if found != small:
        raise ValueError(f"{module}.pyx has no {' '.join(sorted(small - found))}")
    return head + section + bodies
