/** What can go wrong, as errors that a caller can tell apart. */

import type { Failure } from './generated/http.js';

/** The daemon refused a request. `code` is for programs, `message` and `hint` for people. */
export class OstlerError extends Error {
  override readonly name = 'OstlerError';
  readonly code: string;
  readonly hint: string | null;

  constructor(
    failure: Failure,
    /** The status of the answer; 0 for an error that came within a stream. */
    readonly status: number,
  ) {
    super(failure.message);
    this.code = failure.code;
    this.hint = failure.hint ?? null;
  }
}

/** The daemon could not be reached, or went away. What it had answered before is on its disk. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** What came is not what the protocol says. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** The gateway did not carry out a request. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';

  constructor(
    message: string,
    /** -32602 for wrong params, -32603 for most else; docs/protocols/gateway.md lists them. */
    readonly code: number,
  ) {
    super(message);
  }
}

/** A run of the gateway has failed. */
export class RunError extends Error {
  override readonly name = 'RunError';

  constructor(
    message: string,
    readonly runId: string,
  ) {
    super(message);
  }
}

/** `ostler rpc` answered a command with an error. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly hint: string | null,
    readonly sessionId: string | null,
  ) {
    super(message);
  }
}

/** Whether the same request may succeed a little later. */
export function passes(error: unknown): boolean {
  if (error instanceof OstlerError) return [408, 429, 502, 503, 504].includes(error.status);
  return error instanceof ConnectionError;
}
