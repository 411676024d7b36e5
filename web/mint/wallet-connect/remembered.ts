const key = "walletconnect-session";

/** Whether a reload has a session to restore; asked before the code for that is loaded. */
export function hasSession(): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

export function rememberSession(): void {
  try {
    localStorage.setItem(key, "1");
  } catch {
    // A browser that keeps nothing forgets the session too.
  }
}

export function forgetSession(): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // It was not kept.
  }
}
