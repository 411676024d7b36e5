/** A command cannot continue. The message says what is wrong and what to do; nothing more was done or paid. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
}
