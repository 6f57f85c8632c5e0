"""Clear errors for parts of the package that need packages of an extra."""

from __future__ import annotations

from importlib.util import find_spec


def require(part: str, extra: str, *packages: str) -> None:
    """Raise an error that names the command to install a missing package.

    Raises
    ------
    ModuleNotFoundError
        If one of the packages is not installed.
    """
    for name in packages:
        if find_spec(name) is None:
            raise ModuleNotFoundError(
                f"{part} needs {name}, which is not installed; run: "
                f'pip install "cfrlib[{extra}]"',
                name=name,
            )
