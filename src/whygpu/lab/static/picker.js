// Which model answers: a choice of those on this disk; a change says how far it is.
import { get, post } from "./api.js";
import { h, number, onLanguage, percent, si, t, toast } from "./dom.js";

const ORIGINS = ["start", "cache", "huggingface", "files"];

export function modelPicker({ facts, changed }) {
  const choice = h("select", { tl: "models.choose", onchange: () => load(choice.value) });
  const step = h("span", { class: "soft", role: "status" });
  let ended = false;
  let known = [];

  function options() {
    choice.replaceChildren(...ORIGINS.flatMap((origin) => {
      const own = known.filter((each) => each.origin === origin);
      return own.length ? [h("optgroup", { label: t(`models.${origin}`) }, own.map(({ id, bytes }) => h("option", { value: id }, bytes ? `${id} · ${si(bytes, "B")}` : id)))] : [];
    }));
    choice.value = facts.model.name;
  }

  const say = (found) => {
    step.textContent = found.state === "waiting" ? t(found.answers ? "models.waiting" : "models.soon", { answers: number(found.answers ?? 0) })
      : found.state === "loading" ? `${t("models.loading", { name: found.wanted })}${found.fraction ? ` ${percent(found.fraction)}` : ""}` : "";
  };

  async function load(id) {
    choice.disabled = true;
    try {
      let found = await post("/api/models", { id });
      while (!ended && (found.state === "waiting" || found.state === "loading")) {
        say(found);
        await new Promise((resolve) => setTimeout(resolve, 150));
        found = await get("/api/models");
      }
      say(found);
      if (found.state === "failed") toast(t("models.failed", { name: found.wanted, why: found.message }));
      else took(found.facts ? found : await get("/api/models"));
    } catch (error) { toast(error); }
    step.textContent = "";
    choice.disabled = false;
    choice.value = facts.model.name;
  }

  function took(found) {
    known = found.models ?? known;
    if (!found.facts) return;
    Object.assign(facts.model, found.facts);
    options();
    changed();
  }

  async function look() {
    try {
      const found = await get("/api/models");
      known = found.models;
      const other = found.facts && found.facts.name !== facts.model.name;
      if (other) took(found); else options();
    } catch (error) { toast(error); }
  }

  known = [{ id: facts.model.name, bytes: 0, origin: "start" }];
  options();
  look();
  const unhear = onLanguage(options);
  const node = h("div", { class: "row model" }, h("label", { class: "row" }, h("span", { class: "soft", t: "models.model" }), choice), step);
  return { node, close: () => { ended = true; unhear(); } };
}
