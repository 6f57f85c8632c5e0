// The rules of Koi-Koi, for any deck: a round from the deal to the payment. The deck, its months,
// the yaku and the numbers of the rules come with the page. The turns are those of cfrlib's
// readable game, step by step. The scripts that a search needs have names, because its worker is
// made from their text (koikoi_search.js).
(function koikoiRules() {
  "use strict";
  const SEATS = ["dealer", "other"], STOP = "stop", KOI = "koi-koi";

  function sum(numbers) {
    return numbers.reduce((a, b) => a + b, 0);
  }

  // ---- cards: lists of names in the order of the deck ----

  function sorted(cards, rules) {
    return [...cards].sort((a, b) => rules.deck.indexOf(a) - rules.deck.indexOf(b));
  }

  function without(cards, card) {
    const n = cards.indexOf(card);
    return [...cards.slice(0, n), ...cards.slice(n + 1)];
  }

  function count(cards, card) {
    return cards.reduce((n, other) => n + Number(other === card), 0);
  }

  function different(cards) {
    return [...new Set(cards)];
  }

  // How many of the cards that count lie in the pile.
  function held(counting, pile) {
    return pile.reduce((n, card, k) => (counting.includes(card) && pile.indexOf(card) === k
      ? n + Math.min(count(counting, card), count(pile, card)) : n), 0);
  }

  // The yaku of a pile, {name: points}.
  function made(pile, rules) {
    const found = rules.yaku.filter((y) => held(y.cards, pile) >= y.need);
    const gone = found.flatMap((y) => y.replaces);
    return Object.fromEntries(found.filter((y) => !gone.includes(y.name))
      .map((y) => [y.name, y.points + Math.max(0, held(y.more, pile) - y.need)]));
  }

  function worth(pile, rules) {
    return sum(Object.values(made(pile, rules)));
  }

  // ---- a position; replaced, never changed. The stock is a list, drawn from its front ----

  function begin(hands, field, stock) {
    const first = hands.map((hand) => `${hand.join(" ")} | ${field.join(" ")}`);
    return {
      stage: "play", player: 0, hands, field, piles: [[], []], stock, card: "", drawn: false,
      points: [0, 0], calls: [0, 0], paid: 0, first, heard: "", events: [],
    };
  }

  function replaced(pair, i, value) {
    return pair.map((old, k) => (k === i ? value : old));
  }

  function matching(at, card, rules) {
    return at.field.filter((other) => rules.months[other] === rules.months[card]);
  }

  function actions(at, rules) {
    if (at.stage === "play") return different(at.hands[at.player]);
    if (at.stage === "match") return different(matching(at, at.card, rules));
    return at.stage === "call" ? [STOP, KOI] : [];
  }

  // What the player in turn has seen: the infoset, as cfrlib calls it.
  function infoset(at) {
    return `${SEATS[at.player]} ${at.first[at.player]} | ${at.heard}`;
  }

  // The position after an action, and after chance's turn if it is next.
  function act(at, action, rules) {
    if (at.stage === "play") {
      const hands = replaced(at.hands, at.player, without(at.hands[at.player], action));
      return lay({ ...at, hands, heard: at.heard ? `${at.heard}, ${action}` : action }, action, rules);
    }
    if (at.stage === "match") {
      return take({ ...at, heard: `${at.heard} (${action})` }, at.card, [action], rules);
    }
    if (action === STOP) return pay(at, rules);
    const calls = replaced(at.calls, at.player, at.calls[at.player] + 1);
    return pass({ ...at, calls, heard: `${at.heard} koi`, events: [...at.events, { who: at.player, what: KOI }] }, rules);
  }

  function lay(at, card, rules) {
    const taken = matching(at, card, rules);
    if (taken.length !== 2) return take(at, card, taken, rules);
    if (taken[0] !== taken[1]) return { ...at, stage: "match", card };
    return take(at, card, taken.slice(0, 1), rules);
  }

  function take(at, card, taken, rules) {
    const i = at.player, what = at.drawn ? "draw" : "play";
    const field = taken.length ? taken.reduce(without, at.field) : sorted([...at.field, card], rules);
    const pile = taken.length ? sorted([...at.piles[i], card, ...taken], rules) : at.piles[i];
    const events = [...at.events, { who: i, what, card, taken }];
    const next = { ...at, field, piles: replaced(at.piles, i, pile), card: "", events };
    if (next.drawn || !next.stock.length) return reckon(next, rules);
    const [top, ...stock] = next.stock;
    return lay({ ...next, stock, drawn: true, heard: `${next.heard} +${top}` }, top, rules);
  }

  // The end of a turn: more points than before are paid, or bet on.
  function reckon(at, rules) {
    const i = at.player, points = worth(at.piles[i], rules);
    if (points <= at.points[i]) return pass(at, rules);
    const next = { ...at, points: replaced(at.points, i, points) };
    const limit = rules.koi_limit !== null && sum(at.calls) >= rules.koi_limit;
    return next.hands[i].length && !limit ? { ...next, stage: "call" } : pay(next, rules);
  }

  function pass(at, rules) {
    const player = 1 - at.player;
    const next = { ...at, player, drawn: false };
    return at.hands[player].length ? { ...next, stage: "play" } : { ...next, stage: "over", paid: rules.void_points };
  }

  // What points pay, given whether the other player has called.
  function payment(points, called, rules) {
    const many = rules.double_at !== null && points >= rules.double_at;
    return points * (many ? 2 : 1) * (called ? rules.koi_factor : 1);
  }

  // What the player to move would earn by stopping.
  function stopping(at, rules) {
    const i = at.player;
    return payment(at.points[i], at.calls[1 - i] > 0, rules);
  }

  function pay(at, rules) {
    const i = at.player, points = stopping(at, rules);
    const events = [...at.events, { who: i, what: STOP, points }];
    return { ...at, stage: "over", paid: i === 0 ? points : -points, events };
  }

  // ---- the deal ----

  function shuffled(cards, random) {
    const deck = [...cards];
    for (let n = deck.length - 1; n > 0; n--) {
      const k = Math.floor(random() * (n + 1));
      [deck[n], deck[k]] = [deck[k], deck[n]];
    }
    return deck;
  }

  // The numbers of cards of each month, in falling order.
  function byMonth(cards, rules) {
    const months = cards.map((card) => rules.months[card]);
    return different(months).map((month) => count(months, month)).sort((a, b) => b - a);
  }

  // Whether a hand has four cards of a month, or is made of four pairs.
  function special(hand, rules) {
    const counts = byMonth(hand, rules);
    return counts[0] === 4 || counts.join() === "2,2,2,2";
  }

  // The first position, or null if the rules require another deal. Miniature decks have no special
  // deals.
  function dealt(hands, field, stock, rules) {
    const at = begin(hands, field, stock);
    if (rules.special === "none") return at;
    const [first, second] = hands.map((hand) => special(hand, rules));
    if (byMonth(field, rules)[0] === 4) return null;
    if (!first && !second) return at;
    return rules.special === "redeal" ? null : { ...at, stage: "over", paid: rules.special * (first - second) };
  }

  function deal(rules, random) {
    const { hand, open } = rules, deck = shuffled(rules.deck, random);
    const cut = [0, hand, 2 * hand, 2 * hand + open];
    const [first, second, field] = [0, 1, 2].map((k) => sorted(deck.slice(cut[k], cut[k + 1]), rules));
    return dealt([first, second], field, deck.slice(cut[3]), rules) || deal(rules, random);
  }

  const koikoi = {
    KOI, STOP, act, actions, begin, count, deal, dealt, different, held, infoset, made,
    matching, payment, replaced, shuffled, sorted, stopping, worth, without,
  };
  if (typeof module === "undefined") globalThis.cfrKoikoi = { ...koikoi, scripts: [koikoiRules] };
  else module.exports = koikoi;
})();
