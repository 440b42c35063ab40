// Think: a conversation token by token; each may be another, and the answer goes on from there.
import { Socket } from "./api.js";
import { conversation } from "./conversation.js";
import { figures, h, number, page, percent, seconds, short, si, slider, t, toast } from "./dom.js";
import { inside } from "./inside.js";
import { modelPicker } from "./picker.js";

export function make({ facts, query, remember }) {
  let busy = false;
  const state = { temperature: +(query.get("t") ?? 0), tokens: +(query.get("n") ?? 96) };
  const prompt = h("textarea", { rows: 2, tl: "think.prompt.label", tp: "think.prompt", value: query.get("q") ?? "" });
  const chat = h("input", { type: "checkbox", onchange: () => keep() });
  const wanted = query.get("raw") === null;
  const invented = h("p", { class: "card", t: "think.invented" });
  const cands = h("ul", { class: "cands" });
  const talk = conversation({ selected, branched: (at, token) => { working(true); socket.say({ op: "branch", at, token }); } });
  const go = h("button", { class: "button main", type: "button", t: "think.ask", onclick: () => (busy ? stop() : ask()) });
  const fresh = h("button", { class: "button", type: "button", t: "think.new", onclick: () => { stop(); talk.clear(); prompt.focus(); } });
  const [list, cells] = figures(["think.rate", "think.mbu", "think.products", "think.flop", "think.bytes", "think.reused"]);
  const warmth = slider("think.temperature", 0, 2, state.temperature, { step: 0.1, show: (value) => number(value, 1), oninput: (value) => { state.temperature = value; keep(); } });
  const length = slider("think.length", 8, 512, state.tokens, { step: 8, show: (value) => number(value), oninput: (value) => { state.tokens = value; keep(); } });
  const socket = new Socket("/ws/think", (data) => hear(JSON.parse(data)), { lost: () => { working(false); look.failed(); } });
  const look = inside({ facts, say: (message) => socket.say({ ...message, model: facts.model.name }), text: () => prompt.value.trim() || talk.last || t("think.prompt") });
  const picker = modelPicker({ facts, changed: other });

  const keep = () => remember({ q: prompt.value, raw: chat.checked || !facts.model.chat ? "" : 1, t: state.temperature || "", n: state.tokens });

  function other() {
    chat.disabled = !facts.model.chat;
    chat.checked = facts.model.chat && wanted;
    invented.hidden = !facts.model.invented;
    look.model();
  }

  function ask() {
    const text = prompt.value.trim() || t("think.prompt");
    keep();
    talk.ask(text);
    prompt.value = "";
    working(true);
    const asked = { op: "ask", text, turns: talk.before(), model: facts.model.name, chat: chat.checked, temperature: state.temperature, max_tokens: state.tokens };
    if (!socket.say(asked)) { working(false); toast(t("error.away")); }
  }
  const stop = () => { if (busy) socket.say({ op: "stop" }); };

  function working(on) {
    busy = on;
    go.dataset.t = on ? "think.stop" : "think.ask";
    go.textContent = t(go.dataset.t);
  }

  function hear(message) {
    if (message.op === "start") { talk.begin(message); reading = message.reading; }
    else if (message.op === "token") { talk.token(message); speed(message); }
    else if (message.op === "end") { talk.end(message); speed(message); working(false); }
    else if (message.op === "inside") look.show(message);
    else if (message.op === "error") { working(false); look.failed(); talk.end({ finish: "error" }); toast(t("error.said", { message: message.message })); }
  }

  let reading = 0;
  function speed(message) {
    if (message.rate) cells["think.rate"].textContent = `${short(message.rate)} tok/s`;
    if (message.rate) cells["think.mbu"].textContent = message.mbu ? percent(message.mbu) : "–";
    if (message.products) {
      cells["think.products"].textContent = number(message.products);
      cells["think.flop"].textContent = si(message.flop, "FLOP");
      cells["think.bytes"].textContent = si(message.bytes, "B");
    }
    if (message.reused !== undefined) cells["think.reused"].replaceChildren(`${number(message.reused)} / ${number(reading)}`);
    if (message.op === "end" && message.first_seconds) cells["think.reused"].title = seconds(message.first_seconds);
  }

  const visible = (text) => text.replace(/^ /, "␣").replace(/\n/g, "⏎");
  function selected(token) {
    if (!token?.candidates) { cands.replaceChildren(h("li", { class: "soft", t: "think.candidates.none" })); return; }
    cands.replaceChildren(...token.candidates.map((each) => h("li", { class: each.id === token.id ? "now" : "" },
      h("button", { type: "button", onclick: () => talk.branch(each.id) },
        h("i", { style: `width:${100 * each.p}%` }), h("span", { class: "word" }, visible(each.token)), h("span", { class: "num" }, each.p < 0.0005 ? `< ${percent(0.001, 1)}` : percent(each.p, 1))))));
  }

  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); if (!busy) ask(); }
    else if (event.key === "ArrowUp" && !prompt.value && talk.last) { event.preventDefault(); prompt.value = talk.last; }
  });
  talk.select(-1);
  other();

  const keys = [["⏎", "ask"], ["⇧ ⏎", "line"], ["↑", "again"], ["Esc", "stop"]];
  const node = page("think", invented,
    h("div", { class: "think-grid" },
      h("div", { class: "stack" },
        h("div", { class: "card stack" },
          h("div", { class: "row" }, picker.node, h("span", { class: "push" }), fresh),
          talk.node, prompt,
          h("div", { class: "row" }, go, h("label", { class: "tick" }, chat, h("span", { t: "think.chat" })), h("p", { class: "keys keyboard push" }, keys.map(([key, what]) => h("span", {}, h("kbd", {}, key), " ", h("span", { t: `think.keys.${what}` }))))),
          h("div", { class: "pair tight" }, warmth, length)),
        h("div", { class: "card" }, list, h("p", { class: "basis", t: "think.basis" }))),
      h("div", { class: "card" }, h("h2", { t: "think.candidates" }), h("p", { class: "soft", t: "think.branch" }), h("br"), cands)),
    look.node);
  node.addEventListener("keydown", (event) => { if (event.key === "Escape" && busy) { event.preventDefault(); stop(); } });
  return { node, leave: () => { talk.close(); picker.close(); socket.close(); } };
}
