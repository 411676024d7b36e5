import type { Logger } from "../log.ts";
import { AnswerTooLarge, type RpcAnswer, type RpcLimits, sendRpc, UnusableAnswer } from "./json-rpc.ts";

/** A node serves another chain than the one it is configured for: nothing of it may be indexed. */
export class WrongChain extends Error {
  override readonly name = "WrongChain";
}

interface Upstream {
  url: string;
  host: string;
  /** Its chain id was checked since it last failed. */
  verified: boolean;
  failures: number;
  /** Not asked before this time (ms), unless all others fail too. */
  restsUntil: number;
}

const maxRestMs = 30_000;

/** The nodes of one chain, best first; a request goes to the first that gives a usable answer. */
export class RpcUpstreams {
  readonly #upstreams: Upstream[];
  readonly #chain: { name: string; id: number };
  readonly #limits: RpcLimits;
  readonly #log: Logger;

  constructor(chain: { name: string; id: number }, urls: readonly string[], limits: RpcLimits, log: Logger) {
    this.#chain = chain;
    this.#limits = limits;
    this.#log = log;
    this.#upstreams = urls.map((url) => ({
      url,
      host: new URL(url).host,
      verified: false,
      failures: 0,
      restsUntil: 0,
    }));
  }

  /**
   * Asks every node for its chain id.
   *
   * @throws WrongChain when one serves another chain, UnusableAnswer when none answers.
   */
  async verify(): Promise<void> {
    const results = await Promise.allSettled(this.#upstreams.map((upstream) => this.#verify(upstream)));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    for (const failure of failures) if (failure instanceof WrongChain) throw failure;
    if (failures.length === results.length) {
      const reasons = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
      throw new UnusableAnswer(`no RPC endpoint of ${this.#chain.name} answers: ${reasons.join("; ")}`);
    }
  }

  /** @throws UnusableAnswer when no node gave a usable answer. */
  async request(method: string, params: unknown): Promise<RpcAnswer> {
    let last: unknown = new UnusableAnswer("no RPC endpoint is configured");
    for (const upstream of this.#inOrder()) {
      try {
        if (!upstream.verified) await this.#verify(upstream);
        const answer = await sendRpc(upstream.url, method, params, this.#limits);
        upstream.failures = 0;
        return answer;
      } catch (error) {
        if (error instanceof AnswerTooLarge) throw error;
        this.#rest(upstream, error);
        last = error;
      }
    }
    throw last;
  }

  /** The configured order, those that failed lately at the end. */
  #inOrder(): Upstream[] {
    const now = Date.now();
    const rested = this.#upstreams.filter((upstream) => upstream.restsUntil <= now);
    return [...rested, ...this.#upstreams.filter((upstream) => upstream.restsUntil > now)];
  }

  // Repeated after each failure: a load balancer or a restarted node may come back as another chain.
  async #verify(upstream: Upstream): Promise<void> {
    const { result } = await sendRpc(upstream.url, "eth_chainId", [], this.#limits);
    const id = typeof result === "string" && /^0x[0-9a-f]+$/i.test(result) ? BigInt(result) : null;
    if (id === null) throw new UnusableAnswer(`${upstream.host} gives no chain id`);
    if (id !== BigInt(this.#chain.id)) {
      const { name, id: wanted } = this.#chain;
      throw new WrongChain(
        `${upstream.host} serves chain id ${id}, but ${name} is configured as ${wanted}: correct RPC_URL_${name.toUpperCase()} or CHAIN_ID_${name.toUpperCase()}`,
      );
    }
    upstream.verified = true;
  }

  #rest(upstream: Upstream, error: unknown): void {
    upstream.verified = false;
    upstream.failures += 1;
    upstream.restsUntil = Date.now() + Math.min(maxRestMs, 250 * 2 ** upstream.failures);
    const level = error instanceof WrongChain ? "error" : "warn";
    this.#log[level](
      { host: upstream.host, reason: error instanceof Error ? error.message : String(error) },
      "RPC endpoint skipped",
    );
  }
}
