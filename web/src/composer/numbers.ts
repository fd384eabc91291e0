/** Money and sizes in few letters. */

import type { Prices } from '../../../clients/ts/src/generated/http'

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '')
}

/** $0.0042, $0.31, $12.40; nothing when it is not known. */
export function money(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return ''
  if (dollars === 0) return '$0'
  return dollars < 0.01 ? `$${dollars.toPrecision(2)}` : `$${dollars.toFixed(2)}`
}

/** What a million tokens cost. */
export function price(prices: Prices | null | undefined): string {
  if (!prices) return ''
  return prices.input === 0 && prices.output === 0 ? 'free' : `$${prices.input} in, $${prices.output} out`
}

/** 900 B, 12 KiB, 3.4 MiB. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  return count < 1024 * 1024 ? `${Math.round(count / 1024)} KiB` : `${trimmed(count / 1024 / 1024)} MiB`
}
