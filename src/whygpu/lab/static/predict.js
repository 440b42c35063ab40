// Predict: sliders in, bands out, up to six machines side by side; the address holds the state.
import { post } from "./api.js";
import { h, number, onLanguage, page, percent, seconds, short, si, slider, t, toast } from "./dom.js";

const MOST = 6;
const STEPS = Array.from({ length: 15 }, (_, i) => 64 * 2 ** i);  // 64 to a million tokens

export function make({ facts, query, remember }) {
  const state = {
    model: query.get("model") ?? "llama-3.1-8b", quant: query.get("quant") ?? "Q4_K_M", kv: query.get("kv") ?? "f16",
    prompt: +(query.get("prompt") ?? 512), reply: +(query.get("reply") ?? 256), batch: +(query.get("batch") ?? 1), count: +(query.get("count") ?? 1),
    on: (query.get("on") ?? "GeForce RTX 4090|H100 SXM|this machine").split("|").slice(0, MOST),
  };
  let answer = null;
  let asking = false;
  let again = false;
  const option = (value, text = value) => h("option", { value }, text);
  const field = (label, node) => h("label", { class: "field" }, h("span", { t: label }), node);
  const choice = (key, values) => {
    const node = h("select", { onchange: () => { state[key] = node.value; ask(); } }, values.map((value) => option(value)));
    if (!values.includes(state[key])) node.prepend(option(state[key]));
    node.value = state[key];
    return node;
  };
  const names = h("datalist", { id: "machines" }, facts.machines.map((name) => option(name)));
  const adding = h("input", { type: "text", tl: "predict.add", tp: "predict.add.hint", size: 26, onkeydown: (event) => { if (event.key === "Enter") add(); } });
  adding.setAttribute("list", "machines");
  const add = () => {
    const name = adding.value.trim();
    if (!name || state.on.includes(name)) return;
    if (state.on.length >= MOST) { toast(t("predict.most", { most: MOST })); return; }
    state.on.push(name);
    adding.value = "";
    ask();
  };
  const near = (value) => STEPS.reduce((best, step, i) => (Math.abs(step - value) < Math.abs(STEPS[best] - value) ? i : best), 0);
  const tokens = (key, label) => slider(label, 0, STEPS.length - 1, near(state[key]), { show: (i) => number(STEPS[i]), oninput: (i) => { state[key] = STEPS[i]; ask(); } });
  const powers = (key, label, most) => slider(label, 0, most, Math.round(Math.log2(state[key])), { show: (i) => number(2 ** i), oninput: (i) => { state[key] = 2 ** i; ask(); } });
  const form = h("form", { class: "card form", onsubmit: (event) => event.preventDefault() },
    field("predict.model", choice("model", facts.models)), field("predict.quant", choice("quant", facts.quants)),
    tokens("prompt", "predict.prompt"), tokens("reply", "predict.reply"), powers("batch", "predict.batch", 8), powers("count", "predict.count", 5), field("predict.kv", choice("kv", ["f16", "q8", "q4"])));
  const lanes = h("div", { class: "lanes" });
  const details = h("div", { class: "wide details" });
  const time = h("span", { class: "basis num" });

  async function ask() {
    remember({ model: state.model, quant: state.quant, kv: state.kv, prompt: state.prompt, reply: state.reply, batch: state.batch, count: state.count, on: state.on.join("|") });
    if (asking) { again = true; return; }
    asking = true;
    const started = performance.now();
    try {
      answer = await post("/api/predict", { model: state.model, machines: state.on, quant: state.quant, prompt_tokens: state.prompt, reply: state.reply, batch: state.batch, count: state.count, kv: state.kv });
      time.textContent = t("predict.took", { ms: number(performance.now() - started) });
      node.dataset.ms = performance.now() - started;
      show();
    } catch (error) { toast(error); }
    asking = false;
    if (again) { again = false; ask(); }
  }

  function show() {
    const good = answer.machines.filter((row) => !row.error);
    const widest = Math.max(1e-9, ...good.map((row) => row.batch / row.seconds_per_token.p10));
    lanes.replaceChildren(...answer.machines.map((row) => lane(row, widest)));
    const columns = ["first", "token", "fits", "binds", "energy", "cost"];
    details.replaceChildren(h("table", { class: "table" },
      h("thead", {}, h("tr", {}, h("th", { t: "predict.col.machine" }), columns.map((key) => h("th", { t: `predict.col.${key}`, class: "n" })))),
      h("tbody", {}, good.map((row) => h("tr", {}, h("td", {}, named(row.asked)), [band(row.first_token_seconds), band(row.seconds_per_token), fits(row), t(`predict.binds.${row.binds}`), row.joules_per_token ? `${short(row.joules_per_token)} J` : "–", row.usd_per_million_tokens ? `$${short(row.usd_per_million_tokens)}` : "–"].map((cell) => h("td", { class: "n" }, cell)))))));
  }

  const named = (name) => (name === "this machine" ? t("predict.here") : name);
  const band = (found) => [seconds(found.expected), h("small", { class: "soft", style: "display:block" }, `${seconds(found.p10)} – ${seconds(found.p90)}`)];
  const fits = (row) => [`${row.fits === null ? "?" : row.fits ? "✓" : "✗"} ${si(row.memory.needed, "B")}`, row.memory.available ? h("small", { class: "soft", style: "display:block" }, `/ ${si(row.memory.available, "B")}`) : null];
  function lane(row, widest) {
    const remove = h("button", { class: "x", type: "button", tl: "predict.remove", onclick: () => { state.on = state.on.filter((name) => name !== row.asked); ask(); } }, "×");
    remove.disabled = state.on.length === 1;
    if (row.error) return h("div", { class: "lane" }, h("div", { class: "who" }, h("b", {}, named(row.asked))), h("p", { class: "why" }, row.error), remove);
    const at = (pace) => `${100 * Math.min(1, row.batch / pace / widest)}%`;
    const { expected, p10, p90 } = row.seconds_per_token;
    const low = 100 * row.batch / p90 / widest;
    return h("div", { class: "lane" },
      h("div", { class: "who" }, h("b", {}, named(row.asked)), h("small", {}, `${row.count > 1 ? `${row.count} × · ` : ""}${row.runtime} · ${t(`predict.binds.${row.binds}`)} ${percent(row.shares[row.binds] ?? 0)}`)),
      h("div", { class: "track", role: "img", "aria-label": `${short(row.batch / p90)} – ${short(row.batch / p10)} tok/s` }, h("i", { style: `width:${at(expected)}` }), h("u", { style: `left:${low}%;width:${100 * row.batch / p10 / widest - low}%` })),
      h("div", { class: "rate" }, short(row.batch / expected), h("small", {}, "tok/s")), remove);
  }

  function save(name, type, text) {
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const csv = () => {
    const quote = (value) => `"${String(value ?? "").replace(/"/g, '""')}"`;
    const head = ["machine", "model", "quant", "prompt_tokens", "reply_tokens", "batch", "count", "first_token_s", "s_per_token", "s_per_token_p10", "s_per_token_p90", "tokens_per_second", "binds", "fits", "bytes_needed"];
    const lines = answer.machines.filter((row) => !row.error).map((row) => [row.machine, row.model, row.quant, row.prompt_tokens, row.reply_tokens, row.batch, row.count, row.first_token_seconds.expected, row.seconds_per_token.expected, row.seconds_per_token.p10, row.seconds_per_token.p90, row.batch_tokens_per_second, row.binds, row.fits, row.memory.needed].map(quote).join(","));
    save("whygpu-predict.csv", "text/csv", [head.join(","), ...lines].join("\n") + "\n");
  };
  const unhear = onLanguage(() => { if (answer) show(); });
  const node = page("predict", names, h("div", { class: "predict-grid" }, form,
    h("div", { class: "stack" },
      h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { t: "predict.rate" }), h("span", { class: "push" }), time), lanes, h("div", { class: "row" }, adding, h("button", { class: "button", type: "button", t: "predict.add", onclick: add }))),
      h("div", { class: "card" }, details, h("p", { class: "basis", t: "predict.basis" }),
        h("div", { class: "row", style: "margin-top:0.8rem" }, h("button", { class: "button small", type: "button", onclick: csv }, "CSV"), h("button", { class: "button small", type: "button", onclick: () => save("whygpu-predict.json", "application/json", JSON.stringify(answer, null, 2)) }, "JSON"), h("button", { class: "button small", type: "button", t: "predict.link", onclick: async () => { await navigator.clipboard.writeText(location.href); toast(t("predict.copied")); } }))))));
  ask();
  return { node, leave: unhear };
}
