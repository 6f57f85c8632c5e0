// Coyote for two against an equilibrium. How often the equilibrium calls, and what both actions
// are worth to the reader, come with the page, computed by cfrlib; this script deals and counts.
(function () {
  "use strict";
  const play = typeof module === "undefined" ? window.cfrPlay : require("./play.js");
  const { NOTHING, mean, put, sample, signed, sum } = play;
  const NAMES = { x2: "×2", black0: "black 0", max0: "max → 0", "?": "?" };

  // ---- the rules ----

  // What the cards on the table add up to; "?" was replaced before, or counts 0.
  function total(cards) {
    const numbers = cards.map(Number).filter((n) => !Number.isNaN(n));
    let all = sum(numbers);
    if (cards.includes("max0") && numbers.length) all -= Math.max(...numbers);
    return cards.includes("x2") ? 2 * all : all;
  }

  // ---- chance ----

  // A card drawn from what those gone leave of the deck, {card: copies}.
  function draw(deck, gone, random) {
    const left = { ...deck };
    for (const card of gone) left[card] -= 1;
    const all = sum(Object.values(left));
    return sample(Object.fromEntries(Object.entries(left).map(([card, n]) => [card, n / all])), random);
  }

  // ---- a hand: {cards, seat of the reader, declaration, caller}; replaced, never changed ----

  function start(seat, table, random) {
    const first = draw(table.deck, [], random);
    const cards = [first, draw(table.deck, [first], random)];
    return reply({ cards, seat, declaration: 0, caller: null }, table, random);
  }

  function turn(hand) {
    return hand.declaration % 2;
  }

  function over(hand) {
    return hand.caller !== null;
  }

  // What may be done: at the cap nothing but to call.
  function actions(hand, table) {
    return hand.declaration < table.cap ? ["raise", "call"] : ["call"];
  }

  function act(hand, action, table, random) {
    if (action === "raise") {
      return reply({ ...hand, declaration: hand.declaration + 1 }, table, random);
    }
    const shown = hand.cards.map((card) => (card === "?" ? draw(table.deck, hand.cards, random) : card));
    return { ...hand, caller: turn(hand), shown, total: total(shown) };
  }

  // Let the equilibrium move until the reader has to, or the hand is over.
  function reply(hand, table, random) {
    if (over(hand) || turn(hand) === hand.seat) return hand;
    const call = table.calls[hand.cards[hand.seat]][hand.declaration];
    return act(hand, sample({ raise: 1 - call, call }, random), table, random);
  }

  // What the reader wins: the caller loses unless the last declaration was too much.
  function result(hand) {
    const right = hand.declaration > hand.total;
    return right === (hand.caller === hand.seat) ? 1 : -1;
  }

  // ---- what the reader did ----

  // Every decision of the reader: what each action was worth, given all that was known, if
  // everything after it is played best against the equilibrium; and what the choice cost.
  function review(hand, table) {
    const seen = hand.cards[1 - hand.seat], rows = [];
    for (let d = hand.seat; d <= hand.declaration; d += 2) {
      const action = d < hand.declaration ? "raise" : "call";
      if (action === "call" && hand.caller !== hand.seat) break;
      const worth = table.worth[seen][d]; // {raise, call}, at the cap {call}
      const cost = Math.max(...Object.values(worth)) - worth[action];
      rows.push({ declaration: d, action, worth, call: table.calls[seen][d], cost });
    }
    return rows;
  }

  function cost(hand, table) {
    return sum(review(hand, table).map((row) => row.cost));
  }

  // ---- words ----

  function named(card) {
    return NAMES[card] || card.replace("-", "−");
  }

  function outcome(hand) {
    const drawn = hand.cards.includes("?") ? ` The ? becomes ${named(hand.shown[hand.cards.indexOf("?")])}.` : "";
    const who = hand.caller === hand.seat ? "You call" : "The equilibrium calls";
    const verdict = hand.declaration > hand.total ? "too much" : "not too much";
    return `${who}.${drawn} You held ${named(hand.cards[hand.seat])}: the total is ` +
      `${String(hand.total).replace("-", "−")}, so ${hand.declaration} was ${verdict}. ` +
      `You ${result(hand) > 0 ? "win" : "lose"}.`;
  }

  // What was said from this declaration on, a sentence each.
  function narrate(hand, first) {
    return Array.from({ length: hand.declaration - first }, (_, k) => {
      const number = first + k + 1;
      return (number - 1) % 2 === hand.seat ? `You say ${number}.` : `The equilibrium says ${number}.`;
    });
  }

  function question(hand, table) {
    if (over(hand)) return outcome(hand);
    if (!hand.declaration) return "Say 1, or call: is the total below 0?";
    if (!actions(hand, table).includes("raise")) return "You must call.";
    return `Say ${hand.declaration + 1}, or call?`;
  }

  // ---- pictures and tables ----

  function card(name) {
    if (!name) return play.card(null, "your card, which you do not see");
    const lines = { max0: ["max", "→ 0"], black0: ["black", "0"] }[name] || [named(name)];
    const size = lines.length > 1 ? 24 : lines[0].length > 2 ? 34 : 44;
    const words = lines.map((line, k) => `<text x="40" y="${71 + 28 * (k - (lines.length - 1) / 2)}" ` +
      `text-anchor="middle" style="font-size:${size}px">${line}</text>`);
    return play.card(`<g class="play-face">${words.join("")}</g>`, `the card ${named(name)}`);
  }

  function reviewTable(rows) {
    return play.costTable(["after", "you", "it calls", "raise", "call"], rows, ({ declaration, action, worth, call }) => {
      const raise = "raise" in worth ? signed(worth.raise, 3) : "–";
      return `<th scope="row">${declaration || "–"}</th>` +
        `<td>${action === "raise" ? `say ${declaration + 1}` : "call"}</td>` +
        `<td class="play-own">${Math.round(100 * call)} %</td><td>${raise}</td>` +
        `<td>${signed(worth.call, 3)}</td>`;
    });
  }

  // The decisions worth a line: those that cost something, and the last three.
  function told(rows) {
    return rows.filter((row, k) => row.cost >= NOTHING || k >= rows.length - 3);
  }

  function reviewWords(hand, rows) {
    if (!rows.length) return "<p>It called before you had a choice.</p>";
    const last = rows[rows.length - 1], seen = named(hand.cards[1 - hand.seat]);
    const chance = Math.round(50 * (1 + last.worth.call));
    const said = last.declaration
      ? `You saw ${seen} and heard ${last.declaration}. From this opponent, that means: it was ` +
        `too much with probability ${chance} %`
      : `You saw ${seen}. The total was below 0 with probability ${chance} %`;
    return `<p>${said}, so calling was worth ${signed(last.worth.call, 3)}. In your place the ` +
      `equilibrium calls in ${Math.round(100 * last.call)} % of cases. Your choices in this hand cost ` +
      `<strong>${sum(rows.map((row) => row.cost)).toFixed(3)}</strong>, whatever your card was.</p>`;
  }

  // ---- the page ----

  const PARTS = {
    unit: "hand",
    score: "score",
    felt: `
        <div class="play-board">
          <div class="play-seat"><p>The equilibrium</p><div class="play-their-card"></div></div>
          <div class="play-pot"></div>
          <div class="play-seat"><p>You</p><div class="play-own-card"></div></div>
        </div>`,
    leak: "What you did, and what it would have done",
  };

  function sit({ data: table, find }) {
    function choices(hand) {
      const all = { raise: ["raise", "r", `Say ${hand.declaration + 1}`], call: ["call", "c", "Coyote!"] };
      return actions(hand, table).map((action) => all[action]);
    }

    function show({ hands, hand, heard }) {
      const seen = hand.cards[1 - hand.seat];
      put(find("their-card"), card(seen));
      put(find("own-card"), card(over(hand) && hand.cards[hand.seat]));
      put(find("pot"), `said <strong>${hand.declaration}</strong>`);
      const words = [...narrate(hand, heard), question(hand, table)];
      if (!over(hand) && heard === 0 && hand.declaration < 2) {
        const first = hand.seat ? "The equilibrium begins." : "You begin.";
        words.unshift(`Hand ${hands.length + 1}. You see ${named(seen)}. ${first}`);
      }
      put(find("status"), words.join(" "));
    }

    function reviewOf(hand) {
      const rows = review(hand, table);
      return reviewWords(hand, rows) + reviewTable(told(rows));
    }

    return {
      start: ({ length: n }) => start(n % 2, table, Math.random),
      act: (hand, action) => act(hand, action, table, Math.random),
      over,
      result,
      choices,
      told: (hand) => hand.declaration,
      show,
      number: ({ hands }) => ["cost per hand", mean(hands.map((hand) => cost(hand, table))).toFixed(3)],
      review({ hands, hand }) {
        if (over(hand)) return reviewOf(hand);
        if (!hands.length) return "<p>After the hand you read here what the equilibrium would have done in your place.</p>";
        const last = hands[hands.length - 1], said = [...narrate(last, 0), outcome(last)];
        return play.again("hand", hands, result(last), play.list(said) + reviewOf(last));
      },
    };
  }

  if (typeof module === "undefined") play.open("coyote", PARTS, sit);
  else module.exports = { act, actions, cost, draw, narrate, outcome, over, result, review, start, total, turn };
})();
