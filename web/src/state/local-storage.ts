// What the browser keeps for this page between visits. A browser that keeps nothing is no error.

const PREFIX = 'ostler:'

/** Keeps a value under a name; `undefined` removes it. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, JSON.stringify(value))
  } catch {
    // Storage is full or forbidden: the page works without it.
  }
}

/** What was kept under a name, or else the fallback. */
export function recall<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name)
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}
