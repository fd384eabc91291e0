/**
 * Which of two moments is the later one, for sorting. They come with as many digits as they need, so that their text alone
 * does not tell (`…:22.1Z` is before `…:22.135Z`), and with more of them than a `Date` keeps.
 */
export function compareTimes(one: string, other: string): number {
  const [first, second] = [spelled(one), spelled(other)]
  return first < second ? -1 : first > second ? 1 : 0
}

function spelled(at: string): string {
  const [seconds = '', fraction = ''] = at.replace('Z', '').split('.')
  return `${seconds}.${fraction.padEnd(9, '0')}`
}
