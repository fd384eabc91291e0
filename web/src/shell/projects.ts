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
}

/** Groups in the order of the projects; sessions as they come, without those that are put away or pinned. */
export function groups(projects: readonly Project[], rows: readonly SessionSummary[]): Group[] {
  const byPath = new Map<string, Group>()
  for (const { id, path, name } of projects) byPath.set(path, { path, name, id, rows: [] })
  for (const row of rows) {
    const path = row.worktree?.repository ?? row.workspace_path
    const group = byPath.get(path) ?? { path, name: baseName(path), id: null, rows: [] }
    byPath.set(path, group)
    if (!row.archived && !row.pinned) group.rows.push(row)
  }
  return [...byPath.values()].filter((group) => group.id !== null || group.rows.length > 0)
}
