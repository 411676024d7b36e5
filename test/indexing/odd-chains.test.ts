import { pino } from "pino";
import { encodeFunctionData, type Hex, keccak256 } from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { slowness } from "../setup/wait.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";
import { type Fields, fullBloom, type OddChain, type Oddities, startOddChain, zeroBloom } from "./odd-chain.ts";

const open: { stop(): Promise<unknown> }[] = [];
const lines: string[] = [];
const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
let node: Anvil;
/** Numbers of a block with logs and of one that has a transaction and none, and the head's. */
let busy: Hex;
let quiet: Hex;
let head: Hex;
let say: (...ids: bigint[]) => Promise<unknown>;

beforeAll(async () => {
  node = await startAnvil();
  const nft = await node.deploy(hostileContract());
  say = (...ids) => {
    const logs = ids.map((id) => ({ topics: [transferTopic, word(0n), word(7n), word(id)], data: "0x" }));
    return node.send(nft.address, encodeFunctionData({ abi: nft.abi, functionName: "say", args: [logs] }));
  };
  await say(1n, 2n);
  await say(3n);
  await node.mine();
  busy = await node.rpc("eth_blockNumber");
  await node.send(node.account(1), "0x");
  await node.mine();
  quiet = await node.rpc("eth_blockNumber");
  await node.mine();
  await say(4n);
  await node.mine();
  head = await node.rpc("eth_blockNumber");
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
  lines.length = 0;
});
afterAll(async () => {
  await node?.stop();
});

async function odd(oddities: Oddities): Promise<OddChain> {
  const started = await startOddChain(node.url, oddities);
  open.push(started);
  return started;
}

async function gateway(verification: "proofs" | "logs" | "off", ...nodes: OddChain[]): Promise<RpcGateway> {
  const id = nodes[0]?.oddities.chainId ?? 31337;
  const settings = { name: "goerli", id, verification, requestsPerSecond: 0, lagTimeoutMs: 60_000, local: false };
  const urls = nodes.map(({ url }) => url);
  const started = await startRpcGateway(settings, urls, log);
  open.push({ stop: started.close });
  return started;
}

/** What the healthy node has, without what is another chain's: hashes of blocks. */
const honest = async (from: Hex, to: Hex) =>
  (await node.rpc<Fields[]>("eth_getLogs", [{ fromBlock: from, toBlock: to, topics: [transferTopic] }])).map(part);
const part = ({ address, topics, data, blockNumber, logIndex, transactionHash }: Fields) => ({
  ...{ address, topics, data, blockNumber, logIndex, transactionHash },
});

/** As Ponder follows a chain: each block, and its logs unless its filter of bits leaves them out. */
async function followed(chain: RpcGateway, from: Hex, to: Hex): Promise<Fields[]> {
  const logs: Fields[] = [];
  for (let number = Number(from); number <= Number(to); number += 1) {
    const block = (await chain.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, true])) as Fields;
    const found = (await chain.request("eth_getLogs", [{ blockHash: block["hash"] }])) as Fields[];
    // What Ponder stops at: it believes an empty list only where the filter is zeros.
    if (found.length === 0) expect(block["logsBloom"]).toBe(zeroBloom);
    logs.push(...found);
  }
  return logs.map(part);
}

test.each([
  ["proofs", "zeros", zeroBloom, 1],
  ["proofs", "zeros", zeroBloom, 2],
  ["proofs", "ones", fullBloom, 2],
  ["logs", "zeros", zeroBloom, 1],
  ["logs", "zeros", zeroBloom, 2],
  ["logs", "ones", fullBloom, 1],
  ["logs", "ones", fullBloom, 2],
  ["logs", "not there", "0x", 1],
  ["logs", "not there", "0x", 2],
] as const)("%s: a chain whose filters are %s is indexed with all its logs (%#)", async (mode, _, bloom, endpoints) => {
  const nodes = await Promise.all(Array.from({ length: endpoints }, () => odd({ bloom })));
  const range = [{ fromBlock: "0x0", toBlock: head, topics: [transferTopic] }];
  const chain = await gateway(mode, ...nodes);
  const expected = await honest("0x0", head);
  expect(expected).toHaveLength(4);
  expect(await followed(chain, "0x0", head)).toEqual(expected);
  expect(((await chain.request("eth_getLogs", range)) as Fields[]).map(part)).toEqual(expected);
  expect(chain.unproven()).toEqual(["blooms"]);
  expect(lines.filter((line) => line.includes("logsBloom of this chain"))).toHaveLength(1);
});

