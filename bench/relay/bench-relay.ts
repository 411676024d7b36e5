// Time from a request to the hash in its answer, and from its acceptance, on the local chain of `npm start`; compared with
// a loop without guarantees.
//   node bench/relay/bench-relay.ts [--deployments 600] [--concurrent 20] [--warm 200]
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import pg from "pg";
import { encodeDeployData, encodeFunctionData, type Hex, zeroHash } from "viem";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import { encodeInitData } from "../../contracts/abi/config.ts";
import { inParallel, percentiles, round, startBenchStack } from "../bench-stack.ts";
import { PlainLoop, untilMined } from "../plain-loop.ts";

interface Answer {
  /** Milliseconds since the request was sent, including its wait at the API. */
  took: number;
  /** By the machine's clock, which is also the database's. */
  at: number;
  /** Null when the request was refused. */
  hash: string | null;
}

const { values } = parseArgs({
  options: {
    deployments: { type: "string", default: "600" },
    concurrent: { type: "string", default: "20" },
    // A process is slow until its code is compiled.
    warm: { type: "string", default: "200" },
  },
});
const total = Number(values.deployments);
const stack = await startBenchStack();
const { ready } = stack;

async function deploy(index: number): Promise<Answer> {
  const begun = performance.now();
  const { status, text } = await stack.post(`${ready.rest}/contracts/collections`, {
    ...{
      chain: "goerli",
      name: `Bench ${index}`,
      symbol: "BEN",
      max_supply: 1_000,
      tokens_per_mint: 5,
      mint_price: 0.01,
    },
    owner_address: address(index, "a"),
    treasury_address: address(index, "b"),
    public_mint_start_date: "2022-01-01T00:00:00",
  });
  const answer = { took: performance.now() - begun, at: performance.timeOrigin + performance.now() };
  const { transaction_hash: hash } = status === 200 ? (JSON.parse(text) as { transaction_hash?: string }) : {};
  return { ...answer, hash: hash ?? null };
}

/** Milliseconds from the writing of a request's row to the end of its answer. */
async function sinceAccepted(answers: readonly Answer[]): Promise<number[]> {
  const client = new pg.Client({ connectionString: ready.databaseUrl });
  await client.connect();
  const hashes = answers.map(({ hash }) => Buffer.from((hash ?? "0x").slice(2), "hex"));
  const { rows } = await client.query<{ place: string; accepted: number }>(
    `SELECT h.place, (extract(epoch FROM i.created_at) * 1000)::float8 AS accepted
     FROM unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place)
     JOIN service.attempt a ON a.hash = h.hash
     JOIN service.nonce_reservation s ON (s.chain_id, s.addr, s.nonce) = (a.chain_id, a.addr, a.nonce)
     JOIN service.intent i ON i.id = s.intent_id`,
    [hashes],
  );
  await client.end();
  if (rows.length !== answers.length) throw new Error(`${rows.length} of ${answers.length} answers are in the tables`);
  return rows.map(({ place, accepted }) => (answers[Number(place) - 1]?.at ?? 0) - accepted);
}

/** Number of the paying wallet's mined transactions. */
async function mined(): Promise<number> {
  return Number(await stack.rpc<string>("eth_getTransactionCount", [ready.relayer, "latest"]));
}

async function run(from: number, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  await inParallel(from, count, Number(values.concurrent), async (index) => {
    answers.push(await deploy(index));
  });
  return answers.filter(({ hash }) => hash !== null);
}

/** The same collections by a loop without guarantees, through a factory of its own. */
async function runPlain() {
  const loop = await PlainLoop.start(stack);
  const code = encodeFactory(loop.address);
  const hash = await loop.send({ data: code, gas: 10_000_000n });
  await untilMined(stack, loop.address, 1);
  const receipt = await stack.rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", [hash]);
  return await loop.measure(total, Number(values.concurrent), (index) => {
    const owner = address(index, "d");
    const initData = encodeInitData(
      {
        ...{ name: `Bench ${index}`, symbol: "BEN", owner, treasuryAddress: owner },
        ...{ maxSupply: 1_000n, reservedSupply: 0n, tokensPerMint: 5n },
      },
      {
        ...{ baseURI: "", metadataUpdatable: true, prerevealTokenURI: "", presaleMerkleRoot: zeroHash },
        ...{ publicMintPrice: 10n ** 16n, publicMintPriceFrozen: false },
        ...{ presaleMintPrice: 0n, presaleMintPriceFrozen: false },
        ...{ publicMintStart: 1_640_995_200n, presaleMintStart: 0n, royaltiesBps: 0n, royaltiesAddress: owner },
      },
      false,
    );
    const args = [`0x${(index + 1).toString(16).padStart(64, "0")}`, owner, initData] as const;
    const data = encodeFunctionData({ abi: collectionFactoryAbi, functionName: "deploy", args });
    return { to: receipt.contractAddress, data, gas: 400_000n };
  });
}

function encodeFactory(wallet: Hex): Hex {
  return encodeDeployData({ abi: collectionFactoryAbi, bytecode: collectionFactoryBytecode, args: [wallet, wallet] });
}

function address(index: number, digit: string): Hex {
  return `0x${(index + 1).toString(16).padStart(40, digit)}`;
}

try {
  const warm = Number(values.warm);
  const first = await mined();
  const whenMined = async (count: number) => await untilMined(stack, ready.relayer, first + count);
  const { length: warmed } = await run(0, warm);
  await whenMined(warmed);
  const begun = performance.now();
  const answered = await run(warm, total);
  const seconds = (performance.now() - begun) / 1000;
  const minedMeanwhile = (await mined()) - first - warmed;
  await whenMined(warmed + answered.length);
  const allMined = (performance.now() - begun) / 1000;
  const figures = {
    deployments: total,
    warm,
    concurrent: Number(values.concurrent),
    refused: total - answered.length,
    ms: percentiles(answered.map(({ took }) => took)),
    sinceAccepted: percentiles(await sinceAccepted(answered)),
    perSecond: round(answered.length / seconds),
    seconds: { answered: round(seconds), mined: round(allMined) },
    minedMeanwhile,
    plain: await runPlain(),
    cores: cpus().length,
    load: loadavg().map(round),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  await stack.stop();
}
