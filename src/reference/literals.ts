import { LocalFile } from "./example.ts";

/** The notation of a value: JSON, or TypeScript with unquoted names. */
export type Style = "json" | "typescript";

const width = 96;
const indentation = "  ";

/** A value as text, on one line if it is short. */
export function printValue(value: unknown, style: Style, indent = 0): string {
  const short = inline(value, style);
  if (short.length + indent * indentation.length <= width) return short;
  const inner = indentation.repeat(indent + 1);
  const end = indentation.repeat(indent);
  if (Array.isArray(value)) {
    const items = value.map((item) => `${inner}${printValue(item, style, indent + 1)}`);
    return `[\n${items.join(",\n")}${style === "json" ? "" : ","}\n${end}]`;
  }
  if (typeof value !== "object" || value === null || value instanceof LocalFile) return short;
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${nameOf(name, style)}: ${printValue(member, style, indent + 1)}`,
  );
  return `{\n${members.join(",\n")}${style === "json" ? "" : ","}\n${end}}`;
}

function inline(value: unknown, style: Style): string {
  if (value instanceof LocalFile)
    return style === "json" ? "null" : `new File([await readFile("${value.name}")], "${value.name}")`;
  if (Array.isArray(value)) return `[${value.map((item) => inline(item, style)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${nameOf(name, style)}: ${inline(member, style)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function nameOf(name: string, style: Style): string {
  return style === "typescript" && /^[a-zA-Z_]\w*$/.test(name) ? name : JSON.stringify(name);
}