test("proofs: the receipts of a block whose filter is zeros are asked for only until the chain's filters have proved right", async () => {
  const plain = await odd({});
  const chain = await gateway("proofs", plain);
  await followed(chain, quiet, quiet);
  expect(plain.asked.filter((method) => method === "eth_getBlockReceipts")).toHaveLength(1);
  await followed(chain, busy, head);
  // Of the two blocks with logs.
  expect(plain.asked.filter((method) => method === "eth_getBlockReceipts")).toHaveLength(3);
  expect(chain.unproven()).toEqual([]);
});

test("logs: on a chain that uses its filters one endpoint of two cannot add logs to a block", async () => {
  const invented = (result: unknown) =>
    (result as Fields[]).length > 0 ? result : [{ ...logOf(quiet), blockHash: hash }];
  let hash: unknown;
  const liar = await odd({ answer: (method, _, result) => (method === "eth_getLogs" ? invented(result) : result) });
  const chain = await gateway("logs", liar, await odd({}));
  ({ hash } = (await chain.request("eth_getBlockByNumber", [quiet, false])) as Fields);
  expect(await followed(chain, busy, quiet)).toEqual(await honest(busy, quiet));
  expect(chain.unproven()).toEqual([]);
});

test("logs: where filters say nothing a hole in one endpoint's logs is not taken in, and the others decide", async () => {
  const short = await odd({
    bloom: zeroBloom,
    answer: (method, _, result) => (method === "eth_getLogs" ? (result as Fields[]).slice(0, -1) : result),
  });
  const [whole, other] = [await odd({ bloom: zeroBloom }), await odd({ bloom: zeroBloom })];
  const two = await gateway("logs", short, whole);
  await expect(followed(two, busy, busy)).rejects.toThrow(/different logs of block.*RPC_URL_GOERLI/);
  const three = await gateway("logs", short, whole, other);
  expect(await followed(three, "0x0", head)).toEqual(await honest("0x0", head));
});

/** Receipts whose root is not in the header: this chain's gas is counted otherwise. */
const oddReceipts = (method: string, _: unknown[], result: unknown) =>
  method === "eth_getBlockReceipts"
    ? (result as Fields[]).map((receipt) => ({ ...receipt, cumulativeGasUsed: "0x1" }))
    : result;

test.each([1, 2])(
  "proofs: a chain whose receipts do not give its roots is indexed by agreement (%i endpoints)",
  async (count) => {
    const nodes = await Promise.all(Array.from({ length: count }, () => odd({ answer: oddReceipts })));
    const chain = await gateway("proofs", ...nodes);
    expect(await followed(chain, "0x0", head)).toEqual(await honest("0x0", head));
    expect(chain.unproven()).toEqual(["receipts"]);
    expect(lines.filter((line) => line.includes("do not give the receiptsRoot"))).toHaveLength(1);
  },
);

test("proofs: two endpoints that disagree prove nothing where receipts do not", async () => {
  const short = await odd({
    answer: (method, params, result) =>
      method === "eth_getLogs" ? (result as Fields[]).slice(0, -1) : oddReceipts(method, params, result),
  });
  const chain = await gateway("proofs", short, await odd({ answer: oddReceipts }));
  await expect(followed(chain, busy, busy)).rejects.toThrow(/not those that the block's header commits to/);
  // A single endpoint that contradicts itself is not believed either.
  await expect(followed(await gateway("proofs", short), busy, busy)).rejects.toThrow(/header commits to/);
});

test.each(["proofs", "logs"] as const)(
  "%s: a chain whose transactions have gaps in their positions is indexed",
  async (mode) => {
    // Every position is one more.
    const later = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (key, field) =>
        key === "transactionIndex" && field !== null ? `0x${(Number(field) + 1).toString(16)}` : field,
      );
    const gaps = {
      answer: (method: string, _: unknown[], result: unknown) => (/Block|Logs/.test(method) ? later(result) : result),
    };
    const chain = await gateway(mode, await odd(gaps), await odd(gaps));
    expect(await followed(chain, "0x0", head)).toEqual(await honest("0x0", head));
    expect(chain.unproven()).toContain("positions");
  },
);

