"""What a page has in place of Numba and of other packages that it does without.

Kernels were compiled for WebAssembly when the book was built (`tools/wasm.py`). `njit` finds
one by its module, its name and the types of its arguments; what is not there, because a reader
wrote it or because it takes a function of theirs, runs as plain Python.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.abc
import importlib.machinery
import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

# Modules of which a page needs only the names, for imports and decorators
SPARED = ("fcntl", "numba", "llvmlite")
ELSEWHERE = ("ipywidgets", "jax", "joblib", "pyspiel")
PLAIN: set[str] = set()  # kernels of the packages that have run as plain Python
TOLD: set[str] = set()  # those that the reader knows of

# An argument is ("a", dtype, dimensions, layout), an array; ("i", name), an integer; ("f",), a
# float; ("b",), a boolean; ("n",), None; or ("o",), left out.
NULL, MOST_BOUND = ctypes.c_void_p(0), 400
SCALARS = {"f": ctypes.c_double, "b": ctypes.c_int8, "n": ctypes.c_void_p}
INTEGERS = {f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (32, 64)}


# ---- the library of compiled kernels --------------------------------------------------------


class Library:
    """The compiled kernels: a library, and a table of what each takes and returns."""

    def __init__(self, folder: Path):
        self.rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        if not (folder / "kernels.so").exists():
            return
        self.code = ctypes.CDLL(str(folder / "kernels.so"))
        for row in json.loads((folder / "kernels.json").read_text()):
            row["args"] = [leaf_of(*leaf) for leaf in row.get("args", ())]
            self.rows.setdefault((row["module"], row["name"]), []).append(row)

    def of(self, function: FunctionType) -> list[dict[str, Any]]:
        """Return the rows of a function."""
        return self.rows.get((function.__module__, function.__qualname__), [])


def leaf_of(kind: str, what: Any = None, *shape: Any) -> tuple[Any, ...]:
    """Return an argument of the table, with its dtype as NumPy's."""
    if kind != "a":
        return kind, what
    if isinstance(what, list):
        names, formats, offsets, size = what
        fields = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
        return (kind, np.dtype(fields), *shape)  # type: ignore[call-overload]
    return (kind, np.dtype(what), *shape)


library = Library(Path(__file__).parent)
bound: dict[int, tuple[Any, tuple[Any, ...], list[Any]]] = {}  # by id: tuples of arrays


def bind(x: Any) -> tuple[Any, list[Any]]:
    """Return the kind of an argument, and what a compiled kernel gets for it.

    Tuples of arrays are bound once: a run passes the same ones at each iteration.
    """
    if isinstance(x, np.ndarray):
        sizes = map(ctypes.c_int64, (*x.shape, *x.strides))
        place = ctypes.c_void_p(x.ctypes.data)
        head = [NULL, NULL, ctypes.c_int64(x.size), ctypes.c_int64(x.itemsize), place]
        return ("a", x.dtype, x.ndim, x.flags.c_contiguous), [*head, *sizes]
    if isinstance(x, tuple):
        known = bound.get(id(x))
        if known is not None and known[0] is x:
            return known[1:]
        parts = [bind(field) for field in x]
        found = tuple(kind for kind, _ in parts), [c for _, given in parts for c in given]
        if all(isinstance(field, np.ndarray | tuple) for field in x):
            if len(bound) >= MOST_BOUND:
                bound.clear()
            bound[id(x)] = (x, *found)
        return found
    if isinstance(x, bool | np.bool_):
        return "b", [ctypes.c_int8(x)]
    if isinstance(x, float):  # np.float64 is one
        return "f", [ctypes.c_double(x)]
    if isinstance(x, int | np.integer):
        name = x.dtype.name if isinstance(x, np.integer) else "int64"
        if name == "int32":  # a default integer of a page, which has 64 bits elsewhere
            name = "int64"
        if name in INTEGERS:
            return ("i", name), [INTEGERS[name](int(x))]
    return ("n" if x is None else "x"), [NULL]


def flat(kinds: Iterable[Any]) -> Iterator[Any]:
    """Yield the kinds of arguments, with the fields of tuples one after the other."""
    for kind in kinds:
        if isinstance(kind, tuple) and kind[:1] not in (("a",), ("i",)):
            yield from flat(kind)
        else:
            yield kind


