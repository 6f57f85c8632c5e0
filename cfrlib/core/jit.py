"""Compilation decorators: kernels are cached on disk and divide without a zero check.

``kernel``
    A standalone function, called from Python or from other kernels. It may allocate arrays.
``inlined``
    A step that is compiled into each kernel that calls it, because a call would cost more than
    the step. It must not allocate arrays, so Numba omits reference counting, which would also
    cost more than the step.
``inner``
    Like ``inlined``, but compiled for kernels only; called from Python, it runs as plain
    Python. For a short kernel with many array arguments, the wrapper that unpacks them from
    Python takes a large part of the compile time.

With ``NUMBA_DISABLE_JIT=1`` all three return the function unchanged.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

_KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
}
_INLINED = {**_KERNEL, "forceinline": True, "_nrt": False}

kernel = njit(**_KERNEL)
inlined: Any = njit(**_INLINED)


class Inner(CPUDispatcher):
    """A compiled function without a Python wrapper."""

    def __call__(self, *args: Any) -> Any:
        """Run as plain Python: a compiled call without a wrapper crashes the interpreter."""
        return self.py_func(*args)


def inner(function: Any) -> Any:
    """Compile a function into the kernels that call it, without a Python wrapper."""
    compiled = njit(**{**_INLINED, "no_cpython_wrapper": True})(function)
    if isinstance(compiled, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        compiled.__class__ = Inner
    return compiled


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
