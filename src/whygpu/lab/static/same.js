// Same: a scene and an answer at once, their products in one ledger and on one roofline.
import { Socket } from "./api.js";
import { h, number, page, short, t, toast } from "./dom.js";
import { Easel } from "./easel.js";
import { liveLedger } from "./ledger.js";

export function make() {
  let running = false;
  const easel = new Easel({ label: "draw.canvas", framed: (head) => { rate.textContent = head.fps === null ? t("same.could", { ms: short(1000 / head.could), fps: number(head.could) }) : t("same.fps", { fps: number(head.fps), ms: short(1000 / head.could) }); }, failed: toast });
  const [rate, speed] = [h("span", { class: "soft num push" }, "–"), h("span", { class: "soft num push" }, "–")];
  const stream = h("div", { class: "stream", role: "log", tl: "think.answer", tabIndex: 0 });
  const socket = new Socket("/ws/think", (data) => hear(JSON.parse(data)), { lost: () => { if (running) stop(); } });
  const ledger = liveLedger();
  const go = h("button", { class: "button main", type: "button", t: "same.start", onclick: () => (running ? stop() : start()) });

  function hear(message) {
    if (message.op === "token") {
      stream.append(message.text);
      stream.scrollTop = stream.scrollHeight;
      if (message.rate) speed.textContent = `${short(message.rate)} tok/s`;
    } else if (message.op === "end" && running) ask();
    else if (message.op === "error") { stop(); toast(t("error.said", { message: message.message })); }
  }
  const ask = () => {
    if (stream.textContent.length > 6000) stream.replaceChildren();  // no more than anybody reads back
    if (stream.firstChild) stream.append("\n\n");
    socket.say({ op: "ask", text: t("same.question"), temperature: 0.8, seed: Math.floor(Math.random() * 1e9), max_tokens: 256, candidates: 0 });
  };
  const label = () => { go.dataset.t = running ? "same.stop" : "same.start"; go.textContent = t(go.dataset.t); };
  function start() { running = true; label(); easel.turn(); ask(); }
  function stop() { running = false; label(); easel.stop(); socket.say({ op: "stop" }); }

  const node = page("same", h("div", { class: "tools" }, go),
    h("div", { class: "same-grid" },
      h("div", { class: "card d" }, h("div", { class: "row" }, h("h2", { t: "same.draws" }), rate), h("br"), easel.node),
      h("div", { class: "card t" }, h("div", { class: "row" }, h("h2", { t: "same.thinks" }), speed), h("br"), stream)),
    h("div", { class: "chart-grid" }, ledger.chart, ledger.table));
  return { node, arrive: () => { easel.ask(); ledger.show(); }, leave: () => { running = false; easel.close(); socket.close(); ledger.close(); } };
}
