import { type ChildProcess, spawn } from "node:child_process";

/**
 * Waits for a word on its input, which says that the server needs no guard any more. An input that ends without one is
 * a launcher that was killed. Its other children then end by themselves and write down what they have under way, so
 * the server goes a little later: by a fast shutdown first, and if that takes long as in a crash.
 */
const script = `
read -r word && exit 0
ours() {
  kill -0 "$1" 2>/dev/null || return 1
  [ ! -d /proc/self ] || grep -q postgres "/proc/$1/cmdline" 2>/dev/null
}
end_within() {
  tries=$2
  while ours "$1" && [ "$tries" -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
}
end_within "$1" 20
if ours "$1"; then kill -INT "$1"; fi
end_within "$1" 55
if ours "$1"; then kill -QUIT "$1"; fi
`;

/**
 * Ends a server whose launcher is killed, which cannot do it itself: the server would stay for good. A shell of half a
 * megabyte beside it holds the other end of a pipe; in a session of its own, so that neither Ctrl-C nor the end of a
 * terminal takes it away first.
 *
 * @returns takes the guard away; call it when the server has ended.
 */
export function guardPostgres(server: ChildProcess): () => void {
  if (process.platform === "win32" || !server.pid) return () => undefined;
  const guard = spawn("/bin/sh", ["-c", script, "postgres-guard", String(server.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
  });
  // Without a shell there is no guard, and everything else is as it was.
  guard.on("error", () => undefined);
  guard.stdin?.on("error", () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return () => void guard.stdin?.end("done\n");
}
