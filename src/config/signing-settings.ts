import { defaultSocket, readEndpoint, readToken, type Token } from "../signing/endpoint.ts";
import type { Endpoint } from "../signing/http-ask.ts";
import { readWeb3Signer } from "../signing/signer-config.ts";
import type { Web3SignerAccess } from "../signing/web3signer.ts";
import { type Env, readWith } from "./values.ts";

/** Where transactions are signed; with neither, by keys of this process. The signer comes first. */
export interface SigningConfig {
  signer: {
    endpoint: Endpoint;
    token: Token;
    /** For operators' commands alone; other processes have no right to read its file. */
    adminToken: Token;
  } | null;
  web3: Web3SignerAccess | null;
}

/** @throws ConfigError naming the variable. */
export function loadSigning(env: Env, dataDir: string): SigningConfig {
  const token = (name: "SIGNER_TOKEN" | "SIGNER_ADMIN_TOKEN") => readWith(name, () => readToken(env, name, dataDir));
  const access = () => ({
    endpoint: readWith("SIGNER_URL", () => readEndpoint(env, "SIGNER_URL", defaultSocket(dataDir))),
    token: token("SIGNER_TOKEN"),
    adminToken: token("SIGNER_ADMIN_TOKEN"),
  });
  return {
    signer: env["SIGNER_URL"]?.trim() ? access() : null,
    web3: readWith("WEB3SIGNER_URL", () => readWeb3Signer(env)),
  };
}
