import type { ColumnType, Generated, GeneratedAlways } from "kysely";

export type UploadKind = "file" | "metadata" | "metadata_directory";
export type PinState = "local" | "queued" | "pinned" | "failed";

export interface UploadTables {
  "service.car": CarTable;
  "service.block": BlockTable;
  "service.content_entry": ContentEntryTable;
  "service.upload": UploadTable;
}

/** int8: read as bigint; may be written as a number. */
type Int8 = ColumnType<bigint, bigint | number, bigint | number>;

interface CarTable {
  id: GeneratedAlways<bigint>;
  root: string;
  file: string;
  size: Int8;
  /** False: `content_entry` lists none of its files, which are found by their blocks instead. */
  listed: Generated<boolean>;
  /** When a worker is to read it again. */
  check_after: Generated<Date>;
  checked_at: Date | null;
  /** What was wrong at the last reading. */
  damage: string | null;
  created_at: Generated<Date>;
}

interface BlockTable {
  multihash: Buffer;
  car_id: Int8;
  position: Int8;
  size: number;
}

interface ContentEntryTable {
  car_id: Int8;
  path: string;
  cid: string;
  size: Int8;
  content_type: string | null;
}

interface UploadTable {
  id: Generated<string>;
  account_id: string;
  kind: UploadKind;
  cid: string;
  car_id: Int8;
  file_name: string | null;
  content_type: string | null;
  size: Int8;
  /** What it counts for in the account's storage, if that is more than its bytes; null in older rows. */
  counted: ColumnType<bigint | null, bigint | number | null | undefined, bigint | number | null>;
  profile: string;
  pin_state: PinState;
  pin_attempts: Generated<number>;
  pin_due_at: Generated<Date>;
  pin_error: string | null;
  pinned_at: Date | null;
  created_at: Generated<Date>;
}
