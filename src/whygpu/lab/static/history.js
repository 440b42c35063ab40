// History: from CUDA on, as the exhibit that moves and as a list with sources.
import { get } from "./api.js";
import { h, lang, onLanguage, page, toast } from "./dom.js";
import { exhibitBox } from "./exhibit.box.js";

export function make() {
  const box = exhibitBox();
  const list = h("ol", { class: "years" });
  async function load() {
    try {
      const { events } = await get(`/api/timeline?lang=${lang()}`);
      list.replaceChildren(...events.map((event) => h("li", {}, h("time", {}, String(Math.floor(event.year))), h("b", {}, event.title), h("p", { class: "soft" }, event.detail), h("p", { class: "basis" }, event.source))));
    } catch (error) { toast(error); }
  }
  const all = async () => { const loaded = load(); await Promise.all([box.show("timeline"), loaded]); events.hidden = false; };
  const events = h("div", { class: "card", style: "margin-top:var(--gap)", hidden: true }, h("h2", { t: "history.events" }), h("br"), list);
  const unhear = onLanguage(all);
  all();
  return { node: page("history", box.node, events), leave: unhear };
}
