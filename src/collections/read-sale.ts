import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, hexToBigInt, slice } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { NodeFault, type RpcCall, type RpcResult } from "../rpc/endpoint.ts";
import { askNode } from "../rpc/nodes.ts";
import { calls, parseQuantity } from "../rpc/reads.ts";
import type { Services } from "../services.ts";

/** Node calls per reading: `together` for the program; if it is refused, also `apart`, which includes the chain id. */
export const callsOfSale = { together: 1, apart: 8 };

/** A collection's sale as its contract returns it. */
interface SaleReading {
  info: ReturnType<typeof infoOf>;
  minted: bigint;
  reserved: bigint;
  /** The part of its revenue that is still in the contract. */
  balanceWei: bigint;
  /** The newest block and its Unix time in seconds; on a local chain the next block's time. */
  block: bigint;
  blockTime: bigint;
}

type View = "getInfo" | "totalSupply" | "reserveRemaining";

/**
 * Reads everything that a mint page shows of a contract, from one block and in one call: a program, run as the creation
 * code of the call, queries the contract and the block, and returns the answers. If the answer is too large for that,
 * or the node does not run such a program, several calls are made.
 *
 * @param admitMore called before those.
 * @throws ServiceError `not_found` for an address without such a contract, `service_unavailable`; as `admitMore`.
 */
export async function readSaleOf(
  services: Services,
  chain: Chain,
  address: Address,
  reader: { owner: string; admitMore: (calls: number) => Promise<void> },
): Promise<SaleReading> {
  const answer = await askNode(chain, () => services.readerCalls.ask(chain, programCall(address), reader.owner));
  if (!("result" in answer)) {
    await reader.admitMore(callsOfSale.apart);
    return await readApart(services, chain, address, reader.owner);
  }
  const head = slice(answer.result as Hex, 0, headBytes);
  const [, block = 0n, blockTime = 0n, minted = 0n, reserved = 0n, balanceWei = 0n] = wordsOf(head);
  const info = found(address, () => infoOf(slice(answer.result as Hex, headBytes)));
  const clock = chain.local
    ? await askNode(chain, () => readClock(services, chain, reader.owner))
    : { block, blockTime };
  return { info, minted, reserved, balanceWei, ...clock };
}

/** Chain id, block, its time, supply, reserve, balance; the answer of `getInfo` follows. */
const headBytes = 6 * 32;
/**
 * Gas limits of the program and of each call in it: after a call that never ends, enough gas must be left to report
 * that, and a slow node must finish in time. With the longest texts, `getInfo` takes under a million.
 */
const gas = "0x7a1200";
const callGas = { count: "0f4240", info: "3d0900" };
/** Limit for `getInfo`: chains accept no more than 24,576 bytes as the result of creation code. */
const mostBytes = 23_000;

function programCall(address: Address): RpcCall {
  return {
    method: "eth_call",
    params: [{ data: programOf(address), gas }, "latest"],
    chainIn: (result) => {
      const isAnswer =
        typeof result === "string" && /^0x([0-9a-f]{2})+$/i.test(result) && result.length >= 2 + 2 * headBytes;
      return isAnswer ? Number(hexToBigInt(slice(result as Hex, 0, 32))) : null;
    },
  };
}

const selectorOf = (functionName: View): Hex => encodeFunctionData({ abi: collectionAbi, functionName });

/**
 * The program. Memory: six words of the head, then the selector of the call, which the answer of `getInfo` overwrites.
 * That answer is left out if a call failed; the program reverts if it is too large.
 */
