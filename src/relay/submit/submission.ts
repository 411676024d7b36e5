import type { Intent } from "../store/intents.ts";
import type { Preflight } from "./preflight.ts";

/** How far an intent came on its way to signed bytes. */
export type Submission =
  /** Its bytes are on disk: it will be finished whatever happens to this process. */
  | { kind: "signed"; intent: Intent }
  /** Not yet, and trying again at once may help; `ready` saves the next try its questions to the node. */
  | { kind: "waiting"; intent: Intent; reason: string; ready: Preflight | null }
  /** Not until something changes: funds, the wallet, what the simulation says. */
  | { kind: "held"; intent: Intent; reason: string }
  /** It ended without a transaction. */
  | { kind: "over"; intent: Intent };

/** What one step led to: a submission, or the intent as it stands now, for the next step. */
export type Step = Submission | Intent;
