"""SciPy's own Python, over numbers with derivatives.

Most of SciPy is Python around a few compiled kernels. A module of it is run here a second time,
from the code that is installed, with imports that lead elsewhere: `numpy` is `cadiff.numpy`,
`scipy.special` is `cadiff.scipy.special`, other modules in Python are their mirrors, and what is
compiled is as SciPy has it, but for the functions in KERNELS, which have derivatives. So a
function follows SciPy, whichever version is installed, to the last bit of its values and in the
words of its errors; and nothing of it is run before a number with a derivative asks for it.

This module knows no function of SciPy's. Those that differentiate one register it by `kernels`;
`REPLACED` and `KERNELS` are all that a mirror has of ours.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import is_dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .. import binding
from ..binding import MissingRuleError, carries
from ..numpy._refusals import INSTEAD, missing
from ..operations.complexes import implements_all
from ..operations.dispatch import FUNCTIONS, ONE_STEP
from ..operations.guards import NoDerivativeError
from . import _arrays as of_numpy

Function = Callable[..., Any]

# What SciPy has from other projects, which was among its own modules before 1.18.
EXTERNAL = "scipy._external" if importlib.util.find_spec("scipy._external") else "scipy._lib"

# Modules whose names stand for modules of the package.
REPLACED: dict[str, str] = {
    "cmath": "cadiff.cmath",
    "math": "cadiff.math",
    "numpy": "cadiff.scipy._arrays",
    "numpy.fft": "cadiff.numpy.fft",
    "numpy.linalg": "cadiff.numpy.linalg",
    f"{EXTERNAL}.array_api_compat.numpy": "cadiff.scipy._arrays",
    "scipy.fft": "cadiff.scipy.fft",
    "scipy.integrate": "cadiff.scipy.integrate",
    "scipy.linalg": "cadiff.scipy.linalg",
    "scipy.optimize": "cadiff.scipy.optimize",
    "scipy.special": "cadiff.scipy.special",
}


_ONE_NAMESPACE: dict[str, Any] = {  # of arrays
    "array_namespace": lambda *_, **__: of_numpy,
    "is_numpy": lambda _: True,
    "is_numpy_namespace": lambda _: True,
    "np_compat": of_numpy,
}

# By modules of SciPy's: what stands in the place of their functions.
KERNELS: dict[str, dict[str, Any]] = {
    f"{EXTERNAL}.array_api_extra._lib._at": {"at": of_numpy.At},
    f"{EXTERNAL}.array_api_extra._lib._funcs": {"apply_where": of_numpy.apply_where},
    f"{EXTERNAL}._array_api_compat_vendor": _ONE_NAMESPACE,
    f"{EXTERNAL}.array_api_compat": _ONE_NAMESPACE,
    "scipy._lib._array_api": _ONE_NAMESPACE,
}

# Those that get what they stand for, by modules and names.
WITHIN: set[tuple[str, str]] = set()

# By packages of SciPy's: the module here that has the kernels below them.
KERNELS_OF: dict[str, str] = {
    "scipy.interpolate": "_scattered",
    "scipy.interpolate._bsplines": "sparse",
    "scipy.ndimage": "_images",
    "scipy.signal": "_images",
    "scipy.spatial": "_distances",
    "scipy.spatial.transform": "_rotations",
    "scipy.cluster": "_clusters",
    "scipy.optimize._chandrupatla": "_samples",
    "scipy.stats": "_limits",
}

SOLVERS = ("scipy.integrate", "scipy.optimize")

# Modules in Python that are run again, by how their names begin; others stay unchanged.
MIRRORED = (
    *("scipy._lib._array_api", "scipy._lib._elementwise_iterative_method", "scipy._lib._util"),
    f"{EXTERNAL}.array_api_extra.",
    *("scipy.cluster.", "scipy.differentiate.", "scipy.integrate.", "scipy.interpolate."),
    *("scipy.linalg._decomp_svd", "scipy.linalg._matfuncs.", "scipy.linalg._special_matrices"),
    *("scipy.ndimage.", "scipy.optimize.", "scipy.signal.", "scipy.spatial.", "scipy.stats."),
)

# Packages that are modules of one file.
WHOLE = ("scipy.stats._levy_stable",)

# What SciPy wrote before 1.17. A number keeps its shape, so mirrors have another one of the name.
SHAPES = re.compile(r"^( +)(?!self\b)(\w+)\.shape = (.+)$", re.MULTILINE)

_made: dict[str, ModuleType] = {}
_lock = threading.RLock()


def kernels(
    module: str, names: str = "", within: bool = False, varying: bool = False
) -> Callable[[Any], Any]:
    """Have a function stand for some of a module of SciPy's, in all mirrors; for its own name.

    Methods of classes, which only mirrors have, are named as `Class.method`. A function that
    stands `within` a mirror gets before its arguments what the mirror has by itself. If it is for
    `varying` numbers, constants go to the compiled function.
    """

    def decorate(function: Any) -> Any:
        for name in names.split() or [function.__name__]:
            kernel = _of_varying(function, module, name) if varying else function
            KERNELS.setdefault(module, {})[name] = kernel
            if within:
                WITHIN.add((module, name))
        return function

    return decorate


def _of_varying(function: Function, module: str, name: str) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named:
            args = inspect.signature(function).bind(*args, **named).args
        if carries(args) and binding.plain_constants((args, {})) is None:
            return function(*args)
        return taking_constants(getattr(sys.modules[module], name))(*args)

    return call


def read_values(x: Any) -> Any:
    """The values of numbers; where a replay would not read them again, there will be none."""
    binding.note_reading(x)
    return np.asarray(binding.plain_values(x))


def linear_in_parts(f: Function, *operands: Any) -> Any:
    """A function that is linear in all operands together, of real or complex ones."""
    if not any(map(np.iscomplexobj, operands)):
        return f(*operands)
    pairs = [(np.real(x), np.imag(x)) for x in operands]
    of_parts = [f(*(pair[k] for pair in pairs)) for k in (0, 1)]
    if isinstance(of_parts[0], tuple):
        return tuple(binding.make_complex(*both) for both in zip(*of_parts, strict=True))
    return binding.make_complex(*of_parts)


# --- modules -------------------------------------------------------------------------------------


def mirrored(name: str) -> ModuleType:
    """What a mirror imports under the name of a module."""
    with _lock:
        if name in REPLACED:
            module = importlib.import_module(REPLACED[name])
            return _Solvers(module) if name in SOLVERS else module
        if name not in _made:
            _made[name] = _mirror_of(importlib.import_module(name))
        return _made[name]


def _mirror_of(module: ModuleType) -> ModuleType:
    name = module.__name__
    if name.partition(".")[0] != "scipy":
        return module
    _load_kernels(name)
    if not _is_python(name):
        return _Facade(module)
    mirror = ModuleType(_name_of(name))
    _made[name] = mirror  # before it is run: modules may import each other
    vars(mirror).update(
        __package__=module.__package__,
        __file__=module.__file__,
        __builtins__={
            **vars(builtins),
            "__import__": _import,
            "float": of_numpy.float_,
            "int": of_numpy.int_,
            "isinstance": _is_instance,
        },
    )
    sys.modules[mirror.__name__] = mirror
    try:
        with binding.OutsideDifferentiation():  # what it makes is to outlive these
            exec(_code_of(module), vars(mirror))
    except BaseException:
        del _made[name]
        raise
    for place, kernel in KERNELS.get(name, {}).items():
        owner, _, member = place.rpartition(".")
        holder = getattr(mirror, owner, None) if owner else mirror
        if not hasattr(holder, member):  # in this version of SciPy
            continue
        if (name, place) in WITHIN:
            part = functools.partialmethod if owner else functools.partial
            kernel = part(kernel, getattr(holder, member))
        setattr(holder, member, kernel)
    return mirror


def _code_of(module: ModuleType) -> Any:
    loader: Any = module.__spec__.loader  # type: ignore[union-attr]
    source = loader.get_source(module.__name__)
    if not SHAPES.search(source):
        return loader.get_code(module.__name__)
    return compile(SHAPES.sub(r"\1\2 = \2.reshape(\3)", source), module.__file__ or "", "exec")


def _load_kernels(name: str) -> None:
    """Have the kernels registered that a module of SciPy's has."""
    for package, own in KERNELS_OF.items():
        if f"{name}.".startswith(f"{package}."):
            importlib.import_module(f"{__package__}.{own}")


