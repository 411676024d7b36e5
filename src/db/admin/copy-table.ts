import { closeSync, createReadStream, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { writeWhole } from "./write-whole.ts";

/** Where a backup keeps the rows of a table. */
const fileOf = (folder: string, name: string) => join(folder, "service", `${name}.copy`);

/** What node-postgres asks of a statement that runs in a mode of its own. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

/** Writes all rows of a table of schema `service` into the folder. @returns how many. */
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

/** Puts the folder's rows of a table back. @returns how many. */
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

/** Runs one COPY. @returns how many rows it moved. */
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
