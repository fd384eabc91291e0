/** One connection to the gateway, from the token to its end: frames in and out, answers to their requests. */

import { ConnectionError, GatewayError, OstlerError, ProtocolError } from './errors.js';
import type { ServerEvent, ServerFrame } from './generated/gateway.js';
import { object } from './lines.js';

/** What is needed of a WebSocket: the platform's, and that of `ws`, have it. */
export interface WebSocketLike {
  addEventListener(type: string, listener: (event: never) => void): void;
  send(data: string): void;
  close(code?: number): void;
}
/** Makes a WebSocket. */
export type SocketMaker = new (url: string) => WebSocketLike;

/** The gateway closes with it when the token is wrong, or void. */
const UNAUTHORIZED = 4401;
/** How long a connection may take to be there. */
const PATIENCE = 30_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** A connection that has shown its token. */
export class Socket {
  /** Settles with the reason when the connection is over. */
  readonly lost: Promise<Error>;
  readonly #socket: WebSocketLike;
  readonly #waiting = new Map<string, Waiting>();
  readonly #emit: (event: ServerEvent) => void;
  #lose!: (error: Error) => void;
  #over: Error | undefined;
  #number = 0;
  #authenticated: Waiting | undefined;
  /** What has come and is not dealt with; undefined while nothing waits. */
  #come: Array<() => boolean> | undefined;

  private constructor(socket: WebSocketLike, emit: (event: ServerEvent) => void) {
    this.#socket = socket;
    this.#emit = emit;
    this.lost = new Promise((resolve) => (this.#lose = resolve));
  }

  /** Opens a connection and shows the token. */
  static async open(
    url: string,
    token: string,
    maker: SocketMaker | undefined,
    signal: AbortSignal,
    emit: (event: ServerEvent) => void,
  ): Promise<Socket> {
    const Maker = maker ?? (globalThis.WebSocket as SocketMaker | undefined) ?? (await import('ws')).WebSocket;
    signal.throwIfAborted();
    const socket = new Socket(new Maker(url) as WebSocketLike, emit);
    const stop = () => socket.close();
    signal.addEventListener('abort', stop);
    const timer = setTimeout(() => socket.#late(), PATIENCE);
    try {
      await socket.#greet(token);
      return socket;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Asks, and waits for the answer. */
  call(method: string, params: unknown): Promise<unknown> {
    if (this.#over) return Promise.reject(this.#over);
    const id = String((this.#number += 1));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.close(1000);
    this.#end(new ConnectionError('the client was closed'));
  }

  #late(): void {
    this.#end(new ConnectionError(`the gateway did not answer within ${PATIENCE / 1000} s`));
    this.#socket.close();
  }

  #greet(token: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#authenticated = { resolve, reject };
      const socket = this.#socket;
      socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
      socket.addEventListener('message', (event: { data: unknown }) => this.#inOrder(() => this.#take(event.data)));
      socket.addEventListener('error', (event: { message?: string }) =>
        this.#end(new ConnectionError(`the gateway cannot be reached: ${event.message || 'the connection failed'}`)),
      );
      socket.addEventListener('close', (event: { code: number; reason: string }) => this.#inOrder(() => this.#end(closed(event))));
    });
  }

  /**
   * Deals with what comes, one after the other. After an answer the rest waits for a moment, so that whoever asked goes on
   * before the events that follow: they begin where the answer ends.
   */
  #inOrder(deal: () => boolean): void {
    if (this.#come) {
      this.#come.push(deal);
      return;
    }
    this.#come = [deal];
    this.#deal();
  }

  #deal(): void {
    for (let next = this.#come?.shift(); next; next = this.#come?.shift()) {
      if (next()) {
        setImmediate(() => this.#deal());
        return;
      }
    }
    this.#come = undefined;
  }

  /** Deals with a frame; whether it was an answer. */
  #take(data: unknown): boolean {
    const frame = object<ServerFrame>(String(data));
    if (!frame) {
      this.#end(new ProtocolError('the gateway sent a frame that is no JSON object'));
      // The code for this is not one that a client may send.
      this.#socket.close();
      return false;
    }
    if ('event' in frame) {
      this.#emit(frame);
      return false;
    }
    if ('type' in frame) {
      if (frame.ok) this.#authenticated?.resolve(undefined);
      else this.#end(unauthorized(frame.error ?? 'the gateway refused the token'));
      return true;
    }
    const waiting = this.#waiting.get(String(frame.id));
    this.#waiting.delete(String(frame.id));
    if ('error' in frame) waiting?.reject(new GatewayError(frame.error.message, frame.error.code));
    else waiting?.resolve(frame.result);
    return true;
  }

  #end(error: Error): boolean {
    if (this.#over) return false;
    this.#over = error;
    this.#authenticated?.reject(error);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
    this.#lose(error);
    return false;
  }
}

function closed({ code, reason }: { code: number; reason: string }): Error {
  if (code === UNAUTHORIZED) return unauthorized('the gateway no longer takes the token');
  return new ConnectionError(`the connection to the gateway was lost (${code}${reason ? `, ${reason}` : ''})`);
}

function unauthorized(message: string): OstlerError {
  const hint = 'the token is in the file `token` of the data directory';
  return new OstlerError({ code: 'unauthorized', message, hint }, 401);
}
