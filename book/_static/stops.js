// Fewer stops for the Tab key. The buttons that copy code are one stop; so are those that run it, those
// that copy the address of a slider's position, the folds of code, the choices of a question, and the links of a
// navigation, a long list or a section with many. Arrow keys, Home and End move within such a group,
// as in a toolbar. Formulas are no stops; they break, and what is still too wide scrolls and is one.
(() => {
  "use strict";
  const MANY = 5; // links
  const SECTION = "section:is(:has(> dl.py), section section:not(:has(div.exercise)))";
  const LISTS = `nav, main :is(table, dl, ul, ol), main ${SECTION}`;
  const CODE = [".copybtn", ".cfr-link", ".cfr-bar button", "details.hide > summary"];
  const CHOICES = ".predict summary";
  const HINTS = {
    A: "Arrow keys reach the other links of this part.",
    BUTTON: "Arrow keys reach the other buttons that copy.",
    SUMMARY: "Arrow keys reach the other folded cells.",
    CELL: "Arrow keys reach the buttons of the other cells.",
    CHOICE: "Arrow keys reach the other choices.",
  };
  const DISPLAY = 'mjx-container[display="true"]';
  const SCROLLERS = `main :is(.pst-scrollable-table-container, .text_html, figure.cfr-figure,
    ${DISPLAY}, .cell_output > .output, pre)`;
  const OPEN = "mjx-math, mjx-math > mjx-mstyle, mjx-math > mjx-mstyle > mjx-mstyle";
  const MOVES = {
    ArrowDown: (at) => at + 1,
    ArrowUp: (at) => at - 1,
    Home: () => 0,
    End: (_, count) => count - 1,
  };

  const shown = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]");

  // The outermost list around a link
  function list(link) {
    let found = null;
    for (let at = link.closest(LISTS); at; at = at.parentElement.closest(LISTS)) found = at;
    return found;
  }

  // Found once, and again when the page has other links or cells
  let found = [], counted = -1;
  function groups() {
    const links = document.querySelectorAll("a[href]:not(.headerlink)");
    const cells = CODE.map((each) => [...document.querySelectorAll(each)]);
    const choices = document.querySelectorAll(CHOICES);
    const count = links.length + cells.flat().length;
    if (count !== counted) {
      const lists = Map.groupBy(links, list);
      lists.delete(null);
      found = [...cells, ...[...lists.values()].filter((members) => members.length >= MANY)];
      found.push(...Map.groupBy(choices, (choice) => choice.closest(".predict")).values());
      counted = count;
    }
    return found;
  }

  // Of each group, Tab stops at the member that has the focus or had it last. At first that is the
  // link to the page itself, or else the first of the group.
  function arrange() {
    // First read all, then write what changes: each write has the page styled again.
    const all = groups().map((group) => [group, group.filter(shown)]);
    for (const [group, visible] of all) {
      const stop = visible.find((member) => member === document.activeElement) ??
        visible.find((member) => member.getAttribute("tabindex") === "0") ??
        visible.find((member) => member.matches(".current, .active")) ?? visible[0];
      for (const member of group) {
        const here = String(member === stop);
        if (member.dataset.arrows === here) continue;
        member.dataset.arrows = here;
        member.tabIndex = member === stop ? 0 : -1;
        const kind = member.matches(CHOICES) ? "CHOICE" : member.matches(".cfr-bar *") ? "CELL" : member.tagName;
        member.ariaDescription = member === stop ? HINTS[kind] : null;
      }
    }
  }

  function move(event) {
    const group = groups().find((members) => members.includes(document.activeElement));
    if (!group) return;
    const visible = group.filter(shown);
    const to = MOVES[event.key](visible.indexOf(document.activeElement), visible.length);
    visible[to]?.focus();
    event.preventDefault();
  }

  function hint({ type, target }) {
    const inside = type === "focusin" && target.matches("[data-arrows]:focus-visible");
    document.body.classList.toggle("cfr-in-group", inside);
  }

  // A long formula may break after an operator, or else after a comma: one in a sentence always, since
  // no phone has room for it, one on a line of its own if it is wider than its place.
  function breakable(formula, box) {
    box.classList.add("cfr-breakable");
    const [after, commas] = ["[space] + [space]", "[space='2']"].map((places) =>
      [...formula.querySelectorAll(places)].filter((next) => next.parentElement.matches(OPEN)));
    for (const next of after.length ? after : commas) next.before(document.createElement("wbr"));
    if (!CSS.supports("-moz-appearance", "none")) return;
    // Firefox would break between any two letters, or nowhere: what stays together is a piece.
    const rows = [...formula.querySelectorAll(OPEN)].filter((row) => row.querySelector("wbr"));
    for (const row of [formula, ...rows]) {
      let piece = null;
      for (const child of [...row.children]) {
        if (child.matches("wbr") || child.querySelector("wbr")) piece = null;
        else {
          if (!piece) child.before(piece = document.createElement("span"));
          piece.className = "cfr-piece";
          piece.append(child);
        }
      }
    }
  }

  // Says at which edges there is more; what scrolls is a stop, where arrow keys scroll it.
  function edges(box) {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    return [box, [left && "left", right && "right"].filter(Boolean).join(" ")];
  }
  function show([box, more]) {
    if (more) box.dataset.more = more;
    else delete box.dataset.more;
    const tall = box.matches("pre, .output:not(.text_html)") && box.scrollHeight > box.clientHeight + 1;
    if (more || tall) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
  // Not what the browser skips (lean.css): to measure it would lay it out.
  const watch = new IntersectionObserver((entries) => {
    const boxes = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    boxes.filter((box) => box.matches(`${DISPLAY}:not(.cfr-breakable)`) && edges(box)[1])
      .forEach((box) => breakable(box.querySelector("mjx-math"), box));
    boxes.map(edges).forEach(show); // all that is read before all that is written
  }, { rootMargin: "9999999px" });
  function measure() {
    for (const box of document.querySelectorAll(SCROLLERS)) {
      watch.unobserve(box);
      watch.observe(box);
    }
  }

  addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    document.querySelectorAll("span.math mjx-math").forEach((formula) => {
      if (formula.querySelectorAll("mjx-c").length > 12) breakable(formula, formula.closest("span.math"));
    });
    measure();
  });
  addEventListener("resize", measure);
  document.addEventListener("scroll", ({ target }) => {
    if (target.matches?.(SCROLLERS)) show(edges(target));
  }, { capture: true, passive: true });
  document.addEventListener("focusin", hint);
  document.addEventListener("focusout", hint);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Tab") arrange();
    else if (event.key in MOVES && !event.shiftKey) move(event);
  });
})();
