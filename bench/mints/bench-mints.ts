// Mints per second and gas per mint, single and batched, compared with a loop without guarantees, by `npm start`.
//   node bench/mints/bench-mints.ts [--mints 600] [--concurrent 20] [--batch 20] [--warm 100]
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import pg from "pg";
import { type Address, encodeFunctionData, type Hash, parseAbi } from "viem";
import { uriOf } from "../../test/chaos/mint-asks.ts";
import { inParallel, percentiles, round, startBenchStack } from "../bench-stack.ts";
import { PlainLoop, untilMined } from "../plain-loop.ts";

const { values } = parseArgs({
  options: {
    mints: { type: "string", default: "600" },
    concurrent: { type: "string", default: "20" },
    batch: { type: "string", default: "20" },
    // A process is slow until its code is compiled.
    warm: { type: "string", default: "100" },
  },
});
const mints = Number(values.mints);
const concurrent = Number(values.concurrent);
const perBatch = Number(values.batch);
const product721 = parseAbi([
  "function mintToCaller(address caller, uint256 tokenId, string tokenURI) returns (uint256)",
]);
const product1155 = parseAbi([
  "function mintByOwnerBatch(address[] to, uint256[] ids, uint256[] amounts, string[] uris)",
]);

const stack = await startBenchStack();
const database = new pg.Client({ connectionString: stack.ready.databaseUrl });
await database.connect();
try {
  const loop = await PlainLoop.start(stack);
  const erc721 = await deploy("erc721", loop.address);
  const erc1155 = await deploy("erc1155", loop.address);
  const warm = Number(values.warm);
  await mintSingle(erc721, 0, warm);
  await mintLists(erc721, 800_000, Math.ceil(warm / perBatch));
  await mintBatches(erc1155, 800_000, Math.ceil(warm / perBatch));
  const single = await mintSingle(erc721, warm, mints);
  const listed = await mintLists(erc721, 400_000, Math.ceil(mints / perBatch));
  const batched = await mintBatches(erc1155, 200_000, Math.ceil(mints / perBatch));
  const plainSingle = await loop.measure(mints, concurrent, (index) => ({
    ...{ to: erc721, gas: 200_000n },
    data: encodeFunctionData({
      ...{ abi: product721, functionName: "mintToCaller" },
      args: [recipient(100_000 + index), BigInt(index), uriOf(`plain ${index}`)],
    }),
  }));
  const plainBatched = await loop.measure(Math.ceil(mints / perBatch), Math.min(concurrent, 5), (index) => {
    const ids = Array.from({ length: perBatch }, (_, at) => 1_000_000 + index * perBatch + at);
    return {
      ...{ to: erc1155, gas: 150_000n * BigInt(perBatch) },
      data: encodeFunctionData({
        ...{ abi: product1155, functionName: "mintByOwnerBatch" },
        args: [ids.map(recipient), ids.map(BigInt), ids.map(() => 1n), ids.map((id) => uriOf(`plain ${id}`))],
      }),
    };
  });
  const figures = {
    ...{ mints, concurrent, perBatch, warm },
    service: { single, listed, batched },
    plain: { single: plainSingle, batched: ofBatches(plainBatched) },
    cores: cpus().length,
    load: loadavg().map(round),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  await database.end();
  await stack.stop();
}

/** Recipients without tokens: the most expensive case, as in a sale. */
function recipient(index: number): Address {
  return `0x${(index + 1).toString(16).padStart(40, "c")}`;
}

/** Deployed by the service; the plain loop's wallet may mint in it too. */
async function deploy(type: string, minter: Address): Promise<Address> {
  const { text } = await stack.post(`${stack.ready.rest}/contracts`, {
    ...{ chain: "goerli", name: `Bench ${type}`, symbol: "BEN", owner_address: recipient(0), type },
    roles: [{ role: "mint", addresses: [minter] }],
  });
  const { transaction_hash: hash } = JSON.parse(text) as { transaction_hash?: string };
  if (!hash) throw new Error(`no contract: ${text}`);
  const headers = { authorization: stack.ready.apiKey };
  for (let tries = 0; tries < 200; tries += 1) {
    const found = await fetch(`${stack.ready.rest}/contracts/${hash}?chain=goerli`, { headers });
    const { contract_address: address } = (await found.json()) as { contract_address?: Address };
    if (address) return address;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("the contract does not stand");
}

async function mintSingle(contract: Address, from: number, count: number) {
  return await measure(from, count, concurrent, 1, (index) => ({
    path: "/mints/customizable",
    body: { contract_address: contract, metadata_uri: uriOf(`bench ${index}`), mint_to_address: recipient(index) },
  }));
}

/** Over GraphQL with a key, in the ERC-721 contract: each token is a request; waiting requests share transactions. */
async function mintLists(contract: Address, first: number, count: number) {
  const query = `mutation ($contract: Address!, $tokens: [MintTokenInput!]!, $key: String!) {
    mintBatch(chain: "goerli", contract: $contract, tokens: $tokens, idempotencyKey: $key) { requests { id } userErrors { code } } }`;
  return await measure(0, count, Math.min(concurrent, 5), perBatch, (index) => ({
    path: "/graphql",
    body: {
      query,
      variables: {
        contract,
        key: `list-${first + index}`,
        tokens: Array.from({ length: perBatch }, (_, at) => {
          const id = first + index * perBatch + at;
          return { to: recipient(id), uri: uriOf(`list ${id}`) };
        }),
      },
    },
  }));
}

async function mintBatches(contract: Address, first: number, count: number) {
  return await measure(0, count, Math.min(concurrent, 5), perBatch, (index) => ({
    path: "/mints/customizable/batch",
    body: {
      contract_address: contract,
      tokens: Array.from({ length: perBatch }, (_, at) => {
        const id = first + index * perBatch + at;
        return { mint_to_address: recipient(id), token_id: id, metadata_uri: uriOf(`batch ${id}`), quantity: 1 };
      }),
    },
  }));
}

interface Answer {
  transaction_hash?: Hash;
  data?: { mintBatch: { userErrors: unknown[] } | null };
}

/** Whether everything in a request was signed. */
function isDone({ transaction_hash: hash, data }: Answer): boolean {
  return hash !== undefined || data?.mintBatch?.userErrors.length === 0;
}

async function headOf(): Promise<number> {
  return Number(await stack.rpc<string>("eth_blockNumber", []));
}

/** Number of nonces that the service has assigned. */
async function nextNonce(): Promise<number> {
  const { rows } = await database.query<{ next: number }>(
    "SELECT max(next_nonce)::int AS next FROM service.relayer_wallet",
  );
  return rows[0]?.next ?? 0;
}

/** Receipts of the service's own transactions, from blocks: an answer cannot know which attempt will be mined. */
async function receiptsSince(block: number) {
  const receipts: { from: string; gasUsed: string; status: string }[] = [];
  const head = await headOf();
  for (let number = block + 1; number <= head; number += 1) {
    const at = `0x${number.toString(16)}`;
    const { transactions } = await stack.rpc<{ transactions: Hash[] }>("eth_getBlockByNumber", [at, false]);
    for (const hash of transactions) receipts.push(await stack.rpc("eth_getTransactionReceipt", [hash]));
  }
  return receipts.filter(({ from }) => from.toLowerCase() === stack.ready.relayer.toLowerCase());
}

/** @param tokens per request. @returns figures per token, except `ms`, which is per request. */
async function measure(
  from: number,
  count: number,
  atOnce: number,
  tokens: number,
  requestOf: (index: number) => { path: string; body: object },
) {
  const times: number[] = [];
  let refused = 0;
  const before = await headOf();
  const begun = performance.now();
  await inParallel(from, count, atOnce, async (index) => {
    const { path, body } = requestOf(index);
    const sent = performance.now();
    const { status, text } =
      path === "/graphql"
        ? await stack.post(stack.ready.rest.replace(/\/v0$/, path), body)
        : await stack.post(`${stack.ready.rest}${path}`, { chain: "goerli", ...body });
    times.push(performance.now() - sent);
    if (status !== 200 || !isDone(JSON.parse(text) as Answer)) refused += 1;
  });
  const minted = (count - refused) * tokens;
  const answered = (performance.now() - begun) / 1000;
  await untilMined(stack, stack.ready.relayer, await nextNonce());
  const mined = (performance.now() - begun) / 1000;
  const receipts = await receiptsSince(before);
  const gas = receipts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
  return {
    ...{ ms: percentiles(times), refused, transactions: receipts.length },
    reverted: receipts.filter(({ status }) => status !== "0x1").length,
    perSecond: round(minted / answered),
    minedPerSecond: round(minted / mined),
    gas: Math.round(gas / minted),
  };
}

function ofBatches(figures: Awaited<ReturnType<PlainLoop["measure"]>>) {
  const { perSecond, minedPerSecond, gas } = figures;
  const each = { perSecond: round(perSecond * perBatch), minedPerSecond: round(minedPerSecond * perBatch) };
  return { ...figures, ...each, gas: Math.round(gas / perBatch) };
}
