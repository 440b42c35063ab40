// Think: an answer token by token; each may be another, and the answer goes on from there.
import { Socket } from "./api.js";
import { figures, h, number, onLanguage, page, percent, short, si, slider, t, toast } from "./dom.js";
import { inside } from "./inside.js";

export function make({ facts, query, remember }) {
  let tokens = [];
  let chosen = -1;
  let busy = false;
  const prompt = h("textarea", { rows: 3, tl: "think.prompt", tp: "think.prompt", value: query.get("q") ?? "" });
  const chat = h("input", { type: "checkbox", checked: facts.model.chat && query.get("raw") === null, disabled: !facts.model.chat });
  const said = h("div", { class: "said", te: "think.empty", role: "log", tl: "think.answer" });
  const cands = h("ul", { class: "cands" });
  const title = h("h2", { t: "think.candidates" });
  const go = h("button", { class: "button main", type: "button", t: "think.ask", onclick: () => (busy ? socket.say({ op: "stop" }) : ask()) });
  const [list, cells] = figures(["think.rate", "think.mbu", "think.products", "think.flop", "think.bytes", "think.first"]);
  const state = { temperature: +(query.get("t") ?? 0), tokens: +(query.get("n") ?? 96) };
  const warmth = slider("think.temperature", 0, 2, state.temperature, { step: 0.1, show: (value) => value === 0 ? "0" : value.toFixed(1), oninput: (value) => { state.temperature = value; keep(); } });
  const length = slider("think.length", 8, 512, state.tokens, { step: 8, oninput: (value) => { state.tokens = value; keep(); } });
  const socket = new Socket("/ws/think", (data) => hear(JSON.parse(data)));
  const look = inside({ facts, say: (message) => socket.say(message), text: () => prompt.value.trim() || t("think.prompt") });

  const keep = () => remember({ q: prompt.value, raw: chat.checked ? "" : 1, t: state.temperature || "", n: state.tokens });

  function ask() {
    const text = prompt.value.trim() || t("think.prompt");
    keep();
    tokens = [];
    select(-1);
    said.replaceChildren();
    working(true);
    socket.say({ op: "ask", text, chat: chat.checked, temperature: state.temperature, max_tokens: state.tokens });
  }

  function branch(token) {
    const at = chosen;
    if (at < 0 || token === tokens[at].id) return;
    tokens = tokens.slice(0, at + 1);
    while (said.children.length > at + 1) said.lastChild.remove();
    const picked = tokens[at].candidates.find((each) => each.id === token);
    tokens[at] = { ...tokens[at], id: token, text: picked.token, token: picked.token, p: picked.p };
    const node = said.children[at];
    node.textContent = picked.token;
    node.classList.add("branch");
    select(at);
    working(true);
    socket.say({ op: "branch", at, token });
  }

  // One stop for the tab key; arrows walk from word to word.
  function walk(event, at) {
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Enter: at, " ": at }[event.key];
    if (next === undefined || !said.children[next]) return;
    event.preventDefault();
    select(next);
    said.children[next].focus();
  }

  function working(on) {
    busy = on;
    go.dataset.t = on ? "think.stop" : "think.ask";
    go.textContent = t(go.dataset.t);
  }

  function hear(message) {
    if (message.op === "token") {
      tokens[message.at] = message;
      const at = message.at;
      const node = h("span", { role: "button", tabIndex: at ? -1 : 0, class: message.p < 0.35 ? "tok unsure" : "tok", onclick: () => select(at), onkeydown: (event) => walk(event, at) }, message.text);
      said.append(node);
      if (chosen < 0 || chosen === at - 1) select(at, false);
      speed(message);
    } else if (message.op === "end") {
      working(false);
      if (message.first_seconds !== undefined) { cells["think.first"].textContent = `${short(message.first_seconds * 1e3)} ms`; speed(message); }
      said.dataset.finish = message.finish;
    } else if (message.op === "error") { working(false); look.failed(); toast(message.message); }
    else if (message.op === "inside") look.show(message);
  }

  function speed(message) {
    cells["think.rate"].textContent = message.rate ? `${short(message.rate)} tok/s` : "–";
    cells["think.mbu"].textContent = message.mbu ? percent(message.mbu) : "–";
    cells["think.products"].textContent = number(message.products);
    cells["think.flop"].textContent = si(message.flop, "FLOP");
    cells["think.bytes"].textContent = si(message.bytes, "B");
  }

  function select(at, mark = true) {
    const before = said.children[chosen];
    before?.removeAttribute("aria-pressed");
    chosen = at;
    if (before && said.children[at]) [before.tabIndex, said.children[at].tabIndex] = [-1, 0];
    if (at >= 0 && mark) said.children[at]?.setAttribute("aria-pressed", "true");
    const token = tokens[at];
    if (!token) { cands.replaceChildren(h("li", { class: "soft", t: "think.candidates.none" })); return; }
    cands.replaceChildren(...token.candidates.map((each) => h("li", { class: each.id === token.id ? "now" : "" },
      h("button", { type: "button", onclick: () => branch(each.id) },
        h("i", { style: `width:${100 * each.p}%` }), h("span", { class: "word" }, visible(each.token)), h("span", { class: "num" }, each.p < 0.0005 ? `< ${percent(0.001, 1)}` : percent(each.p, 1))))));
  }
  const visible = (text) => text.replace(/^ /, "␣").replace(/\n/g, "⏎");

  prompt.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); if (!busy) ask(); } });
  select(-1);
  const unhear = onLanguage(() => select(chosen));

  const node = page("think",
    facts.model.invented ? h("p", { class: "card", t: "think.invented" }) : null,
    h("div", { class: "think-grid" },
      h("div", { class: "stack" },
        h("div", { class: "card stack" }, prompt,
          h("div", { class: "row" }, go, h("label", { class: "tick" }, chat, h("span", { t: "think.chat" })), h("span", { class: "soft push" }, facts.model.name)),
          h("div", { class: "pair" }, warmth, length)),
        h("div", { class: "card" }, said),
        h("div", { class: "card" }, list, h("p", { class: "basis", t: "think.basis" }))),
      h("div", { class: "card" }, title, h("p", { class: "soft", t: "think.branch" }), h("br"), cands)),
    look.node);
  return { node, leave: () => { unhear(); socket.close(); } };
}