test.each([1, 2])(
  "proofs: a list that lacks what the header's filter promises is refused, also where %i endpoints agree",
  async (count) => {
    const empty: Oddities = {
      answer: (method, _, result) =>
        method === "eth_getLogs" ? [] : method === "eth_getBlockReceipts" ? null : result,
    };
    const chain = await gateway("proofs", ...(await Promise.all(Array.from({ length: count }, () => odd(empty)))));
    await expect(followed(chain, busy, busy)).rejects.toThrow();
    expect(chain.unproven()).toEqual([]);
  },
);

test.each([
  ["empty", zeroBloom],
  ["not there", "0x"],
  ["of ones", fullBloom],
] as const)(
  "logs: one endpoint's block whose filter is %s and does not give the block's hash is taken from another, and hides no logs",
  async (_, logsBloom) => {
    const lies: Oddities = {
      answer: (method, _params, result) =>
        method === "eth_getLogs"
          ? []
          : method.startsWith("eth_getBlockBy") && (result as Fields)["number"] === busy
            ? { ...(result as Fields), logsBloom }
            : result,
    };
    const alone = await gateway("logs", await odd(lies));
    const chain = await gateway("logs", await odd(lies), await odd({}));
    for (const one of [alone, chain]) await one.request("eth_getBlockByNumber", [quiet, true]);
    const right = await node.rpc<Fields>("eth_getBlockByNumber", [busy, true]);
    expect(await chain.request("eth_getBlockByNumber", [busy, true])).toEqual(right);
    expect(await followed(chain, busy, busy)).toEqual(await honest(busy, busy));
    expect(chain.health()[0]?.fault?.words).toBe("the block's fields do not give its hash");
    // With zeros Ponder asks for the logs; with any other filter it leaves out what that does not hold.
    const only = (await alone.request("eth_getBlockByNumber", [busy, true])) as Fields;
    expect(only["logsBloom"]).toBe(zeroBloom);
  },
);

test.each([1, 2])(
  "logs: %i endpoints of a chain whose headers have a new field since a fork are believed as before",
  async (count) => {
    const forked: Oddities = {
      answer: (method, _, result) =>
        method.startsWith("eth_getBlockBy") && Number((result as Fields)["number"]) > Number(quiet)
          ? { ...(result as Fields), extraData: "0x1234" }
          : result,
    };
    const nodes = await Promise.all(Array.from({ length: count }, () => odd(forked)));
    const chain = await gateway("logs", ...nodes);
    await chain.request("eth_getBlockByNumber", [quiet, true]);
    for (let mined = Number(await node.head()) - Number(quiet); mined < 20; mined += 1) await node.mine();
    await say(5n);
    await node.mine();
    const last = await node.rpc<string>("eth_blockNumber");
    for (let number = Number(quiet) + 1; number <= Number(last); number += 1)
      await chain.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, true]);
    const block = (await chain.request("eth_getBlockByNumber", [last, true])) as Fields;
    expect(block["logsBloom"]).toBe((await node.rpc<Fields>("eth_getBlockByNumber", [last, false]))["logsBloom"]);
    for (const one of nodes) one.asked.length = 0;
    expect(await chain.request("eth_getLogs", [{ blockHash: block["hash"] }])).toHaveLength(1);
    // An endpoint that was slow before is asked for its chain again, which says nothing about logs.
    expect(nodes.flatMap(({ asked }) => asked).filter((method) => method !== "eth_chainId")).toEqual(["eth_getLogs"]);
    expect(lines.filter((line) => line.includes("headers of this chain have fields"))).toHaveLength(1);
    if (count === 2) expect(chain.health()[1]?.fault).toBeNull();
  },
);

