import type { Address } from "viem";
import type { Config } from "../src/config/config.ts";
import { createDatabase, createPool } from "../src/db/pool/pool.ts";
import type { Finding } from "../src/indexing/invariants.ts";
import { openSigning } from "../src/processes/create-services.ts";
import { calls } from "../src/rpc/reads.ts";
import { createLogger } from "../src/telemetry/log.ts";
import { isDeployable } from "../src/transactions/chain/context.ts";
import { createRelay } from "../src/transactions/relay.ts";
import { listSharedWallets, sharedWalletAction } from "../src/transactions/submit/reconcile-nonces.ts";

const dayMs = 86_400_000;

/** Checks that every paying wallet has its role, is used by this installation only, and has no code. */
export async function checkWallets(config: Config): Promise<Finding[]> {
  const relay = createRelay(openSigning(config, createLogger("doctor", "silent"), false));
  const pool = createPool(config.databaseUrl, "doctor", 1);
  const without: unknown[] = [];
  const shared: unknown[] = [];
  const delegated: unknown[] = [];
  let wallets = 0;
  try {
    const used = await listSharedWallets(createDatabase(pool));
    for (const chain of config.chains.filter(isDeployable)) {
      const own = relay.signers(chain).map(({ address }) => address.toLowerCase());
      wallets += own.length;
      const holders = await relay.deployers(chain).catch((error: Error) => error);
      if (holders instanceof Error) without.push({ chain: chain.name, trouble: holders.message });
      else
        for (const wallet of own)
          if (!holders.some((holder) => holder === wallet)) without.push({ chain: chain.name, wallet });
      const codes = await relay
        .nodes(chain)
        .first((node) => node.ask(own.map((wallet) => calls.code(wallet as Address, "latest"))))
        .catch(() => []);
      for (const [index, wallet] of own.entries()) {
        const code = codes[index];
        if (code && "result" in code && code.result !== "0x") delegated.push({ chain: chain.name, wallet });
      }
      for (const { chainId, wallet, transactions, last } of used)
        if (chainId === chain.id && own.includes(wallet) && Date.now() - last.getTime() < dayMs)
          shared.push({ chain: chain.name, wallet, transactions, last });
    }
  } finally {
    relay.signing.close();
    await pool.end();
  }
  return [
    {
      id: "W1",
      title: "every paying wallet has the factory's relayer role",
      fix: "mintyard wallets grant",
      faults: wallets === 0 ? null : without.length,
      samples: without,
    },
    {
      id: "W2",
      title: "no other installation has used a paying wallet in the last day",
      fix: sharedWalletAction,
      faults: wallets === 0 ? null : shared.length,
      samples: shared,
    },
    {
      id: "W3",
      title: "no paying wallet has code of its own (EIP-7702): nodes keep one transaction of it at a time",
      fix: "end the delegation with the wallet's key (an EIP-7702 authorization of the zero address), or pay from another wallet",
      faults: wallets === 0 ? null : delegated.length,
      samples: delegated,
    },
  ];
}
