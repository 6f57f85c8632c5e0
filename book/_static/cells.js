// Runs the code cells of a page. book/_ext/cells.py marks them in the page and lists for each the
// earlier cells that it needs. Nothing is fetched before a reader presses a button; then Python
// starts in a worker and stays, so what has run need not run again.
(() => {
  "use strict";
  const script = document.currentScript, root = new URL(".", script.src);
  if (location.protocol === "file:") return;
  const KEPT = `cfr-cells ${script.dataset.page}`;
  const WHY = {
    missing: "This copy of the book has no Python. The notebook runs the cell.",
    offline: "Python could not be loaded: there is no network. Try again when it is back.",
    broken: "Python does not work in this browser. The notebook runs the cell.",
  };
  const cells = new Map(); // by number
  let data = null; // of all cells of the page
  let worker = null; // resolves to a worker with Python
  let done = []; // what has run there: number, source, names, whether it failed
  let running = null, queue = Promise.resolve(), turn = 0, halt = () => {};

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const meet = (one, other) => [...one].some((name) => other.has(name));

  // ---- what a cell needs ---------------------------------------------------------------------------

  const source = (n) => cells.get(n)?.text ?? data[n].source;

  // Names that a cell reads, and those that it binds or changes. Of a cell that the reader has edited
  // this is a guess, line by line, which rather names too many.
  function about(n) {
    const text = cells.get(n)?.text, { names, uses } = data[n];
    if (text === undefined) return { names: new Set(names), uses: new Set(uses) };
    const found = { names: new Set(), uses: new Set() };
    const known = new Set(data.flatMap((each) => each?.uses ?? []));
    for (const line of text.replace(/#.*/g, "").split("\n")) {
      const [left, target = ""] = line.match(/^\s*([\w\s,*()]+?)\s*=(?!=)/) ?? [""];
      const bound = [target, ...[...line.matchAll(/\b(?:def|class|as|import|for)\s+([\w\s,]+?)(?=\s+in\b|[(:]|$)/g)].map((each) => each[1])];
      for (const [word] of line.slice(left.length).matchAll(/\b[A-Za-z_]\w*/g)) {
        if (!found.names.has(word)) found.uses.add(word);
      }
      for (const [word] of bound.join(" ").matchAll(/\w+/g)) found.names.add(word);
      for (const [, word] of line.matchAll(/\b(\w+)(?:\.\w+\(|\[.*\]\s*\W?=(?!=)|\s*[-+*/]=)/g)) {
        if (known.has(word)) found.names.add(word);
      }
    }
    return found;
  }

  // The cells that a cell needs, in their order
  function needs(n, found = new Set()) {
    const { uses } = about(n), changed = (k) => cells.get(k)?.text !== undefined;
    const direct = [...data[n].needs];
    for (let k = 0; k < n; k++) {
      if (data[k] && changed(k) && meet(about(k).names, uses)) direct.push(k);
    }
    if (changed(n)) {
      for (const word of uses) direct.push(data.findLastIndex((each, k) => k < n && each?.names.includes(word) && !each.apart));
    }
    for (const k of direct) {
      if (k < 0 || found.has(k)) continue;
      found.add(k);
      needs(k, found);
    }
    return [...found].sort((a, b) => a - b);
  }

  // What has to run for a cell: if a later cell may have changed what an earlier one reads or
  // makes, everything runs again.
  function plan(n) {
    const all = [...needs(n), n];
    const ran = (k) => done.some((each) => each.n === k && each.source === source(k));
    const todo = all.filter((k) => k === n || !ran(k));
    const clash = done.some((each) => todo.some((k) => {
      const { names, uses } = about(k);
      if (each.n === k) return k !== n || meet(each.names, uses);
      return each.n > k && (meet(each.names, uses) || meet(each.names, names));
    }));
    return clash ? { fresh: true, todo: all } : { fresh: false, todo };
  }

  // ---- Python --------------------------------------------------------------------------------------

  function start() {
    const home = new URL((script.dataset.python || "python").replace(/\/*$/, "/"), root).href, made = new Worker(new URL("python_worker.js", root), { type: "module" });
    const ready = new Promise((resolve, reject) => {
      const fail = () => fetch(new URL("pyodide.mjs", home), { method: "HEAD" })
        .then(({ ok }) => (ok ? "broken" : "missing"), () => "offline")
        .then((gone) => reject(new Error(WHY[gone])));
      made.onerror = fail;
      made.onmessage = (event) => (event.data.ready ? resolve() : fail());
      made.postMessage({ home });
    });
    return { made, ready };
  }

  function forget() {
    worker?.made.terminate();
    worker = null;
    done = [];
  }

  async function load() {
    if (data) return;
    const came = await fetch(new URL(`cells/${script.dataset.page}.json`, root)).catch(() => null);
    if (!came?.ok) throw new Error(WHY[came ? "missing" : "offline"]);
    data = await came.json();
  }

  // Run a cell and what it needs; return words for its status.
  async function go(cell, mine) {
    await load();
    if (mine !== turn) return "";
    if (!worker) cell.tell("Loading Python, the first time only …");
    const { made, ready } = worker ??= start();
    await ready;
    const { fresh, todo } = plan(cell.n);
    if (fresh) done = [];
    const above = todo.length - 1;
    if (above) cell.tell(`Running the ${above > 1 ? `${above} cells` : "cell"} above that this one needs …`);
    const shows = (n) => n === cell.n || cells.get(n)?.text !== undefined; // others show it already
    return new Promise((resolve, reject) => {
      made.onerror = () => reject(new Error("Python has ended; what the cells defined is forgotten."));
      made.onmessage = ({ data: { n, began, kind, text, ended, error, seconds, plain, finished } }) => {
        const at = cells.get(n);
        if (began) {
          done.push({ n, source: source(n), names: about(n).names });
          if (n === cell.n) cell.tell("Running …");
          else if (shows(n)) at.expect();
        } else if (kind) {
          (at ?? cell).show(kind, text);
        } else if (ended) {
          if (shows(n)) at.clear();
          if (error) done.at(-1).source = null;
          if (n === cell.n) resolve(error ? "The cell ended with an error." : `Ran in ${Math.max(seconds, 0.1).toFixed(1)} s${plain}.`);
          else if (error) resolve("A cell above, which this one needs, ended with an error.");
        } else if (finished) {
          resolve("");
        }
      };
      made.postMessage({ fresh, run: todo.map((n) => ({ n, source: source(n), quiet: !shows(n) })) });
    });
  }

  function run(cell) {
    if (cell.queued) return cell === running && halt("Stopped; what the cells defined is forgotten.");
    cell.queued = true;
    if (running) cell.tell("Waiting for the other cell …");
    queue = queue.then(async () => {
      const mine = ++turn, stopped = new Promise((_, reject) => { halt = (words) => reject(new Error(words)); });
      running = cell;
      cell.busy();
      let said;
      try {
        said = await Promise.race([stopped, go(cell, mine)]);
      } catch (error) {
        turn++;
        forget();
        said = error.message;
      }
      running = null;
      cell.rest();
      cell.tell(said);
      dispatchEvent(new Event("resize")); // stops.js looks which outputs scroll
    });
  }

  // Python is gone, and what the page showed at first is back, but for what was typed.
  function startOver(cell) {
    if (running) halt("What ran is forgotten.");
    forget();
    for (const each of cells.values()) each.restore?.();
    cell.runs.focus();
    cell.tell("What ran is forgotten.");
  }

  // ---- a cell --------------------------------------------------------------------------------------

  const kept = () => JSON.parse(localStorage.getItem(KEPT)) ?? {};

  class Cell {
    constructor(box) {
      this.box = box;
      this.n = Number(box.dataset.cell);
      this.input = box.querySelector(".cell_input");
      this.code = this.first = this.input.querySelector("pre");
      this.was = this.first.textContent;
      this.text = undefined; // what the reader has made of it
      this.status = make("span", { role: "status" });
      const button = (words, act) => {
        const made = make("button", { type: "button" }, words);
        made.addEventListener("click", act);
        return made;
      };
      this.runs = button("Run", () => run(this));
      this.edits = button("Edit", () => (this.editor ? this.close() : this.edit()));
      this.backs = button("Put back", () => this.putBack());
      this.starts = button("Start over", () => startOver(this));
      this.backs.hidden = this.starts.hidden = true;
      this.input.append(make("div", { class: "cfr-bar" }, this.runs, this.edits, this.backs, this.starts, this.status));
      box.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.shiftKey)) return;
        event.preventDefault();
        event.stopPropagation();
        if (running !== this) run(this);
      }, { capture: true });
    }

    tell(words) {
      this.status.textContent = words;
    }

    // ---- output ----

    busy() {
      this.runs.textContent = "Stop";
      this.starts.hidden = false;
      this.expect();
      this.output.classList.add("cfr-old");
      this.output.classList.remove("cfr-veiled"); // by predict.js: who runs a cell wants to see
      this.output.inert = false;
    }

    rest() {
      this.runs.textContent = "Run";
      this.output.classList.remove("cfr-old");
      this.queued = this.waits = false;
    }

    // What is shown stays until something comes.
    expect() {
      this.output ??= this.box.querySelector(".cell_output") ?? make("div", { class: "cell_output docutils container" });
      if (!this.output.isConnected) this.input.after(this.output);
      this.waits = true;
    }

    clear() {
      if (!this.waits) return;
      this.waits = false;
      this.stored ??= [...this.output.childNodes];
      this.output.replaceChildren();
      this.output.classList.remove("cfr-old");
    }

    show(kind, text) {
      this.clear();
      const last = this.output.lastElementChild;
      if (kind === "html") {
        const box = make("div", { class: "output text_html" });
        box.innerHTML = text;
        this.output.append(box);
        for (const old of box.querySelectorAll("script")) { // as set they would not run
          old.replaceWith(make("script", old.type ? { type: old.type } : {}, old.textContent));
        }
      } else if (kind === "print" && last?.matches(".stream")) {
        last.querySelector("pre").append(text);
      } else {
        const look = { print: "stream", text: "text_plain", error: "cfr-error" }[kind];
        this.output.append(make("div", { class: `output ${look} highlight-myst-ansi notranslate` },
          make("div", { class: "highlight" }, make("pre", {}, text))));
      }
    }

    restore() {
      this.starts.hidden = true;
      this.tell("");
      if (this.stored) this.output.replaceChildren(...this.stored);
      this.stored = null;
    }

    // ---- code ----

    async edit() {
      try {
        await load();
        const { cfrEditor } = await import(new URL("editor.js", root));
        if (this.editor) return;
        this.place = make("div", { class: "cfr-editor highlight" });
        this.code.after(this.place);
        this.code.hidden = true;
        this.edits.textContent = "Close";
        this.editor = cfrEditor(this.place, source(this.n), {
          label: "Code of this cell. Escape leaves it.",
          change: (text) => this.keep(text),
          leave: () => this.runs.focus(),
        });
        (await this.editor).focus();
      } catch (error) {
        this.tell(error.message);
      }
    }

    close() {
      this.place.remove();
      this.editor = null;
      this.code.hidden = false;
      this.edits.textContent = "Edit";
    }

    // Other tabs may have changed other cells.
    keep(text) {
      const all = kept();
      if (text === undefined || text === data?.[this.n].source) delete all[this.n];
      else all[this.n] = { text, was: this.was };
      localStorage.setItem(KEPT, JSON.stringify(all));
      this.become(all[this.n]);
    }

    // Show the code as it was kept, if it is of this edition of the page.
    become(change) {
      const text = change?.was === this.was ? change.text : undefined;
      if (text === this.text) return;
      this.text = text;
      const next = text === undefined ? this.first : make("pre", { id: this.first.id }, text);
      next.hidden = this.code.hidden;
      this.code.replaceWith(next);
      this.code = next;
      this.backs.hidden = text === undefined;
      this.box.classList.toggle("cfr-changed", text !== undefined);
    }

    putBack() {
      this.keep();
      this.restore();
      if (this.editor) this.close();
      this.edits.focus();
      this.tell("The code is as it was.");
    }
  }

  // In place of "Run", a cell that no page can run says why.
  function elsewhere(box) {
    const status = make("span", { role: "status" }), why = make("button", { type: "button" }, "in a notebook");
    why.addEventListener("click", () => { status.textContent = `Only a notebook can run this cell: ${box.dataset.elsewhere}.`; });
    box.querySelector(".cell_input").append(make("div", { class: "cfr-bar" }, why, status));
  }

  const recall = () => {
    const all = kept();
    for (const cell of cells.values()) {
      cell.become(all[cell.n]);
      cell.editor?.then((editor) => editor.update(source(cell.n)));
    }
  };
  for (const box of document.querySelectorAll(".cell[data-cell]:not(.tag_answer, .tag_widget)")) {
    if (box.dataset.elsewhere) elsewhere(box);
    else cells.set(Number(box.dataset.cell), new Cell(box));
  }
  recall();
  addEventListener("storage", ({ key }) => { if (key === KEPT || key === null) recall(); });
})();
