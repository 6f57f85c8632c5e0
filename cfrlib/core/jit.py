"""Compilation decorators: kernels are cached on disk and divide without a zero check.

``kernel``
    A standalone function, called from Python or from other kernels. It may allocate arrays.
``inlined``
    A step that is compiled into each kernel that calls it, because a call would cost more than
    the step. It must not allocate arrays, so Numba omits reference counting, which would also
    cost more than the step.
``routine``
    Like ``inlined``, but called: for long steps, of which a kernel contains several.
``inner``
    Like ``inlined``, but compiled for kernels only; called from Python, it runs as plain
    Python. For a short kernel with many array arguments, the wrapper that unpacks them from
    Python takes a large part of the compile time.

With ``NUMBA_DISABLE_JIT=1`` all four return the function unchanged.

A compiled kernel is kept on disk until a source of its package, or of a package that it was
built on, changes. (Numba by itself would look at the kernel's own file only, although the
kernels that it calls are compiled into it.) Where no folder can be written to, kernels are
compiled in each process anew.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.caching import IndexDataCacheFile
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

_KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
}
_INLINED = {**_KERNEL, "forceinline": True, "_nrt": False}
PACKAGES: dict[str, str] = {}  # those with kernels, each with a digest of its sources


def kernel(function: Any) -> Any:
    """Compile a function that is called from Python or from other kernels."""
    return _compiled(function, **_KERNEL)


def inlined(function: Any) -> Any:
    """Compile a function into each kernel that calls it."""
    return _compiled(function, **_INLINED)


def routine(function: Any) -> Any:
    """Compile a function that kernels call; it must not allocate arrays."""
    return _compiled(function, **_KERNEL, _nrt=False)


class Inner(CPUDispatcher):
    """A compiled function without a Python wrapper."""

    def __call__(self, *args: Any) -> Any:
        """Run as plain Python: a compiled call without a wrapper crashes the interpreter."""
        return self.py_func(*args)


def inner(function: Any) -> Any:
    """Compile a function into the kernels that call it, without a Python wrapper."""
    compiled = _compiled(function, **_INLINED, no_cpython_wrapper=True)
    if isinstance(compiled, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        compiled.__class__ = Inner
    return compiled


def _compiled(function: Any, **options: Any) -> Any:
    """Return a compiled function whose files on disk are those of the present sources."""
    try:
        compiled: Any = njit(**options)(function)
    except RuntimeError:  # no folder for the files can be written to
        _warn_uncached()
        return njit(**{**options, "cache": False})(function)
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        _name_files(compiled._cache, function)
    return compiled


class UserFunction:
    """A function from outside the package, compiled into the kernels that call it.

    Nothing is kept on disk, where it could outlive the function.

    Attributes
    ----------
    function : compiled function
    returns : bool
        Whether it returns something; unknown with ``NUMBA_DISABLE_JIT=1``.
    """

    def __init__(self, function: Any, arguments: tuple[Any, ...]):
        self._kernels: dict[CodeType, Any] = {}
        self.returns = False
        plain = getattr(function, "py_func", function)
        for runtime in (False, True):  # without Numba's runtime, it may not allocate arrays
            self._options = {**_INLINED, "cache": False, "_nrt": runtime}
            self.function: Any = njit(**self._options)(plain)
            if not hasattr(self.function, "compile"):  # with NUMBA_DISABLE_JIT
                return
            try:
                self.function.compile(arguments)
                break
            except NumbaError:
                if runtime:
                    raise
        self.returns = self.function.nopython_signatures[0].return_type != types.none

    def compile(self, kernel: Any) -> Any:
        """Compile a kernel that calls the function."""
        plain = getattr(kernel, "py_func", kernel)
        if plain.__code__ not in self._kernels:
            self._kernels[plain.__code__] = njit(**self._options)(plain)
        return self._kernels[plain.__code__]


def captured(function: Any) -> dict[str, Any]:
    """Return what a function uses of the function and of the module that define it, by name.

    Arrays are returned as their contents. Numba makes constants of all of this.
    """
    plain = getattr(function, "py_func", function)
    cells = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
    found = {name: plain.__globals__.get(name) for name in _global_names(plain.__code__)}
    found |= {name: cell.cell_contents for name, cell in cells}
    return {
        name: (x.shape, x.dtype.str, x.tobytes()) if isinstance(x, np.ndarray) else x
        for name, x in found.items()
    }


def _global_names(code: CodeType) -> set[str]:
    """Return the names that code looks up in its module, also in comprehensions."""
    inner = [_global_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    loaded = (
        step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"
    )
    return set(loaded).union(*inner)


def callback(function: Any, signature: Any) -> Any:
    """Compile a function that kernels call by its address."""
    types = signature.args, signature.return_type
    compiled: Any = CFunc(function, types, {}, {"error_model": "numpy"})
    if function.__module__ != "__main__":  # a notebook's globals may change, its files not
        with suppress(RuntimeError):  # it is in no file, or no folder can be written to
            compiled.enable_caching()
            _name_files(compiled._cache, function)
    compiled.compile()
    return compiled


def _name_files(cache: Any, function: Any) -> None:
    """Let the files of a compiled function be those of the present sources."""
    index_file: Any = IndexDataCacheFile
    digest = sources_of(function.__module__.partition(".")[0])
    stamp = cache._impl.locator.get_source_stamp()
    name = f"{cache._impl.filename_base}.{digest}"
    cache._cache_file = index_file(cache._cache_path, name, stamp)


@cache
def _warn_uncached() -> None:
    """Warn once that compiled kernels are not kept."""
    warnings.warn(
        "compiled kernels cannot be kept: neither the package's folder nor a home folder can "
        "be written to, so each process compiles them again, which takes up to a minute; set "
        "NUMBA_CACHE_DIR to a folder that you may write to",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def sources_of(package: str) -> str:
    """Return a digest of a package's sources, and of those of packages with earlier kernels.

    A module that is no package has only the latter. Removes compiled kernels beside the sources
    that belong to other ones.
    """
    hashed = hashlib.sha256("".join(PACKAGES.values()).encode())
    root = getattr(sys.modules[package], "__path__", None)
    if root is None:
        return hashed.hexdigest()[:16]
    for path in sorted(Path(root[0]).rglob("*.py")):
        hashed.update(path.read_bytes())
    PACKAGES[package] = digest = hashed.hexdigest()[:16]
    for path in Path(root[0]).rglob("__pycache__/*.nb[ic]"):
        if digest not in path.name:
            with suppress(OSError):  # another process removed it first, or nobody may
                path.unlink()
    return digest


def interpreted(*modules: ModuleType) -> dict[str, Any]:
    """Return the names of some modules with their kernels as plain Python functions.

    The functions look each other up in the dictionary that is returned. To replace a kernel,
    e.g. one that samples, assign to its name there.

    Examples
    --------
    >>> from cfrlib.core import rng
    >>> kernels = interpreted(rng)
    >>> kernels["mix"] = lambda z: 2**63
    >>> kernels["uniform"]([0])
    0.5
    """
    space: dict[str, Any] = {name: f for module in modules for name, f in vars(module).items()}
    for name, f in space.items():
        if hasattr(f, "py_func"):
            space[name] = FunctionType(f.py_func.__code__, space, name)
        elif isinstance(f, FunctionType) and any(f.__module__ == m.__name__ for m in modules):
            space[name] = FunctionType(f.__code__, space, name, f.__defaults__)
    return space
