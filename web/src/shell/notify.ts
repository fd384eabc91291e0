// Notices of the browser when nobody looks at the page: something waits for an answer, or a turn has ended.

import type { EventRecord } from '../api/types'
import type { SessionSummary } from '../state/list.svelte'
import { keep, recall } from '../state/local-storage'

/** Whether the owner wants them, and the browser allows them. */
export function notificationsWanted(): boolean {
  return recall('notify', false) && 'Notification' in window && Notification.permission === 'granted'
}

/** Asks the browser, and remembers. Whether they will be shown. */
export async function wantNotifications(wanted: boolean): Promise<boolean> {
  if (wanted && 'Notification' in window && Notification.permission === 'default')
    await Notification.requestPermission()
  keep('notify', wanted)
  return notificationsWanted()
}

/** Called with each record that a person may want to hear of. */
export function notifyRecord(row: SessionSummary, record: EventRecord): void {
  if (document.visibilityState === 'visible' || !notificationsWanted()) return
  const [title, body] = words(row, record)
  const notice = new Notification(title, { body, tag: `${row.id}:${record.type}`, icon: '/icon.svg' })
  notice.onclick = () => {
    window.focus()
    location.hash = ''
    dispatchEvent(new CustomEvent('ostler:show', { detail: row.id }))
    notice.close()
  }
}

function words(row: SessionSummary, record: EventRecord): [string, string] {
  const title = row.title ?? 'New session'
  if (record.type === 'approval_requested') return ['Needs approval', `${title}: ${record.data.summary}`]
  if (record.type === 'patch_review_requested') return ['Changes ready for review', title]
  if (record.type === 'turn_failed') return ['Turn failed', `${title}: ${record.data.error.message}`]
  return ['Turn completed', title]
}
