/** A run of the gateway that somebody waits for, over lost connections too. */

import { ConnectionError, RunError } from './errors.js';
import type { GatewayClient, GatewayEvents } from './gateway.js';
import type { RunUsage, SessionDetail } from './generated/gateway.js';

/** How a run ended. */
export interface RunEnd {
  runId: string;
  text: string;
  aborted: boolean;
  /** Null when the run ended while the connection was lost. */
  usage: RunUsage | null;
}

/** A run in the making. */
export class Run {
  readonly end: Promise<RunEnd>;
  #settle!: (end: RunEnd | Error) => void;
  #runId: string | undefined;
  #text = '';
  /** What came before the run's id was known. */
  #early: Array<() => void> = [];

  constructor(
    readonly sessionKey: string,
    readonly onText: ((text: string) => void) | undefined,
  ) {
    this.end = new Promise((resolve, reject) => {
      this.#settle = (end) => (end instanceof Error ? reject(end) : resolve(end));
    });
    // It may fail before anybody waits for it.
    this.end.catch(() => {});
  }

  begin(runId: string): void {
    this.#runId = runId;
    for (const take of this.#early.splice(0)) take();
  }

  /** Listens to a client, until the function that it returns is called. */
  attach(client: GatewayClient): () => void {
    const undo: Array<() => void> = [];
    const on = <Name extends keyof GatewayEvents>(name: Name, listener: (...data: GatewayEvents[Name]) => void) => {
      client.on(name, listener as never);
      undo.push(() => client.off(name, listener as never));
    };
    on('chat.delta', this.#of((data) => this.#say(data.text)));
    on('chat.final', this.#of((data) => this.#finish(data.aborted ?? false, data.usage)));
    on('chat.error', this.#of((data) => this.#fail(data.message)));
    on('resumed', (detail) => this.#resumed(detail));
    on('closed', (error) => this.#settle(error ?? new ConnectionError('the client was closed')));
    return () => undo.forEach((one) => one());
  }

  #of<Data extends { runId: string }>(take: (data: Data) => void): (data: Data) => void {
    return (data) => {
      if (this.#runId === undefined) this.#early.push(() => data.runId === this.#runId && take(data));
      else if (data.runId === this.#runId) take(data);
    };
  }

  #say(text: string): void {
    this.#text += text;
    this.onText?.(text);
  }

  /** Takes up what the history has of the run, and whether it has ended meanwhile. */
  #resumed({ session, messages, lastRun }: SessionDetail): void {
    const runId = this.#runId;
    if (session.key !== this.sessionKey || runId === undefined) return;
    const said = messages.filter((message) => message.runId === runId && message.role === 'assistant');
    this.#text = said.map((message) => message.content).join('');
    if (!lastRun || lastRun.runId < runId) return;
    // Ids of runs are ordered by time: where a later one is the last, this one is over.
    const status = lastRun.runId === runId ? lastRun.status : 'completed';
    if (status === 'failed') this.#fail(lastRun.message ?? 'the run failed');
    else if (status !== 'running') this.#finish(status === 'aborted', null);
  }

  #finish(aborted: boolean, usage: RunUsage | null): void {
    this.#settle({ runId: this.#runId ?? '', text: this.#text, aborted, usage });
  }

  #fail(message: string): void {
    this.#settle(new RunError(message, this.#runId ?? ''));
  }
}
