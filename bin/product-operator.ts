import { findChain } from "../src/chains.ts";
import { loadConfig } from "../src/config/config.ts";
import { createLogger } from "../src/telemetry/log.ts";
import { deployOperatorAndEasy } from "../src/transactions/operator/deploy-contracts.ts";

/** Deploys the operator of product contracts on a configured chain and prints the variables for it. */
export async function deployOperatorCommand(name: string, names: { name: string; symbol: string }): Promise<number> {
  const config = loadConfig();
  const chain = findChain(config.chains, name);
  const suffix = chain.name.toUpperCase();
  if (chain.operator)
    throw new Error(
      `OPERATOR_${suffix} names an operator already (${chain.operator.address}): remove it to deploy another`,
    );
  const operator = await deployOperatorAndEasy(chain, names, createLogger("operator", config.logLevel));
  process.stdout.write(
    `OPERATOR_${suffix}=${operator.address}\nOPERATOR_BLOCK_${suffix}=${operator.block}\n` +
      `EASY_CONTRACT_${suffix}=${operator.easyContract}\n`,
  );
  return 0;
}
