// Code in closed folds is plain text; see book/_ext/lean.py. This colors it when its fold opens.
// `data-runs` lists lengths of text, each with its class if it has one: "4 2:k 7 5:s2".
(() => {
  "use strict";
  function color(code) {
    const text = code.textContent;
    let at = 0;
    const runs = code.dataset.runs.split(" ").map((run) => {
      const [length, kind] = run.split(":");
      const piece = text.slice(at, at += Number(length));
      if (!kind) return piece;
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = piece;
      return span;
    });
    delete code.dataset.runs;
    code.replaceChildren(...runs);
  }

  document.addEventListener("toggle", ({ target }) => {
    if (target.open) target.querySelectorAll("pre[data-runs]").forEach(color);
  }, true);
})();
