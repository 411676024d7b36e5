import { readFileSync } from "node:fs";
import { relative } from "node:path";
import ts from "typescript";

/**
 * Checks the types of files as if they had other contents.
 *
 * A defect with a faulty type would stop the relay, and a relay that stands still is found whatever its defect is.
 *
 * @param root the folder with tsconfig.json, whose settings count; unused and unreachable code is allowed.
 * @param variants each one maps paths to contents. Those that change no file in common are checked as one program: to build it
 *   takes far longer than to check some files of it.
 * @returns the faults of each variant, those in its own files; empty where it is well typed.
 */
export function typeFaultsOf(root: string, variants: readonly ReadonlyMap<string, string>[]): string[][] {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const settings = { ...config, include: [], files: [] };
  const options: ts.CompilerOptions = {
    ...ts.parseJsonConfigFileContent(settings, ts.sys, root).options,
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowUnreachableCode: true,
  };
  // Files that no variant changes are parsed once for all of them.
  const parsed = new Map<string, ts.SourceFile | undefined>();
  const faults = new Map<ReadonlyMap<string, string>, string[]>();
  for (const group of withoutCommonFiles(variants)) {
    const contents = new Map(group.flatMap((variant) => [...variant]));
    const host = ts.createCompilerHost(options);
    const read = host.getSourceFile.bind(host);
    host.getSourceFile = (path, settings, ...more) => {
      const changed = contents.get(path);
      if (changed !== undefined) return ts.createSourceFile(path, changed, settings, true);
      if (!parsed.has(path)) parsed.set(path, read(path, settings, ...more));
      return parsed.get(path);
    };
    const program = ts.createProgram({ rootNames: [...contents.keys()], options, host });
    const faultsOf = (path: string): string[] => {
      const file = program.getSourceFile(path);
      if (!file) return [`${relative(root, path)} was not read`];
      const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
      return found.map(
        ({ messageText }) => `${relative(root, path)}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
      );
    };
    for (const variant of group) faults.set(variant, [...variant.keys()].flatMap(faultsOf));
  }
  return variants.map((variant) => faults.get(variant) ?? []);
}

/** Each variant goes to the first group in which nobody changes a file of it. */
function withoutCommonFiles(variants: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string>[][] {
  const groups: ReadonlyMap<string, string>[][] = [];
  for (const variant of variants) {
    const fits = (group: readonly ReadonlyMap<string, string>[]) =>
      !group.some((other) => [...variant.keys()].some((path) => other.has(path)));
    const group = groups.find(fits);
    if (group) group.push(variant);
    else groups.push([variant]);
  }
  return groups;
}

/** The files that a unified diff changes, by their paths in the repository. */
export function filesOf(patch: string): string[] {
  return [...readFileSync(patch, "utf8").matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path = ""]) => path);
}
