/**
 * Equal requests of one process that are under way at the same moment: the first one does the work, the others
 * wait for what it finds. A crowd of duplicates then costs one connection and one nonce's worth of questions;
 * between processes the database decides, as it does for a duplicate that comes later.
 */
export class SharedRequests<T> {
  readonly #underWay = new Map<string, Promise<T>>();

  /**
   * @param name everything by which two requests are the same, the account's id included.
   * @throws whatever the work throws, to everybody who waits for it.
   */
  async do(name: string, work: () => Promise<T>): Promise<T> {
    const earlier = this.#underWay.get(name);
    if (earlier) return await earlier;
    const mine = work();
    this.#underWay.set(name, mine);
    try {
      return await mine;
    } finally {
      this.#underWay.delete(name);
    }
  }
}
