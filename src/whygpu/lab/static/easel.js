// A canvas that the engine draws on: wishes go out, frames come back, each is acknowledged once it is shown.
import { Socket } from "./api.js";
import { calm, h, number, t } from "./dom.js";

const WIDEST = 960;
const TARGET_MS = 33;
const TOLD_MS = 120;

export class Easel {
  // `changed`: told after each change by hand; `framed`: told of each frame.
  constructor({ label, changed = () => {}, framed = () => {}, failed = () => {} }) {
    Object.assign(this, { changed, framed, failed, seq: 0, sent: new Map(), scale: 1, times: [] });
    this.state = { scene: "torus-knot", azimuth: 30, elevation: 18, zoom: 1, pan_x: 0, pan_y: 0, stage: "shaded" };
    this.canvas = h("canvas", { tabIndex: 0, tl: label, role: "img", width: 640, height: 480 });
    this.tag = h("span", { class: "tag" }, "–");
    this.mark = h("i", { class: "mark", hidden: true });
    this.node = h("div", { class: "easel" }, this.canvas, this.mark, this.tag);
    this.paper = this.canvas.getContext("2d");
    this.socket = new Socket("/ws/draw", (data) => this.hear(data), { opened: () => this.ask(), lost: () => { this.sent.clear(); this.newest = 0; } });
    this.watch = new ResizeObserver(() => this.ask());
    this.watch.observe(this.node);
    this.hands();
  }

  size() {
    const box = this.node.getBoundingClientRect();
    const factor = Math.min(devicePixelRatio, 1.5, WIDEST / Math.max(box.width, 1)) * this.scale;
    return [Math.max(16, Math.round(box.width * factor)), Math.max(16, Math.round(box.height * factor))];
  }

  set(values, byHand = true) {
    Object.assign(this.state, values);
    this.state.azimuth = ((this.state.azimuth % 360) + 360) % 360;
    this.state.elevation = Math.max(-89, Math.min(89, this.state.elevation));
    this.state.zoom = Math.max(0.2, Math.min(20, this.state.zoom));
    if (byHand) this.keep();
    this.ask();
  }

