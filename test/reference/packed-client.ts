import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const run = (program: string, args: readonly string[], cwd: string) =>
  execFileSync(program, args, { cwd, encoding: "utf8" });

/** Makes a project of a reader: the packed client, and nothing else of this repository but its compiler. */
export function makeReaderProject(folder: string): void {
  const packages = join(folder, "node_modules");
  mkdirSync(packages, { recursive: true });
  const packed = run("npm", ["pack", "./client", "--json", "--pack-destination", folder], root);
  const made = Object.values(JSON.parse(packed.slice(packed.search(/^[[{]/m))) as Record<string, { filename: string }>);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, made[0]?.filename ?? "")], folder);
  symlinkSync(join(root, "node_modules/gql.tada"), join(packages, "gql.tada"));
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
    ...{ target: "ES2022", module: "NodeNext", lib: ["ES2023", "DOM", "DOM.Iterable"], skipLibCheck: true },
    ...{ types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  // What a program prints, as JSON. With a channel to another process it runs the programs that it is told of, one after another:
  // to start a process for each takes longer than they do.
  writeFileSync(
    join(folder, "print-json.mjs"),
    `let print = (line) => process.stdout.write(line + "\\n");
console.log = (value) => print(JSON.stringify(value));
let runs = 0;
if (process.connected)
  process.on("message", async ({ file, key }) => {
    const lines = [];
    print = (line) => lines.push(line);
    process.env.MINTYARD_KEY = key;
    try {
      await import(\`./\${file}?run=\${++runs}\`);
      process.send({ said: lines.join("\\n") });
    } catch (error) {
      process.send({ fault: String(error?.stack ?? error) });
    }
  });
`,
  );
}

/** What the compiler says of the programs of a project; empty when nothing. */
export function checkTypes(folder: string): string {
  try {
    return run(process.execPath, [join(root, "node_modules/typescript-native/bin/tsc"), "-p", folder], folder);
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
