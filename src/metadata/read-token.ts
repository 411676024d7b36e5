import { encodeFunctionData, type Hex, numberToHex, type PublicClient, parseAbi } from "viem";
import type { Standard } from "../db/tables/nft.ts";
import { callContract, decodeText, type PinnedBlock } from "./call-contract.ts";
import { type Fault, type FaultCode, isFault } from "./fault.ts";
import { parseIpfsUri } from "./ipfs-location.ts";
import { parseDocument, type TokenDocument } from "./parse-document.ts";
import { readDocument, type Sources } from "./read-document.ts";

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
    }
  | { outcome: "failed"; fault: FaultCode /** Null: the contract told none. */; tokenUri: string | null };

/** Asks a contract for a token's URI at a block, and reads the document behind it. */
export async function readToken(
  client: PublicClient,
  sources: Sources,
  block: PinnedBlock,
  token: TokenToRead,
  signal: AbortSignal,
): Promise<TokenReading> {
  const tokenUri = await readTokenUri(client, block, token);
  if (typeof tokenUri !== "string") return { outcome: "failed", fault: tokenUri.fault, tokenUri: null };
  const target = token.standard === "ERC1155" ? fillIn(tokenUri, token.tokenId) : tokenUri;
  const raw = await readDocument(sources, target, signal);
  if (isFault(raw)) return { outcome: "failed", fault: raw.fault, tokenUri };
  const document = parseDocument(raw.bytes);
  if (isFault(document)) return { outcome: "failed", fault: document.fault, tokenUri };
  return {
    outcome: "read",
    tokenUri,
    cid: raw.cid,
    document,
    cachedImage: await ownCopy(sources, document.image),
    cachedAnimation: await ownCopy(sources, document.animationUrl),
  };
}

async function readTokenUri(client: PublicClient, block: PinnedBlock, token: TokenToRead): Promise<string | Fault> {
  const functionName = token.standard === "ERC1155" ? "uri" : "tokenURI";
  const data = encodeFunctionData({ abi, functionName, args: [token.tokenId] });
  const answer = await callContract(client, block, token.contract, data);
  if (isFault(answer)) return answer;
  return decodeText(answer.data) ?? { fault: "call_bad_return" };
}

/** ERC-1155: `{id}` stands for the id in 64 lower-case hex digits. */
function fillIn(uri: string, tokenId: bigint): string {
  return uri.replaceAll("{id}", numberToHex(tokenId, { size: 32 }).slice(2));
}

async function ownCopy(sources: Sources, url: string | null): Promise<string | null> {
  const location = url === null || url.length > 2_048 ? null : parseIpfsUri(url);
  if (!location) return null;
  const own = await sources.content.resolve(location.cid, location.path);
  return own?.kind === "file" ? own.cid : null;
}
