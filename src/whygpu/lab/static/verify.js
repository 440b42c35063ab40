// Verify: the three experiments and the roofline, run here, beside the article's figures; past runs.
import { get, post, Socket } from "./api.js";
import { h, lang, number, onLanguage, page, segments, short, t, toast } from "./dom.js";

export function make({ facts, query, remember }) {
  let quick = query.get("full") === null;
  let open = null;
  const cards = Object.fromEntries(facts.runs.map((what) => [what, card(what)]));
  const history = h("tbody");
  const result = h("div", { class: "card", hidden: true });
  const depth = segments("verify.depth", [["quick", "verify.quick"], ["full", "verify.full"]], quick ? "quick" : "full", (value) => { quick = value === "quick"; remember({ full: quick ? "" : 1 }); });
  const socket = new Socket("/ws/live", (data) => now(JSON.parse(data).run));
  let last = "";

  function card(what) {
    const go = h("button", { class: "button", type: "button", t: "verify.run", onclick: () => (go.dataset.t === "verify.cancel" ? post("/api/runs/cancel").catch(toast) : start(what)) });
    const bar = h("i");
    const step = h("span", { class: "soft" });
    const node = h("div", { class: "card" }, h("h2", { t: `verify.${what}` }), h("p", { class: "soft", t: `verify.${what}.what` }),
      h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, tl: `verify.${what}` }, bar), h("div", { class: "row" }, go, step));
    return { node, go, bar, step };
  }

  async function start(what) {
    try { now(await post("/api/runs", { what, quick })); } catch (error) { toast(error); }
  }

  function now(run) {
    for (const [what, { node, go, bar, step }] of Object.entries(cards)) {
      const on = run.state === "running" && run.what === what;
      node.classList.toggle("on", on);
      go.dataset.t = on ? "verify.cancel" : "verify.run";
      go.textContent = t(go.dataset.t);
      go.disabled = run.state === "running" && !on;
      bar.style.width = on ? `${100 * (run.fraction ?? 0)}%` : "0";
      bar.parentNode.setAttribute("aria-valuenow", on ? Math.round(100 * (run.fraction ?? 0)) : 0);
      step.textContent = on ? run.step : run.what === what && run.state === "cancelled" ? t("verify.cancelled") : "";
    }
    const mark = `${run.state} ${run.id ?? ""}`;
    if (run.state === "failed" && mark !== last) toast(t("error.said", { message: run.message }));
    if (mark !== last && run.state !== "running") load(last ? run.id : null);
    last = mark;
  }

  async function load(shown = null) {
    let runs = [];
    try { ({ runs } = await get("/api/runs")); } catch (error) { toast(error); return; }
    const when = (run) => new Intl.DateTimeFormat(lang() === "zh" ? "zh-CN" : "en", { dateStyle: "medium", timeStyle: "short" }).format(new Date(run.taken_at));
    history.replaceChildren(...runs.map((run) => h("tr", {},
      h("td", {}, when(run)), h("td", { t: `verify.${run.what}` }), h("td", { t: run.quick ? "verify.quick" : "verify.full" }), h("td", { class: "n" }, `${short(run.seconds)} s`), h("td", {}, headline(run)),
      h("td", { class: "n" }, h("button", { class: "button small", type: "button", t: "verify.show", onclick: () => show(run) }), " ", h("button", { class: "button small", type: "button", tl: "verify.forget", onclick: async () => { try { await post("/api/runs/forget", { id: run.id }); } catch (error) { toast(error); } if (open?.id === run.id) { open = null; result.hidden = true; } load(); } }, "×")))));
    if (!runs.length) history.replaceChildren(h("tr", {}, h("td", { colSpan: 6, class: "empty", t: "verify.none" })));
    const run = runs.find((each) => each.id === (shown ?? open?.id));
    if (run) show(run);
  }

  const largest = (found, name) => Math.max(...found.rates.filter((rate) => rate.name === name).map((rate) => name === "gemm" ? rate.best_gflops : rate.best_gbs));
  function headline({ what, result: found }) {
    if (what === "experiment_1") { const best = found.sizes.reduce((a, b) => (a.speedup > b.speedup ? a : b)); return t("verify.head.1", { x: number(best.speedup), side: best.side }); }
    if (what === "experiment_2") return t("verify.head.2", { ms: short(found.one_head.steps.reduce((sum, each) => sum + each.ms, 0)) });
    if (what === "experiment_3") return t("verify.head.3", { x: short(found.time_ratio), ops: number(found.operations_ratio) });
    return t("verify.head.roof", { flops: short(largest(found, "gemm")), bytes: short(largest(found, "read")) });
  }

  function rows({ what, result: found }) {
    if (what === "experiment_1") return [["verify.col.product", "verify.col.here", "verify.col.article", "verify.col.speedup", "verify.col.article"],
      found.sizes.map((each) => [`${each.library} ${each.side}²`, `${short(each.ms)} ms`, each.article.ms ? `${short(each.article.ms)} ms` : "–", `${number(each.speedup)} ×`, each.article.speedup ? `${number(each.article.speedup)} ×` : "–"])];
    if (what === "experiment_2") return [["verify.col.step", "verify.col.here", "verify.col.article", "verify.col.rate"],
      found.one_head.steps.map((each) => [each.name, `${short(each.ms)} ms`, each.article_ms ? `${short(each.article_ms)} ms` : "–", each.is_product ? `${short(each.gflops)} GFLOP/s` : "–"])];
    if (what === "experiment_3") return [["verify.col.what", "verify.col.here", "verify.col.article"], [
      ["a @ b", `${short(found.matmul.ms)} ms`, `${short(found.article.matmul_ms)} ms`], ["a * b", `${short(found.elementwise.ms)} ms`, `${short(found.article.elementwise_ms)} ms`],
      [t("verify.ratio.operations"), `${number(found.operations_ratio)} ×`, `${number(found.article.operations_ratio)} ×`], [t("verify.ratio.time"), `${short(found.time_ratio)} ×`, `${short(found.article.time_ratio)} ×`]]];
    return [["verify.col.what", "verify.col.threads", "verify.col.here"], found.rates.map((rate) => [`${rate.name} ${rate.dtype}`, rate.threads, rate.gflops ? `${short(rate.best_gflops)} GFLOP/s` : `${short(rate.best_gbs)} GB/s`])];
  }

  function show(run) {
    open = run;
    const [head, body] = rows(run);
    result.hidden = false;
    result.replaceChildren(h("h2", { t: `verify.${run.what}` }), h("p", { class: "basis" }, `${run.machine} · ${t("verify.measured")}`),
      h("div", { class: "wide" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, head.map((key, i) => h("th", { t: key, class: i ? "n" : "" })))), h("tbody", {}, body.map((row) => h("tr", {}, row.map((cell, i) => h("td", { class: i ? "n" : "" }, String(cell)))))))));
  }

  const unhear = onLanguage(() => load());
  load();
  const node = page("verify", h("div", { class: "tools" }, depth), h("div", { class: "run-grid" }, Object.values(cards).map((each) => each.node)),
    h("div", { class: "stack", style: "margin-top:var(--gap)" }, result,
      h("div", { class: "card" }, h("h2", { t: "verify.history" }), h("div", { class: "wide" }, h("table", { class: "table" },
        h("thead", {}, h("tr", {}, ["when", "what", "depth", "seconds", "result"].map((key) => h("th", { t: `verify.col.${key}`, class: key === "seconds" ? "n" : "" })), h("th"))), history)))));
  return { node, leave: () => { unhear(); socket.close(); } };
}