@functools.cache
def _is_python(name: str) -> bool:
    """Whether a module is one of those that are run again."""
    if not f"{name}.".startswith(MIRRORED):
        return False
    module = importlib.import_module(name)
    is_package = hasattr(module, "__path__") and name not in WHOLE
    return (module.__file__ or "").endswith(".py") and not is_package


def _name_of(name: str) -> str:
    """By these, programs and texts of errors know the package's own functions."""
    return f"cadiff.scipy._mirror.{name.removeprefix('scipy.')}"


def _is_instance(thing: Any, kinds: Any) -> bool:
    """As Python's; what plain numbers made by SciPy's classes is of the mirrors' classes, too."""
    is_theirs = type(thing).__module__.startswith("scipy.") and not isinstance(thing, kinds)
    return issubclass(mirror_of(type(thing)), kinds) if is_theirs else isinstance(thing, kinds)


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """What `import` does in a mirror."""
    if level:
        assert globals is not None
        name = importlib.util.resolve_name("." * level + name, globals["__package__"])
    top = name.partition(".")[0]
    if top not in ("cmath", "math", "numpy", "scipy"):
        return builtins.__import__(name, globals, locals, fromlist or (), 0)
    importlib.import_module(name)
    if not fromlist:
        return mirrored(top)
    for each in fromlist:
        if each != "*" and not hasattr(importlib.import_module(name), each):
            importlib.import_module(f"{name}.{each}")
    return mirrored(name)


