/**
 * JSON text in pieces. What PostgreSQL wrote stays the bytes that came from it, which may be cut anywhere, and
 * is decoded only where it is read: decoding a page and encoding it again costs more than to send it.
 */
export class JsonText {
  readonly #pieces: (string | Buffer)[] = [];
  /** What gives back the memory of pieces. */
  readonly #lent: (() => void)[] = [];

  /** @param pieces bytes are UTF-8. @param giveBack their memory. */
  constructor(pieces: readonly Buffer[] = [], giveBack?: () => void) {
    this.#pieces.push(...pieces);
    if (giveBack) this.#lent.push(giveBack);
  }

  /** Puts something behind. A string is text already, not a value to be quoted. */
  add(part: string | JsonText): this {
    if (typeof part !== "string") {
      for (const piece of part.#pieces) this.#push(piece);
      // From here on it is this text's.
      this.#lent.push(...part.#lent.splice(0));
    } else if (part !== "") this.#push(part);
    return this;
  }

  /** For a writer that sends one after the other; strings as UTF-8. */
  get pieces(): readonly (string | Buffer)[] {
    return this.#pieces;
  }

  /** Gives back the memory of the pieces: nothing may read them any more. Who never calls it leaves that to the collector. */
  release(): void {
    for (const giveBack of this.#lent.splice(0)) giveBack();
  }

  get byteLength(): number {
    let length = 0;
    for (const piece of this.#pieces) length += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    return length;
  }

  toString(): string {
    return Buffer.concat(
      this.#pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
    ).toString();
  }

  #push(piece: string | Buffer): void {
    const last = this.#pieces.length - 1;
    const before = this.#pieces[last];
    if (typeof piece === "string" && typeof before === "string") this.#pieces[last] = before + piece;
    else this.#pieces.push(piece);
  }
}
