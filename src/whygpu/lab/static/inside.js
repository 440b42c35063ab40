// Inside one layer: the token's row of the embedding matrix, what each head looks at, which neurons wake.
import { h, number, percent, slider } from "./dom.js";

export function inside({ facts, say, text }) {
  let at = { text: "", layer: 0, position: null };
  const body = h("div", { class: "inside", hidden: true });
  const button = h("button", { class: "button", type: "button", t: "inside.look", onclick: () => { at = { text: text(), layer: at.layer, position: null }; ask(); } });
  const layer = slider("inside.layer", 1, facts.model.layers, 1, { oninput: (value) => { at.layer = value - 1; later(); } });
  const tokens = h("div", { class: "tokens" });
  const heads = h("div", { class: "heads" });
  const [hidden, embedding] = [h("div", { class: "strip", role: "img" }), h("div", { class: "strip", role: "img" })];
  const [awake, size] = [h("p", { class: "soft" }), h("p", { class: "soft" })];
  const [loud, near] = [h("table", { class: "table" }), h("table", { class: "table" })];
  let timer;
  const later = () => { clearTimeout(timer); timer = setTimeout(ask, 120); };

  function ask() {
    if (!at.text) return;
    button.disabled = true;
    say({ op: "inside", ...at });
  }

  function show(found) {
    button.disabled = false;
    body.hidden = false;
    at.position = found.position;
    tokens.replaceChildren(...found.tokens.map((token, i) => h("button", { type: "button", "aria-pressed": String(i === found.position), onclick: () => { at.position = i; ask(); } }, token.replace(/\n/g, "⏎") || "·")));
    heads.replaceChildren(...found.attention.map((row, i) => h("div", { class: "head" }, h("b", {}, `${number(i + 1)}`),
      h("div", { class: "looks", role: "img", "aria-label": found.tokens.slice(0, row.length).map((token, j) => `${token} ${percent(row[j])}`).join(", ") },
        row.map((share, j) => h("i", { style: `height:${Math.max(2, 100 * share)}%;opacity:${0.35 + 0.65 * share}`, title: `${found.tokens[j]} ${percent(share)}` }))))));
    strip(hidden, found.hidden.strip);
    strip(embedding, found.embedding.strip);
    awake.textContent = `${number(found.hidden.size)} · ${percent(found.hidden.awake)}`;
    size.textContent = `#${found.embedding.id} · ${number(found.embedding.size)}`;
    const rows = (items) => items.map(([name, value]) => h("tr", {}, h("td", { class: "mono" }, name), h("td", { class: "n" }, value)));
    loud.replaceChildren(...rows(found.hidden.loudest.slice(0, 6).map(({ neuron, value }) => [`n${neuron}`, number(value, 3)])));
    near.replaceChildren(...rows(found.embedding.near.map(({ token, cosine }) => [token.replace(/^ /, "␣"), number(cosine, 3)])));
  }

  const strip = (node, values) => node.replaceChildren(...values.map((value) => h("i", { style: `background:var(--${value < 0 ? "think" : "draw"});opacity:${Math.abs(value).toFixed(2)}` })));

  const node = h("section", { class: "card inside", style: "margin-top:var(--gap)" },
    h("div", { class: "row" }, h("h2", { t: "inside.title" }), h("span", { class: "push" }), button), h("p", { class: "soft", t: "inside.lede" }), body);
  body.append(h("div", { class: "pair" }, h("div", {}, h("h3", { t: "inside.tokens" }), tokens), layer),
    h("div", {}, h("h3", { t: "inside.heads" }), heads),
    h("div", { class: "pair" },
      h("div", {}, h("h3", { t: "inside.embedding" }), embedding, size, near),
      h("div", {}, h("h3", { t: "inside.neurons" }), hidden, awake, loud)));
  return { node, show, failed: () => { button.disabled = false; }, model: () => { at = { text: "", layer: 0, position: null }; layer.most(facts.model.layers); body.hidden = true; } };
}
