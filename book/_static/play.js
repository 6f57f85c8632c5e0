// What the pages share on which a reader plays against a strategy: chance, the score and its
// chart, cards, and the page itself, on which hand follows hand. What a game is, its own file says.
(function () {
  "use strict";
  const Z = 1.96; // 95% of a normal distribution
  const NOTHING = 5e-4; // what is less is written 0.000
  const PAUSE = 300; // milliseconds in which a second click is taken for part of the first
  const ENOUGH = 10; // hands before the score tells how sure it is
  const STEP = 400; // milliseconds for which a step of a move is seen

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

  function mean(numbers) {
    return numbers.length ? sum(numbers) / numbers.length : 0;
  }

  // Student's t of a 95% interval, from the normal distribution's: Cornish and Fisher's expansion
  // (Abramowitz and Stegun, 26.7.5), right to 3e-4 for nine degrees of freedom or more.
  function student(freedom) {
    const terms = [
      Z,
      (Z ** 3 + Z) / 4,
      (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
      (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
    ];
    return sum(terms.map((term, k) => term / freedom ** k));
  }

  // Total, mean and standard deviation of the results; half the width of the mean's 95% interval,
  // NaN as long as there are too few results for one.
  function score(results) {
    const hands = results.length, middle = mean(results);
    const squares = sum(results.map((x) => (x - middle) ** 2));
    const sd = hands > 1 ? Math.sqrt(squares / (hands - 1)) : NaN;
    const half = hands < ENOUGH ? NaN : (student(hands - 1) * sd) / Math.sqrt(hands);
    return { hands, total: sum(results), mean: middle, sd, half };
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
    const band = (now.half * now.hands).toFixed(1);
    const reach = now.half >= 0 ? `; without an edge, 95% lie within ±${band}` : "";
    return `Chart of the score: ${signed(now.total)} after ${now.hands} ` +
      `${now.hands === 1 ? unit : unit + "s"}${reach}.`;
  }

  // The score after each hand, or round, and once there are enough of them the band in which 95%
  // of scores lie without an edge.
  function chart(results, width, unit) {
    const now = score(results), height = 210, left = 38, right = 10, top = 12, bottom = 26;
    const sums = results.reduce((all, x) => [...all, all[all.length - 1] + x], [0]);
    const last = Math.max(10, now.hands), spread = now.half >= 0 ? now.half * Math.sqrt(now.hands) : 0;
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
    const band = now.half >= 0
      ? `<polygon class="play-band" points="${path([...edge(1), ...edge(-1).reverse()])}"/>` +
        [1, -1].map((sign) => `<polyline class="play-edge" points="${path(edge(sign))}"/>`).join("")
      : "";
    const line = `<polyline class="play-line" points="${path(sums.map((s, n) => [n, s]))}"/>` +
      `<circle cx="${x(now.hands)}" cy="${y(now.total)}" r="4"/>`;
    const foot = `<text x="${left}" y="${height - 6}">0</text><text x="${width - right}" ` +
      `y="${height - 6}" text-anchor="end">${last} ${unit}s</text>`;
    return picture(["chart", chartWords(now, unit)], width, height, band + rules + line + foot);
  }

  // ---- tables ----

  function table(heads, lines) {
    const cells = heads.map((head) => `<th scope="col">${head}</th>`).join("");
    return `<table><thead><tr>${cells}</tr></thead><tbody>${lines.join("")}</tbody></table>`;
  }

  // The reader's decisions, a line each, with what it cost at the end; cells(row) come before.
  function costTable(heads, rows, cells, digits = 3) {
    if (!rows.length) return "";
    const lines = rows.map((row) => {
      const text = row.cost.toFixed(digits);
      const lost = Number(text) ? `<span class="play-loss">${text}</span>` : "0";
      return `<tr data-cost="${row.cost}">${cells(row)}<td>${lost}</td></tr>`;
    });
    return `<div class="play-scroll">${table([...heads, "cost"], lines)}</div>`;
  }

  // ---- what the tab remembers ----

  // A number that tells two texts apart.
  function digest(text) {
    let found = 0;
    for (let k = 0; k < text.length; k++) found = (31 * found + text.charCodeAt(k)) | 0;
    return found;
  }

  // What was kept under this name until the tab is closed; null if nothing was.
  const recall = (name) => JSON.parse(sessionStorage.getItem(`cfr-play-${name}`));
  const remember = (name, value) => sessionStorage.setItem(`cfr-play-${name}`, JSON.stringify(value));

  // ---- the page ----

  // A hand that is over, folded away until the reader wants to see it again.
  function again(unit, hands, won, html) {
    return `<details class="play-again"><summary>Look at ${unit} ${hands.length} again: ` +
      `${signed(won)}</summary>${html}</details>`;
  }

  function list(lines) {
    return `<ol class="play-told">${lines.map((line) => `<li>${line}</li>`).join("")}</ol>`;
  }

  // Write only what has changed: what stays keeps its focus, and is not read out again.
  function put(element, html) {
    if (element.written === html) return;
    element.written = html;
    element.innerHTML = html;
  }

  // What every game shows, around the parts of its own.
  function frame({ unit, controls = "", felt, moves = "", side = "", leak }) {
    return `${controls}
    <div class="play-columns">
      <section class="play-felt" aria-label="The ${unit}">
        ${felt}
        <p class="play-status" role="status"></p>
        <div class="play-actions" role="group" aria-label="Your move"></div>
        ${moves}
      </section>
      <section class="play-score" aria-label="The score">
        <dl class="play-numbers"></dl>
        <div class="play-plot"></div>
        ${side}
        <div class="play-foot">
          <button type="button" class="play-restart">Start over</button>
          <button type="button" class="play-undo" hidden>Undo</button>
        </div>
      </section>
    </div>
    <section class="play-leak" aria-label="${leak}"></section>`;
  }

  function button([action, key, label]) {
    return `<button type="button" data-action="${action}" aria-keyshortcuts="${key.toUpperCase()}">` +
      `${label} <kbd aria-hidden="true">${key.toUpperCase()}</kbd></button>`;
  }

  // Press the button that a key names while the game has the focus.
  function listen(game) {
    game.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
      if (event.repeat) { // a key held down
        if ([" ", "Enter"].includes(event.key)) event.preventDefault();
        return;
      }
      const buttons = [...game.querySelectorAll("[aria-keyshortcuts]")];
      const meant = buttons.find((b) => b.getAttribute("aria-keyshortcuts") === event.key.toUpperCase());
      if (meant) meant.click();
    });
  }

  // Play wherever the page has a place for this game. `parts` are those of the frame, and what the
  // score is called. A sitting is {hands that are over, hand last dealt, heard: how much of it was
  // told before the reader's last action, before: the sitting that "Start over" has cleared}; it is
  // replaced, never changed, and plain data, as the tab keeps it as JSON. sit(page) returns
  //   start(hands)           the hand that follows these
  //   act(hand, action)      the hand when the reader has to act again, or when it is over; or
  //                          before a move of the other player that takes time:
  //   think(hand)            a promise of the hand after that move, or null if none is due
  //   steps(before, hand)    what is to be seen between two of these, each for a moment; `before`
  //                          is null for a new hand
  //   showStep(step)
  //   over(hand)
  //   result(hand)           what the reader won
  //   choices(hand)          what the reader may do: [action, key, label] of each
  //   told(hand)             how much of the hand there is to tell so far
  //   show(sitting, score)   writes what is the game's own
  //   number(sitting)        one more line of the score: [name, value]
  //   review(sitting, score) what stands below, as HTML
  //   next(sitting)          what the button that ends the hand says, if not "Next" and the unit
  //   keep(), recall(kept)   what else the tab keeps, if anything, and how it is taken up again
  // (think, steps and showStep may be missing) and gets the page: {root, game: elements, data,
  // find(part), sitting, resume(sitting), show()}.
  function open(name, parts, sit) {
    const places = document.querySelectorAll(`[data-game=${name}]:not(.play-ready)`);
    places.forEach((root) => openAt(root, name, parts, sit));
  }

  function openAt(root, name, parts, sit) {
    const text = root.querySelector("script").textContent;
    const data = JSON.parse(text), edition = digest(text);
    const game = document.createElement("div");
    game.className = `play-game play-${name}`;
    game.innerHTML = frame(parts);
    root.prepend(game);
    const find = (part) => game.querySelector(`.play-${part}`);
    const page = { root, game, data, find, sitting: null, resume, show };
    const own = sit(page), { unit } = parts;
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let last = -PAUSE; // when the reader last clicked, or the page last showed other choices
    let steps = [], clock = 0;

    function begin(hands) {
      const hand = own.start(hands); // the other player may end it at once
      return { hands: own.over(hand) ? [...hands, hand] : hands, hand, heard: 0 };
    }

    // Go on with a sitting, or with a new one.
    function resume(sitting) {
      page.sitting = sitting || begin([]);
      show();
      think();
    }

    function after(action) {
      const { hands, hand, before } = page.sitting;
      if (action === "next") return begin(hands);
      const next = own.act(hand, action), heard = own.told(hand);
      return own.over(next)
        ? { hands: [...hands, next], hand: next, heard }
        : { hands, hand: next, heard, before };
    }

    // A double click, or a burst of them, is one move: the buttons under it have changed.
    function move(action, clicks) {
      const part = clicks > 1 || performance.now() - last < PAUSE;
      if (!part) {
        const { hand } = page.sitting;
        page.sitting = after(action);
        keep();
        present(action === "next" ? null : hand);
        think();
      }
      last = performance.now();
    }

    // Wait for the other player's move, if one is due that takes time.
    function think() {
      const asked = page.sitting, { hands, hand } = asked, thought = own.think && own.think(hand);
      if (!thought) return;
      thought.then((next) => {
        if (page.sitting !== asked) return; // the reader has left this hand
        page.sitting = { ...asked, hand: next, hands: own.over(next) ? [...hands, next] : hands };
        keep();
        present(hand);
        think();
      });
    }

    // Show what has happened since, step by step, and then what can be done next.
    function present(before) {
      if (own.steps && !still.matches) steps.push(...own.steps(before, page.sitting.hand));
      if (clock) return;
      if (steps.length) put(find("actions"), "");
      advance();
    }

    function advance() {
      const step = steps.shift();
      clock = step ? setTimeout(advance, STEP) : 0;
      if (step) own.showStep(step);
      else settle();
    }

    function settle() {
      show();
      const first = find("actions").querySelector("button");
      const lost = last >= 0 && document.activeElement === document.body; // with the last buttons
      if (first && lost) first.focus({ preventScroll: true }); // lays the page out
      last = performance.now();
    }

    // A reader who has seen enough clicks anywhere.
    function skip() {
      if (clock) settle();
    }

    function showScore(results, now) {
      const band = now.half >= 0 ? ` <span>± ${now.half.toFixed(2)}</span>` : "";
      const numbers = [[`${unit}s`, now.hands], [parts.score, signed(now.total)],
        [`mean per ${unit}`, signed(now.mean, 2) + band], own.number(page.sitting)];
      put(find("numbers"), numbers.map(([what, value]) => `<div><dt>${what}</dt><dd>${value}</dd></div>`).join(""));
      showChart(results);
    }

    // As wide as its place, so that its letters have the size that they say.
    function showChart(results) {
      put(find("plot"), chart(results, Math.max(240, find("plot").clientWidth), unit));
    }

    function keep() {
      remember(name, { edition, sitting: page.sitting, own: own.keep ? own.keep() : null });
    }

    function show() {
      const { hands, hand } = page.sitting, over = own.over(hand);
      clearTimeout(clock);
      [steps, clock] = [[], 0];
      const results = hands.map(own.result), now = score(results);
      own.show(page.sitting, now);
      const next = over && own.next ? own.next(page.sitting) : `Next ${unit}`;
      const choices = over ? [["next", "n", next]] : own.choices(hand);
      const actions = find("actions");
      put(actions, choices.map(button).join(""));
      actions.classList.toggle("play-with-cards", Boolean(actions.querySelector("svg")));
      find("felt").dataset.result = over ? own.result(hand) : "";
      showScore(results, now);
      find("undo").hidden = !page.sitting.before;
      put(find("leak"), own.review(page.sitting, now));
      keep();
    }

    // Nothing is asked before a score is cleared, as it can be had back.
    function restart() {
      const { hands, before } = page.sitting, cleared = begin([]);
      resume({ ...cleared, before: hands.length ? page.sitting : before });
    }

    function undo() {
      resume(page.sitting.before);
      find("restart").focus({ preventScroll: true });
    }

    // Take up what the tab has kept, unless it is of another edition of the page.
    function begun() {
      const kept = recall(name);
      if (!kept || kept.edition !== edition) return resume();
      if (own.recall) own.recall(kept.own);
      resume(kept.sitting);
    }

    find("actions").addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (pressed) move(pressed.dataset.action, event.detail);
    });
    // first of all, so that what skips a move does not make the next one
    ["pointerdown", "keydown"].forEach((event) => game.addEventListener(event, skip, true));
    listen(game);
    find("restart").addEventListener("click", restart);
    find("undo").addEventListener("click", undo);
    root.classList.add("play-ready");
    begun();
    new ResizeObserver(() => showChart(page.sitting.hands.map(own.result))).observe(find("plot"));
  }

  const play = {
    NOTHING, Z, again, card, chart, costTable, list, mean, open, put, recall, sample, score, signed, sum, table,
  };
  if (typeof module === "undefined") window.cfrPlay = play;
  else module.exports = play;
})();
