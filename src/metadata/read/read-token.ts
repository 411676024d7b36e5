import { encodeFunctionData, type Hex, numberToHex, type PublicClient, parseAbi } from "viem";
import type { Standard } from "../../db/tables/nft.ts";
import { type Fault, type FaultCode, isFault } from "../../outbound/fault.ts";
import { callContract, decodeText, type PinnedBlock } from "./call-contract.ts";
import { parseIpfsUri } from "./ipfs-location.ts";
import { fillIn, parseDocument, type TokenDocument } from "./parse-document.ts";
import type { MediaInformation, MediaProbe } from "./probe-media.ts";
import { ownContent, readDocument, type Sources } from "./read-document.ts";

const abi = parseAbi([
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
]);

export interface TokenToRead {
  contract: Hex;
  tokenId: bigint;
  standard: Standard;
}

export type TokenReading =
  | {
      outcome: "read";
      tokenUri: string;
      cid: string | null;
      document: TokenDocument;
      /** CID and path of our own copies; null where we hold none. */
      cachedImage: string | null;
      cachedAnimation: string | null;
      /** Null: there is no image, or only a server can tell. */
      file: MediaInformation | Fault | null;
    }
  | {
      outcome: "failed";
      fault: FaultCode;
      /** Null: the contract returned none. */
      tokenUri: string | null;
      /** What was found at the URI, where it is no metadata. */
      raw: Uint8Array | null;
    };

/** Asks a contract for a token's URI at a block, and reads the document behind it. @throws Busy */
export async function readToken(
  client: PublicClient,
  sources: Sources,
  media: MediaProbe,
  block: PinnedBlock,
  token: TokenToRead,
  signal: AbortSignal,
): Promise<TokenReading> {
  const tokenUri = await readTokenUri(client, block, token);
  if (typeof tokenUri !== "string") return { outcome: "failed", fault: tokenUri.fault, tokenUri: null, raw: null };
  // In 64 lower-case hex digits.
  const id = token.standard === "ERC1155" ? numberToHex(token.tokenId, { size: 32 }).slice(2) : null;
  const target = id === null ? tokenUri : fillIn(tokenUri, id);
  const answer = await readDocument(sources, target, signal);
  if (isFault(answer)) return { outcome: "failed", fault: answer.fault, tokenUri, raw: null };
  const document = parseDocument(answer.bytes, id);
  if (isFault(document)) return { outcome: "failed", fault: document.fault, tokenUri, raw: answer.bytes };
  const { image } = document;
  return {
    outcome: "read",
    tokenUri,
    cid: answer.cid,
    document,
    cachedImage: await ownCopy(sources, image),
    cachedAnimation: await ownCopy(sources, document.animationUrl),
    file: image === null ? null : await media.probeHere(sources, image, signal),
  };
}

async function readTokenUri(client: PublicClient, block: PinnedBlock, token: TokenToRead): Promise<string | Fault> {
  const names = token.standard === "ERC1155" ? (["uri", "tokenURI"] as const) : (["tokenURI", "uri"] as const);
  const first = await callForUri(client, block, token, names[0]);
  // A proxy may have changed its standard, and some contracts have the other function only.
  if (typeof first === "string" || (first.fault !== "call_failed" && first.fault !== "call_bad_return")) return first;
  const second = await callForUri(client, block, token, names[1]);
  return typeof second === "string" && second.trim() !== "" ? second : first;
}

async function callForUri(
  client: PublicClient,
  block: PinnedBlock,
  token: TokenToRead,
  functionName: "tokenURI" | "uri",
): Promise<string | Fault> {
  const data = encodeFunctionData({ abi, functionName, args: [token.tokenId] });
  const answer = await callContract(client, block, token.contract, data);
  if (isFault(answer)) return answer;
  return decodeText(answer.data) ?? { fault: "call_bad_return" };
}

/** CID of our own copy of a file; null when we hold none. */
export async function ownCopy(sources: Sources, url: string | null): Promise<string | null> {
  const locations = url === null || url.length > 2_048 ? null : parseIpfsUri(url);
  const own = locations && (await ownContent(sources, locations));
  return own?.kind === "file" ? own.cid : null;
}
