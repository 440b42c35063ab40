// An exhibit in the page: its fragment from the engine, played by its own script.
import { postForText } from "./api.js";
import { h, lang, toast } from "./dom.js";

let runs = 0;

export function exhibitBox() {
  const node = h("div", { class: "exhibit-box", "aria-busy": "true" });
  let wanted = null;
  async function show(name, again = false) {
    wanted = name;
    node.setAttribute("aria-busy", "true");
    if (!node.firstChild) node.append(h("p", { class: "empty", t: "exhibits.working" }));
    try {
      const text = await postForText(`/api/exhibits/${name}`, { lang: lang(), again });
      if (wanted !== name) return;
      node.innerHTML = text;
      runs += 1;
      await import(`/static/exhibit.js?run=${runs}`);
    } catch (error) { node.replaceChildren(h("p", { class: "empty", t: "exhibits.failed" })); toast(error); }
    node.setAttribute("aria-busy", "false");
  }
  return { node, show };
}
