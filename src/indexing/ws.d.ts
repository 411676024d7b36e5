/** The part of `ws` that is used here; the package has no types of its own. */
declare module "ws" {
  import type { EventEmitter } from "node:events";
  import type { Server } from "node:http";
  import type { Server as SecureServer } from "node:https";

  export interface ServerSocket extends EventEmitter {
    send(text: string): void;
    terminate(): void;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: { server: Server | SecureServer; maxPayload: number });
    readonly clients: ReadonlySet<ServerSocket>;
    close(): void;
  }
}
