import { keep, readKept } from "../../shared/kept.ts";

const key = "walletconnect-session";

/** Whether a reload has a session to restore; checked before the code for that is loaded. */
export const hasSession = () => readKept(key) !== null;
export const rememberSession = () => keep(key, "1");
export const forgetSession = () => keep(key, null);
