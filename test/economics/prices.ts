/**
 * What the operator pays, in euros, rounded up from public price lists of 2025. `docs/limits.md` names them; whoever
 * pays more puts in their own and runs `mintyard dev measure limits`.
 */
export const pricesEur = {
  /** A POL, as `COIN_EUR_POLYGON` has it by default. */
  coin: 0.5,
  /** A call of a hosted node: 12 EUR a million. */
  rpcCall: 0.000_012,
  /** A rented core, 26 EUR a month. */
  processorSecond: 0.000_01,
  /** A gigabyte of disk with its backup, kept for a day. */
  gigabyteDay: 0.1 / 30,
  /** A kilobyte of database with its indexes, log and backup, kept for a day. */
  rowDay: (1e-6 * 0.25 * 4) / 30,
  databaseGigabyteDay: (0.25 * 4) / 30,
} as const;
