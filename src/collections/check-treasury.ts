import { type Address, BaseError, ExecutionRevertedError } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { lowerCase } from "./collection-config.ts";

/** Pays in the simulation; it has no code and the simulation gives it its wei. */
const payer: Address = `0x${"77".repeat(20)}`;

/**
 * Fees go to the treasury for ever, so a contract that takes no payments would bury them: one is tried.
 * A node that does not answer lets it pass: the deployment is simulated again before it is signed.
 *
 * @throws ServiceError `invalid_address` for a treasury that refuses a payment of one wei.
 */
export async function checkTreasury(services: Services, chain: Chain, treasury: string): Promise<void> {
  const client = services.rpc(chain);
  const to = lowerCase(treasury);
  try {
    if (!(await client.getCode({ address: to }))) return;
    await client.call({ account: payer, to, value: 1n, stateOverride: [{ address: payer, balance: 10n ** 18n }] });
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
