/** Clients of Ostler's doors: http, gateway and lines of JSON. */

export { OstlerClient, type ClientOptions, type Said } from './client.js';
export type { AllEventOptions, EventOptions, FeedEvent } from './events.js';
export type { Token } from './connection.js';
export type { Backoff } from './backoff.js';
export { GatewayClient, type GatewayEvents, type GatewayOptions, type GatewayParams, type GatewayResults } from './gateway.js';
export type { RunEnd } from './run.js';
export {
  AgentConnection,
  type AgentConnectionEvents,
  type AgentConnectionOptions,
  type ServerMessage,
  type StartSessionOptions,
} from './agent-connection.js';
export { CommandError, ConnectionError, GatewayError, OstlerError, ProtocolError, RunError } from './errors.js';
export type * from './generated/http.js';
export { operations, type Bodies, type OperationName, type Queries, type Results } from './generated/operations.js';
export type * as gateway from './generated/gateway.js';
export type * as jsonl from './generated/jsonl.js';
