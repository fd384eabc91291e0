// What a session hears of the sessions that it has started, folded. The rest of the fold is in apply.ts.

import type { Child, EventRecord } from '../api/types'
import { plus, type View } from './apply'

/** Folds a record that speaks of a child: that it was started, what it asks, how it ended. */
export function applyToChildren(view: View, record: EventRecord): void {
  const children = view.children ?? []
  switch (record.type) {
    case 'subagent_started': {
      if (!record.turn_id) return
      const { session_id, tool_call_id, subtask, description, background } = record.data
      const child: Child = {
        session_id,
        turn_id: record.turn_id,
        tool_call_id: tool_call_id ?? null,
        ...(subtask != null ? { subtask } : {}),
        description,
        background,
        outcome: null,
        approvals: [],
      }
      view.children = [...children, child]
      return
    }
    case 'subagent_completed': {
      const { session_id, ...outcome } = record.data
      view.children_usage = plus(view.children_usage ?? {}, outcome.usage)
      view.children = children
        .map((child) => (child.session_id === session_id ? { ...child, outcome, approvals: [] } : child))
        .filter((child) => isOfInterest(child, view.running_turn_id ?? null))
      return
    }
    case 'approval_requested': {
      const { tool_call: call, kind, summary, rule, options, child: asks } = record.data
      if (!asks) return
      const approval = {
        session_id: asks.session_id,
        turn_id: asks.turn_id,
        tool_call_id: call.id,
        tool: call.name,
        input: call.input,
        kind,
        summary,
        rule,
        ...(options?.length ? { options } : {}),
        requested_at: record.ts,
      }
      view.children = children.map((child) =>
        child.session_id === asks.via ? { ...child, approvals: [...child.approvals, approval] } : child,
      )
      return
    }
    case 'approval_granted':
    case 'approval_denied': {
      const { tool_call_id, child: asked } = record.data
      if (!asked) return
      view.children = children.map((child) => ({
        ...child,
        approvals: child.approvals.filter((a) => a.session_id !== asked.session_id || a.tool_call_id !== tool_call_id),
      }))
      return
    }
    default:
      return
  }
}

/** Whether anybody still has to hear of it: the turn that waits for it, or the model. */
export function isOfInterest(child: Child, openTurn: string | null): boolean {
  if (!child.outcome) return true
  if (openTurn === child.turn_id) return true
  return child.background && child.outcome.status !== 'canceled'
}

/** A background child whose end the model has been told of is of no interest any more. */
export function dropEndNotice(view: View, messageId: string): void {
  view.children = (view.children ?? []).filter((child) => !child.outcome || noteId(child.session_id) !== messageId)
}

/** The id of the message that tells of a child's end: the child's own, with its last bit the other way round. */
function noteId(sessionId: string): string {
  const last = parseInt(sessionId.slice(-1), 16) ^ 1
  return `msg_${sessionId.slice('sess_'.length, -1)}${last.toString(16)}`
}
