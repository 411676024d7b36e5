/** Does one step of the demo and prints its result and its duration. */
export async function step<T>(title: string, work: () => Promise<T>, show: (value: T) => string[]): Promise<T> {
  const started = performance.now();
  const value = await work();
  process.stdout.write(`\n  ${title}  ${Math.round(performance.now() - started)} ms\n`);
  for (const line of show(value)) process.stdout.write(`    ${line}\n`);
  return value;
}