test.each(["blockHash", "transactionHash"])(
  "logs: logs of a wrong %s come from the next endpoint once their block has shown it, and at once where the block is known",
  async (field) => {
    const lies: Oddities = {
      answer: (method, [filter], result) =>
        method === "eth_getLogs" && (filter as Fields)["address"] === undefined
          ? (result as Fields[]).map((one) => ({ ...one, [field]: `0xe91b${String(one[field]).slice(6)}` }))
          : result,
    };
    const nodes = [await odd(lies), await odd({})] as const;
    const range = [{ fromBlock: busy, toBlock: busy, topics: [transferTopic] }];
    const right = await node.rpc<Fields[]>("eth_getLogs", range);
    const chain = await gateway("logs", ...nodes);
    const given = async () => (await chain.request("eth_getLogs", range)) as Fields[];
    expect((await given())[0]?.[field]).not.toBe(right[0]?.[field]);
    // Ponder asks for each event by itself, and an endpoint need not lie about all.
    await chain.request("eth_getLogs", [{ fromBlock: busy, toBlock: busy, address: right[0]?.["address"] }]);
    await chain.request("eth_getBlockByNumber", [busy, true]);
    expect((await given()).map((one) => one[field])).toEqual(right.map((one) => one[field]));
    expect(chain.health().map(({ state }) => state)).toEqual(["rests", "used"]);
    expect(chain.health()[0]?.fault).toMatchObject({ class: "unbelieved", words: "its logs contradict their block" });
    const live = await gateway("logs", ...nodes);
    expect(await followed(live, busy, busy)).toEqual(await honest(busy, busy));
  },
);

test("logs: a block that contradicts another endpoint's logs is asked of that one, which is not distrusted for it", async () => {
  let withoutBlock = 0;
  const first = await odd({
    answer: (method, _, result) => (method.startsWith("eth_getBlockBy") && withoutBlock-- > 0 ? null : result),
  });
  const liar = await odd({
    answer: (method, _, result) =>
      method.startsWith("eth_getBlockBy")
        ? {
            ...(result as Fields),
            transactions: ((result as Fields)["transactions"] as Fields[]).map((one) => ({ ...one, hash: word(9n) })),
          }
        : result,
  });
  const range = [{ fromBlock: busy, toBlock: busy, topics: [transferTopic] }];
  const right = await node.rpc<Fields>("eth_getBlockByNumber", [busy, true]);
  const chain = await gateway("logs", first, liar);
  await chain.request("eth_getLogs", range);
  withoutBlock = 1;
  expect(await chain.request("eth_getBlockByNumber", [busy, true])).toEqual(right);
  expect(chain.health()[0]?.faults.has("unbelieved")).toBe(false);
  // Where the first one stays away the other is believed: Ponder decides, and asks anew.
  const stays = await gateway("logs", first, liar);
  await stays.request("eth_getLogs", range);
  withoutBlock = 100;
  const given = (await stays.request("eth_getBlockByNumber", [busy, true])) as Fields;
  expect((given["transactions"] as Fields[])[0]?.["hash"]).toBe(word(9n));
});

test.each(["gives no block", "gives a block that does not prove its hash"])(
  "logs: an endpoint whose logs are wrong and that %s is not asked for them again when Ponder starts anew",
  async (how) => {
    const liar = await odd({
      answer: (method, _, result) => {
        if (method === "eth_getLogs") return (result as Fields[]).map((one) => ({ ...one, transactionHash: word(9n) }));
        if (!method.startsWith("eth_getBlockBy") || (result as Fields)["number"] !== busy) return result;
        return how === "gives no block" ? null : { ...(result as Fields), extraData: "0x1234" };
      },
    });
    const chain = await gateway("logs", liar, await odd({}));
    const range = [{ fromBlock: busy, toBlock: busy, topics: [transferTopic] }];
    await chain.request("eth_getBlockByNumber", [quiet, true]);
    await chain.request("eth_getLogs", range);
    const right = await node.rpc<Fields>("eth_getBlockByNumber", [busy, true]);
    expect(await chain.request("eth_getBlockByNumber", [busy, true])).toEqual(right);
    expect(((await chain.request("eth_getLogs", range)) as Fields[]).map(part)).toEqual(await honest(busy, busy));
  },
);

