import type { Kysely } from "kysely";
import type pg from "pg";
import type { KeyCache } from "./auth/keys.ts";
import type { RateLimiter } from "./auth/rate-limit.ts";
import type { StreamPermits } from "./auth/stream-permits.ts";
import type { UploadPermits } from "./auth/upload-permits.ts";
import type { UsageCounter } from "./auth/usage.ts";
import type { Database } from "./db/database.ts";
import type { PipelinedConnections } from "./db/pipeline/pipelined-connections.ts";
import type { DiskRoom } from "./db/pool/disk-room.ts";
import type { ReadPool } from "./db/pool/read-pool.ts";
import type { ContentStore } from "./ipfs/content-store.ts";
import type { MetadataDemand } from "./metadata/discover/metadata-demand.ts";
import type { LinkedPictures } from "./metadata/pictures/linked-pictures.ts";
import type { EventFeed } from "./outbox/event-feed.ts";
import type { AccountCalls } from "./rpc/account-calls.ts";
import type { ReaderCalls } from "./rpc/reader-calls.ts";
import type { Thumbnails } from "./thumbnails/thumbnails.ts";
import type { SignatureLooks } from "./transactions/accept/until-signed.ts";
import type { RelayContext } from "./transactions/chain/context.ts";

/** What use cases and workers work with; built once per process (`processes/create-services.ts`) and passed in. */
export interface Services extends RelayContext {
  pool: pg.Pool;
  /** For reads of the index and of metadata: a replica may answer, some seconds behind. Nothing else goes here. */
  index: { pool: ReadPool; db: Kysely<Database> };
  /** Reads whose answer is JSON made by PostgreSQL. */
  reads: PipelinedConnections;
  /** Calls of contracts that callers of the API without a deployment of their own cause. */
  readerCalls: ReaderCalls;
  /** What requests with a key may ask of the nodes beside those. */
  accountCalls: AccountCalls;
  /** Keys, rates, usage and streams of the requests of this process. */
  auth: { keys: KeyCache; limiter: RateLimiter; usage: UsageCounter; permits: UploadPermits; streams: StreamPermits };
  /** What becomes of requests that clients of this process wait for. */
  signatures: SignatureLooks;
  content: ContentStore;
  /** Previews of its pictures. */
  thumbnails: Thumbnails;
  /** Previews of pictures elsewhere. */
  linkedPictures: LinkedPictures;
  /** Events, for streams of this process. */
  feed: EventFeed;
  /** Whether there is room to keep more. */
  disk: DiskRoom;
  /** What readers of this process ask for. */
  demand: MetadataDemand;
}