def fits(leaf: Any, kind: Any) -> bool:
    """Return whether an argument of a kind can be passed where the table has a leaf."""
    if leaf[0] == "a":
        layout = leaf[3] == "A" or (kind[0] == "a" and kind[3])
        return kind[0] == "a" and leaf[1:3] == kind[1:3] and layout
    return bool(leaf == kind if leaf[0] == "i" else leaf[0] == kind)


class Kernel:
    """A function that runs compiled where the library has it for its arguments."""

    def __init__(self, function: FunctionType, within: bool = False):
        self.py_func = self.__wrapped__ = function
        self.within = within  # other kernels; from Python it is plain Python everywhere
        self.rows = library.of(function)
        self.chosen: dict[Any, tuple[Any, ...] | None] = {}
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__"):
            setattr(self, name, getattr(function, name))

    def __call__(self, *args: Any) -> Any:
        parts = [bind(x) for x in args]
        kinds = tuple([kind for kind, _ in parts])
        try:
            found = self.chosen[kinds]
        except KeyError:
            found = self.chosen[kinds] = self.choose([*flat(kinds)])
        if found is None:
            if not self.within:
                note(self.py_func)
            return self.py_func(*args)
        call, omitted, result = found
        given = [c for _, part in parts for c in part]
        returned = result()
        status = call(ctypes.byref(returned), NULL, *given, *omitted)
        if status == -2:
            return None
        if status:
            raise RuntimeError(f"{self.__name__} ended with an error (status {status})")
        values = [getattr(returned, field) for field, _ in result._fields_]
        values = [
            bool(x) if t is ctypes.c_int8 else x
            for x, (_, t) in zip(values, result._fields_, strict=True)
        ]
        return values[0] if len(values) == 1 else tuple(values)

    def choose(self, kinds: list[Any]) -> tuple[Any, ...] | None:
        """Return a compiled function, arguments that are left out, and what it returns."""
        for row in self.rows:
            leaves = row["args"]
            left = leaves[len(kinds) :]
            omitted = len(kinds) <= len(leaves) and all(leaf[0] == "o" for leaf in left)
            if omitted and all(map(fits, leaves, kinds)):
                call = getattr(library.code, row["symbol"])
                call.restype = ctypes.c_int32
                return call, [NULL] * len(left), structure(row["returns"])
        return None


def structure(leaves: list[list[Any]]) -> type[ctypes.Structure]:
    """Return the structure into which a kernel writes what it returns."""
    kinds = [INTEGERS[what[0]] if kind == "i" else SCALARS[kind] for kind, *what in leaves]
    fields = [(f"f{n}", kind) for n, kind in enumerate(kinds)]
    return type("Returned", (ctypes.Structure,), {"_fields_": fields})


def note(function: FunctionType) -> None:
    """Note that a function of the packages runs as plain Python."""
    if function.__module__.startswith(("cfrlib.", "koikoi.")):
        PLAIN.add(f"{function.__module__}.{function.__name__}")


def plain() -> str:
    """Return words about the kernels that have run as plain Python since the last call."""
    names = ", ".join(sorted(PLAIN - TOLD))
    TOLD.update(PLAIN)
    return names and f", with {names} in plain Python"


def njit(*function: Any, **options: Any) -> Any:
    """Return a kernel, or the decorator that makes one."""
    within = options.get("no_cpython_wrapper", False)
    return Kernel(function[0]) if function else partial(Kernel, within=within)


# ---- functions that kernels call by address -------------------------------------------------


class Type:
    """A type of Numba, of which a page needs the size and the signatures."""

    def __init__(self, scalar: Any, number: Any):
        self.scalar, self.number = scalar, number

    def __call__(self, *given: Any) -> Any:
        """Return a signature with this result, or a number of this type."""
        return Signature(self, given) if isinstance(given[0], Type) else self.number(*given)


class Signature:
    """A result and arguments."""

    def __init__(self, return_type: Type, args: tuple[Type, ...]):
        self.return_type, self.args = return_type, args


class ArrayType(Type):
    """An array of one dimension."""

    def __init__(self, of: Type, *_: Any):
        super().__init__(of.scalar, of.number)


