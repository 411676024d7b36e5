import { closeSync, createReadStream, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** The file of a backup with a table's rows. */
const fileOf = (folder: string, name: string) => join(folder, "service", `${name}.copy`);

/** The interface that node-postgres requires of a statement with a protocol mode of its own, such as COPY. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

/** Writes all rows of a table of schema `service` into the folder. @returns the number of rows. */
export async function copyOut(client: pg.Client, name: string, folder: string): Promise<number> {
  const file = openSync(fileOf(folder, name), "wx", 0o600);
  try {
    const rows = await copy(client, `COPY service.${pg.escapeIdentifier(name)} TO STDOUT`, (chunk) => {
      writeWhole(file, chunk);
    });
    fsyncSync(file);
    return rows;
  } finally {
    closeSync(file);
  }
}

/** Loads a table's rows from the folder. @returns the number of rows. */
export async function copyIn(client: pg.Client, name: string, folder: string): Promise<number> {
  return await copy(
    client,
    `COPY service.${pg.escapeIdentifier(name)} FROM STDIN`,
    () => undefined,
    async (connection) => {
      for await (const chunk of createReadStream(fileOf(folder, name))) {
        connection.sendCopyFromChunk(chunk as Buffer);
        if (connection.stream.writableNeedDrain)
          await new Promise((drained) => connection.stream.once("drain", drained));
      }
    },
  );
}

/** Runs one COPY. @returns the number of rows. */
function copy(
  client: pg.Client,
  text: string,
  take: (chunk: Buffer) => void,
  give?: (connection: CopyConnection) => Promise<void>,
): Promise<number> {
  return new Promise((done, failed) => {
    let rows = 0;
    let fault: Error | null = null;
    client.query({
      submit: (connection: unknown) => (connection as CopyConnection).query(text),
      handleCopyData: ({ chunk }: { chunk: Buffer }) => take(chunk),
      handleCopyInResponse: (connection: CopyConnection) => {
        give?.(connection).then(
          () => connection.endCopyFrom(),
          (error: Error) => connection.sendCopyFail(error.message),
        );
      },
      handleCommandComplete: (message: { text: string }) => {
        rows = Number(message.text.split(" ")[1]);
      },
      handleError: (error: Error) => {
        fault = error;
        failed(error);
      },
      handleReadyForQuery: () => {
        if (!fault) done(rows);
      },
    } as never);
  });
}

/**
 * Writes all of `bytes`: one write may take fewer without failing, for example on a full disk.
 *
 * @param write as `fs.writeSync`.
 * @throws what `write` throws; Error when a write takes nothing at all.
 */
export function writeWhole(
  file: number,
  bytes: Uint8Array,
  write: (file: number, bytes: Uint8Array, offset: number, length: number) => number = writeSync,
): void {
  for (let at = 0; at < bytes.length; ) {
    const written = write(file, bytes, at, bytes.length - at);
    if (written <= 0) throw new Error(`the file takes no more: ${at} of ${bytes.length} bytes were written`);
    at += written;
  }
}
