/**
 * Many sessions over the pipes of one child process, `ostler rpc`. Commands without a session id mean the active session.
 * Nothing is kept here that the process does not know: `docs/protocols/jsonl.md` describes each line.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';

import { Answers } from './answers.js';
import { CommandError, ConnectionError, ProtocolError } from './errors.js';
import type * as wire from './generated/jsonl.js';
import { Lines, object } from './lines.js';

/** How the process is started. */
export interface AgentConnectionOptions {
  /** The directory that sessions work in; the current one unless told otherwise. */
  cwd?: string;
  /** As `provider:model`. */
  model?: string;
  systemPrompt?: string;
  /** A session to go on with, or where the first one is saved. */
  sessionFile?: string;
  /** Tell on the wire what is being done, and show the process's own log. */
  debug?: boolean;
  /** False: nobody answers questions, so what needs an answer is refused. */
  ui?: boolean;
  /** The program and what comes before `rpc`; `ostler` in the path unless told otherwise. */
  command?: readonly string[];
  /** More arguments of `rpc`, such as `--data-dir`. */
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** What a line from the process says, by its `type`. */
export type ServerMessage<Type extends wire.ServerFrame['type'] = wire.ServerFrame['type']> = Extract<
  wire.ServerFrame,
  { type: Type }
>;
/** What a new session is to be. */
export interface StartSessionOptions {
  cwd?: string;
  model?: string;
  systemPrompt?: string;
  sessionFile?: string;
  parentSession?: string;
  setActive?: boolean;
}

/** What a listener is told. */
export interface AgentConnectionEvents {
  ready: [ServerMessage<'ready'>];
  /** Every line, those below included. */
  message: [ServerMessage];
  /** Something happened in a session: its id, what, and the whole line. */
  event: [string, wire.SessionEvent, ServerMessage<'event'>];
  /** A question, to be answered with `respondToUIRequest`. */
  ui_request: [ServerMessage<'ui_request'>];
  /** The process could not be started, or does not speak this protocol. */
  error: [Error];
  /** The process has ended, with this code. */
  close: [number | null];
}

/** How long the process may take to end in order. */
const PATIENCE = 10_000;

/** A process and its sessions. */
export class AgentConnection extends EventEmitter<AgentConnectionEvents> {
  readonly #options: AgentConnectionOptions;
  readonly #answers = new Answers();
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #ended: Promise<number | null> | undefined;
  #ready: ServerMessage<'ready'> | undefined;
  #active: string | null = null;

  constructor(options: AgentConnectionOptions = {}) {
    super();
    this.#options = options;
  }

