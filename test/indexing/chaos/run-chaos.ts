import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex, toHex } from "viem";
import { type EmbeddedPostgres, startPostgres } from "../../../src/embedded/postgres.ts";
import { freePorts } from "../../../src/free-port.ts";
import { compileSolidity } from "../../setup/compile.ts";
import { startAnvil } from "../anvil.ts";
import { hostileCases, hostileContract, randomOf } from "../hostile-cases.ts";
import { startLyingProxy } from "./lying-proxy.ts";
import { copyRawLogs, differences } from "./recompute.ts";

export interface ChaosGoal {
  seed: number;
  tokens: number;
  reorgs: number;
  kills: number;
  lies: number;
  /** Reorganisations deeper than Ponder can undo; each makes the chain be indexed anew. */
  deepReorgs: number;
  /** Ends with what was reached when it takes longer. */
  maxMs: number;
}

export interface ChaosResult {
  seed: number;
  tokens: number;
  blocks: number;
  logs: number;
  reorgs: number;
  deepestReorg: number;
  kills: Record<string, number>;
  lies: Record<string, number>;
  lieCount: number;
  /** Answers that the gateway refused, as the last indexer process counted them. */
  refused: number;
  differing: Awaited<ReturnType<typeof differences>>;
  /** Tokens and balances asked of the contracts themselves, and those that the index shows otherwise. */
  asked: number;
  wrong: number;
  seconds: number;
}

/**
 * One seeded run: random actions on a real chain, reorganisations with other transactions, kill -9 of
 * Ponder, the launcher and PostgreSQL, and a node that lies; then rest, and a comparison of every
 * table with raw logs and with the contracts' own answers.
 */
