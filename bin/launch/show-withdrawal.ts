import { CommandError } from "../command-error.ts";
import { Journal, lastStep } from "./journal.ts";
import type { Reporter } from "./reporter.ts";

/** Selector of `withdrawFees()`. */
const data = "0x476343ee";

/** Prints the transaction that sends the sale's revenue to the treasury. Only an admin's wallet can send it. */
export function showWithdrawal(folder: string, reporter: Reporter): void {
  const { steps, isOwn } = Journal.read(folder);
  const deployed = lastStep(steps, "deployed");
  const input = lastStep(steps, "deploy_intent")?.input;
  if (!deployed || !input) throw new CommandError(`${folder} is not deployed yet`);
  if (!isOwn)
    reporter.warn("the journal was not written by you on this machine: compare the contract's address before you sign");
  const transaction = { chain: input.chain, from: input["owner"], to: deployed.address, data, value: "0" };
  reporter.step(
    "withdrawal",
    `send this with the owner's wallet; everything the contract holds goes to ${input["treasury"]}:\n${JSON.stringify(transaction, null, 2)}`,
    { transaction, treasury: input["treasury"] },
  );
}
