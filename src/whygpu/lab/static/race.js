// CPU against GPU: the 256 squares, and the race that is run here.
import { h, onLanguage, page } from "./dom.js";
import { exhibitBox } from "./exhibit.box.js";

export function make() {
  const box = exhibitBox();
  const go = h("button", { class: "button main", type: "button", t: "race.run", onclick: () => run(true) });
  async function run(again) { go.disabled = true; await box.show("parallel", again); go.disabled = false; }
  const unhear = onLanguage(() => run(false));
  run(false);
  const node = page("race", h("div", { class: "tools" }, go, h("span", { class: "soft", t: "race.note" })), box.node);
  return { node, leave: unhear };
}