COMPILED = ("cython_function_or_method", "fused_cython_function", "_ArrayFunctionDispatcher")


def taking_constants(function: Function) -> Function:
    """A compiled function that takes arrays of constants, to which numbers might be assigned.

    What it writes to such an array is there afterwards.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        constants = None
        if carries(args) or carries(kwargs):
            constants = binding.plain_constants((args, kwargs))
        if constants is None:
            try:
                return function(*args, **kwargs)
            except TypeError:
                for number in filter(carries, args):
                    np.array(number, float)  # which says what to write
                raise
        plain = [np.array(x) if isinstance(x, np.ndarray) else x for x in constants[0]]
        result = function(*plain, **constants[1])
        for arg, former, now in zip(args, constants[0], plain, strict=True):
            is_array = arg is not former and isinstance(former, np.ndarray)
            if is_array and not np.array_equal(former, now, equal_nan=True):
                arg[...] = now
        return result

    return call


class _Solvers(ModuleType):
    """A module of the package whose functions take arrays of constants for what they are."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return taking_constants(found) if isinstance(found, FunctionType) else found


class _Facade(ModuleType):
    """A module that is not run again, with mirrors in the place of what it has from others."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self._module = module
        public = [name for name in vars(module) if not name.startswith("_")]
        self.__all__ = list(getattr(module, "__all__", public))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            return getattr(self._module, name)
        kernels = KERNELS.get(self._module.__name__, {})
        function = kernels[name] if name in kernels else mirror_of(getattr(self._module, name))
        if isinstance(function, BuiltinFunctionType) or type(function).__name__ in COMPILED:
            function = taking_constants(function)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return dir(self._module)


def mirror_of(thing: Any) -> Any:
    """What stands in mirrors for something of SciPy's."""
    if isinstance(thing, ModuleType):
        return mirrored(thing.__name__)
    if not isinstance(thing, (FunctionType, type)):
        mirror = _object_of(thing)
        return _kernel_of(thing) if mirror is None else mirror
    for each in _unwrapped(thing):
        kernels = KERNELS.get(str(each.__module__), {})
        if each.__name__ in kernels and (each.__module__, each.__name__) not in WITHIN:
            return kernels[each.__name__]
        if _is_python(str(each.__module__)):
            mirror = getattr(mirrored(each.__module__), each.__name__, None)
            if mirror is not None:
                return mirror
    return thing


def _name_within(thing: Any) -> str:
    """Under which name the module of its class has an object; "" if it has none."""
    names = vars(sys.modules[type(thing).__module__])
    return next((name for name, found in names.items() if found is thing), "")


def _object_of(thing: Any) -> Any:
    """What stands in mirrors for an object, such as a distribution; None if there is nothing."""
    module = type(thing).__module__
    if not _is_python(module) or not (name := _name_within(thing)):
        return None
    return getattr(mirrored(module), name, None)


def _kernel_of(thing: Any) -> Any:
    """What stands for a compiled function; the thing itself if nothing does."""
    name = getattr(thing, "__name__", None)
    for module, kernels in KERNELS.items() if callable(thing) else ():
        if name in kernels and vars(sys.modules.get(module, sys)).get(name) is thing:
            return kernels[name]
    return thing


def _unwrapped(thing: Any) -> list[Any]:
    """What a function wraps, the innermost first."""
    found = [thing]
    while hasattr(found[-1], "__wrapped__"):
        found.append(found[-1].__wrapped__)
    return found[::-1]


# --- what the package offers ---------------------------------------------------------------------


