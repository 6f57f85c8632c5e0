// A few rounds of a matrix game against regret matching, and the reader's regrets in a table.
(function () {
  "use strict";
  const PAUSE_MS = 300; // in which a second click is taken for part of the first

  const sum = (numbers) => numbers.reduce((x, y) => x + y, 0);
  const signed = (x) => `${x < 0 ? "−" : ""}${Math.abs(x)}`;
  const points = (x) => `${signed(x)} point${Math.abs(x) === 1 ? "" : "s"}`;

  function regretMatching(regrets) {
    const positive = regrets.map((r) => Math.max(r, 0)), total = sum(positive);
    return positive.map((r) => (total > 0 ? r / total : 1 / regrets.length));
  }

  function sample(strategy, u) {
    let below = 0;
    const action = strategy.findIndex((p) => u < (below += p));
    return action < 0 ? strategy.length - 1 : action; // the probabilities sum to a hair less than 1
  }

  // What each action would have earned in place of the one that was played, minus what that one earned.
  const regretsOf = (values, played) => values.map((value) => value - values[played]);

  function start(figure) {
    const { payoffs, mine, theirs } = JSON.parse(figure.querySelector("script").textContent);
    const rows = [...figure.querySelectorAll("tbody tr")], total = figure.querySelector("tfoot tr");
    const controls = figure.querySelector(".cfr-controls"), outcome = figure.querySelector(".cfr-outcome");
    let rounds, earned, regrets, other, waiting = 0;

    function fill(row, texts) {
      [...row.querySelectorAll("td")].forEach((cell, k) => { cell.textContent = texts[k]; });
    }
    function reset() {
      [rounds, earned] = [0, 0];
      [regrets, other] = [mine.map(() => 0), theirs.map(() => 0)];
      for (const row of [...rows, total]) fill(row, Array(3 + mine.length).fill(""));
      rows.forEach((row) => row.classList.remove("cfr-new"));
      outcome.textContent = "";
      offer();
    }
    function offer() {
      const done = rounds === rows.length, names = done ? [`play ${rows.length} more`] : mine;
      if (controls.childElementCount === names.length && !done && rounds) return;
      const inside = controls.contains(document.activeElement);
      controls.replaceChildren(...names.map((name, a) => {
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
        button.addEventListener("click", () => {
          if (performance.now() < waiting) return;
          waiting = performance.now() + PAUSE_MS;
          if (done) reset();
          else play(a);
        });
        return button;
      }));
      if (inside) controls.firstChild.focus();
    }
    function play(a) {
      const b = sample(regretMatching(other), Math.random()); // it has not seen a
      const values = payoffs.map((row) => row[b]), now = regretsOf(values, a);
      earned += values[a];
      regrets = regrets.map((r, k) => r + now[k]);
      other = regretsOf(payoffs[a].map((x) => -x), b).map((r, k) => other[k] + r);
      if (rounds) rows[rounds - 1].classList.remove("cfr-new");
      rows[rounds].classList.add("cfr-new");
      fill(rows[rounds], [mine[a], theirs[b], signed(values[a]), ...now.map(signed)]);
      fill(total, ["", "", signed(earned), ...regrets.map(signed)]);
      rounds += 1;
      outcome.textContent = rounds < rows.length ? seen(a, b, values[a], now) : verdict();
      offer();
    }
    function seen(a, b, paid, now) {
      const compared = mine.map((name, k) => `${name} ${signed(now[k])}`).filter((_, k) => k !== a);
      return `You ${mine[a]}, the other ${theirs[b]}: you earn ${points(paid)}. Regret of ${compared.join(", of ")}.`;
    }
    function verdict() {
      const most = Math.max(...regrets), best = mine.filter((_, k) => regrets[k] === most).join(" or ");
      const them = Math.max(...other);
      const you = most > 0
        ? `Always ${best} would have earned ${points(earned + most)} against the same actions: ` +
          `your largest regret is ${signed(most)}, or ${signed(+(most / rounds).toFixed(2))} a round.`
        : `No single action, always played, would have earned more: your largest regret is ${signed(most)}.`;
      return `You earned ${points(earned)} in ${rounds} rounds. ${you} The other's largest regret is ${signed(them)}.`;
    }

    controls.hidden = false;
    figure.setAttribute("data-ready", "");
    reset();
  }

  for (const figure of document.querySelectorAll("figure.cfr-rounds:not([data-ready])")) start(figure);
})();