  // The address follows at rest: browsers slow down pages that change it at every move.
  keep() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => { if (!this.ended) this.changed(this.state); }, TOLD_MS);
  }

  // One wish a screen refresh; the newest stands for all before it.
  ask() {
    if (this.asking || this.ended) return;
    this.asking = requestAnimationFrame(() => {
      this.asking = null;
      if (!this.socket.ready || !this.node.isConnected) return;
      const [width, height] = this.size();
      this.seq += 1;
      this.sent.set(this.seq, this.touched ?? performance.now());
      this.touched = null;
      this.socket.say({ show: { ...this.state, width, height }, seq: this.seq });
    });
  }

  pick(x, y) {
    this.socket.say({ pick: [Math.round(x * this.canvas.width), Math.round(y * this.canvas.height)] });
    this.ask();
  }

  async hear(data) {
    if (typeof data === "string") { const said = JSON.parse(data); if (said.error) this.failed(t("error.said", { message: said.error })); return; }
    const size = new DataView(data).getUint32(0);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
    const picture = await createImageBitmap(new Blob([new Uint8Array(data, 4 + size)], { type: head.type }));
    if (head.frame < (this.newest ?? 0)) return;
    this.newest = head.frame;
    if (this.canvas.width !== picture.width || this.canvas.height !== picture.height)
      Object.assign(this.canvas, { width: picture.width, height: picture.height });
    this.paper.drawImage(picture, 0, 0);
    picture.close();
    this.socket.say({ ack: head.frame });
    this.account(head);
  }

  account(head) {
    const now = performance.now();
    const asked = this.sent.get(head.seq);
    for (const seq of this.sent.keys()) if (seq <= head.seq) this.sent.delete(seq);
    this.times = [...this.times.filter((time) => now - time < 1000), now];
    head.latency = asked === undefined ? null : now - asked;
    this.latency = head.latency ?? this.latency;
    const cost = head.render_ms + head.encode_ms;
    head.fps = this.moving ? this.times.length : null;  // at rest nothing is to be drawn: the rate would say so, not how fast
    head.could = 1000 / cost;
    if (this.moving) this.scale = Math.max(0.45, Math.min(1, this.scale * Math.sqrt(Math.min(1.2, TARGET_MS / Math.max(cost, 1)))));
    this.head = head;
    this.tell();
    const pixel = head.chain?.pixel;
    this.mark.hidden = !pixel;
    if (pixel) {
      this.mark.style.left = `${100 * pixel[0] / this.canvas.width}%`;
      this.mark.style.top = `${100 * pixel[1] / this.canvas.height}%`;
    }
    if (head.latency !== null) this.canvas.dataset.latency = head.latency;
    this.canvas.dataset.frames = (+this.canvas.dataset.frames || 0) + 1;
  }

  // Figures change eight times a second: nobody reads faster, and text costs the browser more than the picture.
  tell() {
    if (this.telling) return;
    this.telling = setTimeout(() => { this.telling = null; this.told = performance.now(); this.write(this.head); }, Math.max(0, (this.told ?? 0) + TOLD_MS - performance.now()));
  }

  write(head) {
    if (this.ended) return;
    const cost = head.render_ms + head.encode_ms;
    this.tag.textContent = `${t("draw.tag", { cost: number(cost, 1), could: number(head.could, 0), ms: number(this.latency ?? cost, 0) })} · ${this.canvas.width} × ${this.canvas.height}`;
    this.framed(head);
  }

  // While something moves, pictures may be coarser; at rest they are whole. `event`: the hand that moves it.
  move(event) {
    this.touched ??= event?.timeStamp;
    this.moving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => { this.moving = false; this.scale = 1; this.ask(); }, 250);
  }

  hands() {
    const fingers = new Map();
    let pressed = null;
    const spread = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      pressed = { x: event.clientX, y: event.clientY, moved: false };
      this.stop();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const before = fingers.size === 2 ? spread() : 0;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 4) pressed.moved = true;
      const tall = this.node.clientHeight;
      this.move(event);
      if (fingers.size === 2) this.set({ zoom: this.state.zoom * spread() / Math.max(before, 1), ...this.panned(dx / 2 / tall, dy / 2 / tall) });
      else if (event.shiftKey || event.buttons & 6) this.set(this.panned(dx / tall, dy / tall));
      else this.set({ azimuth: this.state.azimuth - dx * 0.45, elevation: this.state.elevation + dy * 0.45 });
    });
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      if (end === "pointerup" && pressed && !pressed.moved && this.picks) {
        const box = this.canvas.getBoundingClientRect();
        this.pick((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
      }
      pressed = null;
    });
    this.canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.move(event);
      this.set({ zoom: this.state.zoom * Math.exp(-event.deltaY * 0.0012) });
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  panned(dx, dy) { return { pan_x: this.state.pan_x + dx, pan_y: this.state.pan_y - dy }; }

  key(event) {
    const { azimuth, elevation, zoom } = this.state;
    const step = 6;
    const pans = { ArrowLeft: [-0.04, 0], ArrowRight: [0.04, 0], ArrowUp: [0, -0.04], ArrowDown: [0, 0.04] };
    const turns = {
      ArrowLeft: { azimuth: azimuth - step }, ArrowRight: { azimuth: azimuth + step },
      ArrowUp: { elevation: elevation + step }, ArrowDown: { elevation: elevation - step },
      "+": { zoom: zoom * 1.15 }, "=": { zoom: zoom * 1.15 }, "-": { zoom: zoom / 1.15 },
      0: { azimuth: 30, elevation: 18, zoom: 1, pan_x: 0, pan_y: 0 },
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && this.picks) { this.pick(0.5, 0.5); event.preventDefault(); return; }
    const change = event.shiftKey && pans[event.key] ? this.panned(...pans[event.key]) : turns[event.key];
    if (!change) return;
    event.preventDefault();
    this.stop();
    this.move(event);
    this.set(change);
  }

  // Turn by itself, as long as nobody touches it; not where a person asked for less motion.
  turn() {
    if (calm()) return;
    let last = performance.now();
    const next = (now) => {
      if (!this.turning) return;
      if (this.sent.size < 2 || now - last > 400) { this.move(); this.set({ azimuth: this.state.azimuth + (now - last) * 0.03 }, false); last = now; }
      this.turning = requestAnimationFrame(next);
    };
    this.turning = requestAnimationFrame(next);
  }
  stop() { cancelAnimationFrame(this.turning); this.turning = null; }

  close() {
    this.ended = true;
    this.stop();
    clearTimeout(this.rest);
    clearTimeout(this.telling);
    clearTimeout(this.keeping);
    this.watch.disconnect();
    this.socket.close();
  }
}
