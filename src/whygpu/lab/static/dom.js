// Elements, sentences and numbers. A sentence is set by its key, so that switching the language is one pass.
let words = {};
let language = "en";
const listeners = new Set();

export const lang = () => language;
export const onLanguage = (hear) => { listeners.add(hear); return () => listeners.delete(hear); };

export async function speak(wanted) {
  const said = await (await fetch(`/words/${wanted}`)).json();
  [words, language] = [said, wanted];
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
  localStorage.setItem("whygpu.lang", wanted);
  translate(document);
  for (const hear of listeners) hear();
}

export function t(key, values = {}) {
  const sentence = words[key];
  if (sentence === undefined) throw new Error(`no sentence ${key}`);
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

function translate(root) {
  for (const node of root.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of root.querySelectorAll("[data-tl]")) node.setAttribute("aria-label", t(node.dataset.tl));
  for (const node of root.querySelectorAll("[data-tp]")) node.setAttribute("placeholder", t(node.dataset.tp));
  for (const node of root.querySelectorAll("[data-te]")) node.dataset.empty = t(node.dataset.te);
}

// h("button", { class: "main", t: "think.ask", onclick }, child): t is a sentence, tl an aria-label.
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "t") { node.dataset.t = value; node.textContent = t(value); }
    else if (name === "tl") { node.dataset.tl = value; node.setAttribute("aria-label", t(value)); }
    else if (name === "tp") { node.dataset.tp = value; node.setAttribute("placeholder", t(value)); }
    else if (name === "te") { node.dataset.te = value; node.dataset.empty = t(value); }
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list" && name !== "style") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  if (props.class) node.className = props.class;
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const page = (name, ...children) =>
  h("section", { class: `view ${name}` },
    h("header", {}, h("h1", { t: `${name}.title` }), h("p", { class: "lede", t: `${name}.lede` })), ...children);

export function figures(keys) {
  const list = h("dl", { class: "figures" });
  const cells = {};
  for (const key of keys) {
    cells[key] = h("dd", {}, "–");
    list.append(h("div", {}, h("dt", { t: key }), cells[key]));
  }
  return [list, cells];
}

// A choice among few: arrows move, as in any radio group.
export function segments(name, options, value, chosen) {
  const buttons = options.map(([key, label]) => h("button", {
    type: "button", role: "radio", t: label, onclick: () => pick(key),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = (options.findIndex(([each]) => each === current) + step + options.length) % options.length;
      pick(options[at][0]);
      buttons[at].focus();
    },
  }));
  let current = value;
  const paint = () => options.forEach(([key], i) => {
    buttons[i].setAttribute("aria-checked", key === current);
    buttons[i].tabIndex = key === current ? 0 : -1;
  });
  const pick = (key, quiet) => { current = key; paint(); if (!quiet) chosen(key); };
  paint();
  const group = h("div", { class: "seg", role: "radiogroup", tl: name }, buttons);
  group.pick = pick;
  return group;
}

export function slider(label, min, max, value, { step = 1, show = String, oninput }) {
  const output = h("output", {}, show(value));
  const input = h("input", { type: "range", min, max, step, value: String(value) });
  input.addEventListener("input", () => { output.textContent = show(+input.value); oninput(+input.value); });
  const field = h("label", { class: "field" }, h("span", { class: "cap" }, h("span", { t: label }), output), input);
  field.most = (most) => { input.max = most; field.set(min); };
  field.set = (next) => { input.value = next; output.textContent = show(+next); };
  return field;
}

const locale = () => (language === "zh" ? "zh-CN" : "en");
export const number = (value, digits = 0) =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
export const short = (value) => number(value, Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
export const percent = (value, digits = 0) => `${number(100 * value, digits)} %`;
export function si(value, unit) {
  if (value === null || value === undefined) return "–";
  const steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const [factor, letter] = steps.find(([each]) => Math.abs(value) >= each) ?? [1, ""];
  return `${short(value / factor)} ${letter}${unit}`.trim();
}
export const seconds = (value) => value >= 1 ? `${short(value)} s` : value >= 1e-3 ? `${short(value * 1e3)} ms` : `${short(value * 1e6)} µs`;

// What went wrong, in words: of the program where it said something, else of its status.
function explained(error) {
  if (typeof error === "string") return error;
  if (error.status === undefined) return error instanceof TypeError ? t("error.away") : String(error.message);
  if (error.status === 401 || error.status === 421) return t("shell.old_key");
  if (error.status >= 500 && error.status !== 503) return t("error.fault", { message: error.message });
  return t("error.said", { message: error.message });
}

export function toast(error) {
  const message = explained(error);
  const node = document.getElementById("toast");
  node.textContent = message;
  node.classList.add("on");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => node.classList.remove("on"), 6000);
}
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const dark = matchMedia("(prefers-color-scheme: dark)");
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
