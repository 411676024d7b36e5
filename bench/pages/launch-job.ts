import type { RunningStack } from "../../test/setup/stack.ts";
import type { Figures } from "./figures.ts";

/** One launch to measure. */
export interface LaunchJob {
  stack: RunningStack;
  key: string;
  folder: string;
  count: number;
  bytesEach: number;
  /** Files that this launch has stored so far, according to the database. */
  stored: () => Promise<number>;
  figures: Figures;
}

/** Share of all files after which a launch is interrupted. */
export const cutAt = 0.4;

/** Per cent of a launch by which the progress shown may differ from what is stored. */
export const mostDifference = 2;
