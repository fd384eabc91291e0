// What the page can ask of the daemon, as plain functions. Each throws an `ApiError` when it is refused.

import { del, get, patch, post, put } from './http'
import type {
  AgentInfo,
  AgentSession,
  AnswerBody,
  ApprovalDiff,
  ContextView,
  Delivery,
  Directories,
  FoundFile,
  InputPart,
  Listed,
  Message,
  Models,
  NewSessionBody,
  PendingApproval,
  PolicyBody,
  Project,
  Queued,
  Settings,
  Shown,
  Stored,
  Trusted,
  TurnDiff,
  Undone,
  UpdateBody,
  UsageTable,
} from './types'

const session = (id: string): string => `/v1/sessions/${id}`

// Getting in.
export const login = (code: string): Promise<void> => post('/v1/login', { code })
export const logout = (): Promise<void> => post('/v1/logout')

// The daemon itself.
export const version = async (): Promise<string> => (await get<{ version: string }>('/healthz')).version

// Sessions.
export const createSession = async (body: NewSessionBody): Promise<string> =>
  (await post<{ session_id: string }>('/v1/sessions', body)).session_id
export const getSession = (id: string, signal?: AbortSignal): Promise<Shown> => get(session(id), {}, signal)
export const listSessions = (
  query: {
    q?: string
    archived?: boolean
    pinned?: boolean
    workspace?: string
    status?: string
    limit?: number
    cursor?: string
    parent?: string
  } = {},
  signal?: AbortSignal,
): Promise<{ sessions: Listed[]; next_cursor?: string | null }> => get('/v1/sessions', query, signal)
export const update = (id: string, body: UpdateBody): Promise<Shown> => patch(session(id), body)
export const rename = (id: string, title: string): Promise<Shown> => update(id, { title })
export const archive = (id: string, archived: boolean): Promise<Shown> => update(id, { archived })
export const pin = (id: string, pinned: boolean): Promise<Shown> => update(id, { pinned })
export const setModel = (id: string, model: string): Promise<Shown> => update(id, { model })
export const setPolicy = (id: string, policy: PolicyBody): Promise<Shown> => update(id, { policy })
export const setAgentSetting = (id: string, setting: string, choice: string): Promise<Shown> =>
  update(id, { agent_settings: { [setting]: choice } })
export const closeSession = (id: string, purge = false): Promise<void> => del(session(id), { purge })
export const fork = async (id: string, turnId?: string): Promise<string> =>
  (await post<{ session_id: string }>(`${session(id)}/fork`, turnId ? { turn_id: turnId } : {})).session_id
export const compact = (id: string): Promise<{ turn_id: string }> => post(`${session(id)}/compact`)
export const context = (id: string): Promise<ContextView> => get(`${session(id)}/context`)
/** Where a session can be downloaded. */
export const exportAddress = (id: string, format: 'ndjson' | 'md' | 'html' | 'sqlite' | 'zip'): string =>
  `${session(id)}/export?format=${format}`

// Messages and turns.
export const send = (
  id: string,
  parts: InputPart[],
  delivery: Delivery = 'queue',
  idempotencyKey?: string,
): Promise<{ message_id: string; turn_id?: string | null }> =>
  post(`${session(id)}/messages`, {
    role: 'user',
    parts,
    delivery,
    ...(idempotencyKey ? { idempotency_key: idempotencyKey } : {}),
  })
export const cancel = (id: string, turnId?: string): Promise<{ canceled: boolean }> =>
  post(`${session(id)}/cancel`, turnId ? { turn_id: turnId } : {})
export const retry = (id: string, turnId: string): Promise<{ turn_id: string }> =>
  post(`${session(id)}/turns/${turnId}/retry`)
export const undo = (id: string, turnId: string, options: { preview: boolean; force?: boolean }): Promise<Undone> =>
  post(`${session(id)}/undo`, { turn_id: turnId, preview: options.preview, force: options.force ?? false })
