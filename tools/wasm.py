"""Compile the kernels that pages call for WebAssembly, into one library.

    python tools/wasm.py

`tools/warm.py` calls each kernel with the argument types that pages use. Here it does so in
processes where Numba leaves out what depends on the processor; LLVM's back end for WebAssembly
translates the code, and a linker makes one library of it, which Pyodide loads.
`book/_python/stand_ins.py` finds a kernel there by its name and the types of its arguments.

The linker is that of `ziglang` on PyPI. Where it cannot be had, pages run plain Python.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.append(str(ROOT / "book" / "_python"))  # last: book/_ext has a module cells as well
import warm  # noqa: E402
from fetching import from_pypi  # noqa: E402
from stand_ins import constants  # noqa: E402

KEPT = ROOT / "_build" / "kernels"
FILES = "kernels.so", "kernels.json"
LINKER = "ziglang==0.17.1"
PACKAGES = "cfrlib", "koikoi"
# What makes Numba's code that of any processor: no wide vectors, no instructions of its own
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}
TRIPLE = "wasm32-unknown-emscripten"
LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
FEATURES = "+bulk-memory,+mutable-globals,+sign-ext"
# What `warm` calls, for each of two processes; kernels that both compile are linked once.
PARTS = (warm.sampling, warm.search), (warm.whole_trees, warm.certificates, warm.koikoi)
Row = dict[str, Any]


def leaves(of: Any) -> list[list[Any]]:
    """Return what a value of a type is in a call: a tuple is its fields, one after the other.

    What no page can pass is ``["x"]``. A literal type is that of a constant in another kernel.
    """
    from numba.core import types
    from numba.np.numpy_support import as_dtype

    if isinstance(of, types.Literal):
        return [["x"]]
    if isinstance(of, types.Array):
        return [["a", described(as_dtype(of.dtype)), of.ndim, of.layout]]
    if isinstance(of, types.BaseTuple):
        return [leaf for field in of for leaf in leaves(field)]
    if isinstance(of, types.Boolean):
        return [["b"]]
    if isinstance(of, types.Integer):
        return [["i", str(of)]]
    if isinstance(of, types.Float):
        return [["f", str(of)]]
    if isinstance(of, types.Omitted):
        return [["o"]]
    if isinstance(of, types.NoneType):
        return [["n"]]
    return [["x"]]


def described(dtype: Any) -> Any:
    """Return a dtype as JSON: a record is its names, formats and offsets, and its size."""
    if not dtype.names:
        return dtype.str
    formats, offsets = zip(*[dtype.fields[name][:2] for name in dtype.names], strict=True)
    return [dtype.names, [described(each) for each in formats], offsets, dtype.itemsize]


def compiled(parts: tuple[Callable[[], None], ...]) -> list[tuple[Row, bytes]]:
    """Call kernels, and return a row of the table and the object file of each.

    Runs in a process of its own, with a cache of its own: Numba keeps no LLVM code of a kernel
    that comes from a cache.
    """
    from numba.core.ccallback import CFunc
    from numba.core.registry import CPUDispatcher

    for part in parts:
        part()
    found = []
    for each in gc.get_objects():
        if isinstance(each, CPUDispatcher) and ours(each.py_func):
            if not each.targetoptions.get("no_cpython_wrapper"):
                for types, overload in each.overloads.items():
                    args = [leaf for of in types for leaf in leaves(of)]
                    result = overload.signature.return_type
                    returns = leaves(getattr(result, "literal_type", result))
                    if not {"x"} & {leaf[0] for leaf in args} | {"a", "x"} & {
                        leaf[0] for leaf in returns
                    }:
                        symbol = overload.fndesc.llvm_func_name
                        row = {"args": args, "returns": returns, "symbol": symbol}
                        found.append((each.py_func, row, overload.library))
        elif isinstance(each, CFunc) and ours(each._pyfunc):
            row = {"symbol": each._wrapper_name, "constants": constants(each._pyfunc)}
            found.append((each._pyfunc, row, each._library))
    made = []
    for f, row, library in found:
        if code := translated(library.get_llvm_str()):
            made.append(({"module": f.__module__, "name": f.__qualname__, **row}, code))
        else:
            print(f"{f.__module__}.{f.__qualname__} makes arrays: plain Python on pages.")
    return made


def ours(function: Any) -> bool:
    """Return whether a function belongs to the packages."""
    return function.__module__.partition(".")[0] in PACKAGES


def translated(text: str) -> bytes:
    """Return LLVM code of Numba as an object file for WebAssembly; none if it makes arrays."""
    import llvmlite.binding as llvm

    text = retargeted(text)
    if "NRT_MemInfo_alloc" in text:
        return b""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(opt=3, features=FEATURES, reloc="pic")
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    code: bytes = machine.emit_object(parsed)
    return code


def retargeted(text: str) -> str:
    """Return LLVM code of Numba as code for WebAssembly.

    Left out are the wrapper that Python calls and the counting of references: arrays belong to
    the caller, and no kernel here makes any.
    """
    text = re.sub(r'(?ms)^define [^\n]*@"?_ZN7cpython[^\n]*\{\n.*?^\}\n', "", text)
    text = re.sub(r"(?m)^target datalayout = .*$", f'target datalayout = "{LAYOUT}"', text)
    text = re.sub(r"(?m)^target triple = .*$", f'target triple = "{TRIPLE}"', text)
    text = re.sub(r'"(?:target-cpu|target-features|tune-cpu|probe-stack)"="[^"]*"', "", text)
    text = re.sub(
        r"(?ms)^define [^\n]*@NRT_(incref|decref)\([^\n]*\{\n.*?^\}\n",
        r"define internal void @NRT_\1(ptr %x) { ret void }\n",
        text,
    )
    # Functions called by address tell Python of errors that they cannot have.
    text, traps = re.subn(
        r"(?m)^declare (.*@Py\w+\(.*\)).*$",
        r"define internal \1 { call void @llvm.trap() unreachable }",
        text,
    )
    if traps and "@llvm.trap()" not in text.replace("call void @llvm.trap()", ""):
        text += "\ndeclare void @llvm.trap()\n"
    return text.replace(" common ", " weak ")


def linker() -> list[str]:
    """Return the command of the linker, which pip fetches at the first use.

    Raises
    ------
    OSError
        If it cannot be had.
    """
    path = KEPT / ("zig.exe" if os.name == "nt" else "zig")
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            carrier = from_pypi(LINKER, Path(folder))
            if not carrier:
                raise OSError("pip could not fetch the linker; is there no network?")
            with zipfile.ZipFile(carrier) as archive:
                path.write_bytes(archive.read(f"ziglang/{path.name}"))
        path.chmod(0o755)
    return [str(path), "wasm-ld"]


def build(out: Path) -> None:
    """Write the library and its table into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for n in range(len(PARTS)):
            environment = {**os.environ, **GENERIC, "NUMBA_CACHE_DIR": f"{folder}/cache{n}"}
            command = [sys.executable, __file__, str(n), folder]
            running.append(subprocess.Popen(command, env=environment))
        if any(each.wait() for each in running):
            raise OSError("a kernel could not be compiled")
        rows, objects = {}, []
        for n in range(len(PARTS)):
            for path, row in json.loads(Path(folder, f"{n}.json").read_text()):
                key = row["module"], row["name"], str(row.get("args")), row.get("constants")
                if key not in rows:
                    rows[key] = row
                    objects.append(path)
        response = Path(folder, "arguments.txt")
        exports = (f"--export={row['symbol']}" for row in rows.values())
        response.write_text("\n".join([*exports, *objects]))
        command = [*linker(), "-shared", "--experimental-pic", "--gc-sections", "-O2"]
        command += ["--strip-debug", "--allow-undefined", "-o", str(out / FILES[0])]
        subprocess.run([*command, f"@{response}"], check=True)
    (out / FILES[1]).write_text(json.dumps([*rows.values()]))


def compile_part(n: int, folder: str) -> None:
    """Write the object files of a part, and their rows."""
    found = []
    for k, (row, code) in enumerate(compiled(PARTS[n])):
        path = f"{folder}/{n}-{k}.o"
        Path(path).write_bytes(code)
        found.append((path, row))
    Path(folder, f"{n}.json").write_text(json.dumps(found))


def refresh() -> None:
    """Compile the kernels, unless their sources have not changed since; say what goes wrong."""
    found = hashlib.sha256()
    sources = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    for path in (*sources, ROOT / "requirements.txt", Path(__file__), Path(warm.__file__)):
        found.update(path.read_bytes())
    written = KEPT / "written-from"
    if written.exists() and written.read_text() == found.hexdigest():
        return
    print("Compiling the kernels for the pages, which takes half a minute.", flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    try:
        build(KEPT)
        written.write_text(found.hexdigest())
    except (OSError, subprocess.CalledProcessError) as error:
        for name in FILES:
            (KEPT / name).unlink(missing_ok=True)
        print(f"The pages have no compiled kernels and run plain Python: {error}.")


if __name__ == "__main__":
    if len(sys.argv) > 1:  # from `build`
        compile_part(int(sys.argv[1]), sys.argv[2])
    else:
        refresh()
