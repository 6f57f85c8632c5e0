// An editor for Python. `cfrEditor(place, text, { label, change, leave })` puts it into an element and
// resolves to what has `value`, `focus()` and `update(text)`. It is CodeMirror, which
// tools/editor.py puts into the folder `editor`, or a plain field where that is missing.

// Where Enter leads: the indentation of the line above, and four spaces more if that opens a block
const indented = (line) => `${line.match(/^ */)[0]}${/[:([{]\s*(#.*)?$/.test(line) ? "    " : ""}`;

// Tab indents and Enter keeps the indentation; after Escape, Tab leaves.
export function editing(editor) {
  let leaving = false;
  const insert = (text) => document.execCommand("insertText", false, text);
  editor.addEventListener("keydown", (event) => {
    const before = editor.value.slice(0, editor.selectionStart), line = before.slice(before.lastIndexOf("\n") + 1);
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
    if (event.key === "Enter" && plain) {
      event.preventDefault();
      insert(`\n${indented(line)}`);
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

function field(place, text, { label, change, leave }) {
  const editor = document.createElement("textarea");
  Object.assign(editor, { value: text, ariaLabel: label, spellcheck: false, autocapitalize: "off", rows: text.split("\n").length + 1 });
  editor.addEventListener("input", () => change(editor.value));
  editor.addEventListener("keydown", ({ key }) => { if (key === "Escape") leave(); });
  editing(editor);
  place.append(editor);
  return {
    get value() { return editor.value; },
    focus: () => editor.focus(),
    update: (next) => { if (editor.value !== next) editor.value = next; },
  };
}

// Tokens have the classes of Pygments, so the page's colors.
const LOOKS = {
  k: "controlKeyword definitionKeyword moduleKeyword operatorKeyword keyword", kc: "bool null", s2: "string special(string)",
  mi: "number", c1: "comment", nf: "function(definition(variableName))", nc: "definition(className)", nd: "meta",
};

async function mirror(place, text, { label, change, leave }) {
  const names = ["view", "commands", "language", "lezer-highlight", "lezer-python"];
  const [view, commands, language, highlight, { parser }] = await Promise.all(names.map((name) => import(`./editor/${name}.js`)));
  const { tags, tagHighlighter } = highlight;
  const tag = (name) => { // "function(definition(variableName))"
    const [, outer, inner] = name.match(/^(\w+)\((.*)\)$/) ?? [];
    return outer ? tags[outer](tag(inner)) : tags[name];
  };
  const colors = tagHighlighter(Object.entries(LOOKS).map(([kind, list]) => ({ tag: list.split(" ").map(tag), class: kind })));
  const python = language.LRLanguage.define({ parser, languageData: { commentTokens: { line: "#" } } });
  const { keymap, EditorView } = view;
  place.addEventListener("keydown", (event) => event.stopPropagation()); // "/" would open the search
  const editor = new EditorView({
    parent: place,
    doc: text,
    extensions: [
      view.drawSelection(), commands.history(), language.indentOnInput(), language.bracketMatching(),
      language.indentUnit.of("    "), language.syntaxHighlighting(colors), python,
      language.indentService.of(({ state: { doc } }, at) => {
        const { number } = doc.lineAt(at);
        return indented(doc.line(number).text.trim() || number === 1 ? doc.line(number).text.slice(0, at - doc.line(number).from) : doc.line(number - 1).text).length;
      }),
      keymap.of([{ key: "Escape", run: () => { leave(); return true; } }, commands.indentWithTab, ...commands.historyKeymap, ...commands.defaultKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) change(editor.state.doc.toString()); }),
    ],
  });
  return {
    get value() { return editor.state.doc.toString(); },
    focus: () => editor.focus(),
    update: (next) => {
      if (editor.state.doc.toString() !== next) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: next } });
    },
  };
}

export async function cfrEditor(place, text, options) {
  return mirror(place, text, options).catch((error) => {
    console.warn(error);
    place.replaceChildren();
    return field(place, text, options);
  });
}
