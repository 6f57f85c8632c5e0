// The reader's own strategy of Kuhn poker, from the hands that the tab has kept: beside the family
// of equilibria, with an interval for every frequency, and how far it can be exploited.
(function () {
  "use strict";
  const node = typeof module !== "undefined";
  const play = node ? require("./play.js") : window.cfrPlay;
  const kuhn = node ? require("./play_kuhn.js") : window.cfrKuhn;
  const { Z, put, sum } = play, { ENOUGH, RANKS, count, infoset, payoff, turn } = kuhn;
  const FILL = 1 / 5; // the member of the family that stands in where nothing was counted
  const VISITS = 10; // to an infoset, before anything is said of it
  const DEALS = RANKS.flatMap((a) => RANKS.filter((b) => b !== a).map((b) => [a, b]));
  // what a player has heard when it is their turn, first decisions before second ones
  const HEARD = [[], ["check", "bet"], ["check"], ["bet"]];

  // ---- strategies: {infoset: {action: probability}} ----

  function mainAction(row) { // the one a strategy is told by
    return "bet" in row ? "bet" : "call";
  }

  function row(action, p) {
    return action === "bet" ? { check: 1 - p, bet: p } : { fold: 1 - p, call: p };
  }

  // The member of Kuhn's family with this α.
  function member(alpha) {
    const third = 1 / 3;
    const shares = [[alpha, 0, 3 * alpha], [0, alpha + third, 1], [third, 0, 1], [0, third, 1]];
    return Object.fromEntries(HEARD.flatMap((moves, k) => RANKS.map((card, n) => {
      const action = turn(moves).actions.includes("bet") ? "bet" : "call";
      return [infoset(card, moves), row(action, shares[k][n])];
    })));
  }

  // What `player` can expect from here on if everybody follows the strategy.
  function value(strategy, cards, moves, player) {
    const now = turn(moves);
    if (!now) return (player === 0 ? 1 : -1) * payoff(cards, moves);
    const chances = strategy[infoset(cards[now.player], moves)];
    return sum(now.actions.map((a) => chances[a] * value(strategy, cards, [...moves, a], player)));
  }

  // How likely the other player's choices lead to here.
  function reach(strategy, cards, moves, player) {
    return moves.reduce((product, action, k) => {
      const own = k % 2 === player; // players alternate
      return own ? product : product * strategy[infoset(cards[k % 2], moves.slice(0, k))][action];
    }, 1);
  }

  // What a best response earns: the later decision first, as the earlier one depends on it.
  function bestValue(strategy, player) {
    let answer = strategy;
    const own = HEARD.filter((moves) => turn(moves).player === player).sort((a, b) => b.length - a.length);
    for (const moves of own) {
      for (const card of RANKS) {
        const deals = DEALS.filter((cards) => cards[player] === card), { actions } = turn(moves);
        const [first, second] = actions.map((action) => sum(deals.map((cards) =>
          reach(strategy, cards, moves, player) * value(answer, cards, [...moves, action], player))));
        const best = Number(second > first);
        const pure = { [actions[best]]: 1, [actions[1 - best]]: 0 };
        answer = { ...answer, [infoset(card, moves)]: pure };
      }
    }
    return sum(DEALS.map((cards) => value(answer, cards, [], player))) / DEALS.length;
  }

  // What somebody who knows the strategy takes per hand, seats alternating.
  function exploitability(strategy) {
    return (bestValue(strategy, 0) + bestValue(strategy, 1)) / 2;
  }

  // ---- what the counts say ----

  // Wilson's 95% interval of a frequency; everything is possible where nothing was counted.
  function wilson(n, times) {
    if (!times) return [0, 1];
    const p = n / times, scale = 1 + Z ** 2 / times;
    const middle = (p + Z ** 2 / (2 * times)) / scale;
    const half = (Z / scale) * Math.sqrt((p * (1 - p)) / times + Z ** 2 / (4 * times ** 2));
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
  }

  // The reader's hands, of all opponents together; what is kept is the table's own.
  function kept(found) {
    if (!found) return [];
    return [found.sitting, ...found.own.sittings].flatMap((sitting) => (sitting ? sitting.hands : []));
  }

  // A line for each infoset, and the strategy as counted; an infoset that was never visited takes
  // the equilibrium's line. `near` has each frequency moved toward the equilibrium's as far as its
  // interval allows: what of the exploitability is left then, luck explains badly.
  function study(hands) {
    const filled = member(FILL), ends = [member(0), member(1 / 3)], counts = count(hands, filled);
    const strategy = {}, near = {};
    const rows = Object.entries(counts).map(([name, seen]) => {
      const action = mainAction(seen), times = sum(Object.values(seen)), own = filled[name][action];
      const share = times ? seen[action] / times : own, interval = wilson(seen[action], times);
      const family = ends.map((end) => end[name][action]);
      strategy[name] = row(action, share);
      near[name] = row(action, Math.min(Math.max(own, interval[0]), interval[1]));
      const apart = interval[1] < family[0] || interval[0] > family[1];
      const outside = apart && times >= VISITS;
      return { name, action, times, share, interval, family, outside };
    });
    const whole = exploitability(strategy);
    for (const found of rows) {
      const mended = { ...strategy, [found.name]: filled[found.name] };
      found.saved = found.times ? whole - exploitability(mended) : 0;
    }
    return { rows, hands: hands.length, exploitability: whole, near: exploitability(near) };
  }

  // ---- words and pictures ----

  const NONE = '<p>Play a few hands of <a href="play_kuhn.html">Kuhn poker</a> and come back: your ' +
    "own strategy will be drawn here, beside the family of equilibria. The hands stay in this tab.</p>";

  function hundredths(p) {
    return p.toFixed(2);
  }

  function size(x) {
    return Math.abs(x) < 5e-4 ? "0" : x.toFixed(3);
  }

  // The family as a band, the interval as a line, the frequency as a dot.
  function bar({ times, share, interval, family }) {
    const span = (name, [low, high]) => `<i class="play-${name}" style="left:${100 * low}%;width:${100 * (high - low)}%"></i>`;
    const own = times ? span("reach", interval) + `<i class="play-dot" style="left:${100 * share}%"></i>` : "";
    return `<div class="play-bar" aria-hidden="true">${span("family", family)}${own}</div>`;
  }

  function line(found) {
    const { name, action, times, share, interval, family, outside } = found;
    const own = times
      ? `${hundredths(share)} <span class="play-soft">${interval.map(hundredths).join("–")}</span>`
      : `<span class="play-soft">unknown; taken as ${hundredths(share)}</span>`;
    const theirs = [...new Set(family.map(hundredths))].join("–");
    return `<tr data-infoset="${name}" data-outside="${outside}"${outside ? ' class="play-worst"' : ""}>` +
      `<th scope="row">${name}: ${action}</th><td>${times}</td><td class="play-own">${own}</td>` +
      `<td class="play-drawn">${bar(found)}</td><td>${theirs}</td></tr>`;
  }

  function verdict({ rows, hands, exploitability: whole, near }) {
    if (hands < ENOUGH) {
      return `<p>How far this strategy can be exploited is computed from ${ENOUGH} hands on: ` +
        `${ENOUGH - hands} more to play.</p>`;
    }
    const unknown = rows.filter((found) => !found.times).length;
    const filled = unknown ? `, with the equilibrium’s line at ${unknown} of 12 infosets, where you never were` : "";
    return `<p>As counted${filled}, it is exploitable for <strong data-exploitability="${whole}">${size(whole)}</strong> ` +
      "chips per hand; an equilibrium, for 0. Some of that is chance: with every frequency as near to the " +
      `equilibrium’s as its interval allows, ${size(near)} remains.</p>${leaks(rows)}`;
  }

  // Only what the interval of enough visits tells apart from the family is called a leak.
  function leaks(rows) {
    const sure = rows.filter((found) => found.outside).sort((a, b) => b.saved - a.saved);
    if (!sure.length) return `<p>No line of ${VISITS} or more visits is outside the family, interval and all.</p>`;
    const said = sure.map(({ name, action, share, family, saved }) => {
      const less = share < family[0] ? "seldom" : "often";
      const gain = saved >= 5e-4 ? `changing this line alone saves ${size(saved)}` : "changing this line alone saves nothing";
      return `<li>At <strong>${name}</strong> you ${action} too ${less}: ${gain}.</li>`;
    });
    return `<p>Outside the family, interval and all, after ${VISITS} or more visits:</p><ul>${said.join("")}</ul>`;
  }

  function drawing(found) {
    const heads = ["infoset", "times", "you, 95%", "0 to 1", "family"];
    const { hands } = found;
    return `<p><strong>Your strategy</strong>, from ${hands} ${hands === 1 ? "hand" : "hands"} at ` +
      '<a href="play_kuhn.html">the table</a>: your frequencies (dots) with their 95% intervals (lines), ' +
      "and the family of equilibria for α from 0 to 1/3 (bands).</p>" +
      `<div class="play-scroll">${play.table(heads, found.rows.map(line))}</div>${verdict(found)}` +
      '<p class="play-soft">Each interval misses once in 20 times, so with twelve of them one misses ' +
      "in almost half of all tables. To lie inside every band is not yet an equilibrium: the lines must agree on one α.</p>";
  }

  function show(root) {
    const hands = kept(play.recall("kuhn"));
    put(root, hands.length ? drawing(study(hands)) : NONE);
  }

  // Whoever comes back from the table finds the new hands, even if the page was only put aside.
  function open() {
    document.querySelectorAll(".play-yours:not(.play-ready)").forEach((root) => {
      root.classList.add("play-ready", "play-leak");
      show(root);
      window.addEventListener("pageshow", () => show(root));
    });
  }

  if (!node) open();
  else module.exports = { exploitability, kept, member, study, wilson };
})();
