import { encodeFunctionData, type Hex, numberToHex, type PublicClient, parseAbi } from "viem";
import type { Standard } from "../../db/tables/nft.ts";
import { type Fault, type FaultCode, isFault } from "../../outbound/fault.ts";
import { type ContractCalls, decodeText, isReturnedText, type PinnedBlock } from "./call-contract.ts";
import { parseIpfsUri } from "./ipfs-location.ts";
import { type DecodedText, fillIn, parseDocument, type TokenDocument, undecodable } from "./parse-document.ts";
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
      /** CID and path of our own copies; null where there are none. */
      cachedImage: string | null;
      cachedAnimation: string | null;
      /** Null: there is no image, or only a server has it. */
      file: MediaInformation | Fault | null;
    }
  | {
      outcome: "failed";
      fault: FaultCode;
      waitMs?: number;
      /** Null: the contract returned none. */
      tokenUri: string | null;
      /** The bytes at the URI, if they are no metadata. */
      raw: Uint8Array | null;
    };

/** Asks a contract for a token's URI at a block, and reads the document behind it. @throws Busy */
export async function readToken(
  client: PublicClient,
  calls: ContractCalls,
  sources: Sources,
  media: MediaProbe,
  block: PinnedBlock,
  token: TokenToRead,
  signal: AbortSignal,
): Promise<TokenReading> {
  const returned = await readTokenUri(client, calls, block, token);
  if (isFault(returned)) return { outcome: "failed", fault: returned.fault, tokenUri: null, raw: null };
  const tokenUri = returned.text;
  // In 64 lower-case hex digits.
  const id = token.standard === "ERC1155" ? numberToHex(token.tokenId, { size: 32 }).slice(2) : null;
  const target = id === null ? tokenUri : fillIn(tokenUri, id);
  const answer = await readDocument(sources, target, signal);
  if (isFault(answer)) return { outcome: "failed", ...answer, tokenUri, raw: null };
  const document = parseDocument(answer.bytes, id);
  if (isFault(document)) return { outcome: "failed", fault: document.fault, tokenUri, raw: answer.bytes };
  if (!returned.whole && !document.warnings.includes(undecodable)) document.warnings.push(undecodable);
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

/** @throws Busy */
async function readTokenUri(
  client: PublicClient,
  calls: ContractCalls,
  block: PinnedBlock,
  token: TokenToRead,
): Promise<DecodedText | Fault> {
  const names = token.standard === "ERC1155" ? (["uri", "tokenURI"] as const) : (["tokenURI", "uri"] as const);
  const ask = async (functionName: "tokenURI" | "uri", cost: "call" | "climb") => {
    const data = encodeFunctionData({ abi, functionName, args: [token.tokenId] });
    const answer = await calls[cost](client, block, token.contract, data);
    if (isFault(answer)) return answer;
    const text = decodeText(answer.data);
    return text === null ? ({ fault: "call_bad_return" } as const) : { text, whole: isReturnedText(answer.data) };
  };
  const cost = calls.isCostly(client, token.contract) ? "climb" : "call";
  const first = await ask(names[0], cost);
  if (!isFault(first) || !refusals.includes(first.fault)) return first;
  // A proxy may have changed its standard, and some contracts only have the other function.
  const second = await ask(names[1], "call");
  if ("text" in second && second.text.trim() !== "") return second;
  // A failure does not show whether more gas would help: a contract whose nested call ran out often gives no reason.
  return cost === "climb" || first.fault === "call_bad_return" ? first : await ask(names[0], "climb");
}

/** Faults that another function, or more gas, may avoid. */
const refusals: readonly FaultCode[] = ["call_failed", "call_out_of_gas", "call_bad_return"];

/** CID of our own copy of a file; null if there is none. */
export async function ownCopy(sources: Sources, url: string | null): Promise<string | null> {
  const locations = url === null || url.length > 2_048 ? null : parseIpfsUri(url);
  const own = locations && (await ownContent(sources, locations));
  return own?.kind === "file" ? own.cid : null;
}