class Namespace:
    """The names of a module of SciPy's, for numbers with derivatives.

    Functions are SciPy's own unless an argument carries a derivative, and then those of mirrors;
    classes are always those of mirrors, and all else is SciPy's.

    Parameters
    ----------
    module : str
        Of SciPy's.
    own : dict
        Names of the module that is to have the namespace: what it defines itself.
    """

    def __init__(self, module: str, own: dict[str, Any]) -> None:
        self.module = module
        self._real = importlib.import_module(module)
        self._own = own
        self.all = own["__all__"] = list(getattr(self._real, "__all__", ()))
        own["__path__"] = []  # of modules below it, such as `scipy.signal.windows`

    def get(self, name: str) -> Any:
        """What stands in the namespace for a name; it is kept there."""
        try:
            value = getattr(self._real, name)
        except AttributeError as error:
            text = str(error).replace(repr(self.module), repr(self._own["__name__"]), 1)
            raise AttributeError(text, name=name, obj=self._real) from None
        if not name.startswith("_"):
            value = self._own[name] = self._offered(value, name)
        return value

    def names(self) -> list[str]:
        return sorted({*self._own, *dir(self._real)})

    def _offered(self, thing: Any, name: str) -> Any:
        if isinstance(thing, ModuleType):
            below = f"cadiff.{thing.__name__}"
            return importlib.import_module(below) if importlib.util.find_spec(below) else thing
        above = self.module.rpartition(".")[0]  # which may have its own, as `scipy.stats` has
        if above != "scipy" and getattr(sys.modules[above], name, None) is thing:
            return getattr(sys.modules[f"cadiff.{above}"], name)
        _load_kernels(self.module)
        if isinstance(thing, type):
            is_plain = issubclass(thing, BaseException) or is_dataclass(thing)  # of settings
            return thing if is_plain else _class_of(thing, self.module)
        is_function = isinstance(thing, FunctionType) or mirror_of(thing) is not thing
        return offered(thing, f"{self.module}.{name}") if is_function else thing


def _class_of(original: type, module: str) -> Any:
    mirror = mirror_of(original)
    if mirror is not original and isinstance(mirror, type):
        mirror.__module__ = f"cadiff.{module}"  # where pickles look for it
        if mirror not in OFFERED and (init := vars(mirror).get("__init__")):

            @functools.wraps(init)
            def made(self: Any, *args: Any, **kwargs: Any) -> None:
                with _making(args, kwargs):
                    init(self, *args, **kwargs)

            setattr(mirror, "__init__", made)  # noqa: B010
        OFFERED.add(mirror)
    return mirror


