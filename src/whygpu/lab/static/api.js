// Requests and sockets with this run's key, which lives in this tab alone.
let key = sessionStorage.getItem("whygpu.key") ?? "";

export function takeKey() {
  const found = new URLSearchParams(location.hash.slice(1));
  if (found.get("key")) {
    key = found.get("key");
    sessionStorage.setItem("whygpu.key", key);
  }
  if (found.get("key") || found.get("lang")) history.replaceState(null, "", location.pathname);
  return { known: Boolean(key), language: found.get("lang") };
}

async function asked(path, options) {
  const answer = await fetch(path, { ...options, headers: { authorization: `Bearer ${key}`, ...options.headers } });
  if (answer.ok) return answer;
  let message = `${answer.status}`;
  try { message = (await answer.json()).error.message; } catch { /* no JSON: the number must do */ }
  throw Object.assign(new Error(message), { status: answer.status });
}

export const get = async (path) => (await asked(path, {})).json();
const posted = (path, body) =>
  asked(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
export const post = async (path, body = {}) => (await posted(path, body)).json();
export const postForText = async (path, body = {}) => (await posted(path, body)).text();
export const upload = async (path, file) =>
  (await asked(path, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file })).json();

// Whether the program answers: "away" and "back" are told here.
export const line = new EventTarget();

// A socket that comes back after the server was away. What is said before it is open is kept for then; `say`
// tells whether it could be said.
export class Socket {
  constructor(path, hear, { opened = () => {}, lost = () => {} } = {}) {
    Object.assign(this, { path, hear, opened, lost, pause: 300, failed: 0, kept: [] });
    this.open();
  }
  open() {
    this.socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${this.path}`, ["whygpu", key]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => { this.pause = 300; this.failed = 0; line.dispatchEvent(new Event("back")); for (const each of this.kept.splice(0)) this.socket.send(each); this.opened(); };
    this.socket.onmessage = (event) => this.hear(event.data);
    this.socket.onclose = (event) => {
      if (this.ended) return;
      this.kept = [];
      this.lost();
      this.failed += 1;
      if (event.code === 1008) { line.dispatchEvent(new Event("locked")); return; }
      if (this.failed > 1) line.dispatchEvent(new Event("away"));
      this.timer = setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(8000, this.pause * 2);
    };
  }
  get ready() { return this.socket.readyState === WebSocket.OPEN; }
  say(message) {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    if (this.ready) this.socket.send(text);
    else if (this.socket.readyState === WebSocket.CONNECTING && this.failed === 0) this.kept.push(text);
    else return false;
    return true;
  }
  close() { this.ended = true; clearTimeout(this.timer); this.socket.close(); }
}
