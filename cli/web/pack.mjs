// node pack.mjs FOLDER: every TOML and CSV file below the folder as one JSON object of path and text, compressed
// and in base64: what the page's simulator reads in place of the built-in files. The same bytes every time.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";

const folder = process.argv[2];
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((e) => e.isFile() && /\.(toml|csv)$/.test(e.name))
  .map((e) => relative(folder, join(e.parentPath ?? e.path, e.name)).split(sep).join("/"))
  .sort();
const texts = Object.fromEntries(files.map((f) => [f, readFileSync(join(folder, f), "utf8")]));
process.stdout.write(gzipSync(JSON.stringify(texts), { level: 9 }).toString("base64"));
