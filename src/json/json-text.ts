/**
 * JSON text in pieces. PostgreSQL's output stays bytes, which may be split anywhere, and is decoded only where it is
 * read: decoding a page and encoding it again costs more than sending it.
 */
export class JsonText {
  readonly #pieces: (string | Buffer)[] = [];
  /** Functions that release the pieces' memory. */
  #lent: (() => void)[] | null = null;

  /** @param pieces UTF-8 bytes. @param giveBack releases their memory. */
  constructor(pieces: readonly Buffer[] = [], giveBack?: () => void) {
    for (const piece of pieces) this.#pieces.push(piece);
    if (giveBack) this.#lent = [giveBack];
  }

  /** Appends text. A string is JSON text already, not a value to be quoted. */
  add(part: string | JsonText): this {
    if (typeof part !== "string") {
      for (const piece of part.#pieces) this.#push(piece);
      // This text takes over the part's memory.
      if (part.#lent) this.#lent = this.#lent ? this.#lent.concat(part.#lent) : part.#lent;
      part.#lent = null;
    } else if (part !== "") this.#push(part);
    return this;
  }

  /** The pieces in order, for a writer; strings are to be sent as UTF-8. */
  get pieces(): readonly (string | Buffer)[] {
    return this.#pieces;
  }

  /** Releases the pieces' memory; nothing may read them afterwards. Otherwise the garbage collector frees it. */
  release(): void {
    const lent = this.#lent ?? [];
    this.#lent = null;
    for (const giveBack of lent) giveBack();
  }

  get byteLength(): number {
    let length = 0;
    for (const piece of this.#pieces) length += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    return length;
  }

  /** The UTF-8 bytes as latin1, one character per byte, for a small text that is sent with its headers. */
  latin1(): string {
    let text = "";
    for (const piece of this.#pieces) {
      if (typeof piece !== "string") text += piece.toString("latin1");
      else text += Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString("latin1");
    }
    return text;
  }

  toString(): string {
    return Buffer.concat(
      this.#pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
    ).toString();
  }

  /** Returns the text and releases its pieces' memory. */
  take(): string {
    const text = this.toString();
    this.release();
    return text;
  }

  #push(piece: string | Buffer): void {
    const last = this.#pieces.length - 1;
    const before = this.#pieces[last];
    if (typeof piece === "string" && typeof before === "string") this.#pieces[last] = before + piece;
    else this.#pieces.push(piece);
  }
}
