/** Gives an answer to an approval. What stands on the page is changed by the event that follows, not here. */

import { approve } from '../api/actions'
import { ApiError } from '../api/http'
import type { AnswerBody, ApprovalOption, PendingApproval } from '../api/types'
import type { AnswerKind } from './keys'

/** The tool under whose name a patch review waits. */
export const PATCH_REVIEW = 'patch_review'

/** The body of an answer. */
export function answerBody(approval: PendingApproval, kind: AnswerKind, reason: string): AnswerBody {
  const named = { turn_id: approval.turn_id, tool_call_id: approval.tool_call_id }
  if (kind === 'deny' || kind === 'reason') {
    return { ...named, action: 'deny', ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }
  }
  return { ...named, action: 'approve', scope: kind }
}

/** The body for one of the answers that someone else's agent offers. */
export function optionBody(approval: PendingApproval, option: ApprovalOption): AnswerBody {
  const allows = option.kind === 'allow_once' || option.kind === 'allow_always'
  const named = { turn_id: approval.turn_id, tool_call_id: approval.tool_call_id, option: option.id }
  return { ...named, action: allows ? 'approve' : 'deny' }
}

/** Sends it. Returns null, or a sentence for people when somebody else was first. */
export async function giveAnswer(approval: PendingApproval, body: AnswerBody): Promise<string | null> {
  try {
    await approve(approval.session_id, body)
    return null
  } catch (error) {
    if (error instanceof ApiError && error.code === 'already_answered') return error.message
    throw error
  }
}
