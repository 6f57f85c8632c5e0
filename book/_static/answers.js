// Fields for the answers to a page's exercises, checked by check.js; editors for programs, run by
// python.js. The data, an element of the
// page, is made by book/_ext/answers.py. What is typed stays in the tab and in the file that
// "Download my answers" saves.
(() => {
  "use strict";
  const element = document.getElementById("cfr-answers");
  if (!element) return;
  const data = JSON.parse(element.textContent);
  const { MISSING, SIGNS, check, decode, load } = window.cfrCheck;
  const KEPT = `cfr-answers ${data.page}`, NAME = "cfr-name";
  const ELSEWHERE = data.hidden
    ? "Your teacher checks this answer: download your answers below."
    : "This page cannot check this answer. The notebook can, and so can your teacher.";
  const FIRST = "Try it first: the solution opens after a check, or now, if you tap once more.";

  const remember = (key, value) => sessionStorage.setItem(key, JSON.stringify(value));
  const recall = (key) => JSON.parse(sessionStorage.getItem(key));

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const kept = recall(KEPT) ?? {}; // by exercise: what was typed, and whether it was checked

  // ---- fields ------------------------------------------------------------------------------------

  function labelOf(key) {
    return key instanceof Array ? key.join(", ") : String(key);
  }

  function entries(form) { // of a part that has parts: their labels, forms and classes
    if (Array.isArray(form)) return form.map((inner, n) => [String(n + 1), inner, "cfr-place"]);
    return form.dict.map(([key, inner]) => [labelOf(decode(key)), inner, ""]);
  }

  function field(kind, label, words, look = "") {
    const truth = { True: "yes", False: "no" };
    const choices = { truth: Object.keys(truth), word: words }[kind];
    const control = choices
      ? make("select", {}, make("option", { value: "" }, "…"), ...choices.map((word) => make("option", { value: word }, kind === "truth" ? truth[word] : word)))
      : make("input", { type: "text", class: `cfr-${kind}`, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    return make("label", {}, make("span", { class: look }, label), control);
  }

  function fields(form, words) {
    return entries(form).map(([label, inner, look]) => typeof inner === "string"
      ? field(inner, label, words, look)
      : make("fieldset", {}, make("legend", {}, label), ...fields(inner, words)));
  }

  // Return what is typed into the fields, in the form of the answer: `leaf` of each.
  function answer(form, controls, leaf, dictionary) {
    if (typeof form === "string") return leaf(form, controls.shift().value);
    if (Array.isArray(form)) return form.map((inner) => answer(inner, controls, leaf, dictionary));
    return dictionary(form.dict.map(([key, inner]) => [decode(key), answer(inner, controls, leaf, dictionary)]));
  }

  function read(kind, typed) {
    const text = typed.trim();
    if (!text) return MISSING;
    return kind === "truth" ? text === "True" : text;
  }

  // As a file keeps it: JSON knows only text as a key, so other dictionaries become lists.
  function write(kind, typed) {
    const value = read(kind, typed);
    return value === MISSING ? null : value;
  }

  function plainly(pairs) {
    if (pairs.some(([key]) => key instanceof Array)) return pairs.map(([, value]) => value);
    return Object.fromEntries(pairs.map(([key, value]) => [String(key), value]));
  }

  // ---- an exercise -------------------------------------------------------------------------------

  function cellOf(number) {
    return [...document.querySelectorAll(".cell.tag_answer")].find((cell) =>
      cell.textContent.includes(`exercises.check("${number}"`));
  }

  // Text between backticks is code, and between asterisks is stressed.
  function rich(text) {
    return text.split(/(`[^`]+`|(?<![\w*])\*\w[^*]*\*(?![\w*]))/).map((piece, n) => {
      if (n % 2 === 0) return piece;
      return make(piece[0] === "*" ? "em" : "code", {}, piece.slice(1, -1));
    });
  }

  // On a page the fields are the dictionary, and a choice of two says yes or no.
  function asked(text) {
    const rest = text.replace(/^a dictionary(:| with) /, "");
    return rest.replace(/(which is )?a dictionary (with|of) /g, "with ").replaceAll("True or False", "yes or no");
  }

  function show(place, { verdict, text }) {
    place.dataset.verdict = verdict;
    place.replaceChildren(make("span", { "aria-hidden": "true" }, SIGNS[verdict]), " ", make("span", {}, ...rich(text)));
  }

  function build(exercise) {
    const { number, form, words } = exercise, cell = cellOf(number);
    if (!cell) return;
    const state = kept[number] ??= { typed: [], tried: false };
    if (exercise.program) return program(exercise, cell, state);
    const controls = typeof form === "string" ? [field(form, "Answer", words)] : fields(form, words);
    const reply = make("p", { class: "cfr-reply", role: "status" });
    const again = make("button", { type: "button" }, "Start over");
    const buttons = make("p", { class: "cfr-buttons" }, ...(exercise.check ? [make("button", {}, "Check")] : []), again);
    const asks = make("p", { class: "cfr-asks", id: `cfr-asks-${number}` }, ...rich(`Your answer: ${asked(exercise.asks)}.`));
    const box = make("form", { class: "cfr-answer", "data-exercise": number, "aria-label": `Answer to exercise ${number}` },
      asks, make("div", { class: "cfr-fields" }, ...controls), buttons, reply);
    const inputs = [...box.querySelectorAll("input, select")];
    inputs[0].setAttribute("aria-describedby", asks.id); // once, and not at each of twenty fields
    cell.before(box);
    cell.classList.toggle("cfr-replaced", exercise.bare);

    let before = null; // what was typed before "Start over"
    const save = () => {
      state.typed = inputs.map((input) => input.value);
      again.hidden = !before && !state.typed.some(Boolean);
      remember(KEPT, kept);
    };
    const fill = (typed) => {
      inputs.forEach((input, n) => { input.value = typed[n] ?? ""; });
      save();
    };
    const clear = () => {
      delete reply.dataset.verdict;
      reply.textContent = exercise.check ? "" : ELSEWHERE;
    };
    const settle = (typed) => {
      before = typed;
      again.textContent = before ? "Undo" : "Start over";
    };

    box.addEventListener("input", () => {
      clear();
      settle(null);
      save();
    });
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!exercise.check) return;
      const loaded = exercise.loaded ??= load(exercise.check);
      const found = check(loaded, answer(form, [...inputs], read, (pairs) => new Map(pairs)));
      show(reply, found);
      state.tried ||= found.verdict !== "open";
      save();
    });
    again.addEventListener("click", () => {
      const typed = inputs.map((input) => input.value);
      const undone = before;
      settle(undone ? null : typed);
      fill(undone ?? []);
      clear();
      if (!undone) reply.textContent = "The fields are empty.";
    });
    clear();
    fill(state.typed);
    if (exercise.check) guard(cell, state);
    return { number, given: () => state.typed.some(Boolean) && answer(form, [...inputs], write, plainly) };
  }

  // An editor in place of fields; see python.js.
  function program(exercise, cell, state) {
    const save = () => remember(KEPT, kept);
    const { box, given } = window.cfrProgram(exercise, { data, make, rich, show, state, save });
    cell.before(box);
    cell.classList.add("cfr-replaced");
    if (!data.hidden) guard(cell, state);
    return { number: exercise.number, given, kind: "programs" };
  }

  // The solution stays closed until an answer was checked, or until the second tap.
  function guard(cell, state) {
    const note = make("p", { class: "cfr-reply", role: "status" });
    for (let next = cell.nextElementSibling; next?.matches(".solution, .tag_solution"); next = next.nextElementSibling) {
      if (next.matches(".solution")) next.before(note);
      next.addEventListener("click", (event) => {
        const opens = event.target.closest("summary, .admonition-title");
        if (state.tried || !opens || event.target.closest("a") || !event.isTrusted) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        note.textContent = FIRST;
        state.tried = true;
        remember(KEPT, kept);
      }, { capture: true });
    }
  }

  // ---- the file ----------------------------------------------------------------------------------

  function handIn(built) {
    const name = make("input", { type: "text", autocomplete: "name" });
    const told = make("p", { class: "cfr-reply", role: "status" });
    const box = make("form", { class: "cfr-answer cfr-hand-in", "aria-label": "My answers" },
      make("p", { class: "cfr-asks" },
        "For a class: save what you typed on this page as a file that your teacher can grade. Nothing is sent."),
      make("div", { class: "cfr-fields" }, make("label", {}, make("span", {}, "Your name"), name)),
      make("p", { class: "cfr-buttons" }, make("button", {}, "Download my answers")), told);
    name.value = recall(NAME) ?? "";
    name.addEventListener("input", () => remember(NAME, name.value));
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = built.map(({ number, given, kind }) => [number, given(), kind]).filter(([, value]) => value);
      const who = name.value.trim();
      if (!who || !given.length) {
        told.textContent = who ? "There is nothing to save yet." : "Write your name first; the file is called after it.";
        if (!who) name.focus();
        return;
      }
      const file = { name: who, page: data.page, answers: {}, programs: {} };
      for (const [number, value, kind = "answers"] of given) file[kind][number] = value;
      const url = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
      make("a", { href: url, download: `${who.replace(/[\\/:*?"<>|]/g, "_")} - ${data.page}.json` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      told.textContent = `Saved: ${given.map(([number]) => number).join(", ")}.`;
    });
    return box;
  }

  const built = data.exercises.map(build).filter(Boolean);
  let end = [...document.querySelectorAll(".cell.tag_answer")].at(-1);
  while (end?.nextElementSibling?.matches(".cfr-reply, .solution, .tag_solution, .cfr-sealed")) {
    end = end.nextElementSibling;
  }
  if (built.length) end.after(handIn(built));
})();
