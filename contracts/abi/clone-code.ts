import { type Address, concatHex, decodeAbiParameters, type Hex, numberToHex, size, stringToHex } from "viem";
import { initDataParameters } from "./init-data.ts";

const flag = {
  wideLengths: 1,
  presale: 2,
  root: 4,
  treasuryIsOwner: 8,
  royaltiesToTreasury: 16,
  reserve: 32,
  perMint: 64,
  ipfsUris: 128,
} as const;
const zeroRoot: Hex = `0x${"00".repeat(32)}`;

/** Init code of the clone that the factory creates. */
export function cloneInitCode(template: Address, initData: Hex): Hex {
  const code = cloneCode(template, initData);
  return concatHex(["0x61", numberToHex(size(code), { size: 2 }), "0x3d81600a3d39f3", code]);
}

/** Code of a clone: ERC-1167 code of `template` with the packed arguments behind it. */
export function cloneCode(template: Address, initData: Hex): Hex {
  return concatHex(["0x363d3d373d3d3d363d73", template, "0x5af43d82803e903d91602b57fd5bf3", packArgs(initData)]);
}

/** Twin of `CollectionArgs.pack`, whose comment has the layout. */
export function packArgs(initData: Hex): Hex {
  const [deployment, runtime] = decodeAbiParameters(initDataParameters, initData);
  const uris = [runtime.baseURI, runtime.prerevealTokenURI];
  const ipfsUris = uris.every((uri) => uri === "" || (uri.startsWith("ipfs://") && uri.length > 7));
  const given = [deployment.name, deployment.symbol, ...uris].map(textToHex);
  const shown = ipfsUris ? uris.map((uri) => uri.replace("ipfs://", "")) : uris;
  const strings = [deployment.name, deployment.symbol, ...shown].map(textToHex);
  const same = (a: Address, b: Address) => a.toLowerCase() === b.toLowerCase();
  const has = {
    wideLengths: given.some((text) => size(text) > 255),
    presale: runtime.presaleMintPrice !== 0n || runtime.presaleMintStart !== 0n,
    root: runtime.presaleMerkleRoot !== zeroRoot,
    treasuryIsOwner: same(deployment.treasuryAddress, deployment.owner),
    royaltiesToTreasury: same(runtime.royaltiesAddress, deployment.treasuryAddress),
    reserve: deployment.reservedSupply !== 0n,
    perMint: deployment.tokensPerMint >= 0xffffn,
    ipfsUris,
  };
  let flags = 0;
  for (const [name, present] of Object.entries(has)) if (present) flags |= flag[name as keyof typeof flag];
  const presale = [low(runtime.presaleMintPrice, 11), low(runtime.presaleMintStart, 5)];
  return concatHex([
    deployment.owner,
    low(BigInt(flags), 1),
    ...(has.presale ? presale : []),
    ...(has.root ? [runtime.presaleMerkleRoot] : []),
    ...(has.treasuryIsOwner ? [] : [deployment.treasuryAddress]),
    low(runtime.royaltiesBps, 2),
    ...(has.royaltiesToTreasury ? [] : [runtime.royaltiesAddress]),
    ...(has.reserve ? [low(deployment.reservedSupply, 4)] : []),
    ...(has.perMint ? [low(deployment.tokensPerMint, 4)] : []),
    ...strings.map((text) => low(BigInt(size(text)), has.wideLengths ? 2 : 1)),
    ...strings,
  ]);
}

/** The low bytes of a number, as the contract cuts it; 2^256-1 ("never") becomes all ones. */
function low(value: bigint, bytes: number): Hex {
  return numberToHex(BigInt.asUintN(bytes * 8, value), { size: bytes });
}

function textToHex(text: string): Hex {
  return text === "" ? "0x" : stringToHex(text);
}
