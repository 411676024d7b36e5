import { concatHex, encodeErrorResult, type Hex, parseAbi, slice, toFunctionSelector, zeroHash } from "viem";
import type { ProductType } from "../../src/transactions/store/payloads.ts";

// Code of receivers of tokens, by which a test makes any address one.

const takes: Record<ProductType, Hex> = {
  erc721: toFunctionSelector("onERC721Received(address,address,uint256,bytes)"),
  erc1155: toFunctionSelector("onERC1155Received(address,address,uint256,uint256,bytes)"),
};

/** It answers as it has to. */
export function polite(type: ProductType): Hex {
  // PUSH4 the selector, to the left of the word that is returned.
  return concatHex(["0x63", takes[type], "0x60e01b60005260206000f3"]);
}

/** It uses its gas up to the last 90,000, and answers as it has to. */
export function justEnough(type: ProductType): Hex {
  // JUMPDEST; again while GAS is more.
  return concatHex(["0x5b62015f905a11600057", polite(type)]);
}

export const burnsAllGas: Hex = "0xfe";

/** It reverts with an error of the operator's. @param data a selector and a word. */
function speaksAsOperator(data: Hex): Hex {
  // MSTORE the word at 4, behind the selector at 0; REVERT with 36 bytes.
  return concatHex(["0x63", slice(data, 0, 4), "0x60e01b600052", "0x7f", slice(data, 4), "0x600452", "0x60246000fd"]);
}

const operatorErrors = parseAbi(["error IntentDone(bytes32 intent)", "error BatchGasTooLow(uint256 index)"]);

/** What else a receiver can do to the account that mints to it. */
export const hostileReceivers = {
  reverts: "0x60006000fd",
  "returns 200,000 bytes": "0x62030d406000f3",
  "reverts with 200,000 bytes": "0x62030d406000fd",
  "reverts as the operator does where gas is short": speaksAsOperator(
    encodeErrorResult({ abi: operatorErrors, errorName: "BatchGasTooLow", args: [1n] }),
  ),
  "reverts as the operator does where a request is done": speaksAsOperator(
    encodeErrorResult({ abi: operatorErrors, errorName: "IntentDone", args: [zeroHash] }),
  ),
} as const satisfies Record<string, Hex>;
