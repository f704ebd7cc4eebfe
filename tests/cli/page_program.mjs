// Holds a report page's own program against the program that wrote the page: node page_program.mjs PAGE STEPSIGHT
// ARGUMENTS... with the arguments that the page was written with (report's, without -o).
//
// Takes the WebAssembly out of the page, asks it as the page does, and compares every figure with what
// `stepsight report ... --json` says: for the question itself, and for each control at the value beside its
// own. Prints how many figures were compared and how far they were apart at most.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import vm from "node:vm";

const [page, program, ...asked] = process.argv.slice(2);
const html = readFileSync(page, "utf8");
const script = (id) => {
  const found = html.match(new RegExp(`<script type="[a-z/]*" id="${id}">([^]*?)</script>`));
  if (!found) throw new Error(`the page has no ${id}`);
  return found[1];
};
const question = JSON.parse(script("asked"));

// The program as a browser sees it, but for the environment that emscripten finds out by these names.
const start = vm.runInThisContext(`(require, process, __filename, __dirname) => { ${script("program")}; return stepsightSimulator; }`)(
  createRequire(import.meta.url), process, page, ".");
const module = await start({
  wasmBinary: gunzipSync(Buffer.from(script("code"), "base64")),
  preRun: [(m) => { if (question.data_folder) m.ENV.STEPSIGHT_DATA = question.data_folder; }],
});
for (const [path, text] of question.files) {
  const absolute = path.startsWith("/") ? path : "/" + path;
  module.FS.mkdirTree(absolute.slice(0, absolute.lastIndexOf("/")) || "/");
  module.FS.writeFile(absolute, text);
}
const answer = (changed) => {
  const lines = [...new Map([...question.keys, ...changed])].map(([key, value]) => `${key}=${value}\n`).join("");
  return JSON.parse(module.ccall("stepsight_answer", "string", ["string", "string", "string", "string"],
    [question.language, question.file, lines, "json"]));
};
const flag = (key) => key === "name" ? "--model" : "--" + key.replaceAll("_", "-");
const native = (changed) => {
  const flags = new Map(changed.map(([key, value]) => [flag(key), value]));
  const rest = asked.filter((word, i) => !flags.has(word) && !(i > 0 && flags.has(asked[i - 1])));
  return JSON.parse(execFileSync(program, ["report", ...rest, ...[...flags].flat(), "--json"], { maxBuffer: 1 << 28 }));
};

const most = 1e-9;
let figures = 0;
let worst = 0;
const compare = (a, b, where) => {
  if (typeof a !== typeof b || Array.isArray(a) !== Array.isArray(b) || (a === null) !== (b === null)) {
    throw new Error(`${where}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`);
  }
  if (typeof a === "number") {
    figures += 1;
    const apart = a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
    worst = Math.max(worst, apart);
    if (!(apart <= most)) throw new Error(`${where}: ${a} in the page, ${b} in the program`);
  } else if (a !== null && typeof a === "object") {
    const keys = Object.keys(a);
    if (keys.join() !== Object.keys(b).join()) throw new Error(`${where}: ${keys} and ${Object.keys(b)}`);
    for (const key of keys) compare(a[key], b[key], `${where}.${key}`);
  } else if (a !== b) {
    throw new Error(`${where}: "${a}" in the page, "${b}" in the program`);
  }
};

const cases = [[]];
for (const c of question.controls) {
  cases.push((c.values[c.at + 1] || c.values[c.at - 1]).keys);
}
for (const changed of cases) {
  const name = changed.map((pair) => pair.join("=")).join(" ") || "as asked";
  const own = answer(changed);
  if (own.error) throw new Error(`${name}: ${own.error}`);
  compare(own, native(changed), name);
}
console.log(`${question.file}: ${cases.length} questions, ${figures} figures, at most ${worst.toExponential(1)} apart`);
