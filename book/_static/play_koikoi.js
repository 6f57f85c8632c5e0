// Miniature Koi-Koi against an equilibrium. How often the equilibrium does what, and what every
// action is worth to the reader, come with the page, computed by cfrlib; so do the rules' numbers
// and the pictures. The turns are those of cfrlib's readable game, step by step.
(function () {
  "use strict";
  const play = typeof module === "undefined" ? window.cfrPlay : require("./play.js");
  const { mean, put, sample, signed, sum } = play;
  const SEATS = ["dealer", "other"], STOP = "stop", KOI = "koi-koi";
  const THOUSAND = 1000; // probabilities and points come in thousandths

  // ---- cards: lists of names in the order of the deck ----

  function sorted(cards, rules) {
    return [...cards].sort((a, b) => rules.deck.indexOf(a) - rules.deck.indexOf(b));
  }

  function without(cards, card) {
    const n = cards.indexOf(card);
    return [...cards.slice(0, n), ...cards.slice(n + 1)];
  }

  function count(cards, card) {
    return cards.filter((other) => other === card).length;
  }

  function different(cards) {
    return [...new Set(cards)];
  }

  // How many of the cards that count lie in the pile.
  function held(counting, pile) {
    return sum(different(counting).map((card) => Math.min(count(counting, card), count(pile, card))));
  }

  // The yaku of a pile, {name: points}.
  function made(pile, rules) {
    const found = rules.yaku.filter((y) => held(y.cards, pile) >= y.need);
    const gone = found.flatMap((y) => y.replaces);
    return Object.fromEntries(found.filter((y) => !gone.includes(y.name))
      .map((y) => [y.name, y.points + Math.max(0, held(y.more, pile) - y.need)]));
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
    return pass({ ...at, calls, heard: `${at.heard} koi`, events: [...at.events, { who: at.player, what: KOI }] });
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
    const i = at.player, points = sum(Object.values(made(at.piles[i], rules)));
    if (points <= at.points[i]) return pass(at);
    const next = { ...at, points: replaced(at.points, i, points) };
    return next.hands[i].length ? { ...next, stage: "call" } : pay(next, rules);
  }

  function pass(at) {
    const player = 1 - at.player;
    return { ...at, stage: at.hands[player].length ? "play" : "over", player, drawn: false };
  }

  // What stopping would pay whoever is in turn.
  function payment(at, rules) {
    const i = at.player;
    return at.points[i] * (at.calls[1 - i] ? rules.factor : 1);
  }

  function pay(at, rules) {
    const i = at.player, points = payment(at, rules);
    const events = [...at.events, { who: i, what: STOP, points }];
    return { ...at, stage: "over", paid: i === 0 ? points : -points, events };
  }

  // ---- the equilibrium ----

  // The infoset's place in the table: cards by their number in the deck.
  function key(label, rules) {
    const names = different(rules.deck);
    const numbered = names.reduce((text, name, n) => text.replaceAll(name, String(n)), label);
    return numbered.replace("dealer", "d").replace("other", "o").replaceAll("koi", "k").replace(/[ ,]/g, "");
  }

  // {action: probability}, or null where the equilibrium itself never gets to; and
  // {action: points that the player in turn can expect}.
  function advice(at, table) {
    const possible = actions(at, table.rules);
    if (possible.length === 1) return { chance: { [possible[0]]: 1 }, worth: null };
    const [p, ...worth] = table.rows[key(infoset(at), table.rules)];
    const pair = (a, b) => ({ [possible[0]]: a, [possible[1]]: b });
    return {
      chance: p < 0 ? null : pair(p / THOUSAND, 1 - p / THOUSAND),
      worth: worth.length ? pair(worth[0] / THOUSAND, worth[1] / THOUSAND) : null,
    };
  }

  // ---- a round: {at, seat of the reader, past choices}; replaced, never changed ----

  function shuffled(cards, random) {
    const deck = [...cards];
    for (let n = deck.length - 1; n > 0; n--) {
      const k = Math.floor(random() * (n + 1));
      [deck[n], deck[k]] = [deck[k], deck[n]];
    }
    return deck;
  }

  function start(seat, table, random) {
    const { rules } = table, { hand, open } = rules, deck = shuffled(rules.deck, random);
    const cut = [0, hand, 2 * hand, 2 * hand + open];
    const [first, second, field] = [0, 1, 2].map((k) => sorted(deck.slice(cut[k], cut[k + 1]), rules));
    return reply({ at: begin([first, second], field, deck.slice(cut[3])), seat, past: [] }, table, random);
  }

  function over(round) {
    return round.at.stage === "over";
  }

  function choose(round, action, table, random) {
    const { at, past } = round, known = advice(at, table);
    const choice = { actions: actions(at, table.rules), action, ...known };
    return reply({ ...round, at: act(at, action, table.rules), past: [...past, choice] }, table, random);
  }

  // Let the equilibrium move until the reader has to, or the round is over.
  function reply(round, table, random) {
    if (over(round) || round.at.player === round.seat) return round;
    const action = sample(advice(round.at, table).chance, random);
    return reply({ ...round, at: act(round.at, action, table.rules) }, table, random);
  }

  function result(round) {
    return round.seat === 0 ? round.at.paid : 0 - round.at.paid;
  }

  // Every decision of the reader with a choice, and what it gave away: the best action's worth,
  // given all that was known, less the chosen one's.
  function review(round) {
    return round.past.filter(({ worth }) => worth).map((choice) => ({
      ...choice,
      cost: Math.max(...Object.values(choice.worth)) - choice.worth[choice.action],
    }));
  }

  function cost(round) {
    return sum(review(round).map((row) => row.cost));
  }

  // ---- words ----

  function points(n) {
    return `${n} ${n === 1 ? "point" : "points"}`;
  }

  function sentence({ who, what, card, taken, points: n }, seat) {
    const you = who === seat, name = you ? "You" : "The equilibrium";
    const verb = (one, many) => (you ? one : many);
    if (what === KOI) return `${name} ${verb("call", "calls")} koi-koi.`;
    if (what === STOP) return `${name} ${verb("stop", "stops")} and ${verb("get", "gets")} ${points(n)}.`;
    const does = what === "draw" ? verb("draw", "draws") : verb("play", "plays");
    return `${name} ${does} ${card}` + (taken.length ? ` and ${verb("capture", "captures")} ${taken.join(", ")}.` : "; it stays.");
  }

  function question(round, table) {
    const { at, seat } = round, { rules } = table;
    if (over(round)) return at.paid ? "" : "Nobody stopped: no points.";
    if (at.stage === "match") return `Which card does ${at.card} capture?`;
    if (at.stage === "play") return actions(at, rules).length > 1 ? "Which card do you play?" : "Play what you have.";
    const doubled = at.calls[1 - seat] ? ", doubled by its call" : "";
    return `You have ${points(at.points[seat])}${doubled}. Stop, or koi-koi?`;
  }

  function percent(p) {
    return `${(100 * p).toFixed(p > 0.001 && p < 0.999 ? 1 : 0)} %`;
  }

  // ---- pictures and tables ----

  // Cards in a row; null lies face down.
  function row(cards, table, none = "none") {
    return cards.map((card) => (card === null ? table.back : table.pictures[card])).join("") ||
      `<span class="play-soft">${none}</span>`;
  }

  function pile(at, i, table) {
    const yaku = Object.entries(made(at.piles[i], table.rules)).map(([name, n]) => `${name} ${n}`);
    const called = at.calls[i] ? ' <strong class="play-called">koi-koi!</strong>' : "";
    return `<div class="play-cards play-pile" role="group" aria-label="Captured">${row(at.piles[i], table, "nothing captured")}</div>` +
      `<p class="play-points">${points(at.points[i])}${yaku.length ? `: ${yaku.join(", ")}` : ""}${called}</p>`;
  }

  // What scores: {name: points}, and of which cards if they are few.
  function scoring({ yaku, factor }) {
    const lines = yaku.map((y) => `<li>${y.name}${different(y.cards).length <= 3 ? ` (${different(y.cards).join(" and ")})` : ""}: ${points(y.points)}</li>`);
    return `<ul>${lines.reverse().join("")}<li>times ${factor} if the other player has called koi-koi</li></ul>`;
  }

  function hints(at, table) {
    const { chance, worth } = advice(at, table);
    if (!worth) return "<p>There is nothing to choose here.</p>";
    const rows = actions(at, table.rules).map((action) => `<tr data-action="${action}"><th scope="row">${action}</th>` +
      `<td class="play-own">${chance ? percent(chance[action]) : "–"}</td><td>${signed(worth[action], 3)}</td></tr>`);
    const never = chance ? "" : "<p>An earlier choice led where the equilibrium never is, so it has no advice; the points are exact.</p>";
    return play.table(["here", "it would", "worth"], rows) + never;
  }

  function reviewTable(rows) {
    return play.costTable(["you", "worth", "it", "not", "worth"], rows, ({ actions: both, action, chance, worth }) => {
      const other = both.find((a) => a !== action);
      return `<th scope="row">${action}</th><td>${signed(worth[action], 3)}</td>` +
        `<td class="play-own">${chance ? percent(chance[action]) : "–"}</td>` +
        `<td>${other}</td><td>${signed(worth[other], 3)}</td>`;
    });
  }

  function reviewWords(rows) {
    if (!rows.length) return "<p>You had nothing to choose in this round.</p>";
    const all = sum(rows.map((row) => row.cost));
    const verdict = all > 0
      ? `gave away <strong>${all.toFixed(3)}</strong> points`
      : "gave nothing away";
    return `<p>Your choices in this round ${verdict}; what else you won or lost was the cards’ doing. ` +
      "Of each choice: what it was worth against the equilibrium, how often the equilibrium does it, " +
      "and what the other one was worth.</p>";
  }

  // ---- the page ----

  const PARTS = {
    unit: "round",
    score: "score, points",
    controls: `
    <div class="play-controls">
      <label class="play-choice">Your seat, from the next round on
        <select><option value="alternate">in turns</option><option value="0">dealer, who begins</option>` +
          `<option value="1">other</option></select></label>
      <button type="button" class="play-hint" aria-pressed="false" aria-keyshortcuts="H">Hints <kbd aria-hidden="true">H</kbd></button>
      <details class="play-sheet"><summary>What scores</summary><div class="play-yaku"></div></details>
    </div>`,
    felt: `
        <div class="play-side" role="group" aria-label="The equilibrium">
          <p class="play-who">The equilibrium</p><div class="play-cards play-their-hand"></div>
          <div class="play-their-pile"></div>
        </div>
        <div class="play-middle">
          <div role="group" aria-label="Open on the field"><p class="play-who">Field</p><div class="play-cards play-field"></div></div>
          <div role="group" aria-label="Stock"><p class="play-who">Stock</p><div class="play-cards play-stock"></div></div>
        </div>
        <div class="play-side" role="group" aria-label="You">
          <p class="play-who play-you"></p><div class="play-cards play-own-hand"></div>
          <div class="play-own-pile"></div>
        </div>
        <p class="play-question" aria-hidden="true"></p>`,
    moves: '<div class="play-hints" aria-live="polite"></div>',
    side: `
        <p class="play-who">This round</p>
        <ol class="play-log" aria-label="What happened in this round"></ol>`,
    leak: "What your choices gave away",
  };
  const KEYS = { [STOP]: "s", [KOI]: "k" }; // of cards: their place

  // The label of a button: a card of the hand says what it would do.
  function label(action, at, table) {
    if (at.stage === "call") return action === KOI ? "Koi-koi" : `Stop: ${points(payment(at, table.rules))}`;
    const taken = matching(at, action, table.rules), copies = count(at.hands[at.player], action);
    const does = at.stage === "match" ? "" : taken.length ? "captures" : "stays";
    return `<span aria-hidden="true">${table.pictures[action]}</span>` +
      `<span>${action}${copies > 1 ? ` ×${copies}` : ""} <small>${does}</small></span>`;
  }

  function sit(page) {
    const { data: table, game, find } = page, hint = find("hint");
    const seatMenu = game.querySelector("select");

    function seatFor(n) {
      return seatMenu.value === "alternate" ? n % 2 : Number(seatMenu.value);
    }

    function choices({ at }) {
      return actions(at, table.rules).map((action, n) => [action, KEYS[action] || String(n + 1), label(action, at, table)]);
    }

    function showCards(round) {
      const { at, seat } = round, they = 1 - seat;
      const theirs = over(round) ? at.hands[they] : at.hands[they].map(() => null);
      put(find("their-hand"), row(theirs, table, "no card left"));
      put(find("their-pile"), pile(at, they, table));
      put(find("field"), row(at.field, table, "empty"));
      put(find("stock"), at.stock.length ? `${table.back}<span>×${at.stock.length}</span>` : '<span class="play-soft">empty</span>');
      put(find("you"), `You, ${seat ? "second" : "the dealer"}`);
      const playing = at.stage === "play" && !over(round);
      put(find("own-hand"), playing ? "" : row(at.hands[seat], table, "no card left"));
      put(find("own-pile"), pile(at, seat, table));
    }

    function showWords({ hands: rounds, hand: round, heard }) {
      const { at, seat } = round, events = at.events.map((event) => sentence(event, seat));
      const number = rounds.length + (over(round) ? 0 : 1);
      const words = [...events.slice(heard), question(round, table)];
      if (!round.past.length) words.unshift(`Round ${number}. ${seat ? "The equilibrium is dealer and begins." : "You are dealer and begin."}`);
      const said = words.filter(Boolean), last = said.pop();
      put(find("question"), last);
      put(find("status"), `${said.join(" ")} <span class="play-heard">${last}</span>`);
      put(find("log"), events.map((line) => `<li>${line}</li>`).join("") || "<li>The cards are dealt.</li>");
    }

    function reviewOf(round) {
      const rows = review(round);
      return reviewWords(rows) + reviewTable(rows);
    }

    function showHints(round) {
      const asked = hint.getAttribute("aria-pressed") === "true" && !over(round);
      put(find("hints"), asked ? hints(round.at, table) : "");
    }

    put(find("yaku"), scoring(table.rules));
    hint.addEventListener("click", () => {
      hint.setAttribute("aria-pressed", String(hint.getAttribute("aria-pressed") !== "true"));
      page.show();
    });
    seatMenu.addEventListener("change", () => page.show());
    return {
      start: (n) => start(seatFor(n), table, Math.random),
      act: (round, action) => choose(round, action, table, Math.random),
      over,
      result,
      choices,
      told: (round) => round.at.events.length,
      show(sitting) {
        showCards(sitting.hand);
        showWords(sitting);
        showHints(sitting.hand);
      },
      number: (rounds) => ["given away per round", mean(rounds.map(cost)).toFixed(3)],
      review({ hands: rounds, hand: round }) {
        if (over(round)) return reviewOf(round);
        if (!rounds.length) return "<p>After the round you read here what your choices gave away.</p>";
        const last = rounds[rounds.length - 1], said = last.at.events.map((event) => sentence(event, last.seat));
        return play.again("round", rounds, result(last), play.list(said) + reviewOf(last));
      },
      keep: () => ({ seat: seatMenu.value, hints: hint.getAttribute("aria-pressed") }),
      recall(kept) {
        seatMenu.value = kept.seat;
        hint.setAttribute("aria-pressed", kept.hints);
      },
    };
  }

  if (typeof module === "undefined") play.open("koikoi", PARTS, sit);
  else module.exports = { act, actions, advice, begin, choose, cost, infoset, key, made, over, result, review, sentence, start };
})();
