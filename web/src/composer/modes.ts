/**
 * The three ways to let a session work that most people switch between, as approval policies. A policy that is
 * none of them is shown as custom and left as it is until somebody chooses one.
 */

import type { ApprovalPolicy, PolicyBody, ToolKind } from '../api/types'

export interface Mode {
  id: 'ask' | 'edits' | 'free'
  name: string
  /** What it means, in a line. */
  description: string
  /** Kinds of calls that wait for an answer. */
  asks: ToolKind[]
}

export const MODES: readonly Mode[] = [
  {
    id: 'ask',
    name: 'Ask first',
    description: 'Changes, commands and network calls wait for your answer.',
    asks: ['write', 'exec', 'network'],
  },
  {
    id: 'edits',
    name: 'Accept edits',
    description: 'Files are changed without asking; commands and network calls wait.',
    asks: ['exec', 'network'],
  },
  {
    id: 'free',
    name: 'Never ask',
    description: 'Everything runs by itself, inside the sandbox.',
    asks: [],
  },
]

/** The mode that a policy amounts to; null when it is none of them. */
export function modeOf(policy: ApprovalPolicy | undefined): Mode | null {
  const asks = new Set(policy?.require_for_kinds ?? [])
  const same = (mode: Mode) => mode.asks.length === asks.size && mode.asks.every((kind) => asks.has(kind))
  return MODES.find(same) ?? null
}

/** The next mode in the round, for a key. From a custom policy it is the most careful one. */
export function nextMode(policy: ApprovalPolicy | undefined): Mode {
  const now = modeOf(policy)
  const place = now ? MODES.indexOf(now) : -1
  return MODES[(place + 1) % MODES.length] ?? MODES[0]!
}

/** The change of policy that leads to a mode. Rules and tools that are named stay as they are. */
export function policyFor(mode: Mode): PolicyBody {
  return { approval: { require_for_kinds: [...mode.asks] } }
}
