import { readFileSync } from "node:fs";

/** Resident memory of a process in 10^6 bytes, including shared pages; 0 once it has ended. Linux. */
export function residentMegabytes(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kilobytes ?? 0) * 1024) / 1_000_000;
  } catch {
    return 0;
  }
}
