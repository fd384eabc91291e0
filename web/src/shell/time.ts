// Times and figures in few characters.

/** How long ago: `now`, `2m`, `1h`, `2d`, `1w`. */
export function relativeTime(at: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(at)) / 60_000)
  if (!(minutes >= 1)) return 'now'
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h`
  const days = Math.floor(hours / 24)
  return days < 7 ? `${days}d` : `${Math.floor(days / 7)}w`
}

/** A number of tokens: `950`, `12.3k`, `1.2M`. */
export function compactNumber(value: number): string {
  if (value < 1000) return String(value)
  if (value < 1_000_000) return `${trim(value / 1000)}k`
  return `${trim(value / 1_000_000)}M`
}

function trim(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, '')
}

/** An amount of money. */
export function dollars(value: number): string {
  if (value === 0) return '$0'
  return value < 0.01 ? '<$0.01' : `$${value.toFixed(2)}`
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.split('/').filter(Boolean).at(-1) ?? path
}
