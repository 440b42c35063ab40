// Plays exhibits: each carries its elements and, for every frame, which of them are shown. No library.
const SVG = "http://www.w3.org/2000/svg";
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

class Exhibit {
  constructor(root) {
    this.root = root;
    this.stage = root.querySelector(".x-stage");
    this.layer = root.querySelector(".x-layer");
    this.range = root.querySelector(".x-position");
    this.data = JSON.parse(root.querySelector(".x-data").textContent);
    const parsed = new DOMParser().parseFromString(
      `<svg xmlns="${SVG}">${this.data.elements.join("")}</svg>`, "image/svg+xml");
    this.nodes = [...parsed.documentElement.children].map((node) => document.importNode(node, true));
    this.frame = this.data.poster;
    this.playing = this.visible = false;
    this.wanted = !CALM.matches;
    this.controls();
    if (this.data.live) new Network(this);
    this.show(this.frame);
    root.classList.add("x-ready");
    new IntersectionObserver((seen) => {
      this.visible = seen[seen.length - 1].isIntersecting;
      this.run();
    }, { threshold: 0.25 }).observe(root);
  }

  controls() {
    const { root, range } = this;
    root.querySelector(".x-play").addEventListener("click", () => {
      this.wanted = !this.wanted;
      this.run();
    });
    range.max = this.data.frames.length - 1;
    range.addEventListener("input", () => { this.stop(); this.show(+range.value); });
    CALM.addEventListener("change", () => { if (CALM.matches) this.stop(); });
    if (root.dataset.drag) this.draggable();
    this.tips();
  }

  run() {
    const on = this.wanted && this.visible;
    this.root.classList.toggle("x-playing", this.wanted);
    if (on && !this.playing) this.next();
    this.playing = on;
    if (!on) clearTimeout(this.timer);
  }

  stop() { this.wanted = false; this.run(); }

  next() {
    this.timer = setTimeout(() => {
      this.show((this.frame + 1) % this.data.frames.length);
      this.next();
    }, this.data.times[this.frame]);
  }

  show(frame) {
    this.frame = frame;
    this.range.value = frame;
    const shown = [], runs = this.data.frames[frame]; // first, how many, first, how many ...
    for (let i = 0; i < runs.length; i += 2) shown.push(...this.nodes.slice(runs[i], runs[i] + runs[i + 1]));
    this.layer.replaceChildren(...shown);
    this.after?.();
  }

  draggable() {
    const count = this.data.frames.length, stage = this.stage;
    let held = null;
    const place = (event) => {
      const box = stage.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width * 960, (event.clientY - box.top) / box.height * 540];
    };
    const turned = ([x, y]) => {
      const [cx, cy, start] = this.data.turn;
      return Math.round((Math.atan2(cy - y, x - cx) - start) / (2 * Math.PI) * count);
    };
    stage.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      held = { x: place(event)[0], frame: this.frame, moved: false };
      if (event.pointerType === "mouse") event.preventDefault();
    });
    addEventListener("pointermove", (event) => {
      if (!held) return;
      const at = place(event);
      if (!held.moved && Math.abs(at[0] - held.x) < 6 && this.root.dataset.drag !== "turn") return;
      held.moved = true;
      this.root.classList.add("x-held");
      this.stop();
      const frame = this.root.dataset.drag === "turn" ? turned(at)
        : held.frame + Math.round((at[0] - held.x) / 960 * count);
      this.show(((frame % count) + count) % count);
    });
    for (const end of ["pointerup", "pointercancel"])
      addEventListener(end, () => { held = null; this.root.classList.remove("x-held"); });
  }

  tips() {
    const tip = document.createElement("div");
    tip.className = "x-tip";
    tip.hidden = true;
    tip.setAttribute("role", "tooltip");
    this.root.append(tip);
    const show = (event) => {
      const target = event.target.closest?.("[data-tip]");
      tip.hidden = !target;
      if (!target) return;
      tip.textContent = target.dataset.tip;
      const box = target.getBoundingClientRect(), root = this.root.getBoundingClientRect();
      const left = Math.min(Math.max(4, box.left - root.left), Math.max(4, root.width - tip.offsetWidth - 8));
      const above = box.top - root.top - tip.offsetHeight - 6;
      tip.style.left = `${left}px`;
      tip.style.top = `${above > 0 ? above : box.bottom - root.top + 6}px`;
    };
    for (const kind of ["pointerover", "focusin", "click"]) this.root.addEventListener(kind, show);
    for (const kind of ["pointerleave", "focusout"]) this.root.addEventListener(kind, () => { tip.hidden = true; });
    addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  }
}

// The 4-16-4 network, computed here while the sliders are moved: x @ up, GELU, @ down.
class Network {
  constructor(exhibit) {
    this.exhibit = exhibit;
    Object.assign(this, exhibit.data.live);
    this.sliders = [...exhibit.root.querySelectorAll(".x-sliders input")];
    this.free = false;
    for (const slider of this.sliders)
      slider.addEventListener("input", () => { this.free = true; exhibit.stop(); this.draw(); });
    exhibit.range.addEventListener("input", () => { this.free = false; this.follow(); });
    exhibit.after = () => {
      if (exhibit.playing) this.free = false;
      if (this.free) this.draw(); else this.follow();
    };
  }

  follow() { // the sliders show what the frame has; the frame itself is untouched
    const step = Math.round(this.exhibit.frame / this.exhibit.data.frames.length * this.inputs.length);
    this.inputs[step % this.inputs.length].forEach((value, i) => this.write(i, value));
    this.restore();
  }

  write(i, value) {
    this.sliders[i].value = value;
    this.sliders[i].nextElementSibling.textContent = signed(value);
  }

  draw() {
    const x = this.sliders.map((slider) => +slider.value);
    x.forEach((value, i) => this.write(i, value));
    const { up, act, out } = forward(x, this.up, this.down);
    this.paint("in", x, 1, true);
    this.paint("up", up, 2, false);
    this.paint("act", act, 2, false);
    this.paint("out", out, 1, true);
    this.exhibit.root.dataset.out = JSON.stringify(out);
  }

  paint(name, values, scale, text) {
    values.forEach((value, i) => {
      const share = Math.min(1, Math.abs(value / scale));
      const node = this.exhibit.layer.querySelector(`[data-name="${name}${i}"]`);
      if (node) node.style.fill = `color-mix(in srgb, var(--x-${value < 0 ? "draw" : "think"}) ${Math.round(100 * share)}%, var(--x-panel))`;
      const label = text && this.exhibit.layer.querySelector(`[data-name="${name}${i}text"]`);
      if (label) {
        label.dataset.was ??= label.textContent;
        label.textContent = signed(value);
        label.style.fill = `var(--x-${share > 0.62 ? "paper" : "ink"})`;
      }
    });
  }

  restore() {
    for (const node of this.exhibit.layer.querySelectorAll("[data-name]")) {
      node.style.removeProperty("fill");
      if (node.dataset.was !== undefined) node.textContent = node.dataset.was;
    }
  }
}

function forward(x, up, down) {
  const raised = up[0].map((_, j) => x.reduce((sum, value, i) => sum + value * up[i][j], 0));
  const act = raised.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));
  return { up: raised, act, out: down[0].map((_, k) => act.reduce((sum, value, j) => sum + value * down[j][k], 0)) };
}

const signed = (value) => value.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "−");

for (const root of document.querySelectorAll(".x-exhibit:not(.x-ready)")) new Exhibit(root);
