import { toEventSelector } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CarriedOut } from "../../src/products/carry-out.ts";
import type { Services } from "../../src/services.ts";
import { wait } from "../setup/wait.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

const transferTopic = toEventSelector("event Transfer(address indexed, address indexed, uint256 indexed)");

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

/** A loop of the old kind: whatever is not an answer is asked again at once. */
async function untilAnswered(services: Services, contract: `0x${string}`, to: string): Promise<CarriedOut> {
  const ask = () => s.mint({ contract, tokens: [{ to, uri }] }, services).catch(String);
  return (await wait("an answer", ask, { until: (answer) => typeof answer !== "string" })) as CarriedOut;
}

test("twenty mints by two processes while all answers to transactions are lost: each is minted once", async () => {
  const contract = await s.contract();
  const processes = [s.services, s.h.process()];
  // The node takes each transaction, and nobody hears of it.
  s.h.proxy.loseAnswers("eth_sendRawTransaction");
  const recipients = Array.from({ length: 20 }, randomAddress);
  const done = await Promise.all(
    recipients.flatMap((to, index) => {
      const services = processes[index % 2] ?? s.services;
      // Every second one is asked for twice at once.
      return index % 2 === 0
        ? [untilAnswered(services, contract, to)]
        : [1, 2].map(() => untilAnswered(services, contract, to));
    }),
  );
  const ids = new Set(done.map(({ request }) => request.id));
  expect(ids.size).toBe(20);
  for (const mint of done) await s.ended(mint);
  const logs = await s.h.chain.getLogs({ address: contract, fromBlock: 0n });
  expect(logs.filter(({ topics }) => topics[0] === transferTopic)).toHaveLength(20);
  for (const { request } of done) {
    const { tokens } = request.payload as { tokens: { tokenId: string; to: string }[] };
    const [token] = tokens;
    const owner = await s.h.chain.readContract({
      ...{ address: contract, abi: productReads, functionName: "ownerOf", args: [BigInt(token?.tokenId ?? 0)] },
    });
    expect(owner.toLowerCase()).toBe(token?.to);
  }
});
