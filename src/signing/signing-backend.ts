import type { Chain } from "../chains.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Signer } from "./signer.ts";
import { SignerError, type SignerTrouble, signerActions } from "./trouble.ts";

/** The signing service for the wallets of this process. */
export interface SigningBackend {
  readonly kind: "in_process" | "signer" | "web3signer";
  /** The wallets of a chain, of which the first is the admin of its collections. */
  wallets(chain: Chain): Signer[];
  /** Its current trouble; null when none is known. Calls it if it has not answered lately. */
  check(): Promise<SignerTrouble | null>;
  /**
   * Called before requests are simulated that then need a signature.
   *
   * @throws SignerError `unreachable` or `unauthorized`.
   */
  requireAnswer(): Promise<void>;
  /** The wallets that it has on a chain, lower case; null when it cannot list them. @throws SignerError */
  held(chain: Chain): Promise<readonly string[] | null>;
  close(): void;
}

/** How long after an answer a signer counts as reachable. */
const heardMs = 1_000;
/** How long a refusal is reported, unless it signs again. */
const refusedMs = 600_000;

/** What one process knows about a remote signer. */
export class SignerHealth {
  readonly #ask: () => Promise<unknown>;
  readonly #log: Logger;
  readonly #where: string;
  #trouble: { kind: SignerTrouble; since: number } | null = null;
  #heard = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  /** @param ask a call that costs the signer nothing. @param where for the log, without a secret. */
  constructor(log: Logger, where: string, ask: () => Promise<unknown>) {
    this.#log = log;
    this.#where = where;
    this.#ask = ask;
  }

  /** Runs a call and records its outcome. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      const answer = await work();
      this.#heard = performance.now();
      this.#end(["unreachable", "unauthorized"]);
      return answer;
    } catch (error) {
      if (error instanceof SignerError) this.record(error);
      throw error;
    }
  }

  /** Logs changes only: once for each kind of trouble, and once for its end. */
  record(error: SignerError): void {
    const known = this.#trouble?.kind === error.trouble;
    this.#trouble = { kind: error.trouble, since: performance.now() };
    if (error.trouble !== "unreachable" && error.trouble !== "unauthorized") this.#heard = performance.now();
    else this.#heard = Number.NEGATIVE_INFINITY;
    if (known) return;
    const detail = (error.cause as Error | undefined)?.message;
    const context = { signer: this.#where, trouble: error.trouble, detail, action: signerActions[error.trouble] };
    this.#log.error(context, error.trouble === "unreachable" ? "signer not reachable" : error.message);
  }

  /** Records that a valid signature arrived. */
  signed(): void {
    this.#end(["refused", "spent", "wrong_answer"]);
  }

  async check(): Promise<SignerTrouble | null> {
    await this.requireAnswer().catch(() => undefined);
    const trouble = this.#trouble;
    if ((trouble?.kind === "refused" || trouble?.kind === "spent") && performance.now() - trouble.since > refusedMs)
      return null;
    return trouble?.kind ?? null;
  }

  async requireAnswer(): Promise<void> {
    if (performance.now() - this.#heard < heardMs) return;
    this.#asking ??= this.watch(this.#ask)
      .then(() => undefined)
      .finally(() => {
        this.#asking = null;
      });
    await this.#asking;
  }

  #end(kinds: readonly SignerTrouble[]): void {
    if (!this.#trouble || !kinds.includes(this.#trouble.kind)) return;
    this.#trouble = null;
    this.#log.info({ signer: this.#where }, "the signer signs again");
  }
}