  /** Starts the process, and returns when its first session is there. */
  start(): Promise<ServerMessage<'ready'>> {
    if (this.#child) throw new Error('this connection was started already; make another one');
    const [program = 'ostler', ...before] = this.#options.command ?? ['ostler'];
    const child = spawn(program, [...before, 'rpc', ...argumentsOf(this.#options)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      cwd: this.#options.cwd,
      env: this.#options.env ?? process.env,
    });
    this.#child = child;
    // The log must be read, or the process would wait for it; its end says why it could not start.
    let log = '';
    child.stderr.on('data', (data: Buffer) => {
      log = (log + data.toString('utf8')).slice(-4_096);
      if (this.#options.debug) process.stderr.write(data);
    });
    const lines = new Lines();
    child.stdout.on('data', (data: Buffer) => lines.push(data).forEach((line) => this.#take(line)));
    child.stdin.on('error', () => {});
    const ready = this.#answers.expect<ServerMessage<'ready'>>('ready', undefined);
    child.on('error', (error) => this.#fail(new ConnectionError(`${program} could not be started: ${error.message}`)));
    this.#ended = new Promise((resolve) => {
      child.on('close', (code) => {
        this.#take(lines.finish());
        const why = log.trim().split('\n').at(-1);
        this.#answers.fail(new ConnectionError(`ostler rpc has ended with ${code}${why ? `: ${why}` : ''}`));
        this.#ready = undefined;
        resolve(code);
        this.emit('close', code);
      });
    });
    return ready;
  }

  isReady(): boolean {
    return this.#ready !== undefined;
  }

  /** The session that is meant when none is named. */
  get activeSessionId(): string | null {
    return this.#active;
  }

  get primarySessionId(): string | null {
    return this.#ready?.primary_session_id ?? null;
  }

  /** Sends a line of the protocol. */
  send(command: wire.ClientFrame): void {
    if (!this.#child?.stdin.writable) throw new ConnectionError('ostler rpc is not running');
    if ('session_id' in command && command.session_id) this.#answers.named(command.session_id);
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  /** Says something; the events tell what comes of it. */
  prompt(text: string, sessionId?: string, delivery?: wire.Delivery): void {
    this.send({ type: 'prompt', text, ...of(sessionId), ...(delivery && { delivery }) });
  }

  abort(sessionId?: string): void {
    this.send({ type: 'abort', ...of(sessionId) });
  }

  reset(sessionId?: string): void {
    this.send({ type: 'reset', ...of(sessionId) });
  }

  save(sessionId?: string): Promise<ServerMessage<'save_result'>> {
    return this.#ask({ type: 'save', ...of(sessionId) }, 'save_result', sessionId);
  }

  stats(sessionId?: string): Promise<ServerMessage<'stats'>> {
    return this.#ask({ type: 'stats', ...of(sessionId) }, 'stats', sessionId);
  }

  ping(): Promise<ServerMessage<'pong'>> {
    return this.#ask({ type: 'ping' }, 'pong');
  }

  /** The sessions of this directory that are on disk. */
  listSessions(): Promise<ServerMessage<'sessions_list'>> {
    return this.#ask({ type: 'list_sessions' }, 'sessions_list');
  }

  listModels(): Promise<ServerMessage<'models_list'>> {
    return this.#ask({ type: 'list_models' }, 'models_list');
  }

  startSession(options: StartSessionOptions = {}): Promise<ServerMessage<'session_started'>> {
    const asked = {
      cwd: options.cwd,
      model: options.model,
      system_prompt: options.systemPrompt,
      session_file: options.sessionFile,
      parent_session: options.parentSession,
      set_active: options.setActive,
    };
    return this.#ask({ type: 'start_session', ...asked }, 'session_started');
  }

  closeSession(sessionId: string): Promise<ServerMessage<'session_closed'>> {
    return this.#ask({ type: 'close_session', session_id: sessionId }, 'session_closed', sessionId);
  }

  listRunningSessions(): Promise<ServerMessage<'running_sessions'>> {
    return this.#ask({ type: 'list_running_sessions' }, 'running_sessions');
  }

  setActiveSession(sessionId: string): Promise<ServerMessage<'active_session'>> {
    return this.#ask({ type: 'set_active_session', session_id: sessionId }, 'active_session', sessionId);
  }

  /** Answers a question. Null and null is a no; an error beats the result. */
  respondToUIRequest(id: string, result: unknown, error: string | null = null): void {
    this.send({ type: 'ui_response', id, result, error });
  }

  /** Asks the process to end, and waits until it has; one that does not is killed. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (!child || !this.#ended) return null;
    if (child.stdin.writable) child.stdin.end(`${JSON.stringify({ type: 'quit' })}\n`);
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    const code = await this.#ended;
    clearTimeout(timer);
    return code;
  }

  #ask<Type extends ServerMessage['type']>(
    command: wire.ClientFrame,
    type: Type,
    sessionId?: string,
  ): Promise<ServerMessage<Type>> {
    const target = sessionId ?? (type === 'stats' || type === 'save_result' ? (this.#active ?? undefined) : undefined);
    try {
      this.send(command);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#answers.expect<ServerMessage<Type>>(type, target);
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    const message = object<ServerMessage>(line);
    if (!message) {
      this.#fail(new ProtocolError(`ostler rpc wrote a line that is no JSON object: ${line.slice(0, 200)}`));
      return;
    }
    if (message.type === 'ready') [this.#ready, this.#active] = [message, message.active_session_id];
    if (message.type === 'active_session') this.#active = message.session_id;
    if (message.type === 'error') {
      const { hint = null, session_id = null } = message;
      this.#answers.refuse(new CommandError(message.message, hint, session_id));
    } else {
      this.#answers.take(message);
    }
    this.emit('message', message);
    if (message.type === 'ready') this.emit('ready', message);
    if (message.type === 'event') this.emit('event', message.session_id, message.event, message);
    if (message.type === 'ui_request') this.emit('ui_request', message);
  }

  #fail(error: Error): void {
    this.#answers.fail(error);
    // Without a listener it would end the program; whoever waits for an answer has been told.
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }
}

function of(sessionId: string | undefined): { session_id?: string } {
  return sessionId === undefined ? {} : { session_id: sessionId };
}

function argumentsOf(options: AgentConnectionOptions): string[] {
  const given: Array<[string, string | undefined]> = [
    ['--cwd', options.cwd],
    ['--model', options.model],
    ['--system-prompt', options.systemPrompt],
    ['--session-file', options.sessionFile],
  ];
  const named = given.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  return [...named, ...(options.debug ? ['--debug'] : []), ...(options.ui === false ? ['--no-ui'] : []), ...(options.args ?? [])];
}
