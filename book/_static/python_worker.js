// Python for a page, beside it, so that an endless loop stops nothing but this worker. It runs the
// program of one exercise and ends, so whatever a program changes is gone with it; or it runs cells,
// one list after the other, with names that last.
const MOST = 20_000; // characters that are shown of an output, an error or a reply
const post = postMessage.bind(self);
const cut = (text) => text && (text.length > MOST ? `${text.slice(0, MOST)} …` : text);
let left = 0, print = () => {}; // of the program or cell that runs
let names = null; // that cells have defined

async function start({ home, number = "" }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", home));
  const python = await loadPyodide({ indexURL: home });
  const came = await fetch(new URL("python/book.zip", self.location));
  if (!came.ok) throw new Error(`no ${came.url}`);
  python.unpackArchive(new Uint8Array(await came.arrayBuffer()), "zip", { extractDir: "/book" });
  python.FS.chdir("/book/book"); // as the notebooks
  python.runPython('import sys; sys.path.insert(0, "/book"); import page');
  python.pyimport("page").prepare(home, number);
  const decoder = new TextDecoder();
  const write = (bytes) => {
    const text = left < 0 ? "" : decoder.decode(bytes.subarray(0, 4 * MOST), { stream: true });
    if (text) print(text.length > left ? `${text.slice(0, left)}\n… and more that is not shown.\n` : text);
    left -= text.length;
    return bytes.length;
  };
  python.setStdout({ write });
  python.setStderr({ write });
  python.setStdin({ stdin: () => null }); // `input()` finds the end of a file
  self.postMessage = self.close = undefined; // Python reaches these, and the page waits for a reply
  return python;
}

function runProgram(run, imports, { number, program, answer, above }) {
  left = MOST;
  print = (text) => post({ print: text });
  try {
    const { error, verdict, text } = JSON.parse(run(number, program, answer, imports, above));
    post({ error: cut(error), verdict, text: cut(text) });
  } catch (error) { // what has ruined Python itself, as a stack without an end does
    post({ error: cut(error.message) });
  }
}

function runCells(cells, kernels, { fresh, run }) {
  if (fresh || !names) names = cells.fresh();
  for (const { n, source, quiet } of run) {
    const began = performance.now();
    const emit = (kind, text) => post({ n, kind, text });
    left = MOST;
    print = (text) => emit("print", text);
    post({ n, began: true });
    const error = cells.run(source, n, names, emit, quiet);
    const seconds = (performance.now() - began) / 1000;
    post({ n, ended: true, error, seconds, plain: kernels.plain() });
    if (error) break;
  }
  post({ finished: true });
}

onmessage = async ({ data }) => {
  const messages = [];
  onmessage = (event) => messages.push(event.data); // until Python is there
  try {
    const python = await start(data), program = "number" in data;
    const [{ run }, cells, kernels] = ["page", "cells", "stand_ins"].map((name) => python.pyimport(name));
    const act = (asked) => (program ? runProgram(run, data.imports, asked) : runCells(cells, kernels, asked));
    onmessage = (event) => act(event.data);
    post({ ready: true });
    messages.forEach(act);
  } catch (error) {
    console.warn(error);
    post({ failed: true });
  }
};
