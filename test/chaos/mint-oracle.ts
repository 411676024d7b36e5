import {
  type Address,
  createPublicClient,
  type Hash,
  http,
  type Log,
  parseAbi,
  parseEventLogs,
  zeroAddress,
} from "viem";
import { rpc } from "./fleet.ts";
import type { AskedToken, MintAsk } from "./mint-asks.ts";
import { sendGraphql, sendV0 } from "./mint-clients.ts";
import type { World } from "./world.ts";

const abi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
]);

/** A token that a contract announces as minted. */
export interface Minted {
  contract: Address;
  to: Address;
  id: bigint;
  amount: bigint;
  transaction: Hash;
}

export interface MintVerdict {
  /** Requests that are on the chain, and their tokens. */
  mints: number;
  tokens: number;
  /** Transactions with more than one request, and what they minted. */
  shared: { transactions: number; tokens: number };
  lost: string[];
  doubled: string[];
  /** Minted otherwise than asked for, or called otherwise by the service. */
  wrong: string[];
}

/** Every mint of some contracts, asked of the node. */
export async function readMints(world: World, contracts: readonly Address[]): Promise<Minted[]> {
  const client = createPublicClient({ transport: http(world.nodeUrl), ccipRead: false });
  const fromBlock = world.operator?.block ?? 0n;
  const logs = await client.getLogs({ address: [...contracts], fromBlock });
  return parseEventLogs({ abi, logs: logs as unknown as Log[] }).flatMap(
    ({ eventName, args, address, transactionHash }) => {
      if (args.from !== zeroAddress) return [];
      const lower = (text: Address) => text.toLowerCase() as Address;
      const at = { contract: lower(address), to: lower(args.to), transaction: transactionHash };
      if (eventName === "Transfer") return [{ ...at, id: args.tokenId, amount: 1n }];
      if (eventName === "TransferSingle") return [{ ...at, id: args.id, amount: args.value }];
      return args.ids.map((id, index) => ({ ...at, id, amount: args.values[index] ?? 0n }));
    },
  );
}

/** Judges a finished run by what the chain shows: each mint that was not refused stands once, as it was asked for. */
export async function judgeMints(world: World, asks: readonly MintAsk[]): Promise<MintVerdict> {
  const minted = await readMints(world, [...new Set(asks.map(({ contract }) => contract))]);
  const byRecipient = Map.groupBy(minted, ({ to }) => to);
  const verdict: MintVerdict = {
    mints: 0,
    tokens: minted.length,
    shared: countShared(asks, minted),
    lost: [],
    doubled: [],
    wrong: [],
  };
  for (const ask of asks) {
    const name = `${ask.kind} ${ask.index}`;
    const found = ask.tokens.map(({ to }) => byRecipient.get(to) ?? []);
    for (const { to } of ask.tokens) byRecipient.delete(to);
    if (found.some(({ length }) => length > 1)) verdict.doubled.push(name);
    const stands = found.every(({ length }) => length > 0);
    if (stands) verdict.mints += 1;
    if (ask.kind === "receiver") {
      if (found.flat().length > 0) verdict.wrong.push(`${name}: minted to a contract that takes no tokens`);
      if (ask.refusal === null) verdict.wrong.push(`${name}: never refused`);
      continue;
    }
    if (ask.kind !== "revoked" && !stands) verdict.lost.push(name);
    if (ask.kind === "revoked" && ask.hashes.size === 0 && ask.refusal === null) verdict.lost.push(name);
    if (stands) verdict.wrong.push(...(await findOtherThanAsked(world, ask, found.flat(), name)));
    if (ask.kind === "list") verdict.wrong.push(...(await findOtherRequests(world, ask, found.flat(), name)));
    for (const hash of ask.hashes) {
      const fault = await findOtherAnswer(world, ask, hash, stands ? found.flat() : []);
      if (fault) verdict.wrong.push(`${name}: ${fault}`);
    }
  }
  for (const to of byRecipient.keys()) verdict.wrong.push(`nobody asked for what ${to} has`);
  return verdict;
}

function countShared(asks: readonly MintAsk[], minted: readonly Minted[]) {
  const listed = new Set(asks.flatMap(({ kind, tokens }) => (kind === "list" ? tokens.map(({ to }) => to) : [])));
  const groups = Map.groupBy(
    minted.filter(({ to }) => listed.has(to)),
    ({ transaction }) => transaction,
  );
  const shared = [...groups.values()].filter(({ length }) => length > 1);
  return { transactions: shared.length, tokens: shared.flat().length };
}

/** Compares what a mint became with something. @returns in words what is otherwise. */
type Comparison = (world: World, ask: MintAsk, found: readonly Minted[], name: string) => Promise<string[]>;

const findOtherThanAsked: Comparison = async (world, ask, found, name) => {
  const faults: string[] = [];
  for (const [index, token] of ask.tokens.entries()) {
    const minted = found.find(({ to }) => to === token.to);
    if (!minted) continue;
    if (minted.contract !== ask.contract) faults.push(`${name}: minted in ${minted.contract}`);
    if (token.tokenId !== null && minted.id !== BigInt(token.tokenId)) faults.push(`${name}: minted as ${minted.id}`);
    if (minted.amount !== BigInt(token.quantity)) faults.push(`${name}: ${minted.amount} minted`);
    const uri = await readUri(world, ask, minted.id);
    if (!isUri(token, uri)) faults.push(`${name}: the URI of token ${index} is ${uri}`);
  }
  const apart = new Set(found.map(({ transaction }) => transaction)).size > 1;
  if (apart && ask.kind !== "list") faults.push(`${name}: in several transactions`);
  return faults;
};

