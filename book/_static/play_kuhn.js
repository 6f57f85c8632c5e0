// Kuhn poker against a member of its family of equilibria. The strategies and what each action
// loses against them come with the page, computed by cfrlib; this script deals, samples, counts.
(function () {
  "use strict";
  const RANKS = ["J", "Q", "K"]; // low to high
  const NAMES = { J: "jack", Q: "queen", K: "king" };
  const ENOUGH = 50; // hands before the reader's strategy is estimated
  const Z = 1.96; // 95% of a normal distribution
  const NOTHING = 1e-9; // a loss below this is a rounding error

  // ---- the rules ----

  const TURNS = {
    "": { player: 0, actions: ["check", "bet"] },
    "check": { player: 1, actions: ["check", "bet"] },
    "bet": { player: 1, actions: ["fold", "call"] },
    "check-bet": { player: 0, actions: ["fold", "call"] },
  };

  // Who decides after these moves, and between what; null when the hand is over.
  function turn(moves) {
    return TURNS[moves.join("-")] || null;
  }

  function infoset(card, moves) {
    return moves.length ? `${card} ${moves.join("-")}` : card;
  }

  // Chips that player 0 wins.
  function payoff(cards, moves) {
    if (moves[moves.length - 1] === "fold") return moves.length === 2 ? 1 : -1;
    const stake = moves.includes("call") ? 2 : 1;
    return RANKS.indexOf(cards[0]) > RANKS.indexOf(cards[1]) ? stake : -stake;
  }

  // ---- chance ----

  // One of the six deals, all equally likely.
  function deal(random) {
    const first = Math.floor(random() * 3);
    const others = RANKS.filter((_, k) => k !== first);
    return [RANKS[first], others[Math.floor(random() * 2)]];
  }

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

  // ---- a hand: {cards, seat of the reader, moves}; never changed, only replaced ----

  function start(seat, strategy, random) {
    return reply({ cards: deal(random), seat, moves: [] }, strategy, random);
  }

  function act(hand, action, strategy, random) {
    return reply({ ...hand, moves: [...hand.moves, action] }, strategy, random);
  }

  // Let the equilibrium move until the reader has to, or the hand is over.
  function reply(hand, strategy, random) {
    const now = turn(hand.moves);
    if (!now || now.player === hand.seat) return hand;
    const row = strategy[infoset(hand.cards[now.player], hand.moves)];
    return act(hand, sample(row, random), strategy, random);
  }

  function over(hand) {
    return !turn(hand.moves);
  }

  function folded(hand) {
    return hand.moves[hand.moves.length - 1] === "fold";
  }

  // Chips that the reader wins.
  function result(hand) {
    const won = payoff(hand.cards, hand.moves);
    return hand.seat === 0 ? won : -won;
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

  // After how many hands the band is as narrow as the leak, so that a score can show it.
  function handsToSee(sd, leak) {
    return Math.ceil(((Z * sd) / leak) ** 2);
  }

  // ---- the reader's strategy ----

  // How often the reader took each action: {infoset: {action: n}}, every infoset in the table.
  function count(hands, loss) {
    const counts = {};
    for (const [name, row] of Object.entries(loss)) {
      counts[name] = Object.fromEntries(Object.keys(row).map((action) => [action, 0]));
    }
    for (const { cards, seat, moves } of hands) {
      moves.forEach((action, k) => {
        const before = moves.slice(0, k);
        if (turn(before).player === seat) counts[infoset(cards[seat], before)][action] += 1;
      });
    }
    return counts;
  }

  // Frequencies; null where nothing was counted.
  function estimate(counts) {
    return Object.fromEntries(Object.entries(counts).map(([name, row]) => {
      const times = sum(Object.values(row));
      const shares = Object.entries(row).map(([action, n]) => [action, n / times]);
      return [name, times ? Object.fromEntries(shares) : null];
    }));
  }

  // What the estimated strategy loses per hand to the best answer: own reach times the loss of
  // each action, over all infosets; half of it, as each seat is taken every other hand. Where
  // nothing was counted the answer is taken to be the best.
  function leak(counts, loss) {
    const strategy = estimate(counts);
    const rows = Object.entries(strategy).map(([name, played]) => {
      const [card, past] = name.split(" ");
      const reach = past === "check-bet" ? (strategy[card] || { check: 1 }).check : 1;
      const parts = Object.keys(loss[name]).map((action) => [
        action, played ? 0.5 * reach * played[action] * loss[name][action] : 0,
      ]);
      const cost = sum(parts.map(([, part]) => part));
      const [mistake] = parts.reduce((a, b) => (b[1] > a[1] ? b : a));
      return { name, played, times: sum(Object.values(counts[name])), cost, mistake };
    });
    const worst = rows.reduce((a, b) => (b.cost > a.cost ? b : a));
    const total = sum(rows.map((row) => row.cost));
    return { rows, total, worst: worst.cost > NOTHING ? worst : null };
  }

  // ---- words ----

  function chips(n) {
    return `${n} ${n === 1 ? "chip" : "chips"}`;
  }

  function signed(x, digits = 0) {
    const text = Math.abs(x).toFixed(digits);
    if (Number(text) === 0) return text;
    return (x < 0 ? "−" : "+") + text;
  }

  // k sixtieths as a fraction in lowest terms.
  function fraction(k) {
    const gcd = (a, b) => (b ? gcd(b, a % b) : a);
    const d = gcd(k, 60);
    return k === 0 ? "0" : `${k / d}/${60 / d}`;
  }

  function alphaText(k) {
    const exact = k % 3 === 0; // k/60 ends after two decimals
    return k === 0 ? "0" : `${fraction(k)} ${exact ? "=" : "≈"} ${(k / 60).toFixed(exact ? 2 : 3)}`;
  }

  function holding(hand) {
    return `You hold the ${NAMES[hand.cards[hand.seat]]} and act ${hand.seat ? "second" : "first"}.`;
  }

  // The moves from number `first` on, a sentence each.
  function narrate(hand, first) {
    return hand.moves.slice(first).map((action, k) => {
      const yours = (first + k) % 2 === hand.seat; // players alternate
      return yours ? `You ${action}.` : `The equilibrium ${action}s.`;
    });
  }

  // How the hand ended; with the opponent's card if it is shown after a fold.
  function outcome(hand, shown) {
    const won = result(hand);
    const paid = won > 0 ? `you win ${chips(won)}` : `you lose ${chips(-won)}`;
    const [own, other] = [hand.seat, 1 - hand.seat].map((player) => NAMES[hand.cards[player]]);
    if (folded(hand)) {
      return `${paid[0].toUpperCase()}${paid.slice(1)}.` + (shown ? ` They held the ${other}.` : "");
    }
    return `Your ${own} ${won > 0 ? "beats" : "loses to"} the ${other}: ${paid}.`;
  }

  function question(hand, shown) {
    if (over(hand)) return outcome(hand, shown);
    const free = turn(hand.moves).actions.includes("check");
    return free ? "Check, or bet a chip?" : "Fold, or call for a chip?";
  }

  // ---- pictures ----

  function picture(name, width, height, content) {
    return `<svg class="kuhn-${name[0]}" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-label="${name[1]}">${content}</svg>`;
  }

  // A crown of one peak for the jack, two for the queen, three for the king.
  function crown(peaks) {
    const step = 36 / peaks, x = (k) => 22 + step * (k + 0.5);
    const tips = Array.from({ length: peaks }, (_, k) => x(k));
    const line = tips.map((tip, k) => (k ? `${tip - step / 2},36 ` : "") + `${tip},24`).join(" ");
    const pearls = tips.map((tip) => `<circle cx="${tip}" cy="20" r="3"/>`).join("");
    return `<polygon points="22,46 22,36 ${line} 58,36 58,46"/>${pearls}`;
  }

  function card(rank) {
    const sheet = (inset, radius) => `<rect class="kuhn-paper" x="${inset}" y="${inset}" ` +
      `width="${80 - 2 * inset}" height="${112 - 2 * inset}" rx="${radius}"/>`;
    if (!rank) {
      const lines = Array.from({ length: 18 }, (_, k) => 10 * k - 90);
      const hatch = lines.map((x) => `M${x} 0 l112 112 M${x + 100} 0 l-112 112`).join(" ");
      const back = `<svg x="9" y="9" width="62" height="94"><path class="kuhn-hatch" d="${hatch}"/></svg>`;
      return picture(["card", "a card face down"], 80, 112, sheet(1.5, 9) + back);
    }
    const letter = `<text x="40" y="97" text-anchor="middle">${rank}</text>`;
    const face = `<g class="kuhn-face">${crown(RANKS.indexOf(rank) + 1)}${letter}</g>`;
    return picture(["card", NAMES[rank]], 80, 112, sheet(1.5, 9) + face);
  }

  function chartWords(now) {
    if (!now.hands) return "Chart of the score: no hand finished yet.";
    const band = Z * now.sd * Math.sqrt(now.hands);
    const reach = now.hands > 1 ? `; without an edge, 95% lie within ±${band.toFixed(1)}` : "";
    return `Chart of the score: ${signed(now.total)} after ${now.hands} ` +
      `${now.hands === 1 ? "hand" : "hands"}${reach}.`;
  }

  // The score after each hand, and the band in which 95% of scores lie without an edge.
  function chart(results, width) {
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
    const rules = grid.map((s) => `<line class="${s ? "kuhn-grid" : "kuhn-zero"}" x1="${left}" ` +
      `x2="${width - right}" y1="${y(s)}" y2="${y(s)}"/>` +
      `<text x="${left - 6}" y="${y(s) + 4}" text-anchor="end">${signed(s)}</text>`).join("");
    const band = now.hands > 1
      ? `<polygon class="kuhn-band" points="${path([...edge(1), ...edge(-1).reverse()])}"/>` +
        [1, -1].map((sign) => `<polyline class="kuhn-edge" points="${path(edge(sign))}"/>`).join("")
      : "";
    const line = `<polyline class="kuhn-line" points="${path(sums.map((s, n) => [n, s]))}"/>` +
      `<circle cx="${x(now.hands)}" cy="${y(now.total)}" r="4"/>`;
    const foot = `<text x="${left}" y="${height - 6}">0</text><text x="${width - right}" ` +
      `y="${height - 6}" text-anchor="end">${last} hands</text>`;
    return picture(["chart", chartWords(now)], width, height, band + rules + line + foot);
  }

  // ---- tables ----

  function mainAction(row) { // the one a strategy is told by
    return "bet" in row ? "bet" : "call";
  }

  // What the members of the family play at an infoset: "0.33", or "0.00–0.33".
  function range(members, name) {
    const action = mainAction(members[0].strategy[name]);
    const values = members.map((member) => member.strategy[name][action]);
    const [low, high] = [Math.min(...values), Math.max(...values)].map((p) => p.toFixed(2));
    return low === high ? low : `${low}–${high}`;
  }

  const PLACES = [["", "first to act", "bet"], ["check-bet", "after check, bet", "call"],
    ["check", "after a check", "bet"], ["bet", "after a bet", "call"]];

  function sheetTable(strategy) {
    const body = PLACES.map(([past, words, action]) => {
      const cells = RANKS.map((rank) => {
        const row = strategy[past ? `${rank} ${past}` : rank];
        return `<td>${row[action].toFixed(2)}</td>`;
      });
      return `<tr><th scope="row">${words}: ${action}</th>${cells.join("")}</tr>`;
    });
    const heads = RANKS.map((rank) => `<th scope="col">${rank}</th>`).join("");
    return `<table><thead><tr><td></td>${heads}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  }

  function leakRow(row, members, worst) {
    const { name, played, times, cost } = row;
    const action = mainAction(members[0].strategy[name]);
    const counts = Object.entries(row.counts).map(([a, n]) => `${a}:${n}`).join(" ");
    const own = played ? `${action} ${played[action].toFixed(2)}` : '<span class="kuhn-soft">not yet</span>';
    const shown = cost > NOTHING ? `<span class="kuhn-loss">${cost.toFixed(3)}</span>` : played ? "0" : "–";
    return `<tr data-infoset="${name}" data-counts="${counts}" data-cost="${cost}"` +
      `${row === worst ? ' class="kuhn-worst"' : ""}><th scope="row">${name}</th>` +
      `<td>${times}</td><td class="kuhn-own">${own}</td><td>${range(members, name)}</td><td>${shown}</td></tr>`;
  }

  // First decisions before second ones, low cards before high ones.
  function place({ name }) {
    const [card, past = ""] = name.split(" ");
    return 3 * PLACES.findIndex(([moves]) => moves === past) + RANKS.indexOf(card);
  }

  function leakTable(found, players, members) {
    const part = (player, words) => `<tbody><tr><th class="kuhn-part" colspan="5" scope="rowgroup">` +
      `${words}</th></tr>` + found.rows.filter((row) => players[row.name] === player)
      .sort((a, b) => place(a) - place(b)).map((row) => leakRow(row, members, found.worst)).join("") + "</tbody>";
    return `<table data-leak="${found.total}"><thead><tr><th scope="col">infoset</th>` +
      '<th scope="col">times</th><th scope="col">you</th><th scope="col">family</th>' +
      '<th scope="col">leak</th></tr></thead>' +
      part(0, "You act first") + part(1, "You act second") + "</table>";
  }

  function leakWords(found, now, alpha) {
    const size = found.total > NOTHING ? found.total.toFixed(3) : "0";
    const head = `<p>Against α = ${fraction(alpha)} your strategy leaks <strong>${size}</strong> chips ` +
      `per hand, estimated from ${now.hands} hands.`;
    if (!found.worst) {
      return `${head} Nothing you did costs anything against this opponent. Whether it is an ` +
        "equilibrium, the columns <em>you</em> and <em>family</em> tell.</p>";
    }
    const { name, mistake, cost } = found.worst;
    const times = handsToSee(now.sd, found.total).toLocaleString("en-US");
    return `${head} The largest part, ${cost.toFixed(3)}, is to <strong>${mistake}</strong> at ` +
      `<strong>${name}</strong>. A leak of this size hides behind luck for about ${times} hands: only then is the ± of your mean as small.</p>`;
  }

  // ---- the page ----

  const GAME = `
    <div class="kuhn-controls">
      <label class="kuhn-alpha"><span>opponent’s α</span>
        <input type="range" min="0" step="1"><output></output></label>
      <details class="kuhn-sheet"><summary>Read their strategy</summary><div></div></details>
    </div>
    <div class="kuhn-columns">
      <section class="kuhn-felt" aria-label="The hand">
        <div class="kuhn-board">
          <div class="kuhn-seat"><p>The equilibrium</p><div class="kuhn-their-card"></div><p class="kuhn-their-chips"></p></div>
          <div class="kuhn-pot"></div>
          <div class="kuhn-seat"><p>You</p><div class="kuhn-own-card"></div><p class="kuhn-own-chips"></p></div>
        </div>
        <p class="kuhn-status" role="status"></p>
        <div class="kuhn-actions" role="group" aria-label="Your move"></div>
        <ol class="kuhn-log" aria-label="What was done in this hand"></ol>
        <label class="kuhn-reveal"><input type="checkbox"> Show their card after a fold</label>
      </section>
      <section class="kuhn-score" aria-label="The score">
        <dl class="kuhn-numbers"></dl>
        <div class="kuhn-plot"></div>
        <p class="kuhn-verdict"></p>
        <button type="button" class="kuhn-restart">Start over</button>
      </section>
    </div>
    <section class="kuhn-leak" aria-label="Your strategy and its leak"></section>`;
  const KEYS = { check: "c", call: "c", bet: "b", fold: "f", next: "n" };
  const LABELS = { check: "Check", bet: "Bet 1 chip", fold: "Fold", call: "Call 1 chip", next: "Next hand" };

  // Write only what has changed: what stays keeps its focus, and is not read out again.
  function put(element, html) {
    if (element.written === html) return;
    element.written = html;
    element.innerHTML = html;
  }

  function button(action) {
    const key = KEYS[action];
    return `<button type="button" data-action="${action}" aria-keyshortcuts="${key.toUpperCase()}">` +
      `${LABELS[action]} <kbd aria-hidden="true">${key.toUpperCase()}</kbd></button>`;
  }

  function stake(hand, player) {
    const paid = hand.moves.some((move, k) => k % 2 === player && (move === "bet" || move === "call"));
    return paid ? 2 : 1;
  }

  function stack(n) {
    return `<span class="kuhn-chips" aria-hidden="true">${"<i></i>".repeat(n)}</span> ${chips(n)}`;
  }

  function open(root, random) {
    const { players, members } = JSON.parse(root.querySelector("script").textContent);
    const game = document.createElement("div");
    game.className = "kuhn-game";
    game.innerHTML = GAME;
    root.prepend(game);
    const find = (name) => game.querySelector(`.kuhn-${name}`);
    const slider = game.querySelector("input[type=range]");
    const reveal = game.querySelector("input[type=checkbox]");

    // One table for each α: the finished hands, and the one in play.
    const tables = members.map(() => null);
    let k = Number(root.dataset.start);
    slider.max = members.length - 1;
    slider.value = k;

    function begin(hands) {
      tables[k] = { hands, hand: start(hands.length % 2, members[k].strategy, random), seen: 0 };
    }

    function move(action) {
      const table = tables[k];
      if (action === "next") {
        begin(table.hands);
      } else {
        table.seen = table.hand.moves.length;
        table.hand = act(table.hand, action, members[k].strategy, random);
        if (over(table.hand)) table.hands = [...table.hands, table.hand];
      }
      show();
      find("actions").querySelector("button").focus({ preventScroll: true });
    }

    function showHand({ hand, hands, seen }) {
      const other = 1 - hand.seat;
      const visible = over(hand) && (!folded(hand) || reveal.checked);
      put(find("their-card"), card(visible && hand.cards[other]));
      put(find("own-card"), card(hand.cards[hand.seat]));
      put(find("their-chips"), stack(stake(hand, other)));
      put(find("own-chips"), stack(stake(hand, hand.seat)));
      put(find("pot"), `pot <strong>${stake(hand, 0) + stake(hand, 1)}</strong>`);
      const first = seen === 0 && hand.moves.length < 2 && !over(hand);
      const words = [...narrate(hand, first ? 0 : seen), question(hand, visible)];
      const number = hands.length + (over(hand) ? 0 : 1);
      if (first) words.unshift(`Hand ${number}. ${holding(hand)}`);
      if (over(hand) && hands.length === ENOUGH) words.push("Your strategy is shown below the score.");
      put(find("status"), words.join(" "));
      const log = [`Hand ${number}: everybody antes a chip.`, ...narrate(hand, 0)];
      if (over(hand)) log.push(outcome(hand, visible));
      put(find("log"), log.map((line) => `<li>${line}</li>`).join(""));
      put(find("actions"), (over(hand) ? ["next"] : turn(hand.moves).actions).map(button).join(""));
      find("felt").dataset.result = over(hand) ? result(hand) : "";
    }

    function showScore(now, results) {
      const band = now.hands > 1 ? ` <span>± ${now.half.toFixed(2)}</span>` : "";
      const best = sum(members[k].value) / 2;
      const numbers = [["hands", now.hands], ["score, chips", signed(now.total)],
        ["mean per hand", signed(now.mean, 2) + band], ["best you can expect", signed(best)]];
      put(find("numbers"), numbers.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join(""));
      put(find("plot"), chart(results, Math.max(240, find("plot").clientWidth)));
      const luck = Math.abs(now.total) <= Z * now.sd * Math.sqrt(now.hands);
      put(find("verdict"), now.hands < 20
        ? "The shaded band holds 95% of the scores of a player without an edge."
        : luck ? "Your score lies inside the shaded band: luck alone would explain it."
          : "Your score lies outside the shaded band: luck alone puts it there once in 20 times.");
    }

    function showLeak(now, hands) {
      const { loss } = members[k], left = ENOUGH - now.hands;
      if (left > 0) {
        put(find("leak"), `<p>After ${ENOUGH} hands your own strategy appears here, with what it ` +
          `leaks: ${left} more to play.</p><progress max="${ENOUGH}" value="${now.hands}" ` +
          'aria-label="Hands toward your strategy"></progress>');
        return;
      }
      const counts = count(hands, loss), found = leak(counts, loss);
      for (const row of found.rows) row.counts = counts[row.name];
      put(find("leak"), leakWords(found, now, members[k].sixtieths) +
        `<div class="kuhn-scroll">${leakTable(found, players, members)}</div>`);
    }

    function show() {
      if (!tables[k]) begin([]);
      const { sixtieths, strategy } = members[k], { hands } = tables[k];
      const results = hands.map(result), now = score(results);
      game.querySelector("output").textContent = alphaText(sixtieths);
      slider.setAttribute("aria-valuetext", alphaText(sixtieths));
      put(find("sheet").querySelector("div"), sheetTable(strategy));
      showHand(tables[k]);
      showScore(now, results);
      showLeak(now, hands);
    }

    slider.addEventListener("input", () => { k = Number(slider.value); show(); });
    reveal.addEventListener("change", show);
    find("restart").addEventListener("click", () => { begin([]); show(); });
    find("actions").addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (pressed) move(pressed.dataset.action);
    });
    game.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.repeat && event.target.closest("button")) event.preventDefault(); // a key held down
      const buttons = [...find("actions").querySelectorAll("button")];
      const meant = buttons.find((b) => KEYS[b.dataset.action] === event.key.toLowerCase());
      if (meant && !event.repeat) move(meant.dataset.action);
    });
    window.addEventListener("resize", show);
    root.classList.add("kuhn-ready");
    show();
  }

  if (typeof module !== "undefined") {
    module.exports = {
      act, alphaText, chart, count, deal, estimate, fraction, handsToSee, infoset, leak, narrate,
      outcome, over, payoff, range, result, sample, score, signed, start, turn,
    };
  }
  if (typeof document !== "undefined") {
    document.querySelectorAll(".kuhn-table:not(.kuhn-ready)").forEach((root) => open(root, Math.random));
  }
})();
