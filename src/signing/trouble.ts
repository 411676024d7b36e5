import { ServiceError } from "../errors/errors.ts";
import type { RefusalReason } from "./rules.ts";

/** Why a remote signer does not sign. */
export type SignerTrouble =
  /** No answer, or one that says it cannot: nothing is signed, and no nonce is assigned, until it answers. */
  | "unreachable"
  /** It does not accept this process's credential. */
  | "unauthorized"
  /** It refused an order; other orders may pass. */
  | "refused"
  /** It has reached its limit for the day. */
  | "spent"
  /** Its answer was not the requested signature. */
  | "wrong_answer";

/** What an operator can do about each. */
export const signerActions: Record<SignerTrouble, string> = {
  unreachable:
    "start the signer (npm run signer, mintyard-signer.service) and compare SIGNER_URL with its SIGNER_LISTEN, or look at " +
    "WEB3SIGNER_URL; accepted requests wait, and are signed when it is back",
  unauthorized: "give this process the signer's token: SIGNER_TOKEN or SIGNER_TOKEN_FILE",
  refused:
    "compare FACTORY_<CHAIN>, OPERATOR_<CHAIN>, SIGN_ROLES_<CHAIN>, MAX_FEE_GWEI_<CHAIN> and CHAIN_ID_<CHAIN> of the signer with those of this process",
  spent:
    "wait for the next day (UTC), or raise SIGNER_DAY_<CHAIN> of the signer and restart it; if nobody asked for so much, " +
    "look at its log (signed) for what was",
  wrong_answer:
    "compare the signer's wallets with RELAYER_ADDRESS_<CHAIN>; nothing of such an answer was stored or sent",
};

const says: Record<SignerTrouble, string> = {
  unreachable: "the signer does not answer",
  unauthorized: "the signer does not accept this service's credential",
  refused: "the signer refuses to sign it",
  spent: "the signer has signed what it may sign in a day (UTC)",
  wrong_answer: "the signer gave a signature that cannot be used",
};

/** A signature was not given. Clients read that it may come later; the cause has the details, for the log. */
export class SignerError extends ServiceError {
  readonly trouble: SignerTrouble;
  /** Set when the relay holds the request for this reason. */
  readonly reason: RefusalReason | null;

  /** @param detail for operators: never a secret, and bounded. */
  constructor(trouble: SignerTrouble, detail: string, reason: RefusalReason | null = null) {
    const cause = new Error(`${says[trouble]} (${shown(detail)}): ${signerActions[trouble]}`);
    super("service_unavailable", says[trouble], { retryAfterSeconds: 5, cause });
    this.trouble = trouble;
    this.reason = reason;
  }
}

/** A third party's text for a log line: short, one line. */
export function shown(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 200);
}
