// Runs one program, beside the page, so that an endless loop stops nothing but this worker. The page
// starts it before the run and ends it afterwards: whatever a program changes is gone with it.
const MOST = 20_000; // characters that are shown of an output, an error or a reply
const post = postMessage.bind(self);
const cut = (text) => text && (text.length > MOST ? `${text.slice(0, MOST)} …` : text);

// The memory of an interpreter that has imported everything, the page's `image`, saves the next
// worker seconds. Pyodide can keep no memory with compiled packages, such as its NumPy.
async function start({ home, full, imports, number, image }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", home));
  const python = await loadPyodide({ indexURL: home, _makeSnapshot: !full && !image, _loadSnapshot: image?.memory });
  if (full) await python.loadPackage("numpy");
  let book = image?.book;
  if (!book) {
    const came = await fetch(new URL("python/book.zip", self.location));
    if (!came.ok) throw new Error(`no ${came.url}`);
    book = await came.arrayBuffer();
  }
  python.unpackArchive(new Uint8Array(book), "zip", { extractDir: "/book" });
  if (!image?.memory) {
    python.runPython('import sys; sys.path.insert(0, "/book"); import page');
    python.globals.get("page").prepare(!full, imports, number);
    image = full ? {} : { memory: python.makeMemorySnapshot(), book };
    post({ image });
  }
  const decoder = new TextDecoder();
  let left = MOST;
  const write = (bytes) => {
    const text = left < 0 ? "" : decoder.decode(bytes.subarray(0, 4 * MOST), { stream: true });
    if (text) post({ print: text.length > left ? `${text.slice(0, left)}\n… and more that is not shown.\n` : text });
    left -= text.length;
    return bytes.length;
  };
  python.setStdout({ write });
  python.setStderr({ write });
  python.setStdin({ stdin: () => null }); // `input()` finds the end of a file
  self.postMessage = self.close = undefined; // Python reaches these, and the page waits for a reply
  return python.pyimport("page").run;
}

// Runs the cells of a page, one list after the other, with names that last.
async function runCells({ home }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", home));
  const python = await loadPyodide({ indexURL: home });
  await python.loadPackage(["numpy", "matplotlib", "scipy"], { messageCallback: () => {} });
  const book = await fetch(new URL("python/book.zip", self.location));
  python.unpackArchive(new Uint8Array(await book.arrayBuffer()), "zip", { extractDir: "/book" });
  python.runPython('import os, sys; os.environ["MPLBACKEND"] = "agg"; sys.path.insert(0, "/book"); import page; page.ELSEWHERE = (); page.prepare(False); import matplotlib.artist as A; plain = A.Artist.get_figure; A.Artist.get_figure = lambda self, root=False: plain(self)'); // Matplotlib 3.8
  const cells = python.pyimport("cells");
  let names = cells.fresh();
  onmessage = ({ data: { fresh, run } }) => {
    if (fresh) names = cells.fresh();
    for (const { n, source, quiet } of run) {
      const begin = performance.now();
      post({ n, began: true });
      const error = cells.run(source, n, names, (kind, text) => post({ n, kind, text }), quiet);
      post({ n, ended: true, error, seconds: (performance.now() - begin) / 1000 });
      if (error) break;
    }
    post({ finished: true });
  };
  post({ ready: true });
}

onmessage = async ({ data }) => {
  if (!("number" in data)) {
    return runCells(data).catch((error) => {
      console.warn(error);
      post({ failed: true });
    });
  }
  const asked = new Promise((resolve) => { onmessage = (event) => resolve(event.data); });
  let run;
  try {
    run = await start(data);
  } catch (error) {
    console.warn(error);
    return post({ failed: true });
  }
  const { number, program, answer } = await asked;
  post({ started: true });
  try {
    const { error, verdict, text } = JSON.parse(run(number, program, answer, data.imports));
    post({ error: cut(error), verdict, text: cut(text) });
  } catch (error) { // what has ruined Python itself, as a stack without an end does
    post({ error: cut(error.message) });
  }
};
