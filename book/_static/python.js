// Programs as answers: an editor for each, and Python in a worker, loaded when a reader asks for
// it. answers.js calls this for every exercise whose answer is a program.
(() => {
  "use strict";
  const FOLDER = location.protocol === "file:";
  const SAYS = {
    folder: "A browser runs Python only on pages that come from a server, and this one was opened from a folder. The notebook runs it.",
    missing: "This copy of the book has no Python. The notebook runs the program.",
    offline: "Python could not be loaded: there is no network. Try again when it is back; the notebook needs none.",
    broken: "Python does not work in this browser. The notebook runs the program.",
    loading: "Loading Python, some 10 MB, the first time only …",
    running: "Running …",
    stopped: "Stopped.",
    done: "It ran without an error.",
  };
  const HELP = "Tab indents. To leave the editor with the keyboard, press Escape, then Tab.";
  const root = new URL(".", document.currentScript.src); // the folder _static
  const WORKER = new URL("python_worker.js", root);
  // A run has a worker of its own. After the first one, the next one waits with Python loaded.
  let worker = null, spare = null;
  const ready = new WeakSet(); // workers that have loaded Python
  let running = null; // the exercise that runs
  let page = "", cells = null; // the page's name, and its cells

  function load(setup) {
    const made = new Worker(WORKER, { type: "module" });
    const fail = () => {
      made.terminate();
      if (made === spare) spare = null;
      else if (made === worker) why(setup.home, running);
    };
    made.onerror = fail;
    made.onmessage = ({ data }) => {
      if (data.ready) ready.add(made);
      if (data.failed) fail();
      else if (made !== worker) return; // its run was stopped
      else if (data.ready) running.tell(SAYS.running);
      else if (data.print) running.print(data.print);
      else end(data);
    };
    made.postMessage(setup);
    return made;
  }

  // Say why there is no Python: no network, none in this copy, or a browser that cannot run it.
  async function why(home, asked) {
    const gone = await fetch(new URL("pyodide.mjs", home), { method: "HEAD" }).then(({ ok }) => ok ? "broken" : "missing", () => "offline");
    if (asked && asked === running) end({ says: SAYS[gone] });
  }

  function end(outcome) {
    const { setup, finish } = running;
    worker?.terminate();
    worker = running = null;
    finish(outcome);
    if (!outcome.says || outcome.says === SAYS.stopped) spare ??= load(setup);
  }

  function stop() {
    if (running) end({ says: SAYS.stopped });
  }

  function run(exercise, program, listener) {
    running = listener;
    if (FOLDER) return end({ says: SAYS.folder });
    worker = spare ?? load(running.setup);
    spare = null;
    running.tell(ready.has(worker) ? SAYS.running : SAYS.loading);
    const asked = worker;
    above(exercise.number).then((cells) => asked.postMessage({ ...exercise, program, above: JSON.stringify(cells) }));
  }

  // The cells above an exercise, whose names its program may use; see book/_ext/cells.py.
  async function above(number) {
    cells ??= await fetch(new URL(`cells/${page}.json`, root)).then((came) => came.json()).catch(() => []);
    const end = cells.findIndex((each) => each?.apart && each.source.includes(`check("${number}"`));
    return cells.slice(0, Math.max(end, 0)).map((each) => (each?.apart ? null : each));
  }

  // Tab indents and Enter keeps the indentation; after Escape, Tab leaves.
  function editing(editor) {
    let leaving = false;
    const insert = (text) => document.execCommand("insertText", false, text);
    editor.addEventListener("keydown", (event) => {
      const before = editor.value.slice(0, editor.selectionStart), line = before.slice(before.lastIndexOf("\n") + 1);
      const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
      if (event.key === "Enter" && (event.ctrlKey || event.shiftKey)) {
        event.preventDefault();
        editor.form.requestSubmit();
      } else if (event.key === "Enter" && plain) {
        event.preventDefault();
        insert(`\n${line.match(/^ */)[0]}${/:\s*(#.*)?$/.test(line) ? "    " : ""}`);
      } else if (event.key === "Tab" && plain && !leaving) {
        event.preventDefault();
        insert(" ".repeat(4 - (line.length % 4)));
      } else if (event.key === "Backspace" && plain && /^ +$/.test(line) && line.length % 4 === 0 && editor.selectionStart === editor.selectionEnd) {
        event.preventDefault();
        editor.selectionStart -= 4;
        document.execCommand("delete");
      }
      leaving = event.key === "Escape" || (leaving && event.key === "Shift");
    });
    editor.addEventListener("focus", () => { leaving = false; });
  }

  window.cfrProgram = (exercise, tools) => {
    page = tools.data.page;
    const { number, program, answer } = exercise, { data, make, rich, show, state, save } = tools;
    const checks = !data.hidden;
    const home = new URL((data.python || "python").replace(/\/*$/, "/"), root).href;
    const setup = { home, imports: data.imports, number };
    const help = make("p", { class: "cfr-asks", id: `cfr-help-${number}` }, HELP);
    const editor = make("textarea", { class: "cfr-code", rows: Math.max(program.split("\n").length + 1, 8), spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": `Program for exercise ${number}`, "aria-describedby": help.id });
    const begin = make("button", {}, checks ? "Run and check" : "Run");
    const halt = make("button", { type: "button", hidden: "" }, "Stop");
    const again = make("button", { type: "button" }, "Start over");
    const output = make("pre", { class: "cfr-output", "aria-label": "Output", tabindex: "0", hidden: "" });
    const reply = make("p", { class: "cfr-reply", role: "status" });
    const box = make("form", { class: "cfr-answer", "data-exercise": number, "aria-label": `Answer to exercise ${number}` },
      make("p", { class: "cfr-asks" }, ...rich(`Your answer: ${exercise.asks}.`)), editor, help,
      make("p", { class: "cfr-buttons" }, begin, halt, again), output, reply);
    let before = null; // the program before "Start over"
    const settle = () => {
      again.textContent = before === null ? "Start over" : "Undo";
      again.hidden = before === null && editor.value === program;
      state.typed = editor.value === program ? [] : [editor.value];
      save();
    };
    const tell = (text) => {
      delete reply.dataset.verdict;
      reply.textContent = text;
    };
    const print = (text) => {
      output.hidden = false;
      output.append(text);
    };
    editor.value = state.typed[0] ?? program;
    editing(editor);
    editor.addEventListener("input", () => {
      before = null;
      settle();
      if (!running) tell("");
    });
    again.addEventListener("click", () => {
      [before, editor.value] = before === null ? [editor.value, program] : [null, before];
      settle();
      tell("");
    });
    halt.addEventListener("click", stop);
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      stop();
      output.textContent = "";
      output.hidden = true;
      halt.hidden = false;
      const finish = ({ says, error, verdict, text }) => {
        const within = halt === document.activeElement;
        halt.hidden = true;
        if (within) begin.focus();
        if (error) print(error);
        if (verdict) show(reply, { verdict, text });
        else tell(says ?? (error ? "The program ended with an error." : SAYS.done));
        state.tried ||= Boolean(verdict) && verdict !== "open";
        save();
      };
      run({ number, answer: checks ? answer : "" }, editor.value, { setup, tell, print, finish });
    });
    settle();
    const whole = () => `${editor.value.trimEnd()}\n\nexercises.check("${number}", ${answer})`;
    return { box, given: () => state.typed.length > 0 && whole() };
  };
})();
