// What a test asks of a page: each function returns what offends, as lines of text.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();

  // Any CSS colour as [red, green, blue, alpha], 0 to 255 and 0 to 1
  function rgba(css) {
    if (!known.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(css, [r, g, b, a / 255]);
    }
    return known.get(css);
  }

  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);

  const fade = ([r, g, b, a], opacity) => [r, g, b, a * opacity];

  function luminance(colour) {
    const [r, g, b] = colour.slice(0, 3).map((value) => {
      const v = value / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  function opacity(element, upto) {
    let product = 1;
    for (let at = element; at && at !== upto; at = at.parentElement) {
      product *= Number(getComputedStyle(at).opacity);
    }
    return product;
  }

  // The ground that an HTML element stands on
  function ground(element) {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1]);
  }

  // The shapes of a drawing that lie under the middle of a text, painted in their order
  function drawnGround(text) {
    const svg = [...document.querySelectorAll("svg")].find(
      (root) => root.contains(text) && !root.parentElement.closest("svg"),
    );
    const box = text.getBoundingClientRect();
    const middle = new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    let colour = ground(svg);
    for (const shape of svg.querySelectorAll("path, rect, circle, ellipse, polygon")) {
      const later = text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_FOLLOWING;
      const style = getComputedStyle(shape);
      if (later || style.fill === "none" || shape.closest("defs, clipPath, mask")) continue;
      const matrix = shape.getScreenCTM();
      if (!matrix || !shape.isPointInFill(middle.matrixTransform(matrix.inverse()))) continue;
      const fill = style.fill.startsWith("url(") ? [0, 0, 0, 0] : rgba(style.fill);
      const strength = Number(style.fillOpacity) * opacity(shape, svg);
      colour = over(fade(fill, strength), colour);
    }
    return colour;
  }

  // MathJax repeats a formula for screen readers, in words that it clips away.
  const shown = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !element.closest("mjx-assistive-mml") &&
    [...element.getClientRects()].some((box) => box.width > 1 && box.height > 1);

  // Elements with words of their own: text, typed or to be typed words, formulas' letters
  function* texts() {
    for (const element of document.body.querySelectorAll("*")) {
      const own = [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.data.trim(),
      );
      const field = element.matches("select, textarea, input[type=text], input[type=search]");
      if ((own || field || element.localName === "mjx-c") && shown(element)) yield element;
    }
  }

  function lowContrast(least) {
    const lines = new Set();
    for (const element of texts()) {
      if (element.matches("option, script, style, title") || element.closest(":disabled")) continue;
      const drawn = element.ownerSVGElement;
      const style = getComputedStyle(element);
      const below = drawn ? drawnGround(element) : ground(element);
      const inks = drawn
        ? [fade(rgba(style.fill), Number(style.fillOpacity))]
        : [rgba(style.color)];
      if (element.placeholder) inks.push(rgba(getComputedStyle(element, "::placeholder").color));
      for (const ink of inks) {
        const found = ratio(over(fade(ink, opacity(element)), below), below);
        if (found < least) {
          const words = (element.textContent || element.placeholder || "").trim().slice(0, 40);
          const name = element.closest("[id]")?.id;
          lines.add(
            `${found.toFixed(2)}:1 ${element.localName}.${element.getAttribute("class")} ` +
              `in #${name} “${words}” ${ink} on ${below.map(Math.round)}`,
          );
        }
      }
    }
    return [...lines];
  }

  // Links among words that have the words' looks but for a colour. The mark of a heading that can
  // be pointed to stands apart, and a box around a link says what it is.
  function bareLinks() {
    const lines = [];
    const words = (node) => /[\p{L}\p{N}]/u.test(node.textContent);
    for (const link of document.querySelectorAll("a[href]:not(.headerlink)")) {
      if (!link.checkVisibility() || !words(link)) continue;
      const { textDecorationLine, borderBottomWidth } = getComputedStyle(link);
      if (textDecorationLine.includes("underline") || parseFloat(borderBottomWidth)) continue;
      let block = link.parentElement;
      while (getComputedStyle(block).display === "inline") block = block.parentElement;
      const rest = block.cloneNode(true);
      rest.querySelectorAll("a, button, script, style").forEach((element) => element.remove());
      if (words(rest)) lines.push(`${link.outerHTML.slice(0, 200)} in ${block.localName}`);
    }
    return lines;
  }

  // Charts: on a narrow screen they scroll and keep the size of their letters. Playing cards
  // are none, their letters are decoration.
  const CHARTS = "figure.cfr-figure > svg, .cfr-panels > svg, .play-plot > svg";

  // Charts in which something looks wrong to `find`, which returns words for each text
  function inCharts(find) {
    const lines = [];
    for (const chart of document.querySelectorAll(CHARTS)) {
      if (!shown(chart)) continue;
      const { left, right, top, bottom } = chart.getBoundingClientRect();
      for (const text of chart.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        if (!box.width || !text.textContent.trim()) continue;
        const outside = box.left < left - 2 || box.right > right + 2 ||
          box.top < top - 3 || box.bottom > bottom + 3;
        const wrong = find(text, outside);
        const place = chart.closest("[id]").id;
        if (wrong) lines.push(`“${text.textContent.trim()}” in #${place} ${wrong}`);
      }
    }
    return lines;
  }

  // Letters of charts that are smaller than so many pixels; the twentieth of one is rounding.
  const smallLetters = (least) => inCharts((text) => {
    const { b, d } = text.getScreenCTM();
    const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(b, d);
    return size < least - 0.05 && `has ${size.toFixed(1)} px`;
  });

  // Words that reach out of their chart, where they are cut; charts and outputs that do not fit
  function cut() {
    const lines = inCharts((text, outside) => outside && "is cut");
    const outputs = "figure.cfr-figure, .cfr-panels, .cell_output pre, .cell_output .text_html";
    for (const element of document.querySelectorAll(outputs)) {
      const { scrollWidth, clientWidth } = element;
      if (shown(element) && scrollWidth > clientWidth + 1) {
        lines.push(`#${element.closest("[id]").id}: ${scrollWidth} of ${clientWidth} px`);
      }
    }
    return lines;
  }

  // What leaves the screen, or scrolls within itself, though it is no code, table, formula or
  // chart
  function sideways() {
    const lines = [];
    const scrollers = "figure.cfr-figure:has(> svg), .cfr-panels";
    const allowed = `pre, textarea, mjx-container, .math, :has(> table), :has(> pre), ${scrollers}`;
    const inside = `:is(${allowed}), .text_html:has(table)`;
    const width = document.documentElement.clientWidth;
    const page = document.scrollingElement.scrollWidth;
    if (page > width) lines.push(`the page is ${page} px wide`);
    for (const element of document.querySelectorAll("main *")) {
      if (element.closest("svg svg, svg *, mjx-container *") || !shown(element)) continue;
      const scrolls = ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
      const wide = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1;
      const tag = `${element.localName}.${element.getAttribute("class")} in #${element.closest("[id]").id}`;
      if (scrolls && wide && !element.matches(allowed) && !element.querySelector("table.cfr-table, table.dataframe")) {
        lines.push(`${tag} scrolls: ${element.scrollWidth} of ${element.clientWidth} px`);
      }
      const box = element.getBoundingClientRect();
      const part = element.matches(CHARTS) || !element.closest(scrollers);  // a caption wraps
      if (box.right > width + 1 && !(part && element.closest(inside))) {
        lines.push(`${tag} ends at ${Math.round(box.right)} px`);
      }
      const formula = element.matches("span.math") && element.querySelector("mjx-math");
      if (formula) {  // in a sentence, where nobody would scroll it
        const clips = getComputedStyle(element).overflowX !== "visible";
        const room = (clips ? element : element.closest("p, li, td, th, dd, div")).getBoundingClientRect();
        const end = Math.max(...[...formula.getClientRects()].map((line) => line.right));
        if (end > room.right + 2) lines.push(`${tag} is cut: ${formula.closest("p, li")?.textContent}`);
      }
    }
    return lines;
  }

  // Let every movement that has an end come to it.
  function settle() {
    for (const animation of document.getAnimations()) {
      if (animation.effect.getComputedTiming().endTime < Infinity) animation.finish();
    }
  }

  const FOLDED = "[data-folded]";

  // Lay open what a click would show, and remember what was folded.
  function unfold() {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      for (const part of details.children) {
        if (part.localName !== "summary") part.dataset.folded = "";
      }
    }
    for (const button of document.querySelectorAll(".toggle-hidden .toggle-button")) {
      for (const part of button.parentElement.children) {
        if (part !== button) part.dataset.folded = "";
      }
      button.click();
    }
    settle();
  }

  const ring = (element) => {
    const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
    return outlineStyle === "none" ? boxShadow : outlineWidth + outlineColor + boxShadow;
  };
  let rings;

  function surroundings(element) {
    const around = [];
    for (let at = element; at && around.length < 4; at = at.parentElement) around.push(at);
    return around;
  }

  // Whether one can see that an element has the focus: on it, or around it
  function focus(element) {
    settle();
    const box = element.getBoundingClientRect();
    const inside = box.width > 1 && box.bottom > 0 && box.top < innerHeight;
    const name = element.getAttribute("aria-label") || element.textContent.trim().slice(0, 40);
    return {
      name,
      element: `${element.localName}.${element.className} “${name}”`,
      seen: inside && surroundings(element).some((at) => rings.has(at) && ring(at) !== rings.get(at)),
      folded: Boolean(element.closest(FOLDED)),
      answer: Boolean(element.closest("form.cfr-answer")),
    };
  }

  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const usable = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.disabled;
  const controls = () => [...document.querySelectorAll(CONTROLS)].filter(usable);

  // Controls narrower or lower than so many pixels, unless they are words of a sentence or heading.
  // A label counts as part of its control.
  function smallTargets(least) {
    const text = "p, li, dt, dd, td, th, figcaption, h1, h2, h3, .extra_footer, .skip-link";
    const small = controls().filter((element) => {
      if (getComputedStyle(element).display === "inline" && element.closest(text)) return false;
      const boxes = [element, ...(element.labels ?? [])].map((at) => at.getBoundingClientRect());
      return ["width", "height"].some((side) => Math.max(...boxes.map((box) => box[side])) < least);
    });
    return small.map((element) => element.outerHTML.slice(0, 120));
  }

  // Remember how everything looks that has no focus, and go back to the top. From now on note
  // each place of the focus when Tab is about to move it on, until it comes around.
  const stops = [], reached = new Map();
  let first, around = false;
  async function follow() {
    document.activeElement.blur();
    document.documentElement.style.scrollBehavior = "auto";
    scrollTo(0, 0);
    for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
    settle();  // the list of sections has marked where one is now
    const all = [...document.querySelectorAll(`${CONTROLS}, mjx-container, pre, .output`)].flatMap(surroundings);
    rings = new Map(all.map((at) => [at, ring(at)]));
    addEventListener("keydown", ({ key }) => {
      const at = document.activeElement;
      if (key !== "Tab") return;
      around ||= first && (at === first || at === document.body);
      if (around || at === document.body) return;
      // The list of sections follows the page, a moment late: it may have folded where one is.
      if (!usable(at)) return;
      first ??= at;
      stops.push(focus(at));
      reached.set(at, stops.at(-1));
      arrows(at);
    }, true);
  }

  // Where the arrow keys lead from a stop that shares its place with other controls
  function arrows(stop) {
    if (!stop.hasAttribute("data-arrows")) return;
    const press = (key) => {
      const before = document.activeElement;
      before.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      return document.activeElement !== before;
    };
    press("Home");
    do reached.set(document.activeElement, focus(document.activeElement));
    while (press("ArrowDown"));
    stop.focus();
  }

  // The stops, whether the focus has come around, what of all that was reached shows no focus, and
  // the controls that were not reached. The list of sections unfolds what one reads, so its lower
  // levels are others at the end.
  const left = (at) => !reached.has(at) && !at.closest(".page-toc ul ul");
  const met = () => ({
    stops,
    around: Boolean(around),
    unseen: [...reached.values()].filter((at) => !at.seen).map((at) => at.element),
    // the arrow keys of a slider do what the buttons beside it do
    missed: around ? controls().filter((at) => left(at) && !at.matches(".cfr-step")).map((at) => focus(at).element) : [],
  });

  window.checks = {
    lowContrast, bareLinks, smallLetters, smallTargets, cut, sideways, unfold, follow, met,
  };
})();
