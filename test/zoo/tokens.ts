import { encodeDeployData, encodeFunctionData, type Hex, keccak256, stringToBytes, toHex } from "viem";
import { compileSolidity } from "../setup/compile.ts";
import type { HonestNode } from "./honest-node.ts";

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
contract Tokens is ERC721("Tokens", "T") {
  function mint(address to, uint256 first, uint256 count) external {
    for (uint256 id = first; id < first + count; id++) _mint(to, id);
  }
}`;

export interface Log {
  address: Hex;
  topics: Hex[];
  blockHash: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  logIndex: Hex;
}

export interface Block {
  hash: Hex;
  number: Hex;
  transactions: { hash: Hex }[];
}

/** A chain with tokens, and what is true of it. */
export interface Tokens {
  address: Hex;
  fromBlock: Hex;
  toBlock: Hex;
  /** Each transfer once, in order. */
  transfers: string[];
  /** A block with several transfers in two transactions. */
  busy: { block: Block; transfers: string[] };
}

export const transferTopic = keccak256(stringToBytes("Transfer(address,address,uint256)"));
const blocks = 40;
const busyAt = 20;

/** What makes a transfer that one and no other, as text. */
export function transferOf({ blockNumber, blockHash, transactionHash, logIndex, topics }: Log): string {
  return [Number(blockNumber), blockHash, transactionHash, Number(logIndex), ...topics.slice(1)].join(" ");
}

/** Bytes that deploy the contract of the tokens. */
export function deployTokens(): Hex {
  const contract = compileSolidity(source)["Tokens"];
  if (!contract) throw new Error("Tokens was not compiled");
  return encodeDeployData({ ...contract, args: [] });
}

/** Mints over some blocks, every third of which is empty; nothing of them changes any more. */
export async function mintTokens(node: HonestNode): Promise<Tokens> {
  const { abi } = compileSolidity(source)["Tokens"] ?? {};
  if (!abi) throw new Error("Tokens was not compiled");
  const [from = "0x"] = await node.result<Hex[]>("eth_accounts");
  const send = (fields: object) =>
    node.result<Hex>("eth_sendTransaction", [{ from, gas: toHex(5_000_000), ...fields }]);
  const receipt = await node.result<{ contractAddress: Hex; blockNumber: Hex }>("eth_getTransactionReceipt", [
    await send({ data: deployTokens() }),
  ]);
  const address = receipt.contractAddress;
  let first = 0;
  const mint = async (count: number) => {
    const args = [from, BigInt(first), BigInt(count)];
    first += count;
    await send({ to: address, data: encodeFunctionData({ abi, functionName: "mint", args }) });
  };
  const start = Number(receipt.blockNumber) + 1;
  for (let index = 0; index < blocks; index++) {
    if (index === busyAt) {
      await node.result("evm_setAutomine", [false]);
      await mint(2);
      await mint(3);
      await node.result("evm_mine");
      await node.result("evm_setAutomine", [true]);
    } else if (index % 3 === 1) await node.result("evm_mine");
    else await mint(1 + (index % 2));
  }
  const [fromBlock, toBlock] = [toHex(start), toHex(start + blocks - 1)];
  node.lastFixed = start + blocks - 1;
  const logs = await node.result<Log[]>("eth_getLogs", [{ address, fromBlock, toBlock, topics: [transferTopic] }]);
  const block = await node.result<Block>("eth_getBlockByNumber", [toHex(start + busyAt), true]);
  const ofBusy = logs.filter(({ blockHash }) => blockHash === block.hash);
  const busy = { block, transfers: ofBusy.map(transferOf) };
  if (logs.length < blocks / 2 || ofBusy.length !== 5 || block.transactions.length !== 2)
    throw new Error("the chain has not the tokens that were minted");
  return { address, fromBlock, toBlock, transfers: logs.map(transferOf), busy };
}
