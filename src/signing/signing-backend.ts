import type { Chain } from "../chains.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Signer } from "./signer.ts";
import { SignerError, type SignerTrouble, signerActions } from "./trouble.ts";

/** Where the wallets of this process sign. */
export interface SigningBackend {
  readonly kind: "in_process" | "signer" | "web3signer";
  /** The wallets of a chain, the first one being the admin of its collections. */
  wallets(chain: Chain): Signer[];
  /** What is wrong with it; null when nothing is known to be. Asks it when nothing was heard of it lately. */
  check(): Promise<SignerTrouble | null>;
  /**
   * Before requests are simulated, which somebody then has to sign.
   *
   * @throws SignerError `unreachable` or `unauthorized`.
   */
  requireAnswer(): Promise<void>;
  /** Which wallets it holds on a chain, lower case; null when it cannot say. @throws SignerError */
  held(chain: Chain): Promise<readonly string[] | null>;
  close(): void;
}

/** For so long a signer that answered counts as there. */
const heardMs = 1_000;
/** A refusal is reported for so long, unless it signs again. */
const refusedMs = 600_000;

/** What one process knows of a signer elsewhere. */
export class SignerHealth {
  readonly #ask: () => Promise<unknown>;
  readonly #log: Logger;
  readonly #where: string;
  #trouble: { kind: SignerTrouble; since: number } | null = null;
  #heard = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  /** @param ask a question that costs the signer nothing. @param where for the log, without a secret. */
  constructor(log: Logger, where: string, ask: () => Promise<unknown>) {
    this.#log = log;
    this.#where = where;
    this.#ask = ask;
  }

  /** Runs a question and remembers how it went. */
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

  /** Logs what is new: once for each kind of trouble, and once for its end. */
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

  /** A signature came, and it is one that can be used. */
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
