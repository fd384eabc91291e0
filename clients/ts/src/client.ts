/** The client of the http door. Names and shapes are the daemon's own; `docs/http.md` says what they mean. */

import { type Backoff, DEFAULT_BACKOFF } from './backoff.js';
import { type Asked, Connection, type Token, dataDirectory, tokenOf } from './connection.js';
import { type AllEventOptions, type EventOptions, type FeedEvent, allEvents, sessionEvents } from './events.js';
import type { SessionEvent } from './generated/http.js';
import type { Bodies, OperationName, Queries, Results } from './generated/operations.js';

/** Where the daemon is, and how to come in. */
export interface ClientOptions {
  /** `http://$OSTLER_SERVER_LISTEN` unless told otherwise, and without that variable `http://127.0.0.1:8787`. */
  url?: string;
  /** The token, or a function that gets it. That of this user's data directory unless told otherwise; null for none. */
  token?: Token | null;
  /** How long to try to come back when an event stream is cut. */
  backoff?: Partial<Backoff>;
  /** Stands for the platform's `fetch`. */
  fetch?: typeof fetch;
}

/** What to say: a text, or a whole message. */
export type Said = string | Bodies['send_message'];

/** A daemon over HTTP. It holds no connection between two requests, so there is nothing to close. */
export class OstlerClient {
  readonly #connection: Connection;
  readonly #backoff: Backoff;

  constructor(options: ClientOptions = {}) {
    const token = options.token === null ? undefined : (options.token ?? tokenOf(dataDirectory()));
    const url = options.url ?? `http://${process.env.OSTLER_SERVER_LISTEN || '127.0.0.1:8787'}`;
    this.#connection = new Connection(url, token, options.fetch ?? fetch);
    this.#backoff = { ...DEFAULT_BACKOFF, ...options.backoff };
  }

  health() {
    return this.#json('health');
  }

  openapi() {
    return this.#json('openapi');
  }

  agents() {
    return this.#json('list_agents');
  }

  /** The sessions that someone else's agent keeps itself, which can be taken over. */
  agentSessions(agent: string, query: Queries['list_agent_sessions']) {
    return this.#json('list_agent_sessions', { path: { agent }, query });
  }

  settings() {
    return this.#json('get_settings');
  }

  /** An address of the page with a one-time code, which lets a browser in. */
  loginCode() {
    return this.#json('make_login_code');
  }

  /** Trades a one-time code for a cookie. Of use in a browser, which keeps it. */
  async logIn(code: string): Promise<void> {
    await this.#connection.ask('log_in', { body: { code } });
  }

  /** Makes the cookie void. */
  async logOut(): Promise<void> {
    await this.#connection.ask('log_out');
  }

  models(query?: Queries['list_models']) {
    return this.#json('list_models', { query });
  }

  tools(query?: Queries['list_tools']) {
    return this.#json('list_tools', { query });
  }

  usage(query?: Queries['usage']) {
    return this.#json('usage', { query });
  }

  trust(workspacePath: string) {
    return this.#json('get_trust', { query: { workspace_path: workspacePath } });
  }

  setTrust(body: Bodies['set_trust']) {
    return this.#json('set_trust', { body });
  }

  projects() {
    return this.#json('list_projects');
  }

  addProject(body: Bodies['add_project']) {
    return this.#json('add_project', { body });
  }

  directories(query?: Queries['list_directories']) {
    return this.#json('list_directories', { query });
  }

  removeProject(projectId: string) {
    return this.#json('remove_project', { path: { project_id: projectId } });
  }

  createSession(body: Bodies['create_session']) {
    return this.#json('create_session', { body });
  }

  sessions(query?: Queries['list_sessions']) {
    return this.#json('list_sessions', { query });
  }

  session(id: string, query?: Queries['get_session']) {
    return this.#json('get_session', { path: { session_id: id }, query });
  }

  updateSession(id: string, body: Bodies['update_session']) {
    return this.#json('update_session', { path: { session_id: id }, body });
  }

  /** Closes a session; with `purge` its files are removed too. */
  closeSession(id: string, query?: Queries['close_session']) {
    return this.#json('close_session', { path: { session_id: id }, query });
  }

  /** Says something in a session. When it returns, what was said is on disk. */
  sendMessage(id: string, said: Said) {
    const body = typeof said === 'string' ? { role: 'user', parts: [{ type: 'text', text: said }] } : said;
    return this.#json('send_message', { path: { session_id: id }, body });
  }

