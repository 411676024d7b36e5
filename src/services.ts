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

/** The dependencies of use cases and workers; built once per process (`processes/create-services.ts`) and passed in. */
export interface Services extends RelayContext {
  pool: pg.Pool;
  /** For reads of the index and of metadata, which a replica may answer, some seconds behind. For nothing else. */
  index: { pool: ReadPool; db: Kysely<Database> };
  /** Reads whose answer is JSON made by PostgreSQL. */
  reads: PipelinedConnections;
  /** Budget for contract calls caused by API callers without a deployment of their own. */
  readerCalls: ReaderCalls;
  /** Budget for further node calls of requests with a key. */
  accountCalls: AccountCalls;
  /** Keys, rates, usage and streams of this process's requests. */
  auth: { keys: KeyCache; limiter: RateLimiter; usage: UsageCounter; permits: UploadPermits; streams: StreamPermits };
  /** Watches the requests that this process's clients wait for. */
  signatures: SignatureLooks;
  content: ContentStore;
  /** Previews of the content store's pictures. */
  thumbnails: Thumbnails;
  /** Previews of pictures stored elsewhere. */
  linkedPictures: LinkedPictures;
  /** Events for this process's streams. */
  feed: EventFeed;
  /** Whether there is space to store more. */
  disk: DiskRoom;
  /** Records which metadata this process's readers want. */
  demand: MetadataDemand;
}
