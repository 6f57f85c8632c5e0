// Formulas are set a few at a time, those in sight first, when the page has nothing else to do.
(() => {
  "use strict";
  const AT_ONCE = 12;

  // Safari has no requestIdleCallback.
  const rest = () => new Promise((go) => (window.requestIdleCallback ?? setTimeout)(go));

  // To ask where a formula is would lay out its section; a section's place is known.
  const away = (formula) => {
    const section = formula.closest(".bd-article > section > section") ?? formula;
    const { top, bottom } = section.getBoundingClientRect();
    return bottom < 0 || top > innerHeight;
  };

  async function typeset() {
    const formulas = [...document.querySelectorAll(".math")].map((math) => [away(math), math]);
    formulas.sort(([a], [b]) => a - b);
    for (let n = 0; n < formulas.length; n += AT_ONCE) {
      await MathJax.typesetPromise(formulas.slice(n, n + AT_ONCE).map(([, math]) => math));
      await rest();
    }
  }

  MathJax.startup = { pageReady: typeset };
})();
