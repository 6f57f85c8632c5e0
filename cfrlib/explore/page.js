// Gives life to explorables on a page: inputs choose one of the frames drawn in advance.
(function () {
  "use strict";
  const PLAY_MS = 150, CALM_MS = 1000, REST_MS = 500;

  // Where the frame with these positions stands: controls count like digits, the last fastest.
  function frameNumber(sizes, at) {
    return at.reduce((number, position, k) => number * sizes[k] + position, 0);
  }

  // Set part n of a mix to `value`; the others share the rest in their old proportion.
  function share(counts, n, value, parts) {
    const others = counts.map((count, k) => (k === n ? 0 : count));
    const sum = others.reduce((a, b) => a + b, 0);
    const weights = counts.map((_, k) => (k === n ? 0 : sum > 0 ? others[k] / sum : 1 / (counts.length - 1)));
    const exact = weights.map((weight) => weight * (parts - value));
    const mixed = exact.map(Math.floor);
    mixed[n] = value;
    let left = parts - mixed.reduce((a, b) => a + b, 0);
    const order = exact.map((x, k) => [x - Math.floor(x), k]).filter(([, k]) => k !== n);
    order.sort((a, b) => b[0] - a[0]);
    for (let i = 0; left > 0; i++, left--) mixed[order[i % order.length][1]] += 1;
    return mixed;
  }

  function size(control) {
    return (control.counts || control.texts).length;
  }

  function describe(input, text) {
    input.setAttribute("aria-valuetext", text);
    input.parentElement.querySelector("output").textContent = text;
  }

  // Each kind of control: find its inputs in `box`, call `moved(position)`; return how to set it.
  const kinds = {
    range(box, control, moved) {
      const input = box.querySelector("input");
      const show = (k) => { input.value = k; describe(input, control.texts[k]); };
      input.addEventListener("input", () => { show(+input.value); moved(+input.value); });
      return { start: +input.getAttribute("value"), show };
    },
    choice(box, control, moved) {
      const select = box.querySelector("select");
      select.addEventListener("change", () => moved(select.selectedIndex));
      return { start: 0, show: (k) => { select.selectedIndex = k; } };
    },
    mix(box, control, moved) {
      const inputs = [...box.querySelectorAll("input")];
      const find = (counts) => control.counts.findIndex((c) => c.every((n, k) => n === counts[k]));
      let counts = inputs.map((input) => +input.getAttribute("value"));
      const start = find(counts);
      const show = (position) => {
        counts = control.counts[position];
        inputs.forEach((input, k) => {
          input.value = counts[k];
          describe(input, String(+(counts[k] / control.parts).toFixed(6)));
        });
      };
      inputs.forEach((input, n) => input.addEventListener("input", () => {
        const position = find(share(counts, n, +input.value, control.parts));
        show(position);
        moved(position);
      }));
      return { start, show };
    },
    walk(box, control, moved) {
      const row = box.querySelector(".cfr-walk > div"), output = box.querySelector("output");
      const start = control.texts.indexOf(output.textContent);
      const button = (text, target, disabled) => {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.disabled = disabled;
        made.addEventListener("click", () => {
          show(target);
          moved(target);
          // the pressed button is gone: go on with the first action, or at an end with `back`
          (row.querySelectorAll("button:not(:disabled)")[target ? 2 : 0] || row.children[1]).focus();
        });
        return made;
      };
      const show = (k) => {
        output.textContent = control.texts[k];
        row.replaceChildren(
          button("start over", 0, k === 0),
          button("back", control.parent[k], k === 0),
          ...control.next[k].map(([text, target]) => button(text, target, false)),
        );
      };
      return { start, show };
    },
  };

  function start(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const stage = figure.querySelector(".cfr-stage"), announce = figure.querySelector(".cfr-announce");
    const boxes = figure.querySelectorAll(".cfr-control");
    const sizes = data.controls.map(size);
    let rest = 0;

    function draw(quietly) {
      stage.style.minHeight = `${stage.offsetHeight}px`; // what follows moves down once, if ever
      stage.innerHTML = data.frames[frameNumber(sizes, at)].map((n) => data.pieces[n]).join("");
      clearTimeout(rest);
      if (quietly) return;
      rest = setTimeout(() => { // words, once the reader has stopped moving
        const numbers = [...stage.querySelectorAll(".cfr-numbers > div")];
        announce.textContent = [stage.querySelector(".cfr-panels").getAttribute("aria-label"),
          ...numbers.map((pair) => [...pair.children].map((e) => e.textContent).join(" "))].join(". ");
      }, REST_MS);
    }

    const faces = data.controls.map((control, k) =>
      kinds[control.kind](boxes[k], control, (position) => { stop(); at[k] = position; draw(); }));
    const at = faces.map((face) => face.start);
    faces.forEach((face, k) => face.show(at[k]));

    const button = figure.querySelector(".cfr-play");
    let timer = 0;
    function stop() {
      if (!timer) return;
      clearInterval(timer);
      timer = 0;
      button.textContent = "▶ play";
      button.setAttribute("aria-pressed", "false");
      draw();
    }
    function play() {
      const k = data.play, last = sizes[k] - 1;
      const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      if (at[k] === last) at[k] = -1; // from the beginning
      button.textContent = "❚❚ pause";
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        at[k] += 1;
        faces[k].show(at[k]);
        draw(true);
        if (at[k] >= last) stop();
      }, calm ? CALM_MS : PLAY_MS);
    }
    window.addEventListener("resize", () => { stage.style.minHeight = ""; });
    if (button) button.addEventListener("click", () => (timer ? stop() : play()));
    figure.querySelector(".cfr-controls").hidden = false;
  }

  if (typeof document === "undefined") {
    module.exports = { frameNumber, share };
    return;
  }
  for (const figure of document.querySelectorAll("figure.cfr-explore:not([data-ready])")) {
    if (!figure.querySelector('script[type="application/json"]')) continue;
    figure.setAttribute("data-ready", "");
    start(figure);
  }
})();
