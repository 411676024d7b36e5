import type { Config } from "../config/config.ts";
import { callersPolicy, inProcessSigning } from "../signing/in-process.ts";
import { signerProcess } from "../signing/signer-client.ts";
import type { SigningBackend } from "../signing/signing-backend.ts";
import { web3Signer } from "../signing/web3signer.ts";
import type { Logger } from "../telemetry/log.ts";

/**
 * Where this process has its transactions signed: at the signer when one is configured, else at the Web3Signer, else
 * with keys of its own.
 *
 * @param operator it runs an operator's command, which may give roles out.
 */
export function openSigning({ signing, chains }: Config, log: Logger, operator: boolean): SigningBackend {
  const { signer, web3 } = signing;
  if (signer) {
    const { endpoint, token, adminToken } = signer;
    return signerProcess({ endpoint, token: operator ? adminToken : token }, log);
  }
  if (!web3) return inProcessSigning(operator);
  const policyOf = (chainId: number) => {
    const chain = chains.find(({ id }) => id === chainId);
    if (!chain) throw new Error(`chain ${chainId} is not configured`);
    return callersPolicy(chain);
  };
  return web3Signer(web3, policyOf, log, operator);
}
