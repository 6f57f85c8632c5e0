// Koi-Koi on a page: single rounds of a miniature against an equilibrium, or matches of the full
// game against players of three levels. The page contains the equilibrium or the network, the
// numbers of the rules and the pictures.
(function () {
  "use strict";
  const node = typeof module !== "undefined";
  const play = node ? require("./play.js") : window.cfrPlay;
  const koikoi = node ? require("./koikoi_rules.js") : window.cfrKoikoi;
  const { mean, put, sample, signed, sum } = play;
  const { KOI, STOP, act, actions, count, different, held, infoset, made, matching, replaced, sorted, stopping, without, worth } = koikoi;
  const THOUSAND = 1000; // the equilibrium's probabilities and points come in thousandths
  const KINDS = { light: "光", animal: "タネ", ribbon: "短冊", plain: "カス" }; // as captures lie

  // ---- the players: {name, rules, move(at, random) or think(at), advice(at), and words} ----
  // move(at, random) is an action, and think(at) the promise of one. advice(at) is {chance, worth}:
  // the adviser's {action: probability}, or null where it never gets to; and {action: expected
  // points of the player in turn}, or null without a choice. The words are of hints and reviews.

  // The infoset's place in the equilibrium's table: cards by their number in the deck.
  function key(label, rules) {
    const names = different(rules.deck);
    const numbered = names.reduce((text, name, n) => text.replaceAll(name, String(n)), label);
    return numbered.replace("dealer", "d").replace("other", "o").replaceAll("koi", "k").replace(/[ ,]/g, "");
  }

  function best(worth) {
    return Object.keys(worth).reduce((a, b) => (worth[b] > worth[a] ? b : a));
  }

  // The move of a player who follows its own advice.
  function follow(advice) {
    return (at, random) => sample(advice(at).chance, random);
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
      move: follow(advice),
      digits: 3,
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
      move: follow(advice),
      digits: 1,
      hintHeads: ["here", "the network expects about"],
      hint: ({ chance, worth }, action) => `<td>${strong(chance[action], signed(worth[action], 1))}</td>`,
      hintNote: () => "",
      heads: ["you", "expects about", "its choice", "expects about"],
      cells({ action, worth }) {
        const its = best(worth);
        return `<th scope="row">${action}</th><td>${signed(worth[action], 1)}</td>` +
          `<td>${worth[its] > worth[action] ? its : "the same"}</td><td>${signed(worth[its], 1)}</td>`;
      },
      verdict: (lost) => `<p>By the network’s estimates, your choices in this round ${lost}. ` +
        "For each choice: the points that it expected from yours, its own choice, and the points that it expected from that.</p>",
    };
  }

  // The opponents of a match. At every level the hints come from the network.
  function levels(table) {
    const adviser = network(table), { greedy, thinker } = koikoi;
    return {
      learner: { ...adviser, name: "The learner", move: (at) => greedy(at, table) },
      network: adviser,
      strong: { ...adviser, name: "The strong player", move: null, think: thinker(table) },
    };
  }

  // ---- a round: {dealt, at, seat of the reader, past choices}; replaced, never changed ----

  function start(seat, player, random) {
    const dealt = koikoi.deal(player.rules, random);
    return reply({ dealt, at: dealt, seat, past: [] }, player, random);
  }

  function over(round) {
    return round.at.stage === "over";
  }

  function choose(round, action, player, random) {
    const { at, past } = round, { rules } = player;
    const choice = { actions: actions(at, rules), action, ...player.advice(at) };
    return reply({ ...round, at: act(at, action, rules), past: [...past, choice] }, player, random);
  }

  // Whether the other player has to move.
  function theirs(round) {
    return !over(round) && round.at.player !== round.seat;
  }

  // Let the other player move until the reader has to, or the round is over. One that thinks is
  // asked for one move at a time.
  function reply(round, player, random) {
    if (player.think || !theirs(round)) return round;
    const action = player.move(round.at, random);
    return reply({ ...round, at: act(round.at, action, player.rules) }, player, random);
  }

  function think(round, player) {
    if (!player.think || !theirs(round)) return null;
    return player.think(round.at).then((action) => ({ ...round, at: act(round.at, action, player.rules) }));
  }

  // What is to be seen between two positions: a card is laid open, then it lies with what it took.
  function steps(before, after, seat, rules) {
    const found = [];
    let at = before;
    const see = (event, change) => {
      at = { ...at, card: "", ...change };
      found.push({ at, event });
    };
    for (const event of after.events.slice(before.events.length)) {
      const { who, what, card, taken } = event;
      if (!card) {
        see(event, what === KOI ? { calls: replaced(at.calls, who, at.calls[who] + 1) } : {});
        continue;
      }
      const open = at.card === card, drawn = what === "draw" && !open; // open: it waited for a choice
      const hands = what === "draw" || open ? at.hands : replaced(at.hands, who, without(at.hands[who], card));
      const laid = { hands, stock: drawn ? at.stock.slice(1) : at.stock, field: sorted([...at.field, card], rules) };
      if (drawn || who !== seat || !taken.length) see(event, laid); // the reader's own choice is known
      else at = { ...at, ...laid };
      if (taken.length) {
        const pile = sorted([...at.piles[who], card, ...taken], rules);
        see(event, {
          field: [card, ...taken].reduce(without, at.field),
          piles: replaced(at.piles, who, pile),
          points: replaced(at.points, who, worth(pile, rules)),
        });
      }
    }
    return found;
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

  function matchResult(score, they) {
    if (!score) return "The match is over: a tie.";
    return `The match is over: ${score > 0 ? "you win" : `${they.toLowerCase()} wins`} by ${points(Math.abs(score))}.`;
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

  function question(round, { rules, name }) {
    const { at, seat } = round;
    if (over(round)) return at.paid ? "" : "Nobody stopped: no points.";
    if (theirs(round)) return `${name} is thinking …`;
    if (at.stage === "match") return `Which card does ${at.card} capture?`;
    if (at.stage === "play") return actions(at, rules).length > 1 ? "Which card do you play?" : "Play what you have.";
    const doubled = at.calls[1 - seat] ? ", doubled by its call" : "";
    return `You have ${points(at.points[seat])}${doubled}. Stop, or koi-koi?`;
  }

  function percent(p) {
    return `${(100 * p).toFixed(p > 0.001 && p < 0.999 ? 1 : 0)} %`;
  }

  // ---- pictures and tables ----

  // The Japanese name of a card or a yaku.
  function japanese(name, table) {
    const found = table.japanese[name];
    return found ? ` <span class="play-ja" lang="ja">${found}</span>` : "";
  }

  // Cards in a row; null lies face down, and those that have just moved are marked.
  function row(cards, table, moved = [], none = "none") {
    const drawn = (card) => (moved.includes(card) ? table.pictures[card].replace("<svg ", "<svg data-moved ") : table.pictures[card]);
    return cards.map((card) => (card === null ? table.back : drawn(card))).join("") ||
      `<span class="play-soft">${none}</span>`;
  }

  // Captured cards by kind, and what they make.
  function pile(at, i, table, moved) {
    const yaku = Object.entries(made(at.piles[i], table.rules)).map(([name, n]) => `${name}${japanese(name, table)} ${n}`);
    const called = at.calls[i] ? ' <strong class="play-called">koi-koi!</strong>' : "";
    const kinds = Object.entries(KINDS).map(([kind, word]) => {
      const cards = at.piles[i].filter((card) => table.kinds[card] === kind), many = cards.length;
      return `<div class="play-kind" role="group" aria-label="Captured, ${kind}: ${many}">` +
        `<p class="play-who"><span lang="ja">${word}</span>${many ? ` ${many}` : ""}</p><div class="play-cards">${row(cards, table, moved, "")}</div></div>`;
    });
    return `<div class="play-pile">${kinds.join("")}</div>` +
      `<p class="play-points">${points(at.points[i])}${yaku.length ? `: ${yaku.join(", ")}` : ""}${called}</p>`;
  }

  // What scores: the points of each yaku, its cards if they are few, and how many of them each
  // player has.
  function scoring({ at, seat }, table) {
    const { yaku, koi_factor, double_at } = table.rules;
    const lines = yaku.map((y) => {
      const cards = different(y.cards), named = cards.length <= 6 ? ` <small>${cards.join(", ")}</small>` : "";
      const has = [seat, 1 - seat].map((i) => `<td>${held(y.cards, at.piles[i])} of ${y.need}</td>`).join("");
      return `<tr><th scope="row">${y.name}${japanese(y.name, table)}${named}</th><td>${y.points}${y.more.length ? "+" : ""}</td>${has}</tr>`;
    });
    const more = yaku.some((y) => y.more.length) ? "<li>+: one more point for each further card</li>" : "";
    const doubled = double_at ? `<li>times 2 from ${double_at} points</li>` : "";
    return play.table(["", "points", "you", "they"], lines.reverse()) +
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
    const about = player.digits < 3 ? "about " : "", text = all.toFixed(player.digits);
    const lost = all > 0 ? `gave away ${about}<strong>${text}</strong> points` : "gave nothing away";
    return player.verdict(lost) + play.costTable(player.heads, rows, player.cells, player.digits);
  }

  // ---- the page ----

  const SEATS = `
      <label class="play-choice">Your seat, from the next round on
        <select><option value="alternate">in turns</option><option value="0">dealer, who begins</option>` +
          '<option value="1">other</option></select></label>';

  const LEVELS = `
      <div class="play-choice"><label>Level <select class="play-level"></select></label>
        <p class="play-says"></p></div>`;

  function parts(they, choice) {
    return {
      unit: "round",
      score: "score, points",
      controls: `
    <div class="play-controls">${choice}
      <button type="button" class="play-hint" aria-pressed="false" aria-keyshortcuts="H">Hints <kbd aria-hidden="true">H</kbd></button>
      <details class="play-sheet"><summary>What scores</summary><div class="play-yaku"></div></details>
    </div>`,
      felt: `
        <div class="play-side" role="group" aria-label="${they}">
          <p class="play-who play-they">${they}</p><div class="play-cards play-their-hand"></div>
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

  // What a card of the hand would take.
  function takes(action, at, { rules }) {
    if (at.stage === "match") return "";
    const taken = matching(at, action, rules), names = different(taken);
    if (!names.length) return "takes nothing";
    if (taken.length === 2) return `takes ${names.join(" or ")}`;
    return `takes ${names.length > 1 ? `all ${taken.length}` : names[0]}`;
  }

  // The label of a button.
  function label(action, at, table) {
    if (at.stage === "call") {
      const does = action === KOI ? ["Koi-koi", "こいこい"] : [`Stop: ${points(stopping(at, table.rules))}`, "勝負"];
      return `${does[0]} <span class="play-ja" lang="ja">${does[1]}</span>`;
    }
    const copies = count(at.hands[at.player], action);
    return `<span aria-hidden="true">${table.pictures[action]}</span>` +
      `<span>${action}${copies > 1 ? ` ×${copies}` : ""}${japanese(action, table)} <small>${takes(action, at, table)}</small></span>`;
  }

  // How rounds follow each other: single ones, for which the reader chooses a seat, ...
  function singly(page) {
    const menu = page.game.querySelector("select"), player = equilibrium(page.data);
    menu.addEventListener("change", () => page.show());
    return {
      player: () => player,
      seat: (rounds) => (menu.value === "alternate" ? rounds.length % 2 : Number(menu.value)),
      title: ({ hands, hand }) => `Round ${hands.length + Number(!over(hand))}`,
      end: () => "",
      next: () => "Next round",
      number: ({ hands }) => ["given away per round", mean(hands.map(cost)).toFixed(3)],
      keep: () => menu.value,
      recall: (kept) => { menu.value = kept; },
    };
  }

  // ... or matches of a fixed number of rounds, against a player of each level, with a score for each.
  function inMatches(page) {
    const { match, levels: offered } = page.data, { rounds: length } = match, players = levels(page.data);
    const last = (sitting) => over(sitting.hand) && standing(sitting, length).number === length;
    const menu = page.find("level"), sittings = {};
    let level = "network";
    function choose(name) {
      menu.value = level = name;
      put(page.find("says"), offered[name].says);
      put(page.find("they"), players[name].name);
    }
    menu.innerHTML = Object.entries(offered).map(([name, { title }]) => `<option value="${name}">${title}</option>`).join("");
    menu.addEventListener("change", () => {
      sittings[level] = page.sitting;
      choose(menu.value);
      page.resume(sittings[level]);
    });
    choose(level);
    page.find("log").tabIndex = 0; // it scrolls
    return {
      player: () => players[level],
      seat: (rounds) => seatAfter(rounds, match),
      title: (sitting) => `Round ${standing(sitting, length).number} of ${length}`,
      end: (sitting) => (last(sitting) ? matchResult(standing(sitting, length).score, players[level].name) : ""),
      next: (sitting) => (last(sitting) ? "New match" : "Next round"),
      number(sitting) {
        const { played, score } = standing(sitting, length);
        return [`match, ${played} of ${length}`, signed(score)];
      },
      keep: () => ({ level, sittings: { ...sittings, [level]: null } }),
      recall(kept) {
        Object.assign(sittings, kept.sittings);
        choose(kept.level);
      },
    };
  }

  function sit(page) {
    const { data: table, game, find } = page, hint = find("hint"), { rules } = table;
    const course = table.match ? inMatches(page) : singly(page), { player } = course;

    function choices(round) {
      if (theirs(round)) return [];
      const { at } = round;
      return actions(at, rules).map((action, n) => [action, KEYS[action] || String(n + 1), label(action, at, table)]);
    }

    function told(round) {
      return round.at.events.map((event) => sentence(event, round.seat, player().name));
    }

    // The cards in a position of the round; `events` have just happened.
    function showCards(round, at, events) {
      const { seat } = round, other = 1 - seat, open = at.card ? [at.card] : [];
      const moved = [...open, ...events.flatMap(({ card, taken }) => (card ? [card, ...taken] : []))];
      const hidden = at.stage === "over" ? at.hands[other] : at.hands[other].map(() => null);
      put(find("their-hand"), row(hidden, table, [], "no card left"));
      put(find("their-pile"), pile(at, other, table, moved));
      put(find("field"), row(sorted([...at.field, ...open], rules), table, moved, "empty"));
      put(find("stock"), at.stock.length ? `${table.back}<span>×${at.stock.length}</span>` : '<span class="play-soft">empty</span>');
      put(find("you"), `You, ${seat ? "second" : "the dealer"}`);
      const held = at === round.at && at.stage === "play" && !theirs(round); // the buttons show them
      put(find("own-hand"), held ? "" : row(at.hands[seat], table, [], "no card left"));
      put(find("own-pile"), pile(at, seat, table, moved));
    }

    function showWords(sitting) {
      const { hand: round, heard } = sitting, events = told(round), they = player().name;
      const words = [...events.slice(heard), question(round, player()), course.end(sitting)];
      if (!round.past.length) words.unshift(`${course.title(sitting)}. ${round.seat ? `${they} is dealer and begins.` : "You are dealer and begin."}`);
      const said = words.filter(Boolean), last = said.pop();
      put(find("question"), last);
      put(find("status"), `${said.join(" ")} <span class="play-heard">${last}</span>`);
      put(find("log"), events.map((line) => `<li>${line}</li>`).join("") || "<li>The cards are dealt.</li>");
      find("log").scrollTop = find("log").scrollHeight;
    }

    function showHints(round) {
      const asked = hint.getAttribute("aria-pressed") === "true" && !over(round);
      put(find("hints"), asked && !theirs(round) ? hints(round.at, player()) : "");
    }

    game.classList.add("play-koikoi");
    hint.addEventListener("click", () => {
      hint.setAttribute("aria-pressed", String(hint.getAttribute("aria-pressed") !== "true"));
      page.show();
    });
    return {
      start: (rounds) => start(course.seat(rounds), player(), Math.random),
      act: (round, action) => choose(round, action, player(), Math.random),
      think: (round) => think(round, player()),
      steps: (before, round) => steps(before ? before.at : round.dealt, round.at, round.seat, rules)
        .map((step) => ({ ...step, round })),
      showStep({ round, at, event }) {
        showCards(round, at, [event]);
        put(find("question"), sentence(event, round.seat, player().name));
      },
      over,
      result,
      choices,
      next: course.next,
      told: (round) => round.at.events.length,
      show(sitting) {
        const { hand: round, heard } = sitting;
        showCards(round, round.at, round.at.events.slice(heard));
        put(find("yaku"), scoring(round, table));
        showWords(sitting);
        showHints(round);
      },
      number: course.number,
      review({ hands: rounds, hand: round }) {
        if (over(round)) return reviewOf(round, player());
        if (!rounds.length) return "<p>After the round you read here what your choices gave away.</p>";
        const last = rounds[rounds.length - 1];
        return play.again("round", rounds, result(last), play.list(told(last)) + reviewOf(last, player()));
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
      choose, cost, equilibrium, key, network, over, result, review, seatAfter, sentence, standing, start, steps, takes,
    };
  } else {
    play.open("koikoi", parts("The equilibrium", SEATS), sit);
    play.open("match", parts("The network", LEVELS), sit);
  }
})();
