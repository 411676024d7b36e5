import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Fault, ReadFault, WriteFault } from "./fault.ts";

/** Every fault of `faults/`, by its file's name. */
export async function loadFaults(): Promise<Map<string, Fault>> {
  const folder = join(import.meta.dirname, "faults");
  const names = readdirSync(folder).sort();
  const files = await Promise.all(
    names.map(async (name) => [name.replace(/\.ts$/, ""), (await import(join(folder, name))).fault as Fault] as const),
  );
  return new Map(files);
}

export function readFaults(faults: ReadonlyMap<string, Fault>): [string, ReadFault][] {
  return [...faults].flatMap(([name, fault]) => (fault.kind === "read" ? [[name, fault] as const] : [])) as never;
}

export function writeFaults(faults: ReadonlyMap<string, Fault>): [string, WriteFault][] {
  return [...faults].flatMap(([name, fault]) => (fault.kind === "write" ? [[name, fault] as const] : [])) as never;
}
