import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type Address, createTestClient, createWalletClient, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toAddress } from "../../src/db/bytes.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { patient } from "../setup/wait.ts";
import { RunningSigner } from "../signing/signer-fixture.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

const root = join(import.meta.dirname, "../..");
const done = ["confirmed", "finalized"];

let h: RelayHarness;
let admin: Address;
const strange = generatePrivateKey();
const started: ChildProcess[] = [];
beforeAll(async () => {
  h = await RelayHarness.start();
  const [first = h.relayer] = (await h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  admin = first.toLowerCase() as Address;
  await h.chain.setBalance({ address: addressOf(strange), value: parseEther("10") });
});
afterEach(() => createTestClient({ mode: "hardhat", transport: http(h.node.url) }).setAutomine(true));
afterAll(async () => {
  for (const child of started) child.kill("SIGKILL");
  await h?.stop();
});

const addressOf = (key: Hex) => privateKeyToAccount(key).address.toLowerCase() as Address;

/** The operator's command as a process of its own. */
function mintyard(line: string, env: Record<string, string>) {
  const child = spawn(process.execPath, ["bin/mintyard.ts", ...line.split(" ")], {
    cwd: root,
    env: { ...bareEnvironment, HOME: process.env["HOME"] ?? "", ...h.environment(), ...env },
  });
  started.push(child);
  const running = { stdout: "", stderr: "", ended: new Promise<number | null>((end) => child.once("exit", end)) };
  child.stdout.on("data", (chunk) => {
    running.stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    running.stderr += String(chunk);
  });
  return running;
}

test("a wallet that may not grant prints what the administrator sends, waits for it, and ends well once it was sent", async () => {
  const second = generatePrivateKey();
  const keys = { RELAYER_KEY_GOERLI: `${strange},${second}` };
  const command = mintyard("wallets grant --timeout 120", keys);
  const data = (wallet: Address) =>
    `0x2f2ff15de2b7fb3b832174769106daebcfd6d1970523240dda11281102db9363b83b0dc4${wallet.slice(2).padStart(64, "0")}`;
  await expect.poll(() => command.stdout, patient).toContain("has no relayer role yet; waiting up to");
  expect(command.stdout).toContain(`goerli  from one of ${h.relayer}, ${admin}\n`);
  for (const wallet of [addressOf(strange), addressOf(second)]) {
    const call = `  chain id  ${h.node.id}\n  to        ${h.factory.address}\n  value     0\n  data      ${data(wallet)}\n`;
    expect(command.stdout).toContain(call);
    expect(command.stdout).toContain(
      `  cast send ${h.factory.address} "grantRole(bytes32,address)" 0xe2b7fb3b832174769106daebcfd6d1970523240dda11281102db9363b83b0dc4 ` +
        `${wallet} --value 0 --chain ${h.node.id} --rpc-url "\${RPC_URL_GOERLI%%,*}" --interactive\n`,
    );
    const sender = createWalletClient({ account: admin, transport: http(h.node.url) });
    await sender.sendTransaction({ to: h.factory.address, data: data(wallet) as Hex, chain: null });
  }
  expect(await command.ended).toBe(0);
  expect(command.stderr).toBe("");
  expect(command.stdout).toContain(`goerli  ${addressOf(second)}  has sent nothing yet, has its role`);
});

test("the command ends within the time that it was given, with a sentence and its own exit code", async () => {
  const key = generatePrivateKey();
  const command = mintyard("wallets grant --timeout 1", { RELAYER_KEY_GOERLI: key });
  expect(await command.ended).toBe(3);
  // On a busy machine the time may be over before the chain has answered.
  expect(command.stderr).toMatch(
    new RegExp(
      `^mintyard wallets grant: not finished on goerli in time \\((${addressOf(key)} has no relayer role yet|the chain's answer)\\); run the command again to go on\n$`,
    ),
  );
  expect(command.stdout).toContain(`goerli  ${addressOf(key)}  has sent nothing yet, WITHOUT ITS ROLE`);
});

test("a grant that is not mined in time is shown, and the command that is run again goes on with the same transaction", async () => {
  const second = generatePrivateKey();
  const keys = { RELAYER_KEY_GOERLI: `${h.relayerKey},${second}` };
  const chain = createTestClient({ mode: "hardhat", transport: http(h.node.url) });
  await chain.setAutomine(false);
  const first = mintyard("wallets grant --timeout 8", keys);
  expect(await first.ended).toBe(3);
  const [, hash = ""] = /grants 0x[0-9a-f]{40} the relayer role in (0x[0-9a-f]{64})/.exec(first.stdout) ?? [];
  expect(first.stderr).toContain(`${hash} is in no block yet`);
  await chain.setAutomine(true);
  const again = mintyard("wallets grant --timeout 60", keys);
  await chain.mine({ blocks: 1 });
  expect(await again.ended).toBe(0);
  expect(again.stdout).toContain(`goerli  ${addressOf(second)} may deploy\n`);
  expect((await h.chain.getTransactionReceipt({ hash: hash as Hex })).status).toBe("success");
  const { rows } = await h.database.pool.query(
    "SELECT count(*)::int AS n FROM service.nonce_reservation WHERE intent_id IS NULL",
  );
  expect(rows).toEqual([{ n: 1 }]);
});

test("a wallet without funds is said so before it takes a nonce", async () => {
  const poor = generatePrivateKey();
  const { writeContract } = createWalletClient({ account: admin, transport: http(h.node.url) });
  const abi = [
    {
      type: "function",
      name: "grantRole",
      stateMutability: "nonpayable",
      outputs: [],
      inputs: [
        { name: "role", type: "bytes32" },
        { name: "account", type: "address" },
      ],
    },
  ] as const;
  const args = [`0x${"00".repeat(32)}`, addressOf(poor)] as const;
  await writeContract({ address: h.factory.address, abi, functionName: "grantRole", args, chain: null });
  const command = mintyard("wallets grant --timeout 20", { RELAYER_KEY_GOERLI: poor });
  expect(await command.ended).toBe(1);
  expect(command.stderr).toMatch(
    new RegExp(
      `^mintyard wallets grant: ${addressOf(poor)} holds 0 on goerli, and the grant may take 0\\.\\d+: send it funds`,
    ),
  );
});

test("with the signer's process a wallet is added, granted, and takes the other one's place", async () => {
  const fresh = generatePrivateKey();
  await h.chain.setBalance({ address: addressOf(fresh), value: parseEther("10") });
  const signer = await RunningSigner.start(
    { id: h.node.id, factory: h.factory.address },
    { keys: [h.relayerKey, fresh] },
  );
  try {
    const command = mintyard("wallets grant --timeout 60", { ...signer.access(), RELAYER_KEY_GOERLI: "" });
    expect([await command.ended, command.stderr]).toEqual([0, ""]);
    expect(command.stdout).toMatch(/grants 0x[0-9a-f]{40} the relayer role in 0x/);
    // The old wallet is taken out of the settings: all that comes now is the new one's.
    const services = h.process({ ...signer.access(), RELAYER_ADDRESS_GOERLI: addressOf(fresh) });
    const { deployment } = await deployCollection(services, await h.caller(), launch());
    await h.until(services, deployment.id, done);
    expect(toAddress((await findReservation(services.db, deployment.id))?.addr ?? Buffer.alloc(20))).toBe(
      addressOf(fresh),
    );
    expect(await services.relay.deployers(goerli(services))).toEqual([addressOf(fresh)]);
  } finally {
    await signer.stop();
  }
});
