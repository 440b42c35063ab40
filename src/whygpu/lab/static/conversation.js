// A conversation: questions and answers, the last answer word by word, each of which may be another.
import { h, number, onLanguage, seconds, t } from "./dom.js";

const MOST_BYTES = 40000;  // of history in one message: the server's limit is 65,536

export function conversation({ selected, branched }) {
  const log = h("div", { class: "talk", te: "think.empty", role: "log", tl: "think.answer", tabIndex: 0 });
  let turns = [];  // [{ role, content }], without the question in progress
  let question = null;
  let tokens = [];
  let said = null;
  let note = null;
  let chosen = -1;
  let told = null;  // what the last answer cost

  const text = () => tokens.map((token) => token.text).join("");
  const follow = () => { if (log.scrollHeight - log.scrollTop - log.clientHeight < 90) log.scrollTop = log.scrollHeight; };

  // What was said before, as the server is told it; the oldest go where it would be too much.
  function before() {
    const size = (list) => new TextEncoder().encode(JSON.stringify(list)).length;
    let sent = turns.slice(-198);
    while (sent.length && size(sent) > MOST_BYTES) sent = sent.slice(2);
    return sent;
  }

  function ask(words) {
    settle();
    question = words;
    tokens = [];
    told = null;
    said = h("div", { class: "said" });
    note = h("p", { class: "basis num" });
    log.append(h("div", { class: "turn you" }, h("p", {}, words)), h("div", { class: "turn" }, note, said));
    select(-1);
    log.scrollTop = log.scrollHeight;
  }

  // The last answer becomes a turn like those before it; without a word it leaves, with its question.
  function settle() {
    if (question === null) return;
    if (text().trim()) turns.push({ role: "user", content: question }, { role: "assistant", content: text() });
    else for (let i = 0; i < 2; i += 1) log.lastChild?.remove();
    if (said) { const words = text(); said.replaceChildren(words); said.classList.add("past"); }
    question = null;
  }

  function clear() {
    [turns, tokens, question, said, note, told] = [[], [], null, null, null, null];
    log.replaceChildren();
    select(-1);
  }

  function select(at, byHand = true) {
    chosen = at;
    if (said) [...said.children].forEach((node, i) => { node.setAttribute("aria-pressed", String(i === at)); node.tabIndex = i === Math.max(at, 0) ? 0 : -1; });
    selected(tokens[at] ?? null, byHand);
  }

  // One stop for the tab key; arrows walk from word to word.
  function walk(event, at) {
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Enter: at, " ": at }[event.key];
    if (next === undefined || !said.children[next]) return;
    event.preventDefault();
    select(next);
    said.children[next].focus();
  }

  function token(message) {
    const at = message.at;
    if (!said || at > tokens.length) return;
    tokens[at] = message;
    if (told && !told.first) { Object.assign(told, { reused: message.reused, first: message.first_seconds }); cost(); }
    const node = h("span", { role: "button", tabIndex: at ? -1 : 0, class: message.p < 0.35 ? "tok unsure" : "tok", onclick: () => select(at), onkeydown: (event) => walk(event, at) }, message.text);
    said.append(node);
    if (chosen < 0 || chosen === at - 1) select(at, false);
    follow();
  }

  function branch(id) {
    const at = chosen;
    if (at < 0 || id === tokens[at].id) return;
    tokens = tokens.slice(0, at + 1);
    while (said.children.length > at + 1) said.lastChild.remove();
    delete said.dataset.finish;
    const picked = tokens[at].candidates.find((each) => each.id === id);
    tokens[at] = { ...tokens[at], id, text: picked.token, token: picked.token, p: picked.p };
    said.children[at].textContent = picked.token;
    said.children[at].classList.add("branch");
    select(at);
    branched(at, id);
  }

  function cost() {
    if (!note || !told?.first) return;
    const parts = [t("think.read", { reading: number(told.reading), reused: number(told.reused) })];
    parts.push(t("think.first_in", { time: seconds(told.first) }));
    if (told.dropped) parts.push(t("think.dropped", { turns: number(told.dropped) }));
    note.textContent = parts.join(" · ");
  }

  const unhear = onLanguage(() => { cost(); selected(tokens[chosen] ?? null, false); });
  return {
    node: log, ask, before, branch, clear, select, token,
    begin: ({ reading, dropped }) => { told = { reading, dropped }; },
    end: (message) => { if (said) said.dataset.finish = message.finish; },
    get last() { return question ?? turns.filter((turn) => turn.role === "user").at(-1)?.content; },
    get asked() { return question; },
    close: unhear,
  };
}
