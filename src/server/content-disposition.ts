const longestName = 255;

interface Defaults {
  /** It must not be shown, whatever is asked for. */
  attachment?: boolean;
  name?: string;
}

/** What `?download=true` and `?filename=` ask for. @returns null where nothing has to be said. */
export function contentDisposition(query: URLSearchParams, { attachment = false, name }: Defaults): string | null {
  const download = query.get("download");
  const asked = (query.get("filename") || name)?.slice(0, longestName).toWellFormed();
  const kind = attachment || download === "true" ? "attachment" : "inline";
  if (asked === undefined) return kind === "attachment" || download === "false" ? kind : null;
  const ascii = asked.replace(/[^\x20-\x7e]|["\\]/gu, "_");
  return `${kind}; filename="${ascii}"${ascii === asked ? "" : `; filename*=UTF-8''${percentEncoded(asked)}`}`;
}

/** RFC 8187, section 3.2.1. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