def _making(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A context: what is made of constants in it outlives f, which may keep it."""
    given = (*args, *kwargs.values())
    is_open = any(map(callable, given)) or carries(given) or have_mirrors(*given)
    return nullcontext() if is_open else binding.OutsideDifferentiation()


OFFERED: set[type] = set()  # classes of mirrors that are called by public names


def have_mirrors(*given: Any) -> bool:
    """Whether some of what is given is of a class of mirrors, which SciPy's own do not know."""
    kinds = {*map(type, given)}
    return any(x in OFFERED or x.__module__.startswith(f"{__name__}.") for x in kinds)


def offered(original: Function, name: str) -> Function:
    """A function of SciPy's that computes with numbers with derivatives by its mirror."""
    if original in FUNCTIONS:
        return FUNCTIONS[original]

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        mirror = mirror_of(original)
        if mirror is original:
            raise missing(name, INSTEAD)
        try:
            return mirror(*args, **kwargs)
        except MissingRuleError:
            raise
        except Exception as error:
            if any(map(callable, (*args, *kwargs.values()))):
                raise
            original(*binding.unguarded(args), **binding.unguarded(kwargs))  # raises, too
            raise missing(name, INSTEAD) from error

    def plainly(*args: Any, **kwargs: Any) -> Any:
        is_open = binding.is_differentiating()  # then what callables read may have derivatives
        values = (*args, *kwargs.values())
        if (is_open and any(map(callable, values))) or have_mirrors(*values):
            return function(*args, **kwargs)
        result = original(*args, **kwargs)
        is_function = callable(result) and mirror_of(type(result)) is not type(result)
        if not is_function:
            return result
        with _making(args, kwargs):
            return mirror_of(original)(*args, **kwargs)

    plainly.__wrapped__ = original  # type: ignore[attr-defined]
    if any((each.__module__, each.__name__) in WITHIN for each in _unwrapped(original)):
        ONE_STEP.update((original, plainly))  # or few, in Python
    return implements_all(original, plainly=plainly)(function)


class Twin:
    """An object of SciPy's and its mirror: a method is the mirror's for numbers with derivatives.

    What a call of it returns, such as a distribution with its parameters, is again both. Where
    the mirror fails, the result has no derivative by the caller's arguments, whatever failed.

    Parameters
    ----------
    original, mirror : object
        The same object, if there is no mirror.
    called : str
        What users call it.
    parameters : dict
        With which it was made, by their names.
    """

    def __init__(
        self, original: Any, mirror: Any, called: str, parameters: dict[str, Any] | None = None
    ) -> None:
        self.original, self.mirror = original, mirror
        self.called, self.parameters = called, parameters or {}
        self.is_plain = not carries(self.parameters)
        self.__doc__ = getattr(original, "__doc__", None)
        of_mirror = getattr(mirror, "__dict__", {}) if self.is_plain else {}
        for name, value in getattr(original, "__dict__", {}).items():
            if name in of_mirror and isinstance(value, np.ndarray):
                of_mirror[name] = value  # which users may change in place

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("original", "mirror", "called", "parameters", "is_plain", "__doc__"):
            super().__setattr__(name, value)
            return
        setattr(self.original, name, binding.unguarded(value))
        setattr(self.mirror, name, value)
        self.is_plain = self.is_plain and not carries(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("original", "mirror"):  # as copies are asked for
            raise AttributeError(name)
        member, mirror = getattr(self.original, name), getattr(self.mirror, name)
        if not callable(member):
            return member if self.is_plain else mirror

        @functools.wraps(member)
        def method(*args: Any, **kwargs: Any) -> Any:
            is_plain = self.is_plain and not (carries(args) or carries(kwargs))
            if is_plain and not have_mirrors(*args, *kwargs.values()):
                return member(*args, **kwargs)
            try:
                return self._mirrored(name, args, kwargs)
            except Exception as error:
                if any(map(callable, (*args, *kwargs.values()))):
                    raise
                member(*binding.unguarded(args), **binding.unguarded(kwargs))  # raises, too
                raise self._refusal(name, args, kwargs) from error

        return method

    def _mirrored(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of the mirror returns."""
        if self.mirror is self.original:
            raise missing(f"{self.called}.{name}", INSTEAD)
        return getattr(self.mirror, name)(*args, **kwargs)

    def _refusal(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> MissingRuleError:
        """The error that names the method, and the arguments by which it has no derivative."""
        named = self._by_names(name, args) | kwargs
        plain = {k: binding.unguarded(x) for k, x in named.items()}
        suspects = _having_derivatives(named)

        def fails(names: list[str]) -> bool:
            given = list((plain | {k: named[k] for k in names}).items())
            positional = tuple(x for _, x in given[: len(args)])
            try:
                self._mirrored(name, positional, dict(given[len(args) :]))
            except Exception:
                return True
            return False

        blamed = [k for k in suspects if fails([k])]
        if not blamed:
            blamed = suspects
            for k in suspects:  # which fail together alone
                without = [other for other in blamed if other != k]
                blamed = without if fails(without) else blamed
        blamed = blamed or _having_derivatives(self.parameters)
        which = " and ".join(map(repr, blamed))
        values = " and ".join(f"cadiff.value({k})" for k in blamed)
        return NoDerivativeError(
            f"{self.called}.{name} has no known derivative by {which}: write {values} if "
            f"{'these are constants' if len(blamed) > 1 else 'it is a constant'}"
        )

    def _by_names(self, method: str, args: tuple[Any, ...]) -> dict[str, Any]:
        """Positional arguments of a method by what SciPy's documentation calls them."""
        parameters = inspect.signature(getattr(self.original, method)).parameters.values()
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        shapes = getattr(self.original, "shapes", None)
        names += [*(shapes.split(", ") if shapes else ()), "loc", "scale"]
        return dict(zip(names, args, strict=False))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if have_mirrors(*args, *kwargs.values()):
            return self.mirror(*args, **kwargs)
        original = self.original(*binding.unguarded(args), **binding.unguarded(kwargs))
        with _making(args, kwargs):
            mirror = original if self.mirror is self.original else self.mirror(*args, **kwargs)
        parameters = self._by_names("__call__", args) | kwargs
        return Twin(original, mirror, self.called, parameters)

    def __repr__(self) -> str:
        return repr(self.original)


def _having_derivatives(named: Mapping[str, Any]) -> list[str]:
    """The names of what carries a derivative and is no constant."""
    carrying = [name for name, x in named.items() if carries(x)]
    return [name for name in carrying if binding.plain_constants(((named[name],), {})) is None]


def twin_of(original: Any, kind: type[Twin] = Twin) -> Any:
    """An object of a module of SciPy's that has it under a name, and its mirror."""
    module, name = type(original).__module__, _name_within(original)
    if not name:
        return original
    called = f"{module.partition('._')[0]}.{name}"
    mirror = _object_of(original)
    return kind(original, original if mirror is None else mirror, called)