test("logs: an endpoint that hangs does not keep back a block that another one's logs contradict", async () => {
  let hasLogs = false;
  let hangs = false;
  const first = await odd({ answer: (method, _, result) => (method === "eth_getLogs" && !hasLogs ? null : result) });
  const second = await odd({
    answer: (method, _, result) => {
      if (method === "eth_getLogs") return (result as Fields[]).map((one) => ({ ...one, transactionHash: word(9n) }));
      return hangs ? new Promise(() => undefined) : result;
    },
  });
  const chain = await gateway("logs", first, second);
  await chain.request("eth_getLogs", [{ fromBlock: busy, toBlock: busy, topics: [transferTopic] }]);
  [hasLogs, hangs] = [true, true];
  // Ponder waits for ten seconds.
  const response = await fetch(chain.url, {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: [busy, true] }),
    signal: AbortSignal.timeout(9_000 * slowness),
  });
  expect(((await response.json()) as { result: unknown }).result).toEqual(
    await node.rpc("eth_getBlockByNumber", [busy, true]),
  );
});

test("logs: on a chain whose headers never prove their hash a later filter of a block takes the place of an earlier one", async () => {
  let isEarly = true;
  const chain = await gateway(
    "logs",
    await odd({
      answer: (method, _, result) =>
        method.startsWith("eth_getBlockBy")
          ? { ...(result as Fields), extraData: "0x1234", ...(isEarly ? { logsBloom: zeroBloom } : {}) }
          : result,
    }),
  );
  await chain.request("eth_getBlockByNumber", [busy, true]);
  isEarly = false;
  expect(await followed(chain, busy, busy)).toEqual(await honest(busy, busy));
  expect(chain.unproven()).toEqual([]);
});

test.each(["proofs", "logs"] as const)(
  "%s: a chain whose blocks use gas for what they do not list is indexed, and one endpoint's empty list is a hole",
  async (mode) => {
    const hides: Oddities = {
      answer: (method, _, result) =>
        method.startsWith("eth_getBlockBy") && (result as Fields)["number"] === quiet
          ? { ...(result as Fields), transactions: [] }
          : result,
    };
    const whole = await gateway(mode, await odd(hides), await odd({}));
    const block = (await whole.request("eth_getBlockByNumber", [quiet, true])) as { transactions: unknown[] };
    expect(block.transactions).toHaveLength(1);
    expect(whole.unproven()).not.toContain("positions");
    const chain = await gateway(mode, await odd(hides), await odd(hides));
    expect(await followed(chain, "0x0", head)).toEqual(await honest("0x0", head));
    expect(chain.unproven()).toContain("positions");
  },
);

test("a transaction that one of two endpoints leaves out is no gap of the chain", async () => {
  const short = (method: string, params: unknown[], result: unknown) =>
    method.startsWith("eth_getBlockBy") && params[1] === true
      ? { ...(result as Fields), transactions: ((result as Fields)["transactions"] as unknown[]).slice(1) }
      : result;
  const chain = await gateway("logs", await odd({ answer: short }), await odd({}));
  const block = (await chain.request("eth_getBlockByNumber", [busy, true])) as { transactions: unknown[] };
  expect(block.transactions).toHaveLength(2);
  expect(chain.unproven()).toEqual([]);
});

