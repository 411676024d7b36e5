// Adds the entries that `npm install` leaves out of package-lock.json when the registry it asked
// did not hold some platform's build of an optional package. Without them `npm ci` refuses the
// file on every machine ("Missing: … from lock file"). Run it after each `npm install`.
//
// An entry gets version, os, cpu and libc but no integrity: npm takes it from the registry of the
// machine that needs it. Platforms are read off the package's name (`edr-linux-arm64-musl`).
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = ["android", "darwin", "freebsd", "linux", "openbsd", "openharmony", "win32"];
const added = [];

for (const [parent, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (lock.packages[`${parent}/node_modules/${name}`] || lock.packages[`node_modules/${name}`]) continue;
    const words = name.split("/").at(-1).split("-");
    const at = words.findIndex((word) => systems.includes(word));
    if (at < 0) throw new Error(`cannot read a platform off ${name}; add its entry by hand`);
    const [os, arch, abi] = words.slice(at);
    const cpu = arch === "arm" ? "arm" : arch;
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(os === "linux" ? { libc: [abi?.startsWith("musl") ? "musl" : "glibc"] } : {}),
      optional: true,
      os: [os],
    };
    added.push(name);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length === 0 ? "package-lock.json is complete" : `added ${added.join(", ")}`);
