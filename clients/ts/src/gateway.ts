/**
 * The client of the gateway: calls, and the events of every session that it has named. A lost connection is made again,
 * and `resumed` then says how each of those sessions stands.
 */

import { EventEmitter } from 'node:events';

import { type Backoff, DEFAULT_BACKOFF, pause, waitBefore } from './backoff.js';
import { type Token, bearer, dataDirectory, tokenOf } from './connection.js';
import { ConnectionError, GatewayError } from './errors.js';
import type * as wire from './generated/gateway.js';
import { Run, type RunEnd } from './run.js';
import { Socket, type SocketMaker } from './socket.js';

/** Where the gateway is, and how to come in. */
export interface GatewayOptions {
  /** `ws://$OSTLER_GATEWAY_LISTEN` unless told otherwise, and without that variable `ws://127.0.0.1:18789`. */
  url?: string;
  /** The token, or a function that gets it. That of this user's data directory unless told otherwise. */
  token?: Token;
  backoff?: Partial<Backoff>;
  /** Stands for the platform's `WebSocket`, or that of `ws` where the platform has none. */
  WebSocket?: SocketMaker;
}

/** A request of the gateway. */
type Request = Exclude<wire.ClientFrame, wire.AuthClientFrame>;
/** The methods, and what each takes. */
export type GatewayParams = { [One in Request as One['method']]: NonNullable<One['params']> };
/** What each method answers. */
export interface GatewayResults {
  'health.check': wire.Health;
  'agents.list': wire.AgentsOutcome;
  'sessions.create': wire.SessionKeyOutcome;
  'sessions.list': wire.SessionsOutcome;
  'sessions.get': wire.SessionDetail;
  'chat.send': wire.RunIdOutcome;
  'chat.history': wire.MessagesOutcome;
  'chat.abort': wire.OkOutcome;
  'exec.approve': wire.OkOutcome;
  'exec.deny': wire.OkOutcome;
  'approvals.list': wire.ApprovalsOutcome;
}
type Method = keyof GatewayParams & keyof GatewayResults;

/** What a listener is told: the gateway's own events, and those of the connection. */
export type GatewayEvents = { [One in wire.ServerEvent as One['event']]: [One['data']] } & {
  /** The connection is back. Put this in place of what was shown of the session; events go on from there. */
  resumed: [wire.SessionDetail];
  /** The connection will not come back: by `close` without an error, else with the reason. */
  closed: [Error | undefined];
};

/** How many sessions a socket may follow. */
const FOLLOWED = 256;

/** A gateway. `connect` it first, `close` it at last. */
export class GatewayClient extends EventEmitter<GatewayEvents> {
  readonly #url: string;
  readonly #token: Token;
  readonly #backoff: Backoff;
  readonly #maker: SocketMaker | undefined;
  readonly #ended = new AbortController();
  /** The sessions that were named, the newest last. */
  readonly #followed = new Set<string>();
  #socket: Promise<Socket> | undefined;

  constructor(options: GatewayOptions = {}) {
    super();
    // Each run that is waited for listens.
    this.setMaxListeners(0);
    this.#url = options.url ?? `ws://${process.env.OSTLER_GATEWAY_LISTEN || '127.0.0.1:18789'}`;
    this.#token = options.token ?? tokenOf(dataDirectory());
    this.#backoff = { ...DEFAULT_BACKOFF, ...options.backoff };
    this.#maker = options.WebSocket;
  }

  /** Opens the connection and shows the token. Throws when it is refused, or when nobody is there. */
  async connect(): Promise<void> {
    if (this.#socket) throw new Error('this client is connected already');
    this.#socket = this.#open();
    try {
      this.#watch(await this.#socket);
    } catch (error) {
      this.#socket = undefined;
      throw error;
    }
  }

  /**
   * Asks for something. While the connection is being made again it waits; when it is lost before the answer, it throws a
   * `ConnectionError`, and whether the request was carried out is not known.
   */
  async call<Name extends Method>(method: Name, params: GatewayParams[Name]): Promise<GatewayResults[Name]> {
    if (!this.#socket) throw new ConnectionError('this client is not connected; call connect() first');
    const result = (await (await this.#socket).call(method, params)) as GatewayResults[Name];
    const named = { ...result, ...params } as { sessionKey?: string };
    if (method === 'sessions.create' || method === 'sessions.get' || method === 'chat.send' || method === 'chat.history') {
      this.#follow(named.sessionKey);
    }
    return result;
  }

  /** Says something and waits until the run has ended, over lost connections too. `onText` gets the text as it comes. */
  async chat(sessionKey: string, message: string, onText?: (text: string) => void): Promise<RunEnd> {
    // Events may come in the same turn of the loop as the answer, so they are kept from the beginning.
    const run = new Run(sessionKey, onText);
    const detach = run.attach(this);
    try {
      run.begin((await this.call('chat.send', { sessionKey, message })).runId);
      return await run.end;
    } finally {
      detach();
    }
  }

  /** Ends the connection. Runs go on without it. */
  async close(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(new ConnectionError('the client was closed'));
    const socket = await this.#socket?.catch(() => undefined);
    socket?.close();
    this.emit('closed', undefined);
  }

  #follow(sessionKey: string | undefined): void {
    if (!sessionKey) return;
    this.#followed.delete(sessionKey);
    this.#followed.add(sessionKey);
    const [oldest] = this.#followed;
    if (this.#followed.size > FOLLOWED && oldest) this.#followed.delete(oldest);
  }

  async #open(): Promise<Socket> {
    return Socket.open(this.#url, await bearer(this.#token), this.#maker, this.#ended.signal, (event) => {
      if (event.event === 'sessions.released') this.#followed.delete(event.data.sessionKey);
      this.emit(event.event, event.data as never);
    });
  }

  /** Opens another connection when this one is lost. */
  #watch(socket: Socket): void {
    void socket.lost.then((error) => {
      if (this.#ended.signal.aborted) return;
      this.#socket = this.#reopen(error);
      this.#socket.then(
        (next) => {
          this.#watch(next);
          return this.#resume(next);
        },
        (reason: Error) => {
          if (this.#ended.signal.aborted) return;
          this.#ended.abort(reason);
          this.emit('closed', reason);
        },
      );
    });
  }

  async #reopen(lost: Error): Promise<Socket> {
    let reason = lost;
    for (let attempt = 1; ; attempt += 1) {
      const wait = reason instanceof ConnectionError ? waitBefore(attempt, this.#backoff) : undefined;
      if (wait === undefined) throw reason;
      await pause(wait, this.#ended.signal);
      this.#ended.signal.throwIfAborted();
      try {
        return await this.#open();
      } catch (error) {
        reason = error as Error;
      }
    }
  }

  /** Names the sessions again, so that their events come again. */
  async #resume(socket: Socket): Promise<void> {
    for (const sessionKey of [...this.#followed]) {
      try {
        const detail = (await socket.call('sessions.get', { sessionKey })) as wire.SessionDetail;
        this.emit('resumed', detail);
      } catch (error) {
        // A session that was removed is gone; if the connection is, the next one asks again.
        if (error instanceof GatewayError) this.#followed.delete(sessionKey);
        else return;
      }
    }
  }
}
