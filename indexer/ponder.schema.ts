export * from "../schema/ledger.ts";