int64, float64 = Type(ctypes.c_int64, np.int64), Type(ctypes.c_double, np.float64)


# What a kernel passes for an array: two pointers, its size, that of an item, where it is, a
# shape and a stride
ARRAY = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p] + [ctypes.c_int64] * 2


class CFunc:
    """A function that kernels call by its address: compiled, or else a call of Python."""

    def __init__(self, function: FunctionType, signature: Any, *_: Any):
        self.function, (self.args, self.result) = function, signature

    def enable_caching(self) -> None:
        """Raise RuntimeError, as Numba does where nothing can be kept."""
        raise RuntimeError

    def compile(self) -> None:
        """Find the compiled function, or make a callback."""
        rows = library.of(self.function)
        known = [row for row in rows if row["constants"] == constants(self.function)]
        if known:
            self.call = getattr(library.code, known[0]["symbol"])
        else:
            note(self.function)
            kinds: list[Any] = []
            for each in self.args:
                kinds += ARRAY if isinstance(each, ArrayType) else [each.scalar]
            self.call = ctypes.CFUNCTYPE(self.result.scalar, *kinds)(self.run)
        self.address = ctypes.cast(self.call, ctypes.c_void_p).value

    def run(self, *given: Any) -> Any:
        """Call the function, with arrays made of what the kernel passes."""
        rest, args = list(given), []
        for t in self.args:
            if isinstance(t, ArrayType):
                (_, _, size, _, place, _, _), rest = rest[:7], rest[7:]
                args.append(carray(ctypes.cast(place or 0, ctypes.POINTER(t.scalar)), size))
            else:
                args.append(t.number(rest.pop(0)))
        return int(self.function(*args))


def constants(function: FunctionType) -> str:
    """Return a digest of the numbers that a function uses of its module and its definer.

    They are part of its compiled code, so the same function with others is another one.
    """
    from cfrlib.core.jit import captured

    numbers = (int, float, tuple, np.number)
    used = {k: x for k, x in captured(function).items() if isinstance(x, numbers)}
    return hashlib.sha256(repr(sorted(used.items())).encode()).hexdigest()


def carray(pointer: Any, size: int) -> Any:
    """Return an array of the numbers at a pointer."""
    return np.ctypeslib.as_array(pointer, (size,))


# ---- modules --------------------------------------------------------------------------------


class Progress:
    """tqdm without a bar."""

    disable, n = True, 0

    def __init__(self, each: Iterable[Any] = (), **options: Any):
        self.each = each

    def __iter__(self) -> Iterator[Any]:
        return iter(self.each)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **options: None


class Spared(type):
    """A class that stands for everything in a module: decorators, types, signatures."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __call__(cls, *given: Any, **options: Any) -> Any:
        if cls.__bases__ != (object,):  # a class of ours below it
            return super().__call__(*given, **options)
        return given[0] if len(given) == 1 and isinstance(given[0], FunctionType) else cls


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that a page does without."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module that stands for an absent one."""
        if name.partition(".")[0] in ELSEWHERE:
            raise ModuleNotFoundError(
                f"this page has no {name}; the notebook has it", name=name
            )
        if any(f"{name}.".startswith(f"{each}.") for each in SPARED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module have every name."""
        stand_in = Spared(module.__name__, (), {})
        module.__getattr__ = lambda name: getattr(stand_in, name)  # type: ignore[method-assign]
        vars(module).update(REAL.get(module.__name__, {}))


class Config:
    """Numba's settings."""

    DISABLE_JIT = False


REAL: dict[str, dict[str, Any]] = {
    "numba": {
        "njit": njit,
        "config": Config,
        "carray": carray,
        "int64": int64,
        "float64": float64,
        "uint64": np.uint64,
        "types": Spared("types", (), {"Array": ArrayType}),
    },
    "numba.core.ccallback": {"CFunc": CFunc},
}


def install() -> None:
    """Register the stand-ins, so that imports find them."""
    sys.meta_path.insert(0, Finder())
    for name in ("tqdm", "tqdm.auto"):
        module = sys.modules[name] = ModuleType(name)
        module.tqdm = Progress  # type: ignore[attr-defined]
