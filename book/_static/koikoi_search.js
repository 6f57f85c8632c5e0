// Players of Koi-Koi on a page: a network, a search that looks one turn ahead with it, and a
// greedy player. A search takes a fraction of a second, so it runs in a worker where there is one.
(function koikoiSearch() {
  "use strict";
  const node = typeof module !== "undefined";
  const koikoi = node ? { ...require("./koikoi_rules.js"), ...require("./koikoi_network.js") } : globalThis.cfrKoikoi;
  const { KOI, STOP, act, actions, matching, network, replaced, shuffled, sorted, worth } = koikoi;
  const PLAYOUTS = 512; // of a decision
  const CARD_POINTS = { light: 20, animal: 10, ribbon: 5, plain: 1 }, POINT = 100;
  const BELOW = 7, CARDS = 3; // a greedy player calls with fewer points and at least this many cards

  function best(worth) {
    return Object.keys(worth).reduce((a, b) => (worth[b] > worth[a] ? b : a));
  }

  // ---- greedy: GreedyPlayer("rule") in koikoi/players.py ----

  // The action that captures the most now; without a capture, the card of the least value.
  function greedy(at, { rules, kinds }) {
    const value = (card) => CARD_POINTS[kinds[card]];
    const gain = (cards) => cards.reduce((points, card) => points + value(card),
      POINT * (worth([...at.piles[at.player], ...cards], rules) - at.points[at.player]));
    function most(card) {
      if (at.stage === "match") return gain([at.card, card]);
      const taken = matching(at, card, rules);
      if (taken.length === 2) return Math.max(...taken.map((other) => gain([card, other])));
      return taken.length ? gain([card, ...taken]) : -value(card);
    }
    const i = at.player;
    if (at.stage === "call") return at.points[i] < BELOW && at.hands[i].length >= CARDS ? KOI : STOP;
    return best(Object.fromEntries(actions(at, rules).map((card) => [card, most(card)])));
  }

  // ---- one turn ahead: the formula is that of LookAheadPlayer in koikoi/learners ----

  // The position with the cards dealt anew that the player in turn does not see, n times.
  function imagine(at, n, rules, random) {
    const other = 1 - at.player, held = at.hands[other].length;
    const unseen = [...at.hands[other], ...at.stock];
    return Array.from({ length: n }, () => {
      const cards = shuffled(unseen, random);
      const hand = sorted(cards.slice(0, held), rules);
      return { ...at, hands: replaced(at.hands, other, hand), stock: cards.slice(held), heard: "", events: [] };
    });
  }

  // What player i expects: both follow the network until it is i's turn again, or to the end.
  function expected(at, i, values, rules) {
    while (at.stage !== "over") {
      const worth = values(at), action = best(worth);
      if (at.stage === "play" && at.player === i) return worth[action];
      at = act(at, action, rules);
    }
    return i === 0 ? at.paid : -at.paid;
  }

  // {action: points} of these actions: the mean over imagined deals, the same for all actions.
  function lookAhead(deals, tried, values, rules) {
    const [{ player }] = deals;
    const mean = (action) => deals.reduce((sum, at) => sum + expected(act(at, action, rules), player, values, rules), 0) / deals.length;
    return Object.fromEntries(tried.map((action) => [action, mean(action)]));
  }

  // The best of some actions by sequential halving: stages with equal shares of the playouts, each
  // of which keeps the better half. evaluate(actions, n) returns their means in n deals.
  function halve(left, evaluate) {
    const stages = Math.ceil(Math.log2(left.length)), total = {};
    for (let stage = 0; stage < stages; stage++) {
      const deals = Math.floor(PLAYOUTS / (left.length * stages)), means = evaluate(left, deals);
      left.forEach((action) => { total[action] = (total[action] || 0) + deals * means[action]; });
      left = [...left].sort((a, b) => total[b] - total[a]).slice(0, Math.ceil(left.length / 2));
    }
    return left[0];
  }

  // Return a function from positions to the search's action.
  function searcher({ rules, network: data }, random) {
    const values = network(data, rules);
    return (at) => halve(actions(at, rules), (left, n) => lookAhead(imagine(at, n, rules, random), left, values, rules));
  }

  // ---- beside the page ----

  // The program of a worker: the scripts, as text, as a page opened from a folder may not load any.
  function program(scripts) {
    const answer = () => {
      let search;
      globalThis.onmessage = ({ data: { table, at, number } }) => {
        search ??= globalThis.cfrKoikoi.searcher(table, Math.random);
        postMessage({ number, action: search(at) });
      };
    };
    return [...scripts, answer].map((script) => `(${script})();`).join("\n");
  }

  // Return a function from positions to promises of the search's action: from a worker, or where
  // there is none from the page itself, which then stands still for a moment.
  function thinker({ rules, network: data }) {
    const table = { rules, network: data };
    let worker, here, asked = 0;

    function employ() {
      try {
        const text = new Blob([program(koikoi.scripts)], { type: "text/javascript" });
        worker = new Worker(URL.createObjectURL(text));
      } catch {
        worker = null;
      }
    }

    function alone(at, done) {
      here ??= searcher(table, Math.random);
      setTimeout(() => done(here(at)));
    }

    return (at) => new Promise((done) => {
      if (worker === undefined) employ();
      if (!worker) return alone(at, done);
      asked += 1;
      const question = asked; // an answer to an earlier one is of no use
      worker.onmessage = ({ data: { number, action } }) => { if (number === question) done(action); };
      worker.onerror = () => {
        worker = null;
        alone(at, done);
      };
      return worker.postMessage({ table, at, number: question });
    });
  }

  const search = { greedy, halve, imagine, lookAhead, searcher };
  if (node) {
    module.exports = search;
  } else {
    koikoi.scripts.push(koikoiSearch);
    Object.assign(koikoi, search, { thinker });
  }
})();
