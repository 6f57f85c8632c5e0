// Formulas are set a few at a time, those in sight first, when the page has nothing else to do.
(() => {
  "use strict";
  const AT_ONCE = 12;

  // Safari has no requestIdleCallback.
  const rest = () => new Promise((go) => (window.requestIdleCallback ?? setTimeout)(go));

  const distance = (formula) => {
    const { top, bottom } = formula.getBoundingClientRect();
    return bottom < 0 ? -bottom : Math.max(0, top - innerHeight);
  };

  async function typeset() {
    const near = [...document.querySelectorAll(".math")].map((math) => [distance(math), math]);
    near.sort(([a], [b]) => a - b);
    for (let n = 0; n < near.length; n += AT_ONCE) {
      await MathJax.typesetPromise(near.slice(n, n + AT_ONCE).map(([, math]) => math));
      await rest();
    }
  }

  MathJax.startup = { pageReady: typeset };
})();
