import { type Fault, isFault } from "../../outbound/fault.ts";
import { Busy } from "../../outbound/host-limits.ts";
import { decodeText } from "./call-contract.ts";
import { parseDocument, textOf, urlOf } from "./parse-document.ts";
import { readDocument, type Sources } from "./read-document.ts";
import { ownCopy } from "./read-token.ts";

const nothing = {
  document: null,
  description: null,
  thumbnail_url: null,
  banner_url: null,
  cached_thumbnail_url: null,
  cached_banner_url: null,
};

/** What a contract's own document says, ready for the columns. */
interface ContractDocument {
  uri: string | null;
  fault: Fault | null;
  name: string | null;
  columns: Record<keyof typeof nothing, string | null>;
}

/**
 * Reads the document behind what `contractURI()` returned.
 *
 * @param answer of the call; a contract without the function has no document, and that is no fault.
 * Source: ERC-7572; marketplaces spell the banner in three ways.
 */
export async function readContractDocument(
  answer: { data: Buffer } | Fault,
  { sources, cachedBase, signal }: { sources: Sources; cachedBase: string; signal: AbortSignal },
): Promise<ContractDocument> {
  const none = { uri: null, fault: null, name: null, columns: nothing };
  if (isFault(answer) || answer.data.length === 0) return none;
  const uri = decodeText(answer.data);
  if (uri === null || uri.trim() === "") return none;
  const raw = await readDocument(sources, uri, signal).catch((error: unknown): Fault => {
    if (error instanceof Busy) return { fault: "host_busy" };
    throw error;
  });
  if (isFault(raw)) return { ...none, uri, fault: raw };
  const document = parseDocument(raw.bytes);
  if (isFault(document)) return { ...none, uri, fault: document };
  const { members } = document;
  const banner =
    urlOf(members["banner_image"]) || urlOf(members["banner_image_url"]) || urlOf(members["banner"]) || null;
  const cached = async (url: string | null) => {
    const cid = await ownCopy(sources, url);
    return cid === null ? null : `${cachedBase}/${cid}`;
  };
  return {
    uri,
    fault: null,
    name: textOf(members["name"])?.slice(0, 256).toWellFormed() || null,
    columns: {
      document: document.text,
      description: document.description,
      thumbnail_url: document.image,
      banner_url: banner,
      cached_thumbnail_url: await cached(document.image),
      cached_banner_url: await cached(banner),
    },
  };
}
