import { type Address, BaseError, ExecutionRevertedError } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { calls, parseHex } from "../relay/chain/reads.ts";
import { batched } from "../relay/store/batch.ts";
import type { Services } from "../services.ts";
import { lowerCase } from "./collection-config.ts";

/** Pays in the simulation; it has no code and the simulation gives it its wei. */
const payer: Address = `0x${"77".repeat(20)}`;

/** Requests that come together ask the node together. */
const isContract = batched(areContracts, { most: 16, retryIndividually: false });

async function areContracts(
  services: Services,
  accounts: readonly { chain: Chain; address: Address }[],
): Promise<boolean[]> {
  const [first] = accounts;
  if (!first) return [];
  const asked = accounts.map(({ address }) => calls.code(address, "latest"));
  // Read within, so that an answer without sense is asked of the next endpoint.
  return await services.relay.nodes(first.chain).first(async (node) => {
    const answers = await node.ask(asked);
    return answers.map((answer) => parseHex(answer, "an account's code") !== "0x");
  });
}

/**
 * Fees go to the treasury for ever, so a contract that takes no payments would bury them: one is tried.
 * A node that does not answer lets it pass: the deployment is simulated again before it is signed.
 *
 * @throws ServiceError `invalid_address` for a treasury that refuses a payment of one wei.
 */
export async function checkTreasury(services: Services, chain: Chain, treasury: string): Promise<void> {
  const to = lowerCase(treasury);
  try {
    if (!(await isContract(services, String(chain.id), { chain, address: to }))) return;
    await services
      .rpc(chain)
      .call({ account: payer, to, value: 1n, stateOverride: [{ address: payer, balance: 10n ** 18n }] });
  } catch (error) {
    const refused =
      error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
    if (!refused) return;
    throw new ServiceError(
      "invalid_address",
      "the treasury is a contract that refuses payments: fees could never be withdrawn",
      { field: "treasuryAddress" },
    );
  }
}