/** What the service says of each token's request: its id, and the transaction that minted it. */
const findOtherRequests: Comparison = async (world, ask, found, name) => {
  const faults: string[] = [];
  const query = "query ($id: ID!) { mintRequest(id: $id) { state tokenId transactionHash } }";
  for (const [place, { to }] of ask.tokens.entries()) {
    const id = ask.requests.get(place);
    const answer = await sendGraphql(world, { query, variables: { id } }, {});
    const data = answer?.["data"] as { mintRequest: Record<string, string> | null } | undefined;
    const { state, tokenId, transactionHash } = data?.mintRequest ?? {};
    const minted = found.find((token) => token.to === to);
    const same = minted && String(minted.id) === tokenId && minted.transaction === transactionHash;
    if (!same || !["CONFIRMED", "FINALIZED"].includes(state ?? ""))
      faults.push(`${name}: token ${place} is ${state ?? "nothing"} as ${tokenId} by ${transactionHash}`);
  }
  return faults;
};

function isUri({ uri }: AskedToken, found: string): boolean {
  return uri === null ? /^ipfs:\/\/bafkrei[a-z2-7]{52}$/.test(found) : found === uri;
}

async function readUri(world: World, { kind, contract: address }: MintAsk, id: bigint): Promise<string> {
  const client = createPublicClient({ transport: http(world.nodeUrl), ccipRead: false });
  const functionName = kind === "batch" ? "uri" : "tokenURI";
  return await client.readContract({ address, abi, functionName, args: [id] });
}

/** What the service says about a hash that it gave out: the ids that the chain has, or that it failed. */
async function findOtherAnswer(
  world: World,
  ask: MintAsk,
  hash: string,
  found: readonly Minted[],
): Promise<string | null> {
  const path = ask.kind === "batch" ? `/mints/batch/${hash}` : `/mints/${hash}`;
  for (let tries = 0; tries < 40; tries += 1) {
    const answer = await sendV0(world, "GET", `${path}?chain=goerli`, { turn: tries });
    if (!answer || answer.status >= 500 || answer.status === 429) {
      await new Promise((done) => setTimeout(done, 250));
      continue;
    }
    const { token_id, token_ids, error } = answer.body as {
      token_id?: string;
      token_ids?: string[];
      error: { code?: string } | null;
    };
    if (found.length === 0) return error?.code === "transaction_failed" ? null : `${hash} is called ${answer.status}`;
    const ids = token_ids ?? [token_id ?? ""];
    const same = ask.tokens.every(({ to }, at) => String(found.find((minted) => minted.to === to)?.id) === ids[at]);
    return same ? null : `${hash} is called ${JSON.stringify(answer.body).slice(0, 200)}`;
  }
  return `${hash} leads nowhere`;
}

/** What the run's transactions cost, as far as they did not mint. */
export interface SpentFor {
  mined: number;
  /** Refused on the chain: what could not be known when they were signed, or a node's estimate that was too low. */
  reverted: number;
  /** Cancellation transactions of 21,000 gas. */
  cancellations: number;
  gasUsed: string;
  /** Broken promises, in words. */
  violations: string[];
}

/** Reads every transaction of the paying wallets: each was stored, and none was signed for what was known to be refused. */
export async function judgeSpending(world: World, revoked: Address, revokedIn: bigint): Promise<SpentFor> {
  const spent = { mined: 0, reverted: 0, cancellations: 0, violations: [] as string[] };
  let gasUsed = 0n;
  const head = Number(await rpc<string>(world.nodeUrl, "eth_blockNumber"));
  for (let number = Number(world.operator?.block ?? 0n); number <= head; number += 1) {
    const receipts = await rpc<Receipt[]>(world.nodeUrl, "eth_getBlockReceipts", [`0x${number.toString(16)}`]);
    for (const receipt of receipts) {
      if (!world.wallets.includes(receipt.from.toLowerCase() as Address)) continue;
      if (world.external.has(receipt.transactionHash)) continue;
      spent.mined += 1;
      gasUsed += BigInt(receipt.gasUsed);
      if (receipt.to?.toLowerCase() === receipt.from.toLowerCase()) spent.cancellations += 1;
      const { rows } = await world.pool.query<{
        head_block: number;
        state: string;
        hold_reason: string;
        target: string;
      }>(
        `SELECT (SELECT min(f.head_block)::int FROM service.attempt f
             WHERE (f.chain_id, f.addr, f.nonce) = (a.chain_id, a.addr, a.nonce)) AS head_block, i.state, i.hold_reason, '0x' || encode(i.predicted_addr, 'hex') AS target
         FROM service.attempt a LEFT JOIN service.nonce_reservation s USING (chain_id, addr, nonce)
         LEFT JOIN service.intent i ON i.id = s.intent_id WHERE a.hash = decode($1, 'hex')`,
        [receipt.transactionHash.slice(2)],
      );
      const [row] = rows;
      if (!row) spent.violations.push(`a mined transaction was never stored: ${receipt.transactionHash}`);
      if (receipt.status === "0x1" || !row) continue;
      spent.reverted += 1;
      // Too low an estimate of a node: repeated, and found in the request that goes on.
      if (row.state === "retried") continue;
      if (row.target !== revoked) spent.violations.push(`reverted, and not for revoked rights: ${JSON.stringify(row)}`);
      else if (BigInt(row.head_block) >= revokedIn)
        spent.violations.push(`signed for revoked rights in block ${row.head_block}, revoked in ${revokedIn}`);
    }
  }
  return { ...spent, gasUsed: String(gasUsed) };
}

interface Receipt {
  from: string;
  to: string | null;
  status: string;
  gasUsed: string;
  transactionHash: string;
}
