"use strict";
// Draws the charts with the chart library where the page has one, once the page has been painted (the static pictures stay otherwise), and
// computes the report anew when a control moves: with the program that wrote it, compiled to WebAssembly.
(() => {
  const style = () => getComputedStyle(document.documentElement);
  const colour = (name) => style().getPropertyValue("--" + name).trim();

  const significant = (v, digits = 3) => {
    if (v === 0) return "0";
    const text = Number(v.toPrecision(digits));
    return Math.abs(text) >= 1000 ? Math.round(text).toLocaleString("en-US") : String(text);
  };
  const bytes = (v) => {
    for (const [unit, size] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (Math.abs(v) >= size) return significant(v / size) + " " + unit;
    }
    return significant(v) + " B";
  };
  const seconds = (v) => {
    const size = Math.abs(v);
    if (size >= 1 || v === 0) return significant(v) + " s";
    return size >= 1e-3 ? significant(v * 1e3) + " ms" : significant(v * 1e6) + " us";
  };
  const format = (unit) => (v) => {
    if (v === null || v === undefined) return "-";
    if (unit === "s") return seconds(v);
    if (unit === "bytes") return bytes(v);
    if (unit === "x") return v.toFixed(2) + "x";
    if (unit === "share") return significant(100 * v) + " %";
    return significant(v);
  };
  const isNarrow = () => document.documentElement.clientWidth < 560;
  const plain = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  const axis = () => ({
    axisLine: { lineStyle: { color: colour("line") } },
    axisLabel: { color: colour("quiet"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("line") } },
    nameTextStyle: { color: colour("quiet") },
  });
  const base = (chart) => ({
    animation: false,
    aria: { enabled: true, label: { description: chart.title } },
    textStyle: { color: colour("text"), fontFamily: style().getPropertyValue("font-family") || "sans-serif" },
    tooltip: {
      backgroundColor: colour("card"), borderColor: colour("line"), confine: true,
      textStyle: { color: colour("text"), fontSize: 13 },
    },
  });

  const lines = (chart) => {
    const show = format(chart.unit);
    const series = [];
    chart.series.forEach((s, i) => {
      const paint = s.reference ? colour("ideal") : colour("c" + i);
      if (s.low) {
        const common = { type: "line", stack: "band" + i, symbol: "none", silent: true, lineStyle: { opacity: 0 } };
        series.push({ ...common, name: s.name + " low", data: s.low, tooltip: { show: false } });
        series.push({ ...common, name: s.name + " high", data: s.high.map((h, k) => h - s.low[k]),
          areaStyle: { color: paint, opacity: 0.15 } });
      }
      series.push({
        type: "line", name: s.name, data: s.values, connectNulls: true, symbolSize: 7,
        symbol: s.reference ? "none" : "circle", itemStyle: { color: paint },
        lineStyle: { color: paint, width: 2, type: s.reference ? "dashed" : "solid" },
      });
    });
    return {
      ...base(chart),
      grid: { left: 8, right: 16, top: 40, bottom: 30, containLabel: true },
      legend: { data: chart.series.map((s) => s.name), top: 0, left: 0, textStyle: { color: colour("text") } },
      xAxis: { type: "category", data: chart.categories, name: chart.x_title, nameLocation: "middle", nameGap: 28,
        boundaryGap: false, ...axis() },
      yAxis: { type: "value", ...axis(), axisLabel: { color: colour("quiet"), formatter: (v) => v + (chart.unit === "x" ? "x" : "") } },
      tooltip: { ...base(chart).tooltip, trigger: "axis", formatter: (rows) => {
        const at = rows[0].dataIndex;
        return plain(chart.categories[at] + " " + chart.x_title) + chart.series.map((s) => "<br>" + plain(
          `${s.name}: ${show(s.values[at])}` + (s.low ? ` (${show(s.low[at])} .. ${show(s.high[at])})` : ""))).join("");
      } },
      series,
    };
  };

  const bars = (chart) => {
    const show = format(chart.unit);
    const falls = chart.kind === "waterfall";
    const values = chart.series[0].values;
    const last = values.length - 1;
    const begin = [];
    let at = 0;
    values.forEach((v, i) => {
      begin.push(falls && i < last ? Math.min(at, at + v) : 0);
      if (falls && i < last) at += v;
    });
    const paint = (i) => values[i] < 0 ? colour("gain") : falls && i > 0 && i < last ? colour("loss") : colour("c0");
    const narrow = isNarrow();
    return {
      ...base(chart),
      grid: { left: 8, right: 76, top: 4, bottom: 4, containLabel: true },
      xAxis: { type: "value", show: false, max: (r) => r.max * 1.02 },
      yAxis: { type: "category", inverse: true, data: chart.categories, axisTick: { show: false },
        axisLine: { show: false },
        axisLabel: { color: colour("text"), fontSize: narrow ? 12 : 13, lineHeight: 14, width: narrow ? 110 : 270,
          overflow: "break" } },
      tooltip: { ...base(chart).tooltip, formatter: (row) =>
        plain(`${chart.categories[row.dataIndex]}: ${show(values[row.dataIndex])}`) },
      series: [
        { type: "bar", stack: "all", silent: true, data: begin, itemStyle: { color: "transparent" }, barWidth: 18 },
        { type: "bar", stack: "all", barWidth: 18, barMinHeight: 1,
          data: values.map((v, i) => ({ value: Math.abs(v), itemStyle: { color: paint(i) } })),
          label: { show: true, position: "right", color: colour("text"), fontSize: 13,
            formatter: (row) => show(values[row.dataIndex]) } },
      ],
    };
  };

  const scatter = (chart) => {
    const show = format(chart.unit);
    const points = chart.x.map((x, i) => [x, chart.series[0].values[i]]).filter((p) => p[0] > 0 && p[1] > 0);
    const all = points.flat();
    const low = Math.pow(10, Math.floor(Math.log10(Math.min(...all))));
    const high = Math.pow(10, Math.ceil(Math.log10(Math.max(...all))));
    const log = (name) => ({ type: "log", min: low, max: high, name, nameLocation: "middle", nameGap: 36, ...axis(),
      axisLabel: { color: colour("quiet"), formatter: show } });
    return {
      ...base(chart),
      grid: { left: 30, right: 16, top: 10, bottom: 40, containLabel: true },
      xAxis: log(chart.x_title), yAxis: { ...log(chart.y_title), nameGap: 56 },
      tooltip: { ...base(chart).tooltip, formatter: (row) => plain(
        `${(chart.labels || [])[row.dataIndex] || ""} ${chart.x_title} ${show(row.value[0])}, ${chart.y_title} ${show(row.value[1])}`) },
      series: [
        { type: "scatter", data: points, symbolSize: 6, itemStyle: { color: colour("c0"), opacity: 0.6 } },
        { type: "line", data: [[low, low], [high, high]], symbol: "none", silent: true,
          lineStyle: { color: colour("ideal"), type: "dashed" } },
      ],
    };
  };

  const makers = { lines, waterfall: bars, bars, scatter };
  let drawn = [];
  const draw = () => {
    if (typeof echarts === "undefined") return;
    drawn.forEach((c) => c.dispose());
    drawn = [];
    for (const figure of document.querySelectorAll("figure.chart")) {
      const chart = JSON.parse(figure.querySelector("script").textContent);
      const plot = figure.querySelector(".plot");
      const rows = chart.categories.length;
      plot.style.height = chart.kind === "lines" ? "300px" : chart.kind === "scatter" ? Math.min(480, plot.clientWidth) + "px"
        : (isNarrow() ? 46 : 30) * rows + 12 + "px";
      plot.replaceChildren();
      const picture = echarts.init(plot, null, { renderer: "svg" });
      picture.setOption(makers[chart.kind](chart));
      plot.setAttribute("role", "img");
      plot.setAttribute("aria-label", chart.title);
      drawn.push(picture);
    }
    document.documentElement.dataset.charts = String(drawn.length);
  };
  // The text comes first, then what draws it anew.
  const run = (id) => {
    const held = document.getElementById(id);
    if (!held) return;
    const script = document.createElement("script");
    script.textContent = held.textContent;
    held.remove();
    document.head.append(script);
  };
  requestAnimationFrame(() => setTimeout(() => {
    run("library");
    draw();
  }));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) draw();
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  // --- what if -------------------------------------------------------------------------------------
  const asked = document.getElementById("asked");
  if (!asked || typeof DecompressionStream === "undefined" || typeof WebAssembly === "undefined") return;
  const question = JSON.parse(asked.textContent);
  const panel = document.getElementById("what_if");
  const message = document.getElementById("message");

  const unpacked = async (base64) => new Uint8Array(await new Response(
    new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]).stream()
      .pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());

  // A file where the program looks for it: its folder is the root.
  const put = (files, path, text) => {
    const parts = [];
    for (const part of path.split("/")) {
      if (part === "..") parts.pop();
      else if (part && part !== ".") parts.push(part);
    }
    files.mkdirTree("/" + parts.slice(0, -1).join("/"));
    files.writeFile("/" + parts.join("/"), text);
  };
  const start = async () => {
    run("program");
    const module = await stepsightSimulator({
      wasmBinary: await unpacked(document.getElementById("code").textContent.trim()),
      preRun: [(m) => { if (question.data_folder) m.ENV.STEPSIGHT_DATA = question.data_folder; }],
    });
    for (const [path, text] of question.files) put(module.FS, path, text);
    return (changed, form) => {
      const lines = [...new Map([...question.keys, ...changed])].map(([key, value]) => key + "=" + value + "\n");
      return module.ccall("stepsight_answer", "string", ["string", "string", "string", "string"],
        [question.language, question.file, lines.join(""), form]);
    };
  };
  let started = null;
  const simulator = () => started ||= start();

  const controls = question.controls.map((c) => ({ ...c, input: document.getElementById("control_" + c.key),
    output: document.getElementById("output_" + c.key) }));
  const choice = (c) => c.values[Number(c.input.value)];
  const changes = () => controls.flatMap((c) => choice(c).keys);
  const label = () => controls.forEach((c) => {
    c.output.textContent = choice(c).text;
    c.input.setAttribute("aria-valuetext", choice(c).text);
  });

  const show = (answer) => {
    const open = new Set([...document.querySelectorAll("main details[open] table")].map((t) => t.id));
    document.getElementById("verdict").textContent = answer.verdict;
    document.getElementById("question").textContent = answer.question;
    document.getElementById("report").innerHTML = answer.html;
    for (const id of open) document.getElementById(id)?.closest("details")?.setAttribute("open", "");
    draw();
  };
  // What the last move asks is answered; what came between need not be.
  let busy = false;
  let again = false;
  const recompute = async () => {
    label();
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await new Promise((done) => { setTimeout(done); });
      try {
        const simulate = await simulator();
        const begin = performance.now();
        const answer = JSON.parse(simulate(changes(), "page"));
        message.textContent = answer.error || "";
        if (!answer.error) show(answer);
        document.documentElement.dataset.milliseconds = String(performance.now() - begin);
      } catch (error) {
        message.textContent = String(error);
      }
    } while (again);
    busy = false;
    document.documentElement.dataset.computed = String(1 + Number(document.documentElement.dataset.computed || 0));
  };
  controls.forEach((c) => {
    c.input.value = c.at;  // not where a reload left it
    c.input.addEventListener("input", recompute);
  });
  document.getElementById("reset").addEventListener("click", () => {
    controls.forEach((c) => { c.input.value = c.at; });
    recompute();
  });
  // Whoever comes near is about to ask.
  for (const near of ["pointerenter", "focusin", "touchstart"]) {
    panel.addEventListener(near, () => { simulator().catch(() => {}); }, { once: true, passive: true });
  }
  // For whoever looks at the page with a program: what `report --json` says with these keys changed.
  window.stepsightAnswer = async (changed) => (await simulator())(changed, "json");
  panel.hidden = false;
})();