export const turnDiff = (id: string, turnId: string, signal?: AbortSignal): Promise<TurnDiff> =>
  get(`${session(id)}/turns/${turnId}/diff`, {}, signal)
export const approvalDiff = (id: string, callId: string, signal?: AbortSignal): Promise<ApprovalDiff> =>
  get(`${session(id)}/approvals/${encodeURIComponent(callId)}/diff`, {}, signal)
export const messages = (
  id: string,
  query: { before?: number; limit?: number } = {},
): Promise<{ messages: Message[]; before?: number | null }> => get(`${session(id)}/messages`, query)

// The queue.
const queued = (id: string, messageId: string): string => `${session(id)}/queue/${messageId}`
export const withdraw = (id: string, messageId: string): Promise<unknown> => del(queued(id, messageId))
export const editQueued = (id: string, messageId: string, parts: InputPart[]): Promise<{ queue: Queued[] }> =>
  patch(queued(id, messageId), { parts })
/** Puts it before another one, or at the end. */
export const moveQueued = (id: string, messageId: string, before: string | null): Promise<{ queue: Queued[] }> =>
  patch(queued(id, messageId), { before })
export const steerQueued = (id: string, messageId: string): Promise<{ queue: Queued[] }> =>
  patch(queued(id, messageId), { delivery: 'steer' })

// Approvals.
export const approve = (id: string, answer: AnswerBody): Promise<unknown> => post(`${session(id)}/approve`, answer)
export const listApprovals = async (): Promise<PendingApproval[]> =>
  (await get<{ approvals: PendingApproval[] }>('/v1/approvals')).approvals

// Files.
export async function upload(id: string, file: File): Promise<Stored> {
  const form = new FormData()
  form.append('file', file, file.name)
  return post(`${session(id)}/attachments`, form)
}
export const searchFiles = (
  id: string,
  q: string,
  limit = 50,
  signal?: AbortSignal,
): Promise<{ files: FoundFile[]; truncated: boolean }> => get(`${session(id)}/files`, { q, limit }, signal)
/** The address of something that lies beside a session's log, such as `attachments/a.png` or `artifacts/turn_…/out.txt`. */
export const fileAddress = (id: string, ref: string): string =>
  `${session(id)}/${ref.split('/').map(encodeURIComponent).join('/')}`

// What can be chosen, and how it is set up.
export const listAgents = async (): Promise<AgentInfo[]> => (await get<{ agents: AgentInfo[] }>('/v1/agents')).agents
/** The sessions that an agent keeps itself; one that is not here yet can be adopted when a session is made. */
export const listAgentSessions = async (agent: string, workspace: string): Promise<AgentSession[]> =>
  (
    await get<{ sessions: AgentSession[] }>(`/v1/agents/${encodeURIComponent(agent)}/sessions`, {
      workspace_path: workspace,
    })
  ).sessions
export const listModels = (): Promise<Models> => get('/v1/models')
export const listProjects = async (): Promise<Project[]> =>
  (await get<{ projects: Project[] }>('/v1/projects')).projects
export const addProject = (path: string): Promise<Project> => post('/v1/projects', { path })
export const removeProject = (id: string): Promise<unknown> => del(`/v1/projects/${id}`)
export const directories = (path?: string, signal?: AbortSignal): Promise<Directories> =>
  get('/v1/directories', { path }, signal)
export const settings = (): Promise<Settings> => get('/v1/settings')
export const usage = (query: {
  by: 'day' | 'model' | 'session' | 'workspace' | 'total'
  from?: string
  utc_offset_minutes?: number
}): Promise<UsageTable> => get('/v1/usage', query)
export const getTrust = (workspace: string): Promise<Trusted> => get('/v1/trust', { workspace_path: workspace })
export const setTrust = (workspace: string, trusted: boolean): Promise<Trusted> =>
  put('/v1/trust', { workspace_path: workspace, trusted })
