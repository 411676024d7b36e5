/** For how long the nodes have to serve another chain, and nothing else. One wrong answer is no reason. */
const timeoutMs = 10_000;
/** On a busy machine a single poll can last as long. */
const fewestPolls = 3;

/** Detects nodes that came back as another chain. Polls without an answer count for nothing. */
export class WrongChainWatch {
  #since: number | null = null;
  #polls = 0;

  /** The nodes served the chain that is indexed. */
  recordRightChain(): void {
    this.#since = null;
    this.#polls = 0;
  }

  /** The nodes served another one. @returns true when they have done so for ten seconds. */
  isLasting(now = performance.now()): boolean {
    this.#since ??= now;
    this.#polls += 1;
    return this.#polls >= fewestPolls && now - this.#since >= timeoutMs;
  }
}
