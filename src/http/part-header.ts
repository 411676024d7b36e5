import { ServiceError } from "../errors/errors.ts";

export interface PartHeader {
  name: string;
  /** As sent, folders included; null without one. */
  fileName: string | null;
  /** As sent; null without one. */
  contentType: string | null;
}

const longestNameBytes = 100;

/** The boundary of a multipart request. @throws ServiceError `unsupported_media_type` for any other. */
export function parseBoundary(contentType: string | undefined): string {
  const [type = "", ...parameters] = splitParameters(contentType ?? "");
  const boundary = new Map(parameters.map(parseParameter)).get("boundary");
  if (type.trim().toLowerCase() !== "multipart/form-data" || !boundary || boundary.length > 200) {
    throw new ServiceError("unsupported_media_type", "send multipart/form-data with a boundary");
  }
  return boundary;
}

/**
 * Reads the header lines of a part, whose bytes come as latin1 and mean UTF-8.
 *
 * @throws ServiceError `value_error` for a part without a name and for one with a name over 100 bytes.
 */
export function parsePartHeader(lines: Record<string, string[]>): PartHeader {
  const [kind = "", ...parameters] = splitParameters(utf8(lines["content-disposition"]?.[0] ?? ""));
  const values = new Map(parameters.map(parseParameter));
  const name = values.get("name");
  if (kind.trim().toLowerCase() !== "form-data" || name === undefined) {
    throw new ServiceError("value_error", "a part of the form has no name");
  }
  if (Buffer.byteLength(name) > longestNameBytes) {
    throw new ServiceError("value_error", `a part of the form has a name of over ${longestNameBytes} bytes`);
  }
  return {
    name,
    fileName: extendedValue(values.get("filename*")) ?? values.get("filename") ?? null,
    contentType: lines["content-type"]?.[0]?.trim() || null,
  };
}

/** Splits at semicolons outside quotes. */
function splitParameters(text: string): string[] {
  return text.match(/(?:"(?:\\.|[^"\\])*"|[^;"]|")+/gs) ?? [];
}

function parseParameter(text: string): [name: string, value: string] {
  const equals = text.indexOf("=");
  if (equals < 0) return [text.trim().toLowerCase(), ""];
  const value = text.slice(equals + 1).trim();
  return [text.slice(0, equals).trim().toLowerCase(), value.startsWith('"') ? unquote(value) : value];
}

/** Inside quotes a backslash escapes a quote or a backslash only: old browsers sent whole Windows paths. */
function unquote(text: string): string {
  return text.replace(/^"|"$/g, "").replace(/\\(["\\])/g, "$1");
}

/** RFC 5987: UTF-8''na%C3%AFve.json. */
function extendedValue(text: string | undefined): string | null {
  const encoded = /^utf-8'[^']*'(.*)$/is.exec(text ?? "")?.[1];
  if (encoded === undefined) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}
