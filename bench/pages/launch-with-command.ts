import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { cutAt, type LaunchJob, mostDifference } from "./launch-job.ts";
import { residentMegabytes } from "./process-memory.ts";

const program = join(import.meta.dirname, "../../bin/mintyard.ts");

interface Event {
  event: string;
  files?: number;
}

/** `mintyard launch`, killed once halfway through its uploads and started again. */
export async function launchWithCommand(job: LaunchJob): Promise<void> {
  const { figures, count, bytesEach, stored } = job;
  const began = performance.now();
  const seen = { megabytes: 0, difference: 0 };
  const cut = await run(job, seen, cutAt * count);
  if (!cut) throw new Error("the launch was over before it was cut");
  figures.note("command_stored_at_cut", await stored());
  if (await run(job, seen, Number.POSITIVE_INFINITY)) throw new Error("the second run was cut");
  const seconds = (performance.now() - began) / 1_000;
  figures.note("command_seconds", seconds);
  figures.note("command_megabytes_per_second", (count * bytesEach) / 1_000_000 / seconds);
  figures.check("command_memory_mb", seen.megabytes, 200);
  figures.check("command_progress_difference_percent", seen.difference, mostDifference);
  figures.check("command_files_stored_twice", Math.abs((await stored()) - count), 0);
}

/** @returns whether it was interrupted. */
async function run(job: LaunchJob, seen: { megabytes: number; difference: number }, cut: number): Promise<boolean> {
  const { stack, key, folder, count, stored } = job;
  const child = spawn(process.execPath, [...nodeFlags, program, "launch", folder, "--yes", "--json"], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], MINTYARD_DATA_DIR: stack.dir, MINTYARD_KEY: key },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((done) => child.once("exit", done));
  const timer = setInterval(() => {
    seen.megabytes = Math.max(seen.megabytes, residentMegabytes(child.pid ?? 0));
  }, 100);
  let killed = false;
  const compare = async (files: number) => {
    const now = await stored();
    seen.difference = Math.max(seen.difference, (100 * Math.abs(files - now)) / count);
  };
  const comparing: Promise<void>[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { event, files } = JSON.parse(line) as Event;
    if (event !== "progress" || files === undefined || killed) return;
    comparing.push(compare(files));
    if (files < cut) return;
    killed = true;
    child.kill("SIGKILL");
  });
  const code = await ended;
  clearInterval(timer);
  await Promise.all(comparing);
  if (!killed && code !== 0) throw new Error(`the launch ended with code ${code}`);
  return killed;
}
