import { findChain } from "../src/chains.ts";
import { loadConfig } from "../src/config/config.ts";
import { createLogger } from "../src/telemetry/log.ts";
import { deployFactory } from "../src/transactions/operator/deploy-contracts.ts";

/** Deploys the factory of a configured chain and prints the two variables for it. */
export async function deployFactoryCommand(name: string): Promise<number> {
  const config = loadConfig();
  const chain = findChain(config.chains, name);
  const suffix = chain.name.toUpperCase();
  if (chain.factory)
    throw new Error(
      `FACTORY_${suffix} names a factory already (${chain.factory.address}): remove it to deploy another`,
    );
  const factory = await deployFactory(chain, createLogger("factory", config.logLevel));
  process.stdout.write(`FACTORY_${suffix}=${factory.address}\nFACTORY_BLOCK_${suffix}=${factory.block}\n`);
  return 0;
}
