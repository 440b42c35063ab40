// The shell: rail, views by the address, language.
import { get, line, takeKey } from "./api.js";
import { h, lang, onLanguage, speak, t, toast } from "./dom.js";

const VIEWS = ["draw", "think", "same", "race", "exhibits", "verify", "predict", "history", "claims"];
const main = document.getElementById("main");
const links = new Map();
let shown = null;
let facts = null;

const place = () => {
  const [name, query = ""] = location.hash.slice(1).replace(/^\//, "").split("?");
  return [VIEWS.includes(name) ? name : VIEWS[0], new URLSearchParams(query)];
};

// A view's state lives in the address, so that a link brings another person to the same place.
export function remember(name, values) {
  if (place()[0] !== name) return;
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== ""));
  history.replaceState(null, "", `#/${name}?${query}`);
}

async function go() {
  const [name, query] = place();
  if (shown?.name === name) { shown.view.arrive?.(query); return; }
  let module;
  try { module = await import(`./${name}.js`); } catch { toast(t("error.away")); return; }
  if (place()[0] !== name) return;
  shown?.view.leave?.();
  for (const [each, link] of links) each === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const view = module.make({ facts, query, remember: (values) => remember(name, values) });
  shown = { name, view };
  main.replaceChildren(view.node);
  links.get(name).scrollIntoView({ block: "nearest", inline: "center" });
  scrollTo(0, 0);
  view.arrive?.(query);
  title();
}

const title = () => { if (shown) document.title = `${t(`${shown.name}.title`)} · whygpu`; };

function rail() {
  const mark = h("span", { class: "mark" });
  mark.innerHTML = '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#191a1f"/><g fill="#f39a4b"><rect x="6" y="6" width="5" height="5" rx="1"/><rect x="13.5" y="6" width="5" height="5" rx="1"/><rect x="21" y="6" width="5" height="5" rx="1"/></g><g fill="#7fb2ff"><rect x="6" y="13.5" width="5" height="5" rx="1"/><rect x="6" y="21" width="5" height="5" rx="1"/></g><rect x="13.5" y="13.5" width="12.5" height="12.5" rx="2" fill="#ebecf0"/></svg>';
  const list = h("ol", {}, VIEWS.map((name, i) => {
    const link = h("a", { href: `#/${name}` }, h("i", {}, String(i + 1)), h("span", { t: `${name}.nav` }));
    links.set(name, link);
    return h("li", {}, link);
  }));
  const langs = h("div", { class: "seg langs", role: "group", tl: "shell.language" }, [["en", "English"], ["zh", "中文"]].map(([each, label]) => {
    const button = h("button", { type: "button", lang: each, onclick: () => speak(each) }, label);
    const paint = () => button.setAttribute("aria-pressed", lang() === each);
    onLanguage(paint);
    paint();
    return button;
  }));
  const machine = facts ? h("span", {}, facts.machine.cpu) : null;
  document.getElementById("rail").append(
    h("a", { class: "brand", href: "#/draw" }, mark, h("span", {}, "whygpu", h("small", { t: "shell.tag" }))),
    h("nav", { tl: "shell.views" }, list), h("span", { class: "cue", "aria-hidden": "true" }, "›"),
    h("div", { class: "foot" }, langs, machine, h("a", { href: "/docs", t: "shell.door" })));
  scrolling(list.parentNode);
  const skip = document.getElementById("skip");
  skip.dataset.t = "shell.skip";
  skip.textContent = t("shell.skip");
  skip.addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
}

// On a phone the views are a strip that scrolls: its edges fade where there is more.
function scrolling(strip) {
  const mark = () => {
    const left = strip.scrollWidth - strip.clientWidth - strip.scrollLeft;
    strip.classList.toggle("before", strip.scrollLeft > 4);
    strip.classList.toggle("after", left > 4);
  };
  strip.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(strip);
  onLanguage(() => requestAnimationFrame(mark));
}

const away = h("div", { class: "away", role: "status", hidden: true });
line.addEventListener("away", () => { away.dataset.t = "shell.away"; away.textContent = t("shell.away"); away.hidden = false; });
line.addEventListener("back", () => { away.hidden = true; });
line.addEventListener("locked", () => { away.dataset.t = "shell.old_key"; away.textContent = t("shell.old_key"); away.hidden = false; });
document.body.append(away);

function locked(reason) {
  main.replaceChildren(h("section", { class: "view" }, h("header", {},
    h("h1", { t: "shell.locked" }), h("p", { class: "lede", t: reason }))));
}

async function start() {
  const { known, language } = takeKey();
  const wanted = language ?? localStorage.getItem("whygpu.lang") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  await speak(wanted === "zh" ? "zh" : "en");
  try {
    facts = known ? await get("/api/facts") : null;
  } catch (error) {
    facts = null;
    if (error.status !== 401) { rail(); locked("error.away"); toast(error); return; }
  }
  rail();
  if (!facts) { locked(known ? "shell.old_key" : "shell.no_key"); return; }
  onLanguage(title);
  addEventListener("hashchange", go);
  await go();
  document.body.dataset.ready = "yes";
}

start();
