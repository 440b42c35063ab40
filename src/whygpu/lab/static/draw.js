// Draw: orbit a scene that the engine draws; its matrices, and one vertex through all of them.
import { get, upload } from "./api.js";
import { figures, h, number, page, segments, short, si, t, toast } from "./dom.js";
import { Easel } from "./easel.js";

const STAGES = ["shaded", "wireframe", "depth", "ids"];
const SPACES = ["local", "world", "eye", "clip", "ndc", "pixel"];

export function make({ facts, query, remember }) {
  const easel = new Easel({ label: "draw.canvas", changed: keep, framed, failed: toast });
  easel.picks = true;
  const scenes = h("select", { tl: "draw.scene", onchange: () => choose(scenes.value) });
  const file = h("input", { type: "file", hidden: true, accept: facts.scenes.formats.join(","), tl: "draw.open", onchange: () => bring(file.files[0]) });
  const stage = segments("draw.stage", STAGES.map((each) => [each, `draw.stage.${each}`]), "shaded", (value) => easel.set({ stage: value }));
  const [list, cells] = figures(["draw.triangles", "draw.lit", "draw.flop", "draw.products"]);
  const bar = h("div", { class: "stages", role: "img" }, h("i"), h("i"), h("i"), h("i"));
  const times = h("p", { class: "basis num" }, "–");
  const mats = Object.fromEntries(["model", "view", "projection"].map((each) => [each, matrix(each)]));
  const chain = h("ol", { class: "chain" });
  const hint = h("p", { class: "soft", t: "draw.pick" });

  function matrix(name) {
    const cells = Array.from({ length: 16 }, () => h("span", {}, "0"));
    const node = h("div", { class: "matrix" }, h("h3", { t: `draw.matrix.${name}` }), h("div", { class: "cells" }, cells));
    return { node, cells };
  }

  function keep(state) {
    const round = (value) => Math.round(value * 1000) / 1000;
    remember({ scene: state.scene, stage: state.stage, az: round(state.azimuth), el: round(state.elevation), zoom: round(state.zoom), x: round(state.pan_x) || "", y: round(state.pan_y) || "" });
  }

  function framed(head) {
    cells["draw.triangles"].textContent = number(head.triangles);
    cells["draw.lit"].textContent = number(head.pixels_lit);
    cells["draw.flop"].textContent = si(head.flop, "FLOP");
    cells["draw.products"].textContent = number(head.products);
    const parts = [["vertex", head.ms.vertex], ["raster", head.ms.raster], ["shade", head.ms.shade], ["encode", head.encode_ms]];
    const whole = parts.reduce((sum, [, ms]) => sum + ms, 0);
    parts.forEach(([, ms], i) => { bar.children[i].style.flex = `${ms / whole} 0 0`; });
    times.textContent = parts.map(([name, ms]) => `${t(`draw.ms.${name}`)} ${short(ms)} ms`).join(" · ");
    bar.setAttribute("aria-label", times.textContent);
    for (const [name, { cells: shown }] of Object.entries(mats))
      head.matrices[name].flat().forEach((value, i) => {
        shown[i].textContent = value === 0 ? "0" : Math.abs(value) >= 1000 ? value.toPrecision(3) : value.toFixed(2).replace("-", "−");
        shown[i].className = Math.abs(value) < 0.005 ? "zero" : "";
      });
    followed(head.chain);
  }

  function followed(found) {
    hint.hidden = Boolean(found);
    chain.hidden = !found;
    if (!found) return;
    const rows = SPACES.filter((space) => found[space]).map((space) =>
      h("li", {}, h("b", { t: `draw.space.${space}` }), h("span", { class: "mono" }, found[space].map((value) => value.toFixed(space === "pixel" ? 1 : 2).replace("-", "−").padStart(6)).join(" "))));
    chain.replaceChildren(...rows);
  }

  function options(found) {
    const group = (label, items) => items.length ? [h("optgroup", { label: t(label) }, items.map(([id, name]) => h("option", { value: id }, name)))] : [];
    scenes.replaceChildren(
      ...group("draw.built_in", found.built_in.map((name) => [name, name])),
      ...group("draw.uploads", found.uploads.map(({ id, name }) => [id, name])),
      ...group("draw.files", found.files.map(({ id, name }) => [id, name])));
    scenes.value = easel.state.scene;
  }

  const choose = (scene) => easel.set({ scene, zoom: 1, pan_x: 0, pan_y: 0 });

  async function bring(chosen) {
    if (!chosen) return;
    try {
      const { id, name } = await upload(`/api/scenes?name=${encodeURIComponent(chosen.name)}`, chosen);
      options(await get("/api/scenes"));
      scenes.value = id;
      choose(id);
      toast(t("draw.brought", { name }));
    } catch (error) { toast(error); }
    file.value = "";
  }

  easel.node.addEventListener("dragover", (event) => { event.preventDefault(); easel.node.dataset.drop = t("draw.drop"); easel.node.classList.add("over"); });
  easel.node.addEventListener("dragleave", () => easel.node.classList.remove("over"));
  easel.node.addEventListener("drop", (event) => { event.preventDefault(); easel.node.classList.remove("over"); bring(event.dataTransfer.files[0]); });
  options(facts.scenes);

  const node = page("draw",
    h("div", { class: "easel-grid" },
      h("div", {},
        h("div", { class: "tools" }, scenes, h("button", { class: "button", type: "button", t: "draw.open", onclick: () => file.click() }), file, h("span", { class: "push" }), stage),
        easel.node,
        h("p", { class: "keys touch" }, h("span", { t: "draw.touch" })), h("p", { class: "keys keyboard" }, ...[["← → ↑ ↓", "orbit"], ["⇧", "pan"], ["+ −", "zoom"], ["0", "reset"], ["⏎", "follow"]].map(([keys, what]) => h("span", {}, h("kbd", {}, keys), " ", h("span", { t: `draw.keys.${what}` }))))),
      h("div", { class: "stack" },
        h("div", { class: "card" }, list, bar, times),
        h("div", { class: "card" }, h("h2", { t: "draw.chain" }), h("div", { class: "mats" }, Object.values(mats).map((each) => each.node))),
        h("div", { class: "card" }, h("h2", { t: "draw.vertex" }), hint, chain))));

  function arrive(asked) {
    const given = (name, otherwise) => { const value = parseFloat(asked.get(name)); return Number.isFinite(value) ? value : otherwise; };
    const wanted = STAGES.includes(asked.get("stage")) ? asked.get("stage") : "shaded";
    stage.pick(wanted, true);
    easel.set({ scene: asked.get("scene") ?? "torus-knot", stage: wanted, azimuth: given("az", 30), elevation: given("el", 18), zoom: given("zoom", 1), pan_x: given("x", 0), pan_y: given("y", 0) }, false);
    if ([...scenes.options].some((option) => option.value === easel.state.scene)) scenes.value = easel.state.scene;
  }
  arrive(query);
  return { node, arrive, leave: () => easel.close() };
}
