import type { RunningStack } from "../../test/setup/stack.ts";
import type { Figures } from "./figures.ts";

/** One launch that is measured. */
export interface LaunchJob {
  stack: RunningStack;
  key: string;
  folder: string;
  count: number;
  bytesEach: number;
  /** Files that this launch has stored until now, as the database has them. */
  stored: () => Promise<number>;
  figures: Figures;
}

/** Of all files: where a launch is cut. */
export const cutAt = 0.4;

/** Per cent of a launch by which its progress may differ from what is stored. */
export const mostDifference = 2;
