// One request to the daemon: JSON in, JSON out, and its error body as an exception. Who is let in is settled by a cookie.

import type { Failure } from './types'

/** The daemon refused, or could not be reached. */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    /** A stable word; `unreachable` when there was no answer. */
    readonly code: string,
    message: string,
    readonly hint: string | null,
    /** The status of the answer; 0 when there was none. */
    readonly status: number,
  ) {
    super(message)
  }

  get failure(): Failure {
    return { code: this.code, message: this.message, hint: this.hint }
  }

  /** Whether asking again later may help: nobody answered, or the daemon is busy with itself. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 408
  }
}

type Query = Record<string, string | number | boolean | null | undefined>

/** Called when the daemon no longer knows this browser. */
export const onLockedOut: { call: () => void } = { call: () => {} }

export const get = <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> =>
  request<T>('GET', path + search(query), undefined, signal)
export const post = <T>(path: string, body?: unknown): Promise<T> => request<T>('POST', path, body)
export const patch = <T>(path: string, body: unknown): Promise<T> => request<T>('PATCH', path, body)
export const put = <T>(path: string, body: unknown): Promise<T> => request<T>('PUT', path, body)
export const del = <T>(path: string, query: Query = {}): Promise<T> => request<T>('DELETE', path + search(query))

async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, credentials: 'same-origin', cache: 'no-store', signal: signal ?? null }
  if (body instanceof FormData) init.body = body
  else if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { 'content-type': 'application/json' }
  }
  const response = await sendRequest(path, init)
  if (!response.ok) throw await refusal(response)
  if (response.status === 204) return undefined as T
  return (await response.json().catch(() => null)) as T
}

/** Fetches, and turns a failure of the network into an `ApiError`. */
export async function sendRequest(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(
      'unreachable',
      'The daemon cannot be reached.',
      'It may be restarting. If not, start it with: ostler serve',
      0,
    )
  }
}

/** The exception that an answer stands for. */
export async function refusal(response: Response): Promise<ApiError> {
  if (response.status === 401) onLockedOut.call()
  const body = (await response.json().catch(() => null)) as { error?: Failure } | null
  const failure = body?.error
  return new ApiError(
    failure?.code ?? 'unknown',
    failure?.message ?? `The daemon answered with status ${response.status}.`,
    hintForPeople(failure?.code ?? 'unknown', failure?.hint ?? null),
    response.status,
  )
}

function search(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** What to do next, where the daemon's own hint is meant for programs. */
const HINTS: { [code: string]: string } = {
  session_not_found: 'It may have been removed. Choose another session in the sidebar.',
  unknown_agent: 'Settings lists the agents that are set up.',
  message_not_queued: 'It may have been delivered already.',
  before_not_queued: 'The queue has changed. Try again.',
  not_waiting: 'It was answered elsewhere, or its turn has ended.',
  project_exists: 'It is in the sidebar already.',
  project_not_found: 'It may have been removed already.',
}

/** The hint of an error as people are shown it: no routes, which only a program can call. */
export function hintForPeople(code: string, hint: string | null): string | null {
  if (hint === null || !/\b(?:GET|POST|PUT|PATCH|DELETE) (?:\/|the )|\/v1\//.test(hint)) return hint
  return HINTS[code] ?? null
}
