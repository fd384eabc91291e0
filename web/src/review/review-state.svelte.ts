/**
 * What is on the reviewState of each session: the turn whose changes are being looked at, the turn whose undoing is
 * being considered, and the remarks that wait to be sent. Other parts of the page open and close things here.
 */

import { loadComments, putComment, saveComments, type LineComment } from './comments'
import { ACCEPT_ALL, type Selection } from './selection'

/** One session's reviewState. */
export class ReviewState {
  /** The turn whose changes are shown; null when the panel is closed. */
  reviewing = $state<string | null>(null)
  /** The turn that may be undone; null when nobody asks. */
  undoing = $state<string | null>(null)
  /** The line that is being commented on. */
  writing = $state<LineComment | null>(null)
  /** Whether the session's header shows what fills the model's window. */
  contextShown = $state(false)
  comments = $state.raw<readonly LineComment[]>([])
  /** What is rejected of a review that waits, by the call that names the review. */
  selections = $state.raw<ReadonlyMap<string, Selection>>(new Map())

  constructor(readonly sessionId: string) {
    this.comments = loadComments(localStorage, sessionId)
  }

  put(comment: LineComment): void {
    this.comments = putComment(this.comments, comment)
    saveComments(localStorage, this.sessionId, this.comments)
  }

  /** Takes all remarks, because they are being sent. */
  take(): readonly LineComment[] {
    const taken = this.comments
    this.comments = []
    saveComments(localStorage, this.sessionId, [])
    return taken
  }

  /** Gives remarks back that could not be sent. */
  restore(comments: readonly LineComment[]): void {
    for (const comment of comments) this.put(comment)
  }

  selectionOf(review: string): Selection {
    return this.selections.get(review) ?? ACCEPT_ALL
  }

  select(review: string, selection: Selection): void {
    // Only one review of a session waits at a time, so older ones need not be kept.
    this.selections = new Map([[review, selection]])
  }
}

const reviewStates = new Map<string, ReviewState>()
/** Desks hold little, and their remarks are kept by the browser; the oldest give way. */
const MAX_REVIEW_STATES = 100

/** The reviewState of a session. */
export function reviewStateOf(sessionId: string): ReviewState {
  const known = reviewStates.get(sessionId)
  if (known) return known
  const reviewState = new ReviewState(sessionId)
  reviewStates.set(sessionId, reviewState)
  for (const [oldest, old] of reviewStates) {
    if (reviewStates.size <= MAX_REVIEW_STATES) break
    if (old.reviewing === null && old.undoing === null) reviewStates.delete(oldest)
  }
  return reviewState
}

/** Opens the panel on a turn's changes. */
export function showReview(sessionId: string, turnId: string): void {
  reviewStateOf(sessionId).reviewing = turnId
}

export function hideReview(sessionId: string): void {
  reviewStateOf(sessionId).reviewing = null
}

/** Asks whether a turn is to be undone, with what that would change. */
export function askUndo(sessionId: string, turnId: string): void {
  reviewStateOf(sessionId).undoing = turnId
}
