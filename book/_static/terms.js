// The boxes of book/_ext/terms.py work without this script. With it a box stands below its word,
// and Escape puts it away until one comes back to the word. By touch, the first tap on a word shows
// its box, the second follows the link, and a tap elsewhere puts the box away.
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

  let pointer;
  function tap(event) {
    const term = event.target.closest?.(".cfr-term:not(.cfr-map *)");
    const open = document.querySelector(".cfr-tapped");
    if (open && open !== term) open.classList.remove("cfr-tapped");
    if (!term || open === term || event.detail === 0 || pointer !== "touch") return; // 0: by keyboard
    term.classList.remove("cfr-hushed");
    term.classList.add("cfr-tapped");
    place(event);
    event.preventDefault();
  }

  document.addEventListener("pointerdown", (event) => { pointer = event.pointerType; });
  document.addEventListener("click", tap);
  document.addEventListener("mouseover", place);
  document.addEventListener("focusin", place);
  document.addEventListener("mouseout", leave);
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    const shown = document.querySelectorAll(".cfr-term:is(:hover, :focus-within, .cfr-tapped)");
    for (const term of shown) term.classList.add("cfr-hushed");
  });
})();
