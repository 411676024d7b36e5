import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { sampleEvent } from "../../src/events/sample-event.ts";
import { answersChallenge } from "../../src/events/verify-webhooks.ts";
import { freePorts } from "../../src/free-port.ts";
import { newSecret, newSigningKey, secretText, signedHeaders } from "../../src/outbox/sign-webhook.ts";
import { patient } from "../setup/wait.ts";

const samples = join(import.meta.dirname, "../../docs/samples");
const programs = [
  { name: "receive-events.ts", command: process.execPath },
  { name: "receive_events.py", command: "python3" },
];
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

describe.each(programs)("the sample receiver $name", ({ name, command }) => {
  test.skipIf(spawnSync(command, ["--version"]).status !== 0)(
    "takes genuine messages once, retractions back, and nothing forged, old or changed",
    async () => {
      const [port = 0] = await freePorts(1);
      const secret = newSecret();
      const env = { PATH: process.env["PATH"], PORT: String(port), WEBHOOK_SECRET: secretText(secret) };
      children.push(spawn(command, [join(samples, name)], { env, stdio: "inherit" }));
      const url = `http://127.0.0.1:${port}`;
      const owners = async () => (await (await fetch(`${url}/owners`)).json()) as Record<string, string>;
      await vi.waitFor(owners, patient);
      const keys = { secrets: [secret], signingKey: newSigningKey() };
      const send = async (
        event: ReturnType<typeof movement>,
        change: { keys?: typeof keys; age?: number; body?: string } = {},
      ) => {
        const body = JSON.stringify(event);
        const seconds = Math.floor(Date.now() / 1_000) - (change.age ?? 0);
        const headers = signedHeaders(change.keys ?? keys, { id: event.data.id, seconds, body });
        return (await fetch(url, { method: "POST", headers, body: change.body ?? body })).status;
      };
      const challenge = JSON.stringify(sampleEvent("webhook.verification", "evt_0", new Date()));
      const ask = async (secrets: Buffer[]) => {
        const asked = { id: "evt_0", seconds: Math.floor(Date.now() / 1_000), body: challenge };
        return await fetch(url, { method: "POST", headers: signedHeaders({ secrets }, asked), body: challenge });
      };
      // A receiver that answers strangers says yes to endpoints of strangers.
      expect((await ask([newSecret()])).status).toBe(401);
      const answer = await ask([secret]);
      expect([answer.ok, answersChallenge(await answer.text(), JSON.parse(challenge).data.challenge)]).toEqual([
        ...[true, true],
      ]);
      const first = movement("evt_1", 1, "0xa");
      const second = movement("evt_2", 2, "0xb");
      // Not in order, and one of them twice.
      for (const event of [second, first, second]) expect(await send(event)).toBe(204);
      expect(await owners()).toEqual({ "0xc/7": "0xb" });
      const taken = { ...movement("evt_3", 2, "0xb", "evt_2"), type: "nft.transfer.retracted" };
      expect(await send(taken)).toBe(204);
      expect(await send(second)).toBe(204);
      expect(await owners()).toEqual({ "0xc/7": "0xa" });
      // A retraction that comes before its movement, whose first delivery had failed.
      const late = movement("evt_5", 5, "0xe");
      const taken5 = { ...movement("evt_6", 5, "0xe", "evt_5"), type: "nft.transfer.retracted" };
      expect(await send(taken5)).toBe(204);
      expect(await send(late)).toBe(204);
      expect(await owners()).toEqual({ "0xc/7": "0xa" });
      const forged = movement("evt_4", 3, "0xd");
      expect(await send(forged, { keys: { ...keys, secrets: [newSecret()] } })).toBe(401);
      expect(await send(forged, { age: 3_600 })).toBe(401);
      expect(await send(forged, { body: JSON.stringify(movement("evt_4", 4, "0xd")) })).toBe(401);
      expect(await send(forged, { keys: { ...keys, secrets: [newSecret(), secret] } })).toBe(204);
      expect(await owners()).toEqual({ "0xc/7": "0xd" });
    },
  );
});

function movement(id: string, block: number, to: string, retracts: string | null = null) {
  const place = { blockNumber: String(block), logIndex: 0, batchIndex: 0 };
  return {
    type: "nft.transfer",
    timestamp: "2026-01-31T12:00:00.000Z",
    data: { id, contract: "0xc", tokenId: "7", to, ...place, retracts },
  };
}
