/**
 * For `expect.poll`, instead of its one second: a bound for a condition that has to come true, so that a hang ends with
 * what was seen last. It promises no speed. What takes a second on a quiet machine takes twenty on one that does five
 * other things, and a bound near the usual time fails for that alone.
 */
export const patient = { timeout: 150_000 };
