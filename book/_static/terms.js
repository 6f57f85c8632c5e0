// The boxes of book/_ext/terms.py work without this script. With it a box stands below its word,
// and Escape puts it away until one comes back to the word.
(() => {
  function place({ target }) {
    const term = target.closest?.(".cfr-term");
    if (!term) return;
    const [link, tip] = term.children;
    const room = tip.offsetParent ? tip.offsetParent.clientWidth - tip.offsetWidth : 0;
    // a word that goes on in the next line is one line farther from its box
    term.classList.toggle("cfr-wrapped", link.getClientRects().length > 1);
    tip.style.left = `${Math.max(0, Math.min(link.offsetLeft, room))}px`;
  }

  function leave({ target, relatedTarget }) {
    const term = target.closest?.(".cfr-term");
    if (term && !term.contains(relatedTarget)) term.classList.remove("cfr-hushed");
  }

  document.addEventListener("mouseover", place);
  document.addEventListener("focusin", place);
  document.addEventListener("mouseout", leave);
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    const shown = document.querySelectorAll(".cfr-term:is(:hover, :focus-within)");
    for (const term of shown) term.classList.add("cfr-hushed");
  });
})();
