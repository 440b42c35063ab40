// Claims: what the article says, what is right, and why.
import { get } from "./api.js";
import { h, lang, number, onLanguage, page, toast } from "./dom.js";

const VERDICTS = ["exact", "rounded", "conditional", "wrong", "unverifiable"];

export function make({ query, remember }) {
  let known = [];
  let only = VERDICTS.includes(query.get("verdict")) ? query.get("verdict") : "";
  let words = query.get("q") ?? "";
  const filters = h("div", { class: "verdicts", role: "group", tl: "claims.filter" });
  const search = h("input", { type: "search", tl: "claims.search", tp: "claims.search", value: words, oninput: () => { words = search.value; show(); } });
  const list = h("div", { class: "stack" });

  async function load() {
    try { ({ claims: known } = await get(`/api/claims?lang=${lang()}`)); show(); } catch (error) { toast(error); }
  }

  function show() {
    remember({ verdict: only, q: words });
    filters.replaceChildren(...["", ...VERDICTS].map((verdict) => {
      const count = known.filter((each) => !verdict || each.verdict === verdict).length;
      const button = h("button", { class: "button small", type: "button", onclick: () => { only = verdict; show(); } }, verdict ? h("span", { class: `verdict ${verdict}`, t: `claims.verdict.${verdict}` }) : h("span", { t: "claims.all" }), " ", h("span", { class: "count num" }, known.length ? number(count) : "–"));
      button.setAttribute("aria-pressed", String(only === verdict));
      if (only === verdict) button.style.borderColor = "var(--ink)";
      return button;
    }));
    const wanted = known.filter((each) => (!only || each.verdict === only) && (!words || `${each.id} ${each.what} ${each.why}`.toLowerCase().includes(words.toLowerCase())));
    const chapters = [...new Set(wanted.map((each) => each.chapter))];
    list.replaceChildren(...chapters.map((chapter) => {
      const own = wanted.filter((each) => each.chapter === chapter);
      return h("div", { class: "card" }, h("h2", {}, own[0].chapter_title), own.map(claim));
    }));
    if (!wanted.length) list.replaceChildren(h("p", { class: "empty", t: known.length ? "claims.none" : "claims.loading" }));
  }

  const claim = (each) => h("div", { class: "claim" },
    h("span", { class: `verdict ${each.verdict}` }, each.verdict_title),
    h("div", {}, h("strong", {}, each.what), h("p", { class: "why" }, each.why)),
    h("div", { class: "vals" }, h("div", {}, h("span", { t: "claims.given" }), each.given), h("div", {}, h("span", { t: "claims.computed" }), each.computed)));

  const unhear = onLanguage(load);
  show();
  load();
  return { node: page("claims", h("div", { class: "tools" }, filters, h("span", { class: "push" }), search), list), leave: unhear };
}
