// Koi-Koi on a page: single rounds of a miniature against an equilibrium, or matches of the full
// game against a trained network. The page contains the player, the numbers of the rules and the
// pictures.
(function () {
  "use strict";
  const node = typeof module !== "undefined";
  const play = node ? require("./play.js") : window.cfrPlay;
  const koikoi = node ? require("./koikoi_rules.js") : window.cfrKoikoi;
  const { mean, put, sample, signed, sum } = play;
  const { KOI, STOP, act, actions, count, different, held, infoset, made, matching, stopping } = koikoi;
  const THOUSAND = 1000; // the equilibrium's probabilities and points come in thousandths

  // ---- the players: {name, rules, advice(at), and the words of hints and reviews} ----
  // advice(at) is {chance, worth}: the player's own {action: probability}, or null where it never
  // gets to; and {action: expected points of the player in turn}, or null without a choice.

  // The infoset's place in the equilibrium's table: cards by their number in the deck.
  function key(label, rules) {
    const names = different(rules.deck);
    const numbered = names.reduce((text, name, n) => text.replaceAll(name, String(n)), label);
    return numbered.replace("dealer", "d").replace("other", "o").replaceAll("koi", "k").replace(/[ ,]/g, "");
  }

  function best(worth) {
    return Object.keys(worth).reduce((a, b) => (worth[b] > worth[a] ? b : a));
  }

  function strong(yes, text) {
    return yes ? `<strong>${text}</strong>` : text;
  }

  // The equilibrium of a miniature, where no decision has more than two actions.
  function equilibrium({ rules, rows }) {
    function advice(at) {
      const possible = actions(at, rules);
      if (possible.length === 1) return { chance: { [possible[0]]: 1 }, worth: null };
      const [p, ...worth] = rows[key(infoset(at), rules)];
      const pair = (a, b) => ({ [possible[0]]: a, [possible[1]]: b });
      return {
        chance: p < 0 ? null : pair(p / THOUSAND, 1 - p / THOUSAND),
        worth: worth.length ? pair(worth[0] / THOUSAND, worth[1] / THOUSAND) : null,
      };
    }

    const often = (chance, action) => `<td class="play-own">${chance ? percent(chance[action]) : "–"}</td>`;
    return {
      name: "The equilibrium",
      rules,
      advice,
      hintHeads: ["here", "it would", "worth"],
      hint: ({ chance, worth }, action) => `${often(chance, action)}<td>${signed(worth[action], 3)}</td>`,
      hintNote: ({ chance }) => (chance ? ""
        : "<p>An earlier choice led where the equilibrium never is, so it has no advice; the points are exact.</p>"),
      heads: ["you", "worth", "it", "not", "worth"],
      cells({ actions: both, action, chance, worth }) {
        const other = both.find((a) => a !== action);
        return `<th scope="row">${action}</th><td>${signed(worth[action], 3)}</td>${often(chance, action)}` +
          `<td>${other}</td><td>${signed(worth[other], 3)}</td>`;
      },
      verdict: (lost) => `<p>Your choices in this round ${lost}; what else you won or lost was the cards’ doing. ` +
        "Of each choice: what it was worth against the equilibrium, how often the equilibrium does it, " +
        "and what the other one was worth.</p>",
    };
  }

  // The network takes the action from which it expects the most points.
  function network({ rules, network: data }) {
    const values = (node ? require("./koikoi_network.js") : koikoi).network(data, rules);

    function advice(at) {
      const possible = actions(at, rules);
      if (possible.length === 1) return { chance: { [possible[0]]: 1 }, worth: null };
      const worth = values(at);
      return { chance: { [best(worth)]: 1 }, worth };
    }

    return {
      name: "The network",
      rules,
      advice,
      hintHeads: ["here", "it expects"],
      hint: ({ chance, worth }, action) => `<td>${strong(chance[action], signed(worth[action], 2))}</td>`,
      hintNote: () => "",
      heads: ["you", "it expects", "its choice", "it expects"],
      cells({ action, worth }) {
        const its = best(worth);
        return `<th scope="row">${action}</th><td>${signed(worth[action], 2)}</td>` +
          `<td>${worth[its] > worth[action] ? its : "the same"}</td><td>${signed(worth[its], 2)}</td>`;
      },
      verdict: (lost) => `<p>By the network’s estimates, your choices in this round ${lost}. ` +
        "For each choice: the points that it expected from yours, its own choice, and the points that it expected from that.</p>",
    };
  }

  // ---- a round: {at, seat of the reader, past choices}; replaced, never changed ----

  function start(seat, player, random) {
    return reply({ at: koikoi.deal(player.rules, random), seat, past: [] }, player, random);
  }

  function over(round) {
    return round.at.stage === "over";
  }

  function choose(round, action, player, random) {
    const { at, past } = round, { rules } = player;
    const choice = { actions: actions(at, rules), action, ...player.advice(at) };
    return reply({ ...round, at: act(at, action, rules), past: [...past, choice] }, player, random);
  }

  // Let the other player move until the reader has to, or the round is over.
  function reply(round, player, random) {
    if (over(round) || round.at.player === round.seat) return round;
    const action = sample(player.advice(round.at).chance, random);
    return reply({ ...round, at: act(round.at, action, player.rules) }, player, random);
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

  // ---- a match: the winner of a round deals the next one ----

  // The reader's seat after these rounds; matches begin in turns.
  function seatAfter(rounds, { rounds: length, after_void }) {
    if (rounds.length % length === 0) return (rounds.length / length) % 2;
    const last = rounds[rounds.length - 1], won = result(last);
    if (won) return Number(won < 0);
    return after_void === "same" ? last.seat : 1 - last.seat;
  }

  // The current match: how many of its rounds are over, the number of this round, the score.
  function standing({ hands: rounds, hand }, length) {
    const before = rounds.length - Number(over(hand));
    const played = rounds.slice(before - (before % length));
    return { played: played.length, number: (before % length) + 1, score: sum(played.map(result)) };
  }

  function matchResult(score) {
    if (!score) return "The match is over: a tie.";
    return `The match is over: ${score > 0 ? "you win" : "the network wins"} by ${points(Math.abs(score))}.`;
  }

  // ---- words ----

  function points(n) {
    return `${n} ${n === 1 ? "point" : "points"}`;
  }

  function sentence({ who, what, card, taken, points: n }, seat, they) {
    const you = who === seat, name = you ? "You" : they;
    const verb = (one, many) => (you ? one : many);
    if (what === KOI) return `${name} ${verb("call", "calls")} koi-koi.`;
    if (what === STOP) return `${name} ${verb("stop", "stops")} and ${verb("get", "gets")} ${points(n)}.`;
    const does = what === "draw" ? verb("draw", "draws") : verb("play", "plays");
    return `${name} ${does} ${card}` + (taken.length ? ` and ${verb("capture", "captures")} ${taken.join(", ")}.` : "; it stays.");
  }

  function question(round, rules) {
    const { at, seat } = round;
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

  // What scores: the points of each yaku, its cards if they are few, and how many of them each
  // player has.
  function scoring({ at, seat }, { yaku, koi_factor, double_at }) {
    const lines = yaku.map((y) => {
      const cards = different(y.cards), named = cards.length <= 6 ? ` <small>${cards.join(", ")}</small>` : "";
      const has = [seat, 1 - seat].map((i) => `<td>${held(y.cards, at.piles[i])} of ${y.need}</td>`).join("");
      return `<tr><th scope="row">${y.name}${named}</th><td>${y.points}${y.more.length ? "+" : ""}</td>${has}</tr>`;
    });
    const more = yaku.some((y) => y.more.length) ? "<li>+: one more point for each further card</li>" : "";
    const doubled = double_at ? `<li>times 2 from ${double_at} points</li>` : "";
    return play.table(["", "points", "you", "it"], lines.reverse()) +
      `<ul>${more}${doubled}<li>times ${koi_factor} if the other player has called koi-koi</li></ul>`;
  }

  function hints(at, player) {
    const advice = player.advice(at);
    if (!advice.worth) return "<p>There is nothing to choose here.</p>";
    const rows = actions(at, player.rules).map((action) =>
      `<tr data-action="${action}"><th scope="row">${action}</th>${player.hint(advice, action)}</tr>`);
    return play.table(player.hintHeads, rows) + player.hintNote(advice);
  }

  function reviewOf(round, player) {
    const rows = review(round), all = sum(rows.map((choice) => choice.cost));
    if (!rows.length) return "<p>You had nothing to choose in this round.</p>";
    const lost = all > 0 ? `gave away <strong>${all.toFixed(3)}</strong> points` : "gave nothing away";
    return player.verdict(lost) + play.costTable(player.heads, rows, player.cells);
  }

  // ---- the page ----

  const SEATS = `
      <label class="play-choice">Your seat, from the next round on
        <select><option value="alternate">in turns</option><option value="0">dealer, who begins</option>` +
          '<option value="1">other</option></select></label>';

  function parts(they, seats = "") {
    return {
      unit: "round",
      score: "score, points",
      controls: `
    <div class="play-controls">${seats}
      <button type="button" class="play-hint" aria-pressed="false" aria-keyshortcuts="H">Hints <kbd aria-hidden="true">H</kbd></button>
      <details class="play-sheet"><summary>What scores</summary><div class="play-yaku"></div></details>
    </div>`,
      felt: `
        <div class="play-side" role="group" aria-label="${they}">
          <p class="play-who">${they}</p><div class="play-cards play-their-hand"></div>
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
  }

  const KEYS = { [STOP]: "s", [KOI]: "k" }; // of cards: their place

  // The label of a button: a card of the hand says what it would do.
  function label(action, at, table) {
    if (at.stage === "call") return action === KOI ? "Koi-koi" : `Stop: ${points(stopping(at, table.rules))}`;
    const taken = matching(at, action, table.rules), copies = count(at.hands[at.player], action);
    const does = at.stage === "match" ? "" : taken.length ? "captures" : "stays";
    return `<span aria-hidden="true">${table.pictures[action]}</span>` +
      `<span>${action}${copies > 1 ? ` ×${copies}` : ""} <small>${does}</small></span>`;
  }

  // How rounds follow each other: single ones, for which the reader chooses a seat, ...
  function singly(page) {
    const menu = page.game.querySelector("select");
    menu.addEventListener("change", () => page.show());
    return {
      seat: (rounds) => (menu.value === "alternate" ? rounds.length % 2 : Number(menu.value)),
      title: ({ hands, hand }) => `Round ${hands.length + Number(!over(hand))}`,
      end: () => "",
      next: () => "Next round",
      number: ({ hands }) => ["given away per round", mean(hands.map(cost)).toFixed(3)],
      keep: () => menu.value,
      recall: (kept) => { menu.value = kept; },
    };
  }

  // ... or matches of a fixed number of rounds.
  function inMatches(page, match) {
    const { rounds: length } = match;
    const last = (sitting) => over(sitting.hand) && standing(sitting, length).number === length;
    page.find("log").tabIndex = 0; // it scrolls
    return {
      seat: (rounds) => seatAfter(rounds, match),
      title: (sitting) => `Round ${standing(sitting, length).number} of ${length}`,
      end: (sitting) => (last(sitting) ? matchResult(standing(sitting, length).score) : ""),
      next: (sitting) => (last(sitting) ? "New match" : "Next round"),
      number(sitting) {
        const { played, score } = standing(sitting, length);
        return [`match, ${played} of ${length}`, signed(score)];
      },
      keep: () => null,
      recall: () => {},
    };
  }

  function sit(page) {
    const { data: table, game, find } = page, hint = find("hint"), { rules } = table;
    const player = table.network ? network(table) : equilibrium(table), they = player.name;
    const course = table.match ? inMatches(page, table.match) : singly(page);

    function choices({ at }) {
      return actions(at, rules).map((action, n) => [action, KEYS[action] || String(n + 1), label(action, at, table)]);
    }

    function told(round) {
      return round.at.events.map((event) => sentence(event, round.seat, they));
    }

    function showCards(round) {
      const { at, seat } = round, other = 1 - seat;
      const theirs = over(round) ? at.hands[other] : at.hands[other].map(() => null);
      put(find("their-hand"), row(theirs, table, "no card left"));
      put(find("their-pile"), pile(at, other, table));
      put(find("field"), row(at.field, table, "empty"));
      put(find("stock"), at.stock.length ? `${table.back}<span>×${at.stock.length}</span>` : '<span class="play-soft">empty</span>');
      put(find("you"), `You, ${seat ? "second" : "the dealer"}`);
      const playing = at.stage === "play" && !over(round);
      put(find("own-hand"), playing ? "" : row(at.hands[seat], table, "no card left"));
      put(find("own-pile"), pile(at, seat, table));
      put(find("yaku"), scoring(round, rules));
    }

    function showWords(sitting) {
      const { hand: round, heard } = sitting, events = told(round);
      const words = [...events.slice(heard), question(round, rules), course.end(sitting)];
      if (!round.past.length) words.unshift(`${course.title(sitting)}. ${round.seat ? `${they} is dealer and begins.` : "You are dealer and begin."}`);
      const said = words.filter(Boolean), last = said.pop();
      put(find("question"), last);
      put(find("status"), `${said.join(" ")} <span class="play-heard">${last}</span>`);
      put(find("log"), events.map((line) => `<li>${line}</li>`).join("") || "<li>The cards are dealt.</li>");
      find("log").scrollTop = find("log").scrollHeight;
    }

    function showHints(round) {
      const asked = hint.getAttribute("aria-pressed") === "true" && !over(round);
      put(find("hints"), asked ? hints(round.at, player) : "");
    }

    game.classList.add("play-koikoi");
    hint.addEventListener("click", () => {
      hint.setAttribute("aria-pressed", String(hint.getAttribute("aria-pressed") !== "true"));
      page.show();
    });
    return {
      start: (rounds) => start(course.seat(rounds), player, Math.random),
      act: (round, action) => choose(round, action, player, Math.random),
      over,
      result,
      choices,
      next: course.next,
      told: (round) => round.at.events.length,
      show(sitting) {
        showCards(sitting.hand);
        showWords(sitting);
        showHints(sitting.hand);
      },
      number: course.number,
      review({ hands: rounds, hand: round }) {
        if (over(round)) return reviewOf(round, player);
        if (!rounds.length) return "<p>After the round you read here what your choices gave away.</p>";
        const last = rounds[rounds.length - 1];
        return play.again("round", rounds, result(last), play.list(told(last)) + reviewOf(last, player));
      },
      keep: () => ({ course: course.keep(), hints: hint.getAttribute("aria-pressed") }),
      recall(kept) {
        course.recall(kept.course);
        hint.setAttribute("aria-pressed", kept.hints);
      },
    };
  }

  if (node) {
    module.exports = {
      choose, cost, equilibrium, key, network, over, result, review, seatAfter, sentence, standing, start,
    };
  } else {
    play.open("koikoi", parts("The equilibrium", SEATS), sit);
    play.open("match", parts("The network"), sit);
  }
})();
