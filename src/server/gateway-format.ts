import { type Accept, parseAccept } from "hono/utils/accept";
import type { DocumentFormat } from "../ipfs/documents.ts";
import type { CarShape, DagScope, EntityBytes } from "../ipfs/export-car.ts";

export const rawType = "application/vnd.ipld.raw";
export const carType = "application/vnd.ipld.car";

export const documentTypes: Record<DocumentFormat, string> = {
  "dag-json": "application/vnd.ipld.dag-json",
  "dag-cbor": "application/vnd.ipld.dag-cbor",
  json: "application/json",
  cbor: "application/cbor",
};

/** The format of the answer; null: the content as it is. */
type Format = "raw" | "car" | DocumentFormat;

export interface Wanted {
  format: Format | null;
  /** For CARs. */
  dups: boolean;
  /** For CARs: whether depth-first order was requested; otherwise any order will do. */
  depthFirst?: boolean;
  /** Query members that would request the same without the `Accept` header. */
  location: Record<string, string>;
  /** A browser asks for a page. */
  html: boolean;
}

export interface Refusal {
  status: 400 | 406;
  message: string;
}

const formats = new Map<string, Format>([
  [rawType, "raw"],
  [carType, "car"],
  ...Object.entries(documentTypes).map(([format, type]) => [type, format as Format] as const),
]);
const isFormat = (word: string): word is Format => [...formats.values()].some((format) => format === word);

/** Formats of the specification that this gateway does not make. */
const refusals: Record<string, Refusal> = {
  "ipns-record": { status: 400, message: "content below /ipfs has no IPNS record" },
  tar: { status: 406, message: "tar is not made here; format=car has the whole tree" },
};
const refusedTypes = new Map([
  ["application/vnd.ipfs.ipns-record", refusals["ipns-record"]],
  ["application/x-tar", refusals["tar"]],
]);

/** The format by the query and the `Accept` header: the query first, then the greatest weight, then the first one. */
export function chooseFormat(query: URLSearchParams, acceptHeader: string | undefined): Wanted | Refusal {
  const accepted = parseAccept(acceptHeader ?? "").filter(({ q }) => q > 0);
  for (const accept of accepted) accept.type = accept.type.toLowerCase();
  const word = query.get("format");
  if (word === null) return byAccept(query, accepted);
  if (Object.hasOwn(refusals, word)) return refusals[word] as Refusal;
  if (!isFormat(word)) return { status: 400, message: `format is one of ${[...formats.values()].join(", ")}` };
  if (word !== "car") return { format: word, dups: false, location: { format: word }, html: false };
  const named = accepted.filter(({ type }) => type === carType);
  for (const { params } of named.length > 0 ? named : [{ params: {} }]) {
    const car = wantedCar(query, params);
    if (car) return car;
  }
  return noSuchCar;
}

function byAccept(query: URLSearchParams, accepted: readonly Accept[]): Wanted | Refusal {
  const asItIs = accepted.find(({ type }) => !formats.has(type) && !refusedTypes.has(type));
  let refusal: Refusal | undefined;
  for (const { type, q, params } of accepted) {
    if (asItIs && asItIs.q > q) break;
    const format = formats.get(type);
    const car = format === "car" ? wantedCar(query, params) : undefined;
    if (car) return car;
    if (format && format !== "car") return { format, dups: false, location: { format }, html: false };
    refusal ??= format === "car" ? noSuchCar : refusedTypes.get(type);
  }
  if (refusal && !asItIs) return refusal;
  const html = accepted.some(({ type }) => type === "text/html");
  return { format: null, dups: false, location: {}, html };
}

const noSuchCar: Refusal = { status: 406, message: "CARs have version=1, order=dfs or unk, and dups=y or n" };

/** Query members take precedence over the type's parameters. */
function wantedCar(query: URLSearchParams, params: Record<string, string>): Wanted | null {
  const version = query.get("car-version") ?? params["version"];
  const order = query.get("car-order") ?? params["order"];
  const dups = query.get("car-dups") ?? params["dups"];
  if (!["1", undefined].includes(version) || !["dfs", "unk", undefined].includes(order)) return null;
  if (!["y", "n", undefined].includes(dups)) return null;
  const asked = { "car-version": version, "car-order": order, "car-dups": dups };
  const members = Object.entries(asked).filter((member): member is [string, string] => member[1] !== undefined);
  return {
    format: "car",
    dups: dups === "y",
    depthFirst: order === "dfs",
    location: { format: "car", ...Object.fromEntries(members) },
    html: false,
  };
}

const scopes = ["all", "entity", "block"] as const satisfies readonly DagScope[];

/** The blocks that the query requests for a CAR. */
export function chooseBlocks(query: URLSearchParams): Required<Pick<CarShape, "scope" | "bytes">> | Refusal {
  const bytes = query.get("entity-bytes");
  const word = query.get("dag-scope") ?? (bytes === null ? "all" : "entity");
  const scope = scopes.find((known) => known === word);
  if (!scope) return { status: 400, message: `dag-scope is one of ${scopes.join(", ")}` };
  if (bytes === null) return { scope, bytes };
  const [, from, to] = /^(-?\d{1,15}):(-?\d{1,15}|\*)$/.exec(bytes) ?? [];
  if (from === undefined || to === undefined)
    return { status: 400, message: "entity-bytes is FROM:TO, two numbers, or * for the end" };
  if (scope !== "entity") return { status: 400, message: "entity-bytes goes with dag-scope=entity" };
  const range: EntityBytes = { from: Number(from), to: to === "*" ? null : Number(to) };
  return { scope, bytes: range };
}