export async function runChaos(goal: ChaosGoal, say: (line: string) => void): Promise<ChaosResult> {
  const started = Date.now();
  const random = randomOf(goal.seed);
  const directory = await mkdtemp(join(tmpdir(), "mintyard-chaos-"));
  const [port = 0] = await freePorts(1);
  let postgres: EmbeddedPostgres = await startPostgres(join(directory, "pg"), port);
  const databaseUrl = postgres.url;
  const [chain, other] = await Promise.all([startAnvil(), startAnvil(31338)]);
  for (let count = 0; count < 5; count++) await other.mine();
  const proxy = await startLyingProxy(chain.url, other.url, randomOf(goal.seed + 1));
  const indexer = keepIndexer(databaseUrl, proxy.url, directory);
  const kills = { ponder: 0, launcher: 0, postgres: 0 };
  let reorgs = 0;
  let deepestReorg = 0;
  let deepReorgs = 0;
  let askedAtKill = 0;
  try {
    const world = await buildWorld(chain);
    await indexer.untilReady();
    proxy.lieOneIn(5);
    const perMint = 300;
    for (let step = 0; Date.now() - started < goal.maxMs; step++) {
      const tokens = await world.tokens();
      const killCount = kills.ponder + kills.launcher + kills.postgres;
      if (tokens >= goal.tokens && reorgs >= goal.reorgs && killCount >= goal.kills && proxy.count() >= goal.lies)
        break;
      if (step % 25 === 0)
        say(
          `step ${step}: ${tokens} tokens, ${reorgs} reorgs, ${killCount} kills, ${proxy.count()} lies, ${Math.round((Date.now() - started) / 1000)} s`,
        );
      for (let count = 1 + random(5); count > 0; count--) await world.act(random, tokens < goal.tokens ? perMint : 1);
      await chain.mine();
      const height = Number(await chain.head());
      if (reorgs < goal.reorgs && random(3) === 0) {
        const deep = deepReorgs < goal.deepReorgs && height > 60 && reorgs > goal.reorgs / 2;
        const depth = deep
          ? Math.min(height - world.firstBlock, 40 + random(217))
          : 1 + random(Math.min(20, height - world.firstBlock));
        if (depth > 0 && height - depth >= world.firstBlock) {
          await chain.rpc("anvil_reorg", [depth, world.replacements(random, depth)]);
          await chain.mine();
          reorgs += 1;
          if (deep) deepReorgs += 1;
          deepestReorg = Math.max(deepestReorg, depth);
        }
      }
      // The next one only when it works again: killing what is still starting proves little.
      if (killCount < goal.kills && proxy.asked() > askedAtKill + 30 && random(3) === 0) {
        askedAtKill = proxy.asked();
        const which = killCount % 7 === 3 ? "postgres" : killCount % 4 === 2 ? "launcher" : "ponder";
        if (which === "postgres") {
          postgres.process.kill("SIGKILL");
          if (postgres.process.exitCode === null && postgres.process.signalCode === null)
            await once(postgres.process, "exit");
          postgres = await restart(() => startPostgres(join(directory, "pg"), port));
          kills.postgres += 1;
        } else if (await indexer.kill(which)) kills[which] += 1;
      }
      // Time for the indexer to be in the middle of something.
      await wait(50 + random(300));
    }
    say(`quiet after ${Math.round((Date.now() - started) / 1000)} s; waiting for the index`);
    proxy.lieOneIn(0);
    await chain.mine();
    const client = await connectAgain(databaseUrl);
    try {
      await untilIndexed(client, chain, () => indexer.lastWords());
      const logs = await copyRawLogs(client, chain, world.addresses);
      const differing = await differences(client);
      const asked = await world.compare(client);
      const { rows } = await client.query<{ refused: number }>(
        "SELECT refused_answers::int AS refused FROM service.chain_freshness",
      );
      return {
        seed: goal.seed,
        tokens: await world.tokens(),
        blocks: Number(await chain.head()),
        logs,
        reorgs,
        deepestReorg,
        kills,
        lies: Object.fromEntries(proxy.told),
        lieCount: proxy.count(),
        refused: rows[0]?.refused ?? 0,
        differing,
        ...asked,
        seconds: Math.round((Date.now() - started) / 1000),
      };
    } finally {
      await client.end();
    }
  } finally {
    await indexer.stop();
    await proxy.stop();
    await Promise.all([chain.stop(), other.stop()]);
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

type Anvil = Awaited<ReturnType<typeof startAnvil>>;
type Random = (below: number) => number;

async function buildWorld(chain: Anvil) {
  const compiled = compileSolidity(readFileSync(new URL("../../fixtures/Chaos.sol", import.meta.url), "utf8"));
  const { Chaos721, Chaos1155 } = compiled;
  if (!Chaos721 || !Chaos1155) throw new Error("Chaos.sol was not compiled");
  const single = await Promise.all([chain.deploy(Chaos721)]);
  const nfts = [...single, await chain.deploy(Chaos721)];
  const many = await chain.deploy(Chaos1155);
  const hostile = await chain.deploy(hostileContract());
  const firstBlock = Number(await chain.head());
  const people = chain.accounts;
  const idCount = 200;
  const read = async (contract: { address: Hex; abi: Abi }, functionName: string, args: unknown[]) => {
    const data = encodeFunctionData({ abi: contract.abi, functionName, args });
    const call = { to: contract.address, data, gas: "0x70000000" };
    return decodeFunctionResult({
      abi: contract.abi,
      functionName,
      data: await chain.rpc<Hex>("eth_call", [call, "latest"]),
    });
  };
  const supply = async (nft: { address: Hex; abi: Abi }) => Number(await read(nft, "next", []));
  const somebody = (random: Random) => people[random(people.length)] ?? "0x";
  const nobody: Hex = `0x${"0".repeat(40)}`;
  let lastSupply = 1;
  const action = (random: Random, perMint: number): { to: Hex; data: Hex } => {
    const nft = nfts[random(nfts.length)] ?? many;
    const make = ({ address, abi }: { address: Hex; abi: Abi }, functionName: string, args: unknown[]) => ({
      to: address,
      data: encodeFunctionData({ abi, functionName, args }),
    });
    switch (random(8)) {
      case 0:
      case 1:
      case 2:
        return make(nft, "mint", [somebody(random), BigInt(1 + random(perMint * 2))]);
      case 3:
        return make(nft, "move", [BigInt(random(lastSupply)), somebody(random)]);
      case 4:
        return make(nft, "move", [BigInt(random(lastSupply)), random(2) === 0 ? nobody : somebody(random)]);
      case 5:
        return make(many, "mint", [
          somebody(random),
          Array.from({ length: 1 + random(20) }, () => BigInt(random(idCount))),
          BigInt(1 + random(9)),
        ]);
      case 6:
        return make(many, "move", [
          somebody(random),
          random(4) === 0 ? nobody : somebody(random),
          BigInt(random(idCount)),
          BigInt(random(9)),
        ]);
      default: {
        // What the recomputation in SQL knows nothing of must leave the others alone.
        const cases = hostileCases(random(1_000)).filter(
          ({ transfers, holdings }) => transfers === 0 && !holdings?.["1"],
        );
        const { call } = cases[random(cases.length)] ?? { call: { name: "storm", args: [70n] } };
        return call.name === "bear" || call.name === "flood"
          ? make(hostile, "storm", [70n])
          : make(hostile, call.name, call.args);
      }
    }
  };
  return {
    firstBlock,
    addresses: [...nfts, many].map(({ address }) => address),
    tokens: async () => {
      const counts = await Promise.all(nfts.map(supply));
      lastSupply = Math.max(1, ...counts);
      return counts.reduce((sum, count) => sum + count, 0);
    },
    act: async (random: Random, perMint: number) => {
      const { to, data } = action(random, perMint);
      await chain.send(to, data, random(people.length));
    },
    /** Other transactions for blocks that are replaced. */
    replacements: (random: Random, depth: number) =>
      Array.from({ length: 1 + random(6) }, () => {
        const { to, data } = action(random, 50);
        return [{ from: somebody(random), to, data, gas: "0x3938700" }, random(depth)];
      }),
    /** Asks the contracts for every owner and balance. */
    compare: async (client: pg.Client) => {
      let asked = 0;
      let wrong = 0;
      for (const nft of nfts) {
        const { rows } = await client.query<{ id: string; owner: Buffer }>(
          "SELECT token_id::text AS id, owner FROM nft.tokens WHERE contract = $1",
          [Buffer.from(nft.address.slice(2), "hex")],
        );
        const shown = new Map(rows.map(({ id, owner }) => [Number(id), owner ? toHex(owner) : nobody]));
        const total = await supply(nft);
        if (shown.size !== total) wrong += Math.abs(total - shown.size);
        for (let first = 0; first < total; first += 1_000) {
          const owners = (await read(nft, "owners", [BigInt(first), BigInt(Math.min(1_000, total - first))])) as Hex[];
          for (const [index, owner] of owners.entries())
            if (shown.get(first + index) !== owner.toLowerCase()) wrong += 1;
          asked += owners.length;
        }
      }
      for (const person of people) {
        const { rows } = await client.query<{ id: string; amount: string }>(
          "SELECT token_id::text AS id, amount::text FROM nft.holdings WHERE contract = $1 AND owner = $2",
          [many.address, person].map((hex) => Buffer.from(hex.slice(2), "hex")),
        );
        const shown = new Map(rows.map(({ id, amount }) => [Number(id), amount]));
        const balances = (await read(many, "balances", [person, BigInt(idCount)])) as bigint[];
        for (const [id, balance] of balances.entries()) if ((shown.get(id) ?? "0") !== String(balance)) wrong += 1;
        asked += balances.length;
      }
      return { asked, wrong };
    },
  };
}

/** Starts the launcher again whenever it ends, as the supervisor of an installation does. */
function keepIndexer(databaseUrl: string, rpcUrl: string, directory: string) {
  let child: ChildProcess | null = null;
  let stopping = false;
  let words = "";
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const start = () => {
    if (stopping) return;
    const env = {
      PATH: "",
      DATABASE_URL: databaseUrl,
      MINTYARD_DATA_DIR: directory,
      RPC_URL_GOERLI: rpcUrl,
      CHAIN_ID_GOERLI: "31337",
      LOCAL_GOERLI: "true",
      LOG_LEVEL: "warn",
    };
    const started = spawn(process.execPath, ["src/indexer.ts", "--chain", "goerli"], {
      env,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    child = started;
    started.stderr?.on("data", (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-4_000);
    });
    started.once("message", () => resolve());
    started.once("exit", () => setTimeout(start, 200));
  };
  start();
  return {
    untilReady: () => ready,
    lastWords: () => words,
    kill: async (which: "ponder" | "launcher") => {
      const pid = which === "launcher" ? child?.pid : await childOf(child?.pid ?? 0);
      if (!pid) return false;
      try {
        return process.kill(pid, "SIGKILL");
      } catch {
        return false;
      }
    },
    stop: async () => {
      stopping = true;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function childOf(parent: number): Promise<number | null> {
  if (parent === 0) return null;
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, "utf8").catch(() => "");
    if (status.includes(`\nPPid:\t${parent}\n`)) return Number(entry);
  }
  return null;
}

async function restart<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries > 40) throw error;
      await wait(250);
    }
  }
}

async function connectAgain(url: string): Promise<pg.Client> {
  return restart(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  });
}

async function untilIndexed(client: pg.Client, chain: Anvil, lastWords: () => string): Promise<void> {
  for (const started = Date.now(); Date.now() - started < 300_000; ) {
    const { hash, number } = await chain.rpc<{ hash: Hex; number: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const { rows } = await client.query(
      "SELECT 1 FROM service.chain_freshness f JOIN nft.heads h ON h.chain_id = f.chain_id WHERE indexed_hash = $1 AND h.block_number = $2 AND indexed_block = $2",
      [hash, String(BigInt(number))],
    );
    if (rows.length > 0) return;
    await wait(200);
  }
  const { rows } = await client.query(
    "SELECT h.block_number::text AS shown, f.* FROM nft.heads h LEFT JOIN service.chain_freshness f ON f.chain_id = h.chain_id",
  );
  throw new Error(
    `the index does not catch up: ${JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n${lastWords()}`,
  );
}
