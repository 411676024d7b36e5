import type { AccountTables } from "./tables/accounts.ts";
import type { CollectionTables } from "./tables/collections.ts";
import type { EventTables } from "./tables/events.ts";
import type { MetadataTables } from "./tables/metadata.ts";
import type { NftViews } from "./tables/nft.ts";
import type { RelayTables } from "./tables/relay.ts";
import type { UploadTables } from "./tables/uploads.ts";

/** Every relation that the service reads or writes, by its qualified name. */
export interface Database
  extends AccountTables,
    UploadTables,
    RelayTables,
    CollectionTables,
    MetadataTables,
    EventTables,
    NftViews {}
