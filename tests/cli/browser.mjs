// Opens a page in headless Chromium and looks at it: node browser.mjs CHROMIUM COMMAND ARGUMENTS...
//
//   check PAGE [computes]   no error on the console, no request but the page itself, every chart drawn, every chart
//                   with its table, first paint within a second, nothing wider than a phone, and, where the page
//                   computes, controls that change the figures and bring them back. Prints what the simulator
//                   answers to no change as JSON, for a comparison with the program's.
//   picture PAGE OUT WIDTH light|dark [CONTROL=STEPS]...   a screenshot of the whole page, after moving controls
//
// Talks to Chromium over its debugging pipe: nothing but node is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [chromium, command, page, ...rest] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "stepsight-browser-"));
const browser = spawn(chromium, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
  "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
  `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

let next = 1;
const waiting = new Map();
const listeners = [];
let buffer = "";
browser.stdio[4].on("data", (data) => {
  buffer += data;
  for (let end = buffer.indexOf("\0"); end >= 0; end = buffer.indexOf("\0")) {
    const message = JSON.parse(buffer.slice(0, end));
    buffer = buffer.slice(end + 1);
    if (message.id) {
      const { done, failed } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) failed(new Error(message.error.message)); else done(message.result);
    } else {
      listeners.forEach((listen) => listen(message));
    }
  }
});
const send = (method, params = {}, sessionId = undefined) => new Promise((done, failed) => {
  const id = next++;
  waiting.set(id, { done, failed });
  browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
});
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const require = (holds, what) => { if (!holds) throw new Error(what); };

const open = async (width, scheme = "light") => {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const tab = { problems: [], requests: [], call: (method, params) => send(method, params, sessionId) };
  let loaded;
  const load = new Promise((done) => { loaded = done; });
  listeners.push((m) => {
    if (m.sessionId !== sessionId) return;
    if (m.method === "Runtime.exceptionThrown") tab.problems.push(m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text);
    if (m.method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(m.params.type)) {
      tab.problems.push(m.params.args.map((a) => a.value || a.description).join(" "));
    }
    if (m.method === "Log.entryAdded" && m.params.entry.level === "error") tab.problems.push(m.params.entry.text);
    if (m.method === "Network.requestWillBeSent") tab.requests.push(m.params.request.url);
    if (m.method === "Page.loadEventFired") loaded();
  });
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await tab.call(domain + ".enable");
  await tab.call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
  await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await tab.call("Page.navigate", { url: "file://" + resolve(page) });
  await load;
  tab.evaluate = async (expression) => {
    const { result, exceptionDetails } = await tab.call("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    require(!exceptionDetails, exceptionDetails?.exception?.description || "evaluation failed");
    return result.value;
  };
  tab.close = () => send("Target.closeTarget", { targetId });
  tab.until = async (expression, what, seconds = 60) => {
    for (let tries = 0; tries < seconds * 20; ++tries) {
      if (await tab.evaluate(expression)) return;
      await pause(50);
    }
    throw new Error("not within " + seconds + " s: " + what + "\n" + tab.problems.join("\n"));
  };
  return tab;
};

const check = async () => {
  const tab = await open(1280);
  const charts = await tab.evaluate("document.querySelectorAll('figure.chart').length");
  require(charts > 0, "no chart");
  const library = await tab.evaluate("document.getElementById('library') !== null || typeof echarts !== 'undefined'");
  if (library) await tab.until(`document.documentElement.dataset.charts === '${charts}'`, "charts drawn");
  const empty = await tab.evaluate(`[...document.querySelectorAll('figure .plot')].filter(
    (p) => !p.querySelector('svg') || p.querySelectorAll('svg path, svg rect, svg polyline').length < 3).length`);
  require(empty === 0, `${empty} charts are empty`);
  const bare = await tab.evaluate(`[...document.querySelectorAll('figure')].filter(
    (f) => !f.closest('section').querySelector('table') || !f.querySelector('[aria-label]')).length`);
  require(bare === 0, `${bare} charts have no table or no words for a screen reader`);
  // The best of a few: a busy machine is not the page's fault.
  let paint = Infinity;
  for (let tries = 0; tries < 8 && paint >= 1000; ++tries) {
    const again = await open(1280);
    await again.until("performance.getEntriesByName('first-paint').length > 0", "a first paint", 20);
    paint = Math.min(paint, await again.evaluate("performance.getEntriesByName('first-paint')[0].startTime"));
    await again.close();
  }
  require(paint < 1000, `first paint after ${paint} ms`);

  let answer = "";
  if (rest.includes("computes")) {
    const figure = "document.querySelector('#answer table td').textContent";
    const before = await tab.evaluate("document.getElementById('report').innerText");
    const controls = await tab.evaluate("[...document.querySelectorAll('#what_if input')].map((i) => i.id)");
    require(controls.length >= 2, "too few controls");
    let computed = 0;
    const move = async (id, to) => {
      await tab.evaluate(`(() => { const i = document.getElementById('${id}'); i.value = ${to}; i.dispatchEvent(new Event('input')); })()`);
      await tab.until(`Number(document.documentElement.dataset.computed || 0) > ${computed}`, id + " computed");
      computed = await tab.evaluate("Number(document.documentElement.dataset.computed)");
      const message = await tab.evaluate("document.getElementById('message').textContent");
      return message;
    };
    for (const id of controls) {
      const at = await tab.evaluate(`Number(document.getElementById('${id}').value)`);
      const most = await tab.evaluate(`Number(document.getElementById('${id}').max)`);
      const was = await tab.evaluate("document.getElementById('report').innerText");
      const message = await move(id, at > 0 ? at - 1 : Math.min(at + 1, most));
      require(!message, `${id}: ${message}`);
      const now = await tab.evaluate("document.getElementById('report').innerText");
      require(now !== was, `${id} changes nothing (${await tab.evaluate(figure)})`);
      await move(id, at);
    }
    await tab.evaluate("document.getElementById('reset').click()");
    await tab.until(`Number(document.documentElement.dataset.computed) > ${computed}`, "reset");
    const after = await tab.evaluate("document.getElementById('report').innerText");
    require(charts === await tab.evaluate("document.querySelectorAll('figure.chart').length"), "a chart went");
    answer = await tab.evaluate("window.stepsightAnswer([])");
    require(!JSON.parse(answer).error, "the simulator: " + JSON.parse(answer).error);
    if (after !== before) {
      const a = before.split("\n"), b = after.split("\n");
      const at = a.findIndex((line, i) => line !== b[i]);
      throw new Error(`back where it was the page says something else: "${a[at]}" / "${b[at]}"`);
    }
  }
  const asked = tab.requests.filter((u) => !u.startsWith("data:") && !u.startsWith("blob:") && u !== "about:blank");
  require(asked.length <= 1, "requests: " + asked.join(" "));
  require(tab.problems.length === 0, "on the console:\n" + tab.problems.join("\n"));

  const phone = await open(390, "dark");
  const wide = await phone.evaluate("document.documentElement.scrollWidth");
  require(wide <= 390, `a phone must scroll sideways: ${wide} pixels`);
  require(phone.problems.length === 0, "on a phone's console:\n" + phone.problems.join("\n"));
  if (answer) process.stdout.write(answer);
};

const picture = async () => {
  const [out, width, scheme, ...moves] = rest;
  const tab = await open(Number(width), scheme);
  await pause(400);
  for (const move of moves) {
    const [id, steps] = move.split("=");
    const computed = await tab.evaluate("Number(document.documentElement.dataset.computed || 0)");
    await tab.evaluate(`(() => { const i = document.getElementById('control_${id}');
      i.value = Number(i.value) + ${Number(steps)}; i.dispatchEvent(new Event('input')); })()`);
    await tab.until(`Number(document.documentElement.dataset.computed || 0) > ${computed}`, move + " computed");
  }
  const height = await tab.evaluate("document.documentElement.scrollHeight");
  await tab.call("Emulation.setDeviceMetricsOverride",
    { width: Number(width), height, deviceScaleFactor: 1, mobile: Number(width) < 600 });
  await pause(300);
  const { data } = await tab.call("Page.captureScreenshot", { format: "png" });
  writeFileSync(out, Buffer.from(data, "base64"));
};

let code = 0;
try {
  await { check, picture }[command]();
} catch (error) {
  console.error(String(error.message || error));
  code = 1;
}
await send("Browser.close").catch(() => {});
await new Promise((done) => { browser.once("exit", done); setTimeout(done, 3000); });
rmSync(profile, { recursive: true, force: true });
process.exit(code);
