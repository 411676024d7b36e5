import pg from "pg";

// bigint columns (block numbers, counters) stay far below 2^53 except where a column says otherwise;
// numeric (token ids, wei) arrives as text and is parsed to bigint by its reader.
// pg keeps its parsers in one global of the process, so this is the only place that may set one.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => BigInt(text));
