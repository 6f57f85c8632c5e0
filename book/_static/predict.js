// The result that follows a question stays veiled until the reader has chosen an answer, or asks to
// be shown it: outputs up to the next question, section or figure that can be moved, and the
// paragraphs behind the first of them. Without scripts, and on paper, nothing is.
(() => {
  "use strict";
  const OUTPUT = ".cell_output", MOVING = ".cfr-explore, .cfr-program, .play-yours", PROSE = "p, ul, ol";
  const key = `cfr-seen ${location.pathname}`;

  const seen = () => JSON.parse(sessionStorage.getItem(key)) ?? [];
  const remember = (number) => sessionStorage.setItem(key, JSON.stringify([...seen(), number]));

  // What gives the answer away
  function results(question) {
    const found = [];
    let at = question.nextElementSibling;
    const cell = () => at?.matches(".cell") && !at.querySelector(MOVING);
    while (at && !at.matches(".cell, .predict, section")) at = at.nextElementSibling; // more of it
    for (; cell(); at = at.nextElementSibling) found.push(...at.querySelectorAll(OUTPUT));
    if (found.length) {
      for (; at?.matches(PROSE); at = at.nextElementSibling) found.push(at);
      const on = () => at && !at.matches("section, .predict") && !at.querySelector(MOVING);
      for (; on(); at = at.nextElementSibling) found.push(...at.querySelectorAll(OUTPUT));
    }
    return found;
  }

  [...document.querySelectorAll(".predict")].forEach((question, number) => {
    const veiled = seen().includes(number) ? [] : results(question);
    if (!veiled.length) return;
    const button = document.createElement("button");
    button.className = "cfr-reveal";
    button.type = "button";
    button.textContent = "Just show me";
    const turn = (on) => veiled.forEach((each) => {
      each.classList.toggle("cfr-veiled", on);
      each.inert = on;
    });
    const reveal = () => {
      if (!button.isConnected) return;
      turn(false);
      button.remove();
      remember(number);
    };
    const target = document.getElementById(location.hash.slice(1));
    if (veiled.some((each) => each.contains(target))) return;
    turn(true);
    question.append(button);
    button.addEventListener("click", reveal);
    question.addEventListener("toggle", reveal, true); // of a choice; it does not bubble
  });
})();
