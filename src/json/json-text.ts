/**
 * JSON text in pieces. What PostgreSQL wrote stays the bytes that came from it, which may be cut anywhere, and
 * is decoded only where it is read: decoding a page and encoding it again costs more than to send it.
 */
export class JsonText {
  readonly #pieces: (string | Buffer)[] = [];

  /** @param pieces bytes are UTF-8. */
  constructor(pieces: readonly Buffer[] = []) {
    this.#pieces.push(...pieces);
  }

  /** Puts something behind. A string is text already, not a value to be quoted. */
  add(part: string | JsonText): this {
    if (typeof part !== "string") {
      for (const piece of part.#pieces) this.#push(piece);
    } else if (part !== "") this.#push(part);
    return this;
  }

  /** For a writer that sends one after the other; strings as UTF-8. */
  get pieces(): readonly (string | Buffer)[] {
    return this.#pieces;
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
