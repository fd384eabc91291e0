/** How long to wait between two tries to come back to a daemon, and the waiting. */

/** Waits that double from the first to the longest. */
export interface Backoff {
  /** The first wait, in milliseconds. */
  first: number;
  /** No wait is longer. */
  longest: number;
  /** How many tries in a row may fail. */
  tries: number;
}

/** From 0.1 s to 5 s, for about half a minute: enough for a daemon that is being restarted. */
export const DEFAULT_BACKOFF: Backoff = { first: 100, longest: 5_000, tries: 11 };

/** How long to wait before try number `attempt`, from 1; undefined when it is time to give up. */
export function waitBefore(attempt: number, backoff: Backoff): number | undefined {
  if (attempt > backoff.tries) return undefined;
  return Math.min(backoff.first * 2 ** Math.min(attempt - 1, 20), backoff.longest);
}

/** Waits, unless the signal ends it. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
  });
}
