import { checkEndpoint, type EndpointFacts } from "../src/indexing/check-endpoint.ts";
import { nodeWords } from "../src/rpc/answers.ts";
import { most } from "../src/transactions/chain/fees.ts";
import { CommandError } from "./command-error.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);

/**
 * Prints the capabilities of endpoints, and suitable settings for their chain.
 *
 * @returns 1 when an endpoint does not answer, is of another chain than the first, or is minutes behind.
 */
export async function checkEndpoints(urls: readonly string[]): Promise<number> {
  for (const url of urls)
    if (!/^https?:\/\/[^/]/.test(url)) throw new CommandError(`${nodeWords(url)} is no http(s) URL of an endpoint`);
  const facts: EndpointFacts[] = [];
  let faults = 0;
  for (const [index, url] of urls.entries()) {
    try {
      const one = await checkEndpoint(url);
      facts.push(one);
      print(index, one);
    } catch (error) {
      faults += 1;
      say(`#${index} ${new URL(url).host}`);
      line(nodeWords(error instanceof Error ? error.message : String(error)), "it gives no answer");
    }
  }
  const [first] = facts;
  if (!first) return 1;
  const others = facts.filter(({ chainId }) => chainId !== first.chainId);
  for (const { host, chainId } of others)
    say(`${host} serves chain ${chainId}, and ${first.host} chain ${first.chainId}`);
  const newest = facts.map(({ head }) => head).reduce(most);
  const late = facts.filter(({ age }) => age > 300);
  say("\nWhat to set (CHAIN stands for the name that you give it):");
  for (const text of advise(facts, newest)) say(`  ${text}`);
  return faults + others.length + late.length > 0 ? 1 : 0;
}

function print(index: number, facts: EndpointFacts): void {
  say(
    `#${index} ${facts.host}: chain ${facts.chainId}, block ${facts.head}, ${facts.age} s old; answers in ${Math.round(facts.answerMs)} ms`,
  );
  line(facts.finalized, `final is ${facts.finalized} by its tag`, "it knows no final block");
  line(facts.baseFee === null ? "blocks have no base fee" : true, "fees are those of EIP-1559", "fees");
  line(facts.feeHistory, "it has a history of fees", "it has no history of fees: the newest block's is taken");
  line(facts.suggestedTip, `it suggests a tip of ${facts.suggestedTip} wei`, "it suggests no tip");
  line(facts.hashes, "headers can be proved by their hashes", "headers cannot be proved");
  line(facts.receipts, "receipts give the root in the header", "logs cannot be proved by receipts");
  line(facts.widestRange, `logs of ${facts.widestRange} blocks at once`, "it gives no logs");
  line(facts.callByHash, "calls at a block by its hash", "no calls at a block by its hash");
  line(facts.pending, "it knows the pending block", "it knows no pending block");
  const refused = facts.refusedAtOnce > 0 ? `${facts.refusedAtOnce} of 32 questions at once were refused` : true;
  line(refused, "32 questions at once", "it takes few questions at once");
}

/** @param fact a text is the reason why not. */
function line(fact: unknown, good: string, bad = good): void {
  say(typeof fact === "string" ? `  no   ${bad} (${nodeWords(fact)})` : `  ok   ${good}`);
}

function advise(facts: readonly EndpointFacts[], newest: bigint): string[] {
  const [first] = facts;
  const every = (holds: (one: EndpointFacts) => boolean) => facts.every(holds);
  const behind = facts.filter(({ head }) => newest - head > 50n);
  return [
    `RPC_URL_CHAIN: ${facts.length === 1 ? "this endpoint; a second one of another provider keeps the index going when it fails" : "all of them, the best first, with commas"}`,
    `CHAIN_ID_CHAIN=${first?.chainId}`,
    every(({ hashes, receipts }) => hashes === true && receipts === true)
      ? "VERIFY_CHAIN=proofs: every log is proved, at the price of a header for each block"
      : "VERIFY_CHAIN=logs: not all of them can prove what they say",
    every(({ finalized }) => typeof finalized === "bigint")
      ? "FINALITY_CHAIN=tag"
      : "FINALITY_CHAIN: a number of blocks that no reorganisation of this chain reaches, such as 256",
    ...(facts.length > 1 ? ["RPC_QUORUM_CHAIN=2: nothing ends by the word of one endpoint"] : []),
    ...(every(({ refusedAtOnce }) => refusedAtOnce === 0)
      ? []
      : ["RPC_RATE_CHAIN: the requests a second that your plan allows"]),
    ...(every(({ baseFee }) => baseFee !== null)
      ? []
      : ["this chain has no EIP-1559 fees: it can be indexed, and nothing is deployed there"]),
    ...facts
      .filter(({ head, widestRange }) => typeof widestRange === "bigint" && widestRange < 1_000n && head > 1_000n)
      .map(
        ({ host, widestRange }) => `${host} gives logs of ${widestRange} blocks at a time: a long history takes long`,
      ),
    ...behind.map(({ host, head }) => `${host} is ${newest - head} blocks behind: name it last, or not at all`),
  ];
}