/** Polygon before the fork of 2025: at the end of a sprint a transaction that neither root nor filter of the header have. */
const stateSync = (end: { number: Hex }, edit = (logs: Fields[]) => logs): Oddities => ({
  chainId: 137,
  answer: (method, params, result) => {
    const [asked] = params as (Fields | Hex)[];
    const isEnd = (block: Fields) => block["number"] === end.number;
    if (method.startsWith("eth_getBlockBy") && isEnd(result as Fields)) {
      const block = result as Fields;
      const transactions = block["transactions"] as Fields[];
      const hash = borHash(Number(end.number), String(block["hash"]) as Hex);
      sprintHashes.set(String(block["hash"]), hash);
      const index = `0x${transactions.length.toString(16)}`;
      const added = params[1]
        ? { blockHash: block["hash"], hash, transactionIndex: index, from: `0x${"0".repeat(40)}` }
        : hash;
      return { ...block, transactions: [...transactions, added] };
    }
    const logsAt = (blockHash: string, position: number, index: number) =>
      edit([
        {
          ...{ address: `0x${"22".repeat(20)}`, topics: [transferTopic, word(0n), word(8n), word(77n)], data: "0x" },
          ...{ blockHash, blockNumber: end.number, transactionHash: sprintHashes.get(blockHash), removed: false },
          ...{ transactionIndex: `0x${position.toString(16)}`, logIndex: `0x${index.toString(16)}` },
        },
      ]);
    if (method === "eth_getBlockReceipts" && sprintHashes.has(asked as Hex)) {
      const receipts = result as Fields[];
      const count = receipts.flatMap((receipt) => receipt["logs"]).length;
      const logs = logsAt(asked as Hex, receipts.length, count);
      const receipt = {
        transactionHash: sprintHashes.get(asked as Hex),
        cumulativeGasUsed: "0x0",
        logsBloom: zeroBloom,
      };
      return [...receipts, { ...receipt, transactionIndex: `0x${receipts.length.toString(16)}`, status: "0x1", logs }];
    }
    const hash = String((asked as Fields | undefined)?.["blockHash"]);
    if (method === "eth_getLogs" && sprintHashes.has(hash))
      return [...(result as Fields[]), ...logsAt(hash, sprintCount, (result as Fields[]).length)];
    return result;
  },
});
const sprintHashes = new Map<string, Hex>();
/** By another implementation than ours: what Bor hashes, as bytes. */
const borHash = (number: number, hash: Hex): Hex => {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(number));
  return keccak256(Buffer.concat([Buffer.from("matic-bor-receipt-"), key, Buffer.from(hash.slice(2), "hex")]));
};
let sprintCount = 0;

test.each([
  ["proofs", 2],
  ["proofs", 1],
  ["logs", 2],
] as const)(
  "%s: Polygon's state-sync logs are in the index, and the others of their block proved (%i endpoints)",
  async (mode, count) => {
    const end = await sprintEnd();
    const nodes = await Promise.all(Array.from({ length: count }, () => odd(stateSync(end))));
    const chain = await gateway(mode, ...nodes);
    const logs = await followed(chain, end.number, end.number);
    expect(logs.slice(0, -1)).toEqual(await honest(end.number, end.number));
    expect(logs.at(-1)).toMatchObject({
      address: `0x${"22".repeat(20)}`,
      topics: [transferTopic, word(0n), word(8n), word(77n)],
    });
    expect(chain.unproven()).toEqual(["receipts"]);
  },
);

test("proofs: one endpoint of Polygon can neither drop nor invent state-sync logs, nor change other logs of the block", async () => {
  const end = await sprintEnd();
  const without = await odd(stateSync(end, () => []));
  const [whole, other] = [await odd(stateSync(end)), await odd(stateSync(end))];
  await expect(followed(await gateway("proofs", without, whole), end.number, end.number)).rejects.toThrow(
    /different logs/,
  );
  expect(await followed(await gateway("proofs", without, whole, other), end.number, end.number)).toHaveLength(2);
  const { answer } = stateSync(end);
  const moved = (method: string, params: unknown[], result: unknown) => {
    const all = answer?.(method, params, result);
    if (method !== "eth_getLogs") return all;
    return (all as Fields[]).map((log, index) => (index === 0 ? { ...log, data: "0x01" } : log));
  };
  const [first, second] = [await odd({ chainId: 137, answer: moved }), await odd({ chainId: 137, answer: moved })];
  await expect(followed(await gateway("proofs", first, second), end.number, end.number)).rejects.toThrow(
    /header commits to/,
  );
});

/** The next block whose number Bor's sprints end with; it has a transfer. */
async function sprintEnd(): Promise<{ number: Hex }> {
  const number = Number(await node.rpc("eth_blockNumber"));
  const next = Math.floor(number / 16 + 1) * 16;
  if (next - number > 1) await node.rpc("anvil_mine", [`0x${(next - number - 1).toString(16)}`]);
  await say(5n);
  await node.mine();
  sprintCount = 1;
  return { number: `0x${next.toString(16)}` };
}

const logOf = (blockNumber: Hex) => ({
  address: `0x${"11".repeat(20)}`,
  topics: [transferTopic, word(0n), word(7n), word(99n)],
  data: "0x",
  blockNumber,
  logIndex: "0x0",
  transactionHash: word(1n),
  transactionIndex: "0x0",
  removed: false,
});