  messages(id: string, query?: Queries['list_messages']) {
    return this.#json('list_messages', { path: { session_id: id }, query });
  }

  queue(id: string) {
    return this.#json('list_queue', { path: { session_id: id } });
  }

  /** Edits a message that waits, moves it, or has it steer the running turn. */
  changeQueued(id: string, messageId: string, body: Bodies['change_queued']) {
    return this.#json('change_queued', { path: { session_id: id, message_id: messageId }, body });
  }

  withdraw(id: string, messageId: string) {
    return this.#json('withdraw_message', { path: { session_id: id, message_id: messageId } });
  }

  /** Files of the workspace, by a few letters of their paths. */
  findFiles(id: string, query?: Queries['find_files']) {
    return this.#json('find_files', { path: { session_id: id }, query });
  }

  run(id: string) {
    return this.#json('run', { path: { session_id: id } });
  }

  retry(id: string, turnId: string) {
    return this.#json('retry_turn', { path: { session_id: id, turn_id: turnId } });
  }

  /** What a call would change that waits for an answer; `files` is null where that cannot be told. */
  approvalDiff(id: string, toolCallId: string) {
    return this.#json('get_approval_diff', { path: { session_id: id, tool_call_id: toolCallId } });
  }

  /** What a turn changed in the workspace. */
  turnDiff(id: string, turnId: string) {
    return this.#json('get_turn_diff', { path: { session_id: id, turn_id: turnId } });
  }

  cancel(id: string, body: Bodies['cancel'] = {}) {
    return this.#json('cancel', { path: { session_id: id }, body });
  }

  /** Answers a call that waits, yes or no. */
  approve(id: string, body: Bodies['answer_approval']) {
    return this.#json('answer_approval', { path: { session_id: id }, body });
  }

  /** All that waits for an answer, over all sessions. */
  approvals() {
    return this.#json('list_approvals');
  }

  undo(id: string, body: Bodies['undo']) {
    return this.#json('undo', { path: { session_id: id }, body });
  }

  fork(id: string, body: Bodies['fork_session'] = {}) {
    return this.#json('fork_session', { path: { session_id: id }, body });
  }

  compact(id: string) {
    return this.#json('compact', { path: { session_id: id } });
  }

  subtasks(id: string, body: Bodies['run_subtasks']) {
    return this.#json('run_subtasks', { path: { session_id: id }, body });
  }

  context(id: string) {
    return this.#json('get_context', { path: { session_id: id } });
  }

  /** The session as one file. The body is not read yet, so that it may be larger than memory. */
  export(id: string, query?: Queries['export_session']): Promise<Response> {
    return this.#connection.ask('export_session', { path: { session_id: id }, query });
  }

  /** Makes a session of an exported one. */
  importSession(file: Uint8Array, query?: Queries['import_session']) {
    return this.#json('import_session', { query, body: file });
  }

  /** Adds a file to a session; `ref` in the answer is for a part of a message. */
  attach(id: string, name: string, data: Uint8Array) {
    const body = { name, data: Buffer.from(data).toString('base64') };
    return this.#json('attach_file', { path: { session_id: id }, body });
  }

  attachments(id: string) {
    return this.#json('list_attachments', { path: { session_id: id } });
  }

  attachment(id: string, file: string): Promise<Response> {
    return this.#connection.ask('get_attachment', { path: { session_id: id, file } });
  }

  artifacts(id: string, turnId: string) {
    return this.#json('list_artifacts', { path: { session_id: id, turn_id: turnId } });
  }

  artifact(id: string, turnId: string, file: string): Promise<Response> {
    return this.#connection.ask('get_artifact', { path: { session_id: id, turn_id: turnId, file } });
  }

  /**
   * What has happened in a session, and then what happens, for as long as the caller asks for more. A connection that is
   * lost is made again: every record comes once, in order and without a gap, and no text comes twice. Throws when the
   * daemon cannot be reached for too long, and when it refuses.
   */
  events(id: string, options: EventOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return sessionEvents(this.#connection, this.#backoff, id, options);
  }

  /** What happens in every session, on one connection that is made again when it is lost. */
  allEvents(options: AllEventOptions = {}): AsyncGenerator<FeedEvent, void, undefined> {
    return allEvents(this.#connection, this.#backoff, options);
  }

  async #json<Name extends OperationName & keyof Results>(name: Name, asked?: Asked): Promise<Results[Name]> {
    const response = await this.#connection.ask(name, asked);
    return (await response.json()) as Results[Name];
  }
}
