// Kuhn poker against a member of its family of equilibria. The strategies and what each action
// loses against them come with the page, computed by cfrlib; this script deals, samples, counts.
(function () {
  "use strict";
  const play = typeof module === "undefined" ? window.cfrPlay : require("./play.js");
  const { Z, put, sample, score, signed, sum } = play;
  const RANKS = ["J", "Q", "K"]; // low to high
  const NAMES = { J: "jack", Q: "queen", K: "king" };
  const ENOUGH = 50; // hands before the reader's strategy is estimated
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

  // A crown of one peak for the jack, two for the queen, three for the king.
  function crown(peaks) {
    const step = 36 / peaks, x = (k) => 22 + step * (k + 0.5);
    const tips = Array.from({ length: peaks }, (_, k) => x(k));
    const line = tips.map((tip, k) => (k ? `${tip - step / 2},36 ` : "") + `${tip},24`).join(" ");
    const pearls = tips.map((tip) => `<circle cx="${tip}" cy="20" r="3"/>`).join("");
    return `<polygon points="22,46 22,36 ${line} 58,36 58,46"/>${pearls}`;
  }

  function card(rank) {
    if (!rank) return play.card(null, "a card face down");
    const letter = `<text x="40" y="97" text-anchor="middle">${rank}</text>`;
    const face = `<g class="play-face">${crown(RANKS.indexOf(rank) + 1)}${letter}</g>`;
    return play.card(face, NAMES[rank]);
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
    const own = played ? `${action} ${played[action].toFixed(2)}` : '<span class="play-soft">not yet</span>';
    const shown = cost > NOTHING ? `<span class="play-loss">${cost.toFixed(3)}</span>` : played ? "0" : "–";
    return `<tr data-infoset="${name}" data-counts="${counts}" data-cost="${cost}"` +
      `${row === worst ? ' class="play-worst"' : ""}><th scope="row">${name}</th>` +
      `<td>${times}</td><td class="play-own">${own}</td><td>${range(members, name)}</td><td>${shown}</td></tr>`;
  }

  // First decisions before second ones, low cards before high ones.
  function place({ name }) {
    const [card, past = ""] = name.split(" ");
    return 3 * PLACES.findIndex(([moves]) => moves === past) + RANKS.indexOf(card);
  }

  function leakTable(found, players, members) {
    const part = (player, words) => `<tbody><tr><th class="play-part" colspan="5" scope="rowgroup">` +
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
      return `${head} Nothing you did costs anything against this opponent. The columns ` +
        "<em>you</em> and <em>family</em> show whether it is an equilibrium.</p>";
    }
    const { name, mistake, cost } = found.worst;
    const times = handsToSee(now.sd, found.total).toLocaleString("en-US");
    return `${head} The largest part, ${cost.toFixed(3)}, is to <strong>${mistake}</strong> at ` +
      `<strong>${name}</strong>. A leak of this size hides behind luck for about ${times} hands: only then is the ± of your mean as small.</p>`;
  }

  // ---- the page ----

  const PARTS = {
    unit: "hand",
    score: "score, chips",
    controls: `
    <div class="play-controls">
      <label class="play-alpha"><span>opponent’s α</span>
        <input type="range" min="0" step="1"><output aria-hidden="true"></output></label>
      <p class="play-elsewhere" role="status"></p>
      <details class="play-sheet"><summary>Read their strategy</summary><div></div></details>
    </div>`,
    felt: `
        <div class="play-board">
          <div class="play-seat"><p>The equilibrium</p><div class="play-their-card"></div><p class="play-their-chips"></p></div>
          <div class="play-pot"></div>
          <div class="play-seat"><p>You</p><div class="play-own-card"></div><p class="play-own-chips"></p></div>
        </div>`,
    moves: `
        <ol class="play-log" aria-label="What was done in this hand"></ol>
        <label class="play-reveal"><input type="checkbox"> Show their card after a fold</label>`,
    side: '<p class="play-verdict"></p>',
    leak: "Your strategy and its leak",
  };
  // What the tables of other opponents hold: the sittings by number, without the one that is shown.
  function elsewhere(sittings, members) {
    const found = sittings.flatMap((sitting, n) => {
      const hands = sitting ? sitting.hands.length : 0;
      const at = `α = ${fraction(members[n].sixtieths)}`;
      return hands ? [`${hands} ${hands === 1 ? "hand" : "hands"} at ${at}`] : [];
    });
    return found.length ? `Each α keeps its own score; yours: ${found.join(", ")}.` : "";
  }

  const CHOICES = { check: ["c", "Check"], bet: ["b", "Bet 1 chip"], fold: ["f", "Fold"], call: ["c", "Call 1 chip"] };

  function stake(hand, player) {
    const paid = hand.moves.some((move, k) => k % 2 === player && (move === "bet" || move === "call"));
    return paid ? 2 : 1;
  }

  function stack(n) {
    return `<span class="play-chips" aria-hidden="true">${"<i></i>".repeat(n)}</span> ${chips(n)}`;
  }

  function sit(page) {
    const { data: { players, members }, game, find } = page;
    const slider = game.querySelector("input[type=range]");
    const reveal = game.querySelector("input[type=checkbox]");

    // A sitting for each α, kept while the reader is at another.
    const sittings = members.map(() => null);
    let k = Number(page.root.dataset.start);
    slider.max = members.length - 1;
    slider.value = k;

    function others() {
      return sittings.map((sitting, n) => (n === k ? null : sitting));
    }

    function showHand({ hands, hand, heard }) {
      const other = 1 - hand.seat;
      const visible = over(hand) && (!folded(hand) || reveal.checked);
      put(find("their-card"), card(visible && hand.cards[other]));
      put(find("own-card"), card(hand.cards[hand.seat]));
      put(find("their-chips"), stack(stake(hand, other)));
      put(find("own-chips"), stack(stake(hand, hand.seat)));
      put(find("pot"), `pot <strong>${stake(hand, 0) + stake(hand, 1)}</strong>`);
      const first = heard === 0 && hand.moves.length < 2 && !over(hand);
      const words = [...narrate(hand, first ? 0 : heard), question(hand, visible)];
      const number = hands.length + (over(hand) ? 0 : 1);
      if (first) words.unshift(`Hand ${number}. ${holding(hand)}`);
      if (over(hand) && hands.length === ENOUGH) words.push("Your strategy is shown below the score.");
      put(find("status"), words.join(" "));
      const log = [`Hand ${number}: everybody antes a chip.`, ...narrate(hand, 0)];
      if (over(hand)) log.push(outcome(hand, visible));
      put(find("log"), log.map((line) => `<li>${line}</li>`).join(""));
    }

    function showVerdict(now) {
      const luck = Math.abs(now.mean) <= now.half;
      put(find("verdict"), Number.isNaN(now.half)
        ? "From ten hands on, a shaded band holds 95% of the scores of a player without an edge."
        : luck ? "Your score lies inside the shaded band: luck alone would explain it."
          : "Your score lies outside the shaded band: luck alone puts it there once in 20 times.");
    }

    function show(sitting, now) {
      const { sixtieths, strategy } = members[k];
      game.querySelector("output").textContent = alphaText(sixtieths);
      slider.setAttribute("aria-valuetext", alphaText(sixtieths));
      put(find("elsewhere"), elsewhere(others(), members));
      put(find("sheet").querySelector("div"), sheetTable(strategy));
      showHand(sitting);
      showVerdict(now);
    }

    function review(sitting, now) {
      return retold(sitting) + habits(sitting, now);
    }

    function retold({ hands, hand }) {
      if (over(hand) || !hands.length) return "";
      const last = hands[hands.length - 1], visible = !folded(last) || reveal.checked;
      const said = [holding(last).replace("hold", "held").replace("act", "acted"), ...narrate(last, 0), outcome(last, visible)];
      return play.again("hand", hands, result(last), play.list(said));
    }

    function habits({ hands }, now) {
      const { loss } = members[k], left = ENOUGH - now.hands;
      if (left > 0) {
        return `<p>After ${ENOUGH} hands your own strategy appears here, with what it ` +
          `leaks: ${left} more to play.</p><progress max="${ENOUGH}" value="${now.hands}" ` +
          'aria-label="Hands toward your strategy"></progress>';
      }
      const counts = count(hands, loss), found = leak(counts, loss);
      for (const row of found.rows) row.counts = counts[row.name];
      return leakWords(found, now, members[k].sixtieths) +
        `<div class="play-scroll">${leakTable(found, players, members)}</div>`;
    }

    slider.addEventListener("input", () => {
      sittings[k] = page.sitting;
      k = Number(slider.value);
      page.resume(sittings[k]);
    });
    reveal.addEventListener("change", () => page.show());
    return {
      start: ({ length: n }) => start(n % 2, members[k].strategy, Math.random),
      act: (hand, action) => act(hand, action, members[k].strategy, Math.random),
      over,
      result,
      choices: (hand) => turn(hand.moves).actions.map((action) => [action, ...CHOICES[action]]),
      told: (hand) => hand.moves.length,
      show,
      number: () => ["best you can expect", signed(sum(members[k].value) / 2)],
      review,
      keep: () => ({ k, sittings: others(), reveal: reveal.checked }),
      recall(kept) {
        slider.value = k = kept.k;
        sittings.splice(0, sittings.length, ...kept.sittings);
        reveal.checked = kept.reveal;
      },
    };
  }

  if (typeof module === "undefined") {
    window.cfrKuhn = { ENOUGH, RANKS, count, infoset, payoff, turn };
    play.open("kuhn", PARTS, sit);
  } else {
    module.exports = {
      ENOUGH, RANKS, act, alphaText, chart: play.chart, count, deal, estimate, fraction, handsToSee, infoset, leak, narrate,
      outcome, over, payoff, range, result, sample, score, signed, start, turn,
    };
  }
})();
