// The ledger as it grows, and the roofline that both kinds of work stand on.
import { post, Socket } from "./api.js";
import { color, dark, h, lang, number, onLanguage, percent, short, si, t, toast } from "./dom.js";

const STAGES = ["vertex", "raster", "shade", "prefill", "decode", "other"];
let loading = null;
function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "/plotly.js", onload: () => resolve(window.Plotly), onerror: reject });
    document.head.append(script);
  });
  return loading;
}

export function liveLedger() {
  const body = h("tbody");
  const table = h("table", { class: "table" }, h("thead", {}, h("tr", {}, ...["what", "products", "flop", "intensity", "share", "matmul"].map((key, i) => h("th", { t: `ledger.${key}`, class: i ? "n" : "" })))), body);
  const chart = h("div", { class: "chart", role: "img", tl: "ledger.chart" }, h("div"));
  const note = h("p", { class: "basis", t: "ledger.basis" });
  let roofs = null;
  let rows = [];
  let drawing = false;
  const socket = new Socket("/ws/live", (data) => { rows = JSON.parse(data).ledger; show(); });

  function show() {
    const whole = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
    body.replaceChildren(...byStage().map(({ workload, stage, product, seconds }) => h("tr", {},
      h("td", {}, h("i", { class: `dot ${workload}` }), `${t(`ledger.${workload}`)} · ${t(`ledger.stage.${stage}`)}`),
      h("td", { class: "n" }, number(product?.products ?? 0)), h("td", { class: "n" }, si(product?.flop ?? 0, "")),
      h("td", { class: "n" }, product?.bytes ? short(product.flop / product.bytes) : "–"), h("td", { class: "n" }, percent(seconds / whole)),
      h("td", { class: "n" }, percent((product?.seconds ?? 0) / (seconds || 1))))));
    if (!rows.length) body.replaceChildren(h("tr", {}, h("td", { colSpan: 6, class: "empty", t: "ledger.empty" })));
    paint();
  }
  // Draw before think, in the order in which data flows; products and the rest of a stage on one line.
  function byStage() {
    const lines = [];
    for (const workload of ["draw", "think"]) for (const stage of STAGES) {
      const own = grouped().filter((row) => row.workload === workload && known(row.stage) === stage);
      const seconds = own.reduce((sum, row) => sum + row.seconds, 0);
      if (own.length && seconds / (rows.reduce((sum, row) => sum + row.seconds, 0) || 1) > 0.0005) lines.push({ workload, stage, seconds, product: own.find((row) => row.is_product) });
    }
    return lines;
  }
  const known = (stage) => STAGES.includes(stage) ? stage : "other";

  function grouped() {
    const sums = new Map();
    for (const row of rows) {
      const key = `${row.workload} ${known(row.stage)} ${row.is_product}`;
      const sum = sums.get(key) ?? { ...row, products: 0, flop: 0, bytes: 0, seconds: 0 };
      for (const each of ["products", "flop", "bytes", "seconds"]) sum[each] += row[each];
      sums.set(key, sum);
    }
    return [...sums.values()].sort((a, b) => b.seconds - a.seconds);
  }

  async function paint() {
    if (drawing || !roofs?.measured || !chart.isConnected) return;
    drawing = true;
    const Plotly = await plotly();
    const bandwidth = roofs.bandwidth.value;
    const peak = (roofs.flops.fp32 ?? Object.values(roofs.flops)[0]).value;
    const points = grouped().filter((row) => row.is_product && row.flop && row.bytes && row.seconds > 1e-4);
    const [left, right] = [0.05, 400];
    const traces = [{
      x: [left, peak / bandwidth, right], y: [left * bandwidth, peak, peak], mode: "lines", hoverinfo: "skip",
      line: { color: color("ink"), width: 2 }, showlegend: false,
    }];
    for (const workload of ["draw", "think"]) {
      const own = points.filter((row) => row.workload === workload);
      traces.push({
        x: own.map((row) => row.flop / row.bytes), y: own.map((row) => row.flop / row.seconds), name: t(`ledger.${workload}`),
        text: own.map((row) => t(`ledger.stage.${known(row.stage)}`)), mode: "markers+text", textposition: own.map((_, i) => (workload === "think" || i % 2 ? "bottom center" : "top center")),
        textfont: { color: color(workload), size: 12 },
        marker: { color: color(workload), size: 13, symbol: workload === "draw" ? "diamond" : "circle" },
        hovertemplate: "%{text}<br>%{x:.2f} FLOP/B<br>%{y:.3s}FLOP/s<extra></extra>",
      });
    }
    const axis = (title, range) => ({ type: "log", title: { text: title, font: { size: 12 } }, range, gridcolor: color("line"), linecolor: color("line"), zeroline: false, tickfont: { size: 11 }, exponentformat: "SI", fixedrange: true, dtick: 1 });
    await Plotly.react(chart.firstChild, traces, {
      margin: { l: 58, r: 12, t: 30, b: 46 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, color: color("soft") }, showlegend: true,
      legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
      xaxis: axis(t("ledger.x"), [Math.log10(left), Math.log10(right)]), yaxis: axis(t("ledger.y"), [Math.min(8.5, ...points.map((row) => Math.floor(2 * Math.log10(row.flop / row.seconds)) / 2 - 0.5)), Math.log10(peak * 4)]),
    }, { displayModeBar: false, responsive: true });
    drawing = false;
  }

  const measure = h("button", { class: "button", type: "button", t: "ledger.measure", hidden: true, onclick: () => roof(true) });
  async function roof(force) {
    measure.disabled = true;
    try { roofs = await post("/api/roofline", { force, quick: true }); } catch (error) { toast(error); roofs ??= { measured: false }; }
    measure.disabled = false;
    measure.hidden = roofs.measured;
    show();
  }
  const unhear = onLanguage(show);
  dark.addEventListener("change", paint);
  roof(false);
  return {
    chart: h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { t: "ledger.roofline" }), h("span", { class: "push" }), measure), chart),
    table: h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { t: "ledger.title" }), h("button", { class: "button small push", type: "button", t: "ledger.forget", onclick: () => { socket.say("forget"); rows = []; show(); } })), h("div", { class: "wide" }, table), note),
    show, close: () => { unhear(); dark.removeEventListener("change", paint); socket.close(); }, lang,
  };
}
