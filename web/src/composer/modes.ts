/**
 * The ways to let a session work between which people switch, as policies. A policy that is none of them is shown as
 * custom and left as it is until somebody chooses one.
 */

import type { PolicyBody, ToolKind } from '../api/types'

export interface Mode {
  id: 'ask' | 'review' | 'edits' | 'free'
  name: string
  /** What it means, in a line. */
  description: string
  /** Kinds of calls that wait for an answer. */
  asks: ToolKind[]
  /** Whether what a turn changed waits for a review at its end. */
  reviews: boolean
}

export const MODES: readonly Mode[] = [
  {
    id: 'ask',
    name: 'Ask first',
    description: 'Asks before edits, commands and network calls.',
    asks: ['write', 'exec', 'network'],
    reviews: false,
  },
  {
    id: 'review',
    name: 'Review edits',
    description:
      'Edits files without asking and asks you to review each turn’s changes. Asks before commands and network calls.',
    asks: ['exec', 'network'],
    reviews: true,
  },
  {
    id: 'edits',
    name: 'Accept edits',
    description: 'Edits files without asking. Asks before commands and network calls.',
    asks: ['exec', 'network'],
    reviews: false,
  },
  {
    id: 'free',
    name: 'Never ask',
    description: 'Runs everything without asking, inside the sandbox.',
    asks: [],
    reviews: false,
  },
]

/** The mode that a policy amounts to; null when it is none of them. A review tells two of them apart. */
export function modeOf(policy: Pick<PolicyBody, 'approval' | 'patch_review'> | undefined): Mode | null {
  const asks = new Set(policy?.approval?.require_for_kinds ?? [])
  const same = MODES.filter((mode) => mode.asks.length === asks.size && mode.asks.every((kind) => asks.has(kind)))
  const reviews = policy?.patch_review?.mode === 'request'
  // A policy that asks for nothing but a review is not “Never ask”.
  return same.find((mode) => mode.reviews === reviews) ?? (asks.size > 0 ? (same[0] ?? null) : null)
}

/** The change of policy that leads to a mode. Rules and tools that are named stay as they are. */
export function policyFor(mode: Mode): PolicyBody {
  return { approval: { require_for_kinds: [...mode.asks] }, patch_review: { mode: mode.reviews ? 'request' : 'off' } }
}