function programOf(address: Address): Hex {
  const to = address.slice(2);
  const push4 = (functionName: View) => `63${selectorOf(functionName).slice(2)}`;
  /** STATICCALL with the selector; `size` bytes of the result are written to `at`. */
  const call = (functionName: View, at: string, size: string, most: string) =>
    `${push4(functionName)}60c052${size}${at}600460dc73${to}62${most}fa`;
  const code = [
    // CHAINID, NUMBER, TIMESTAMP into the first words.
    "46600052",
    "43602052",
    "42604052",
    // BALANCE into the sixth.
    `73${to}3160a052`,
    call("totalSupply", "6060", "6020", callGas.count),
    call("reserveRemaining", "6080", "6020", callGas.count),
    call("getInfo", "6000", "6000", callGas.info),
    // If one of the three calls failed: to `small`.
    "1616",
    "1560SMALL57",
    // RETURNDATASIZE > mostBytes: to `large`.
    `61${mostBytes.toString(16).padStart(4, "0")}3d1160LARGE57`,
    // RETURNDATACOPY after the head, and RETURN both.
    "3d600060c03e",
    "3d60c0016000f3",
  ];
  const end = code.join("").replace("SMALL", "00").replace("LARGE", "00").length / 2;
  const place = (at: number) => at.toString(16).padStart(2, "0");
  const small = "5b60c06000f3";
  const text = code
    .join("")
    .replace("SMALL", place(end))
    .replace("LARGE", place(end + small.length / 2));
  return `0x${text}${small}5b60006000fd`;
}

async function readApart(services: Services, chain: Chain, address: Address, owner: string): Promise<SaleReading> {
  const read = (functionName: View) =>
    services.readerCalls.call(chain, address, selectorOf(functionName), { owner, fresh: true });
  // Batched into one request to the node.
  const [info, minted, reserved, balanceWei, clock] = await askNode(chain, () =>
    Promise.all([
      read("getInfo"),
      read("totalSupply"),
      read("reserveRemaining"),
      services.readerCalls
        .ask(chain, calls.balance(address), owner)
        .then((answer) => parseQuantity(answer, "a balance")),
      readClock(services, chain, owner),
    ]),
  );
  return {
    info: found(address, () => infoOf(resultOf(info))),
    minted: found(address, () => countOf(resultOf(minted))),
    reserved: found(address, () => countOf(resultOf(reserved))),
    balanceWei,
    ...clock,
  };
}

/**
 * Maps the answer of another kind of contract to `not_found`, since it is not the node's failure.
 *
 * @throws ServiceError `not_found`.
 */
function found<T>(address: Address, run: () => T): T {
  try {
    return run();
  } catch {
    // Bytes of another contract.
    throw new ServiceError("not_found", `there is no collection of this kind at ${address}`, { field: "collection" });
  }
}

function resultOf(answer: RpcResult): Hex {
  if ("result" in answer) return answer.result as Hex;
  throw new Error("the contract refused");
}

const infoOf = (data: Hex) => decodeFunctionResult({ abi: collectionAbi, functionName: "getInfo", data });
const countOf = (data: Hex) => decodeFunctionResult({ abi: collectionAbi, functionName: "totalSupply", data });

function wordsOf(head: Hex): bigint[] {
  return Array.from({ length: headBytes / 32 }, (_, at) => hexToBigInt(slice(head, 32 * at, 32 * at + 32)));
}

/** A local chain makes no block until a transaction is sent, so its clock is the time of the pending block. */
async function readClock(
  services: Services,
  chain: Chain,
  owner: string,
): Promise<{ block: bigint; blockTime: bigint }> {
  const tags = chain.local ? ["latest", "pending"] : ["latest"];
  const answers = await Promise.all(
    tags.map((tag) => services.readerCalls.ask(chain, { method: "eth_getBlockByNumber", params: [tag, false] }, owner)),
  );
  type Header = { number?: unknown; timestamp?: unknown } | null;
  const [header = null, next = header] = answers.map((answer) =>
    "result" in answer ? (answer.result as Header) : null,
  );
  const quantity = (value: unknown): bigint => {
    if (typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value)) return BigInt(value);
    throw new NodeFault("the newest block has no number or time");
  };
  return { block: quantity(header?.number), blockTime: quantity((next ?? header)?.timestamp) };
}
