import pg from "pg";

// bigint columns (block numbers, counters) stay far below 2^53 unless a column says otherwise. numeric columns (token
// ids, wei) arrive as text, which their reader parses to bigint. pg keeps its parsers in one global of the process, so
// this is the only file that may set one.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => BigInt(text));
