// What the pages share on which a reader plays against a strategy: chance, the score and its
// chart, cards, buttons and keys.
(function () {
  "use strict";
  const Z = 1.96; // 95% of a normal distribution

  // ---- chance ----

  // An action, drawn from {action: probability}.
  function sample(row, random) {
    const possible = Object.keys(row).filter((action) => row[action] > 0);
    let left = random();
    for (const action of possible) {
      left -= row[action];
      if (left < 0) return action;
    }
    return possible[possible.length - 1]; // the probabilities sum to a hair less than 1
  }

  // ---- the score ----

  function sum(numbers) {
    return numbers.reduce((a, b) => a + b, 0);
  }

  // Total, mean and standard deviation of the results; half the width of the mean's 95% band.
  function score(results) {
    const hands = results.length, total = sum(results), mean = hands ? total / hands : 0;
    const squares = sum(results.map((x) => (x - mean) ** 2));
    const sd = hands > 1 ? Math.sqrt(squares / (hands - 1)) : NaN;
    return { hands, total, mean, sd, half: (Z * sd) / Math.sqrt(hands) };
  }

  // ---- words ----

  function signed(x, digits = 0) {
    const text = Math.abs(x).toFixed(digits);
    if (Number(text) === 0) return text;
    return (x < 0 ? "−" : "+") + text;
  }

  // ---- pictures ----

  function picture(name, width, height, content) {
    return `<svg class="play-${name[0]}" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-label="${name[1]}">${content}</svg>`;
  }

  // A card with a face, given as SVG in 80 by 112; without one, face down.
  function card(face, name) {
    const sheet = (inset, radius) => `<rect class="play-paper" x="${inset}" y="${inset}" ` +
      `width="${80 - 2 * inset}" height="${112 - 2 * inset}" rx="${radius}"/>`;
    if (face) return picture(["card", name], 80, 112, sheet(1.5, 9) + face);
    const lines = Array.from({ length: 18 }, (_, k) => 10 * k - 90);
    const hatch = lines.map((x) => `M${x} 0 l112 112 M${x + 100} 0 l-112 112`).join(" ");
    const back = `<svg x="9" y="9" width="62" height="94"><path class="play-hatch" d="${hatch}"/></svg>`;
    return picture(["card", name], 80, 112, sheet(1.5, 9) + back);
  }

  function chartWords(now, unit) {
    if (!now.hands) return `Chart of the score: no ${unit} finished yet.`;
    const band = Z * now.sd * Math.sqrt(now.hands);
    const reach = now.hands > 1 ? `; without an edge, 95% lie within ±${band.toFixed(1)}` : "";
    return `Chart of the score: ${signed(now.total)} after ${now.hands} ` +
      `${now.hands === 1 ? unit : unit + "s"}${reach}.`;
  }

  // The score after each hand, or round, and the band in which 95% of scores lie without an edge.
  function chart(results, width, unit = "hand") {
    const now = score(results), height = 210, left = 38, right = 10, top = 12, bottom = 26;
    const sums = results.reduce((all, x) => [...all, all[all.length - 1] + x], [0]);
    const last = Math.max(10, now.hands), spread = Z * (now.sd || 0);
    const tallest = Math.max(4, ...sums.map(Math.abs), spread * Math.sqrt(last));
    const tick = [2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * 2.5 > tallest) || 1000;
    const x = (n) => left + ((width - left - right) * n) / last;
    const y = (s) => top + (height - top - bottom) * (0.5 - s / (2.1 * tallest));
    const path = (points) => points.map(([n, s]) => `${x(n).toFixed(1)},${y(s).toFixed(1)}`).join(" ");
    const edge = (sign) => Array.from({ length: 41 }, (_, k) => {
      const n = (last * k) / 40;
      return [n, sign * spread * Math.sqrt(n)];
    });
    const grid = [-2, -1, 0, 1, 2].map((k) => k * tick).filter((s) => Math.abs(s) <= 1.04 * tallest);
    const rules = grid.map((s) => `<line class="${s ? "play-grid" : "play-zero"}" x1="${left}" ` +
      `x2="${width - right}" y1="${y(s)}" y2="${y(s)}"/>` +
      `<text x="${left - 6}" y="${y(s) + 4}" text-anchor="end">${signed(s)}</text>`).join("");
    const band = now.hands > 1
      ? `<polygon class="play-band" points="${path([...edge(1), ...edge(-1).reverse()])}"/>` +
        [1, -1].map((sign) => `<polyline class="play-edge" points="${path(edge(sign))}"/>`).join("")
      : "";
    const line = `<polyline class="play-line" points="${path(sums.map((s, n) => [n, s]))}"/>` +
      `<circle cx="${x(now.hands)}" cy="${y(now.total)}" r="4"/>`;
    const foot = `<text x="${left}" y="${height - 6}">0</text><text x="${width - right}" ` +
      `y="${height - 6}" text-anchor="end">${last} ${unit}s</text>`;
    return picture(["chart", chartWords(now, unit)], width, height, band + rules + line + foot);
  }

  // ---- the page ----

  // Write only what has changed: what stays keeps its focus, and is not read out again.
  function put(element, html) {
    if (element.written === html) return;
    element.written = html;
    element.innerHTML = html;
  }

  function button(action, key, label) {
    return `<button type="button" data-action="${action}" aria-keyshortcuts="${key.toUpperCase()}">` +
      `${label} <kbd aria-hidden="true">${key.toUpperCase()}</kbd></button>`;
  }

  // Call move(action) when a button is clicked, or its key pressed while the game has the focus.
  function listen(game, actions, keys, move) {
    actions.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (pressed) move(pressed.dataset.action);
    });
    game.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
      if (event.repeat && event.target.closest("button")) event.preventDefault(); // a key held down
      const buttons = [...actions.querySelectorAll("button")];
      const meant = buttons.find((b) => keys[b.dataset.action] === event.key.toLowerCase());
      if (meant && !event.repeat) move(meant.dataset.action);
    });
  }

  const play = { Z, button, card, chart, listen, picture, put, sample, score, signed, sum };
  if (typeof module === "undefined") window.cfrPlay = play;
  else module.exports = play;
})();
