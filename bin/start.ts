import { startStack } from "../src/embedded/stack.ts";

/** `npm start`: prints one line `MINTYARD_READY {json}` on stdout when all is ready; SIGTERM and SIGINT end it. */
export async function runStart(): Promise<number> {
  const stopAsked = untilStopAsked();
  const starting = startStack(process.env, (line) => process.stderr.write(`${line}\n`));
  const first = await Promise.race([starting.then(() => "ready" as const), stopAsked]);
  const stack = await starting;
  if (first === "ready") {
    process.stdout.write(`MINTYARD_READY ${JSON.stringify(stack.ready)}\n`);
    await stopAsked;
  }
  await stack.stop();
  return 0;
}

/** Resolves when this process is told to end, or when the one that started it is gone. */
export function untilStopAsked(): Promise<"stop"> {
  return new Promise((done) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => done("stop"));
    process.on("disconnect", () => done("stop"));
  });
}
