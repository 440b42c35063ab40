// The exhibits: animations that play in the page, each from the numbers of this engine.
import { h, onLanguage, page, segments } from "./dom.js";
import { exhibitBox } from "./exhibit.box.js";

export function make({ facts, query, remember }) {
  const box = exhibitBox();
  let now = facts.exhibits.includes(query.get("name")) ? query.get("name") : facts.exhibits[0];
  const show = (name) => { now = name; remember({ name }); menu.value = name; choice.pick(name, true); box.show(name); };
  const choice = segments("exhibits.which", facts.exhibits.map((name) => [name, `exhibits.name.${name}`]), now, show);
  choice.className = "seg wrap";
  const menu = h("select", { class: "narrow", tl: "exhibits.which", onchange: () => show(menu.value) }, facts.exhibits.map((name) => h("option", { value: name, t: `exhibits.name.${name}` })));
  const unhear = onLanguage(() => box.show(now));
  show(now);
  return { node: page("exhibits", h("div", { class: "tools" }, choice, menu), box.node), leave: unhear };
}
