import { Socket } from "node:net";

/** As much as one read of Node takes. */
const bufferBytes = 65_536;

/**
 * A socket that reads into the same memory again and again. Of any other, Node allocates 64 KB for each read, and copies what
 * came into memory of its length.
 */
export class SteadySocket extends Socket {
  /** Called with what came, which is gone when it returns; until it is set, `data` is emitted as of any socket. */
  onBytes: ((bytes: Buffer, length: number) => void) | null = null;

  constructor() {
    const buffer = Buffer.allocUnsafeSlow(bufferBytes);
    const callback = (length: number) => {
      if (this.onBytes) this.onBytes(buffer, length);
      else this.emit("data", Buffer.from(buffer.subarray(0, length)));
      return true;
    };
    super({ onread: { buffer, callback } });
  }
}
