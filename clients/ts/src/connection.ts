/** One daemon over HTTP: addresses, the token, JSON both ways, errors. Leaves what is asked to the client. */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { ConnectionError, OstlerError, ProtocolError } from './errors.js';
import { operations, type OperationName } from './generated/operations.js';

/** A token, or where to get it: it is asked for before each request, so a new one counts at once. */
export type Token = string | (() => string | Promise<string>);

/** What a request is made of. */
export interface Asked {
  /** What stands in braces in the path. */
  path?: Record<string, string>;
  query?: object;
  /** Sent as JSON; bytes are sent as they are. */
  body?: unknown;
  accept?: string;
  signal?: AbortSignal;
}

/** A way to one daemon. */
export class Connection {
  readonly #url: string;
  readonly #token: Token | undefined;
  readonly #fetch: typeof fetch;

  constructor(url: string, token: Token | undefined, fetcher: typeof fetch) {
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
    this.#fetch = fetcher;
  }

  /** Asks, and throws unless the answer is a success. */
  async ask(name: OperationName, asked: Asked = {}): Promise<Response> {
    const { method, path } = operations[name];
    const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => {
      const value = asked.path?.[key];
      // An empty part would silently name another route.
      if (!value) throw new TypeError(`${name} needs ${key}`);
      return encodeURIComponent(value);
    });
    const headers: Record<string, string> = { 'user-agent': 'ostler-client-ts' };
    if (this.#token !== undefined) headers.authorization = `Bearer ${await bearer(this.#token)}`;
    if (asked.accept) headers.accept = asked.accept;
    let body: BodyInit | undefined;
    if (asked.body instanceof Uint8Array) {
      headers['content-type'] = 'application/octet-stream';
      body = asked.body as Uint8Array<ArrayBuffer>;
    } else if (asked.body !== undefined) {
      headers['content-type'] = 'application/json';
      body = JSON.stringify(asked.body);
    }
    const response = await this.#send(this.#url + filled + search(asked.query), { method, headers, body, signal: asked.signal });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  async #send(url: string, request: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(url, request);
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      throw unreachable(this.#url, error);
    }
  }
}

/** The data directory of this user's daemon. */
export function dataDirectory(): string {
  const shared = process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share');
  return process.env.OSTLER_DATA_DIR || join(shared, 'ostler');
}

/** The token in a data directory, read anew each time. */
export function tokenOf(directory: string): () => Promise<string> {
  return async () => (await readFile(join(directory, 'token'), 'utf8')).trim();
}

/** The token itself. */
export async function bearer(token: Token): Promise<string> {
  return typeof token === 'string' ? token : token();
}

/** An error for a connection that failed, whatever it failed of. */
export function unreachable(url: string, error: unknown): ConnectionError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new ConnectionError(`no answer from ${url}: ${reason}; is \`ostler serve\` running?`, { cause: error });
}

function search(query: object | undefined): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : '';
}

async function refusal(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '');
  try {
    const { error } = JSON.parse(text);
    if (typeof error.code === 'string') return new OstlerError(error, response.status);
  } catch {
    // Not an answer of the daemon; the error below says what came.
  }
  return new ProtocolError(`${response.url} answered ${response.status}: ${text.slice(0, 200)}`);
}
