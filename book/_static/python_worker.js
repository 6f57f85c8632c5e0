// Runs Python beside the page, so that an endless loop stops nothing but this worker.
const MOST = 20_000; // characters of output that are shown of one run
let python, shown;

async function start({ home, full }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", home));
  const print = (text) => {
    if (shown < MOST) postMessage({ print: text });
    else if (shown !== Infinity) postMessage({ print: "… and more that is not shown.\n" });
    shown = shown < MOST ? shown + text.length : Infinity;
  };
  const made = await loadPyodide({ indexURL: home });
  if (full) await made.loadPackage("numpy");
  const book = await fetch(new URL("python/book.zip", self.location));
  if (!book.ok) throw new Error(`no ${book.url}`);
  made.unpackArchive(new Uint8Array(await book.arrayBuffer()), "zip", { extractDir: "/book" });
  made.runPython('import sys; sys.path.insert(0, "/book")');
  const page = made.pyimport("page");
  page.prepare(!full, print);
  return page.run;
}

onmessage = async ({ data }) => {
  try {
    python ??= await start(data);
  } catch (error) {
    console.warn(error);
    postMessage({ missing: true });
    return;
  }
  postMessage({ started: true });
  shown = 0;
  const { number, program, answer, imports } = data;
  postMessage(JSON.parse(python(number, program, answer, imports)));
};
