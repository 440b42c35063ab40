(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 44rem)");
  const twins = new Map(Object.keys(page.light).map((name) => [page.light[name], page.dark[name]]));

  /* Figures: built in Python in light colours; a dark screen gets each colour's twin. */
  const coloured = (value, night) => {
    if (typeof value === "string") return night ? (twins.get(value) ?? value) : value;
    if (Array.isArray(value)) return value.map((item) => coloured(item, night));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, night)]));
  };
  const assign = (target, path, value) => {
    const keys = path.split(".");
    const last = keys.pop();
    for (const key of keys) target = target[key] ??= {};
    target[last] = value;
  };
  const folds = [...document.querySelectorAll("details.fold")];
  const draw = (print) => {
    const font = getComputedStyle(document.body).getPropertyValue("--sans").trim();
    for (const [id, chart] of Object.entries(page.charts)) {
      const box = document.getElementById(id);
      if (!print && !box.clientWidth) continue; // in a closed chapter; drawn when that opens
      const small = narrow.matches && !print;
      const { data, layout } = coloured(structuredClone(chart.figure), dark.matches && !print);
      if (small) for (const [path, value] of Object.entries(chart.narrow)) assign(layout, path, value);
      layout.font = { ...layout.font, family: font };
      layout.height = small ? chart.narrowHeight : chart.height;
      layout.width = print ? 640 : box.clientWidth;
      window.Plotly.react(box, data, layout, { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false });
    }
  };
  let waiting = 0;
  const redraw = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => draw(false));
  };

  /* On a narrow screen chapters are folded; a link into one opens it, printing opens all. */
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target?.closest("details.fold") ?? target?.querySelector?.("details.fold");
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  const fit = () => {
    for (const fold of folds) fold.open = !narrow.matches;
    reveal();
  };
  fit();
  narrow.addEventListener("change", fit);
  addEventListener("hashchange", reveal);
  for (const fold of folds) {
    fold.addEventListener("toggle", redraw);
    fold.querySelector("summary").addEventListener("click", (event) => {
      if (!narrow.matches) event.preventDefault();
    });
  }
  draw(false);
  addEventListener("resize", redraw);
  dark.addEventListener("change", redraw);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
    draw(true);
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    draw(false);
  });

  /* The basis of a number: opens on hover, focus, click and tap, beside the number. */
  if (!HTMLElement.prototype.showPopover) return;
  let owner = null;
  const open = (element, note) => {
    owner = element;
    if (!note.matches(":popover-open")) note.showPopover();
    const at = element.getBoundingClientRect();
    const box = note.getBoundingClientRect();
    const x = Math.max(8, Math.min(at.left + at.width / 2 - box.width / 2, innerWidth - box.width - 8));
    const below = at.bottom + 8;
    const y = below + box.height + 8 > innerHeight ? Math.max(8, at.top - box.height - 8) : below;
    note.style.setProperty("--x", `${x}px`);
    note.style.setProperty("--y", `${y}px`);
    note.classList.add("placed");
  };
  const close = (note) => {
    if (note.matches(":popover-open")) note.hidePopover();
    owner = null;
  };
  const noteOf = (element) => document.getElementById(element.getAttribute("popovertarget") ?? element.dataset.basis);
  const find = (event) => event.target.closest?.("[popovertarget], [data-basis]");
  document.addEventListener("click", (event) => {
    const element = find(event);
    if (!element) return;
    event.preventDefault();
    open(element, noteOf(element));
  });
  document.addEventListener("pointerover", (event) => {
    const element = event.pointerType === "mouse" ? find(event) : null;
    if (element && element !== owner) open(element, noteOf(element));
  });
  document.addEventListener("pointerout", (event) => {
    const element = event.pointerType === "mouse" ? find(event) : null;
    if (element && !element.contains(event.relatedTarget)) close(noteOf(element));
  });
  document.addEventListener("focusin", (event) => {
    const element = event.target.matches?.("[popovertarget]:focus-visible") ? event.target : null;
    if (element) open(element, noteOf(element));
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.matches?.("[popovertarget]")) close(noteOf(event.target));
  });
  addEventListener("scroll", () => owner && close(noteOf(owner)), { passive: true });
})();
