// Formulas are set a few at a time, those in sight first, so that the page answers in between.
(() => {
  "use strict";
  const AT_ONCE = 10;

  const distance = (formula) => {
    const { top, bottom } = formula.getBoundingClientRect();
    return bottom < 0 ? -bottom : Math.max(0, top - innerHeight);
  };

  async function typeset() {
    const near = [...document.querySelectorAll(".math")].map((math) => [distance(math), math]);
    near.sort(([a], [b]) => a - b);
    for (let n = 0; n < near.length; n += AT_ONCE) {
      await MathJax.typesetPromise(near.slice(n, n + AT_ONCE).map(([, math]) => math));
      await new Promise((go) => setTimeout(go));
    }
  }

  MathJax.startup = { pageReady: typeset };
})();
