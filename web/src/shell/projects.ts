// Sessions by project: the registered ones first, then the folders of sessions that belong to none.

import type { Project } from '../api/types'
import type { SessionSummary } from '../state/list.svelte'
import { baseName } from './time'

export interface Group {
  path: string
  name: string
  /** The project's id; null for a folder that is not registered. */
  id: string | null
  rows: SessionSummary[]
  /** How many of its sessions stand elsewhere because they need an answer. */
  waiting: number
}

/** Groups in the order of the projects. Archived and pinned sessions, and those listed on top because they need approval, are left out. */
export function groups(
  projects: readonly Project[],
  rows: readonly SessionSummary[],
  isWaiting: (row: SessionSummary) => boolean = () => false,
): Group[] {
  const byPath = new Map<string, Group>()
  for (const { id, path, name } of projects) byPath.set(path, { path, name, id, rows: [], waiting: 0 })
  for (const row of rows) {
    const path = row.worktree?.repository ?? row.workspace_path
    const group = byPath.get(path) ?? { path, name: baseName(path), id: null, rows: [], waiting: 0 }
    byPath.set(path, group)
    if (row.archived) continue
    if (isWaiting(row)) group.waiting += 1
    else if (!row.pinned) group.rows.push(row)
  }
  return [...byPath.values()].filter((group) => group.id !== null || group.rows.length > 0)
}
