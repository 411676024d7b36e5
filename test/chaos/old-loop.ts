import { setTimeout as sleep } from "node:timers/promises";
import { type Address, createPublicClient, http, parseAbi } from "viem";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { uriOf } from "./mint-asks.ts";
import { sendV0 } from "./mint-clients.ts";
import { readMints } from "./mint-oracle.ts";
import { ownerOf, standing } from "./mint-run.ts";
import { findBrokenRules } from "./rules.ts";
import { openStates, settle } from "./run.ts";
import { Tally } from "./tally.ts";
import { World } from "./world.ts";

export interface OldLoopOptions {
  mints: number;
  seed: number;
  /** The run is given up after this long. */
  seconds: number;
  /** Scripts that run at the same time, each with a part of the mints. */
  loops: number;
  /** Share of answers that never reach the script. */
  lostAnswers: number;
  /** Share of requests to a node that meet a fault. */
  rate: number;
  /** Between two kills of a process; 0: none. */
  killEveryMs: number;
}

export interface OldLoopFigures {
  asked: number;
  tokens: number;
  /** Mints whose script never got a 200. */
  unanswered: number;
  doubled: string[];
  /** Lost, minted with another URI, or called otherwise by the service. */
  wrong: string[];
  violations: string[];
  seconds: { answered: number; finalized: number };
  kills: number;
  tally: Record<string, number>;
}

interface Item {
  index: number;
  path: string;
  body: Record<string, unknown>;
  uri: string | null;
  to: Address;
  hash: string | null;
}

const abi = parseAbi(["function tokenURI(uint256 tokenId) view returns (string)"]);
/**
 * Scripts of the old kind: one mint after the other, without an Idempotency-Key and without a token id, each repeated at
 * once until it is answered with 200, while answers get lost and processes are killed.
 */
export async function runOldLoop(options: OldLoopOptions): Promise<OldLoopFigures> {
  const { seed, mints, loops } = options;
  const tally = new Tally();
  const world = await World.start({
    seed,
    permissive: false,
    defects: [],
    withOperator: true,
    onLine: () => undefined,
  });
  try {
    const body = { chain: "goerli", name: "Loop", symbol: "LOOP", owner_address: await ownerOf(world) };
    const made = await sendV0(world, "POST", "/contracts", { body });
    const contract = await standing(world, String(made?.body["transaction_hash"]));
    const easy = world.operator?.easyContract ?? contract;
    const begun = performance.now();
    const deadline = begun + options.seconds * 1_000;
    const since = () => Math.round((performance.now() - begun) / 100) / 10;
    const items = Array.from({ length: mints }, (_, index) => makeItem(seed, index, contract));
    for (const proxy of world.proxies) proxy.rate = options.rate;
    let over = false;
    const killing = options.killEveryMs > 0 ? kill(world, options.killEveryMs, tally, () => over) : undefined;
    const random = new SeededGenerator(seed);
    const script = async (at: number) => {
      for (const item of items.filter(({ index }) => index % loops === at)) await untilAnswered(item, at);
    };
    async function untilAnswered(item: Item, turn: number): Promise<void> {
      for (let tries = 0; performance.now() < deadline; tries += 1) {
        tally.count("requests");
        const lost = random.chance(options.lostAnswers);
        // Half of the lost answers are given up on before they come.
        const timeoutMs = lost && random.chance(0.5) ? random.between(1, 80) : 20_000;
        const answer = await sendV0(world, "POST", item.path, { body: item.body, turn: turn + tries, timeoutMs });
        if (lost) tally.count("answers lost");
        else if (answer?.status === 200) {
          item.hash = String(answer.body["transaction_hash"]);
          return;
        } else tally.count(`answers ${answer?.status ?? "none"}`);
        // A process that is being started again refuses connections at once.
        if (!answer) await sleep(10);
      }
    }
    await Promise.all(Array.from({ length: loops }, (_, at) => script(at)));
    const answered = since();
    over = true;
    await killing;
    for (const proxy of world.proxies) proxy.rate = 0;
    const settled = await settle(world, deadline);
    const finalized = since();
    const violations = await findBrokenRules(world.pool, 3);
    if (!settled) violations.push(`not settled in time: ${await openStates(world)}`);
    const unanswered = items.filter(({ hash }) => hash === null).length;
    const verdict = await judgeLoop(world, items, { contract, easy });
    return {
      ...{ asked: mints, unanswered, ...verdict, violations, seconds: { answered, finalized } },
      ...{ kills: tally.of("kills"), tally: tally.sorted },
    };
  } finally {
    await world.stop();
  }
}

/** Two of three are mints of a contract of the client's own, the others easy mints. */
function makeItem(seed: number, index: number, contract: Address): Item {
  const to = `0x${(index + 1).toString(16).padStart(8, "0")}${"ad".repeat(16)}` as const;
  if (index % 3 === 2) {
    const body = { name: `Token ${seed} ${index}`, description: "", file_url: "ipfs://x", mint_to_address: to };
    return { index, path: "/mints/easy/urls", body: { chain: "goerli", ...body }, uri: null, to, hash: null };
  }
  const uri = uriOf(`loop ${seed} ${index}`);
  const body = { chain: "goerli", contract_address: contract, metadata_uri: uri, mint_to_address: to };
  return { index, path: "/mints/customizable", body, uri, to, hash: null };
}

async function kill(world: World, everyMs: number, tally: Tally, over: () => boolean): Promise<void> {
  const all = [...world.apis, ...world.workers];
  for (let turn = 0; !over(); turn += 1) {
    await sleep(everyMs);
    if (over()) return;
    const victim = all[turn % all.length];
    // One at a time: a loop of the old kind cannot know that nobody serves.
    if (all.every(({ up }) => up) && victim?.signal("SIGKILL")) tally.count("kills");
  }
}

async function judgeLoop(
  world: World,
  items: readonly Item[],
  { contract, easy }: { contract: Address; easy: Address },
): Promise<Pick<OldLoopFigures, "tokens" | "doubled" | "wrong">> {
  const client = createPublicClient({ transport: http(world.nodeUrl, { batch: true }), ccipRead: false });
  const minted = await readMints(world, [contract, easy]);
  const byRecipient = Map.groupBy(minted, ({ to }) => to);
  const doubled: string[] = [];
  const wrong: string[] = [];
  for (const { index, uri, to, hash } of items) {
    const [token, ...more] = byRecipient.get(to) ?? [];
    byRecipient.delete(to);
    if (!token) {
      wrong.push(`${index}: lost`);
      continue;
    }
    if (more.length > 0) doubled.push(`${index}: ${more.length + 1} tokens`);
    if (token.contract !== (uri === null ? easy : contract)) wrong.push(`${index}: minted in ${token.contract}`);
    const args = [token.id] as const;
    const found = await client.readContract({ address: token.contract, abi, functionName: "tokenURI", args });
    if (uri !== null && found !== uri) wrong.push(`${index}: its URI is ${found}`);
    const answer = await sendV0(world, "GET", `/mints/${hash}?chain=goerli`, { turn: index });
    if (answer?.body["token_id"] !== String(token.id)) wrong.push(`${index}: called ${JSON.stringify(answer?.body)}`);
  }
  for (const to of byRecipient.keys()) wrong.push(`nobody asked for what ${to} has`);
  return { tokens: minted.length, doubled, wrong };
}
