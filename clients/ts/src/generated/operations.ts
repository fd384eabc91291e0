// Made by clients/generate.py from the daemon's own documents. Do not edit.

import type * as http from './http.js';

/** Every operation of the http door. */
export const operations = {
  health: { method: 'GET', path: '/healthz' },
  openapi: { method: 'GET', path: '/openapi.json' },
  list_agents: { method: 'GET', path: '/v1/agents' },
  list_agent_sessions: { method: 'GET', path: '/v1/agents/{agent}/sessions' },
  list_models: { method: 'GET', path: '/v1/models' },
  get_trust: { method: 'GET', path: '/v1/trust' },
  set_trust: { method: 'PUT', path: '/v1/trust' },
  list_tools: { method: 'GET', path: '/v1/tools' },
  usage: { method: 'GET', path: '/v1/usage' },
  log_in: { method: 'POST', path: '/v1/login' },
  make_login_code: { method: 'POST', path: '/v1/login/code' },
  get_settings: { method: 'GET', path: '/v1/settings' },
  log_out: { method: 'POST', path: '/v1/logout' },
  list_projects: { method: 'GET', path: '/v1/projects' },
  add_project: { method: 'POST', path: '/v1/projects' },
  list_directories: { method: 'GET', path: '/v1/directories' },
  remove_project: { method: 'DELETE', path: '/v1/projects/{project_id}' },
  create_session: { method: 'POST', path: '/v1/sessions' },
  list_sessions: { method: 'GET', path: '/v1/sessions' },
  get_session: { method: 'GET', path: '/v1/sessions/{session_id}' },
  update_session: { method: 'PATCH', path: '/v1/sessions/{session_id}' },
  close_session: { method: 'DELETE', path: '/v1/sessions/{session_id}' },
  session_events: { method: 'GET', path: '/v1/sessions/{session_id}/events' },
  all_events: { method: 'GET', path: '/v1/events' },
  send_message: { method: 'POST', path: '/v1/sessions/{session_id}/messages' },
  list_messages: { method: 'GET', path: '/v1/sessions/{session_id}/messages' },
  list_queue: { method: 'GET', path: '/v1/sessions/{session_id}/queue' },
  withdraw_message: { method: 'DELETE', path: '/v1/sessions/{session_id}/queue/{message_id}' },
  change_queued: { method: 'PATCH', path: '/v1/sessions/{session_id}/queue/{message_id}' },
  run: { method: 'POST', path: '/v1/sessions/{session_id}/run' },
  retry_turn: { method: 'POST', path: '/v1/sessions/{session_id}/turns/{turn_id}/retry' },
  get_turn_diff: { method: 'GET', path: '/v1/sessions/{session_id}/turns/{turn_id}/diff' },
  undo: { method: 'POST', path: '/v1/sessions/{session_id}/undo' },
  cancel: { method: 'POST', path: '/v1/sessions/{session_id}/cancel' },
  answer_approval: { method: 'POST', path: '/v1/sessions/{session_id}/approve' },
  get_approval_diff: { method: 'GET', path: '/v1/sessions/{session_id}/approvals/{tool_call_id}/diff' },
  list_approvals: { method: 'GET', path: '/v1/approvals' },
  fork_session: { method: 'POST', path: '/v1/sessions/{session_id}/fork' },
  compact: { method: 'POST', path: '/v1/sessions/{session_id}/compact' },
  run_subtasks: { method: 'POST', path: '/v1/sessions/{session_id}/subtasks' },
  get_context: { method: 'GET', path: '/v1/sessions/{session_id}/context' },
  export_session: { method: 'GET', path: '/v1/sessions/{session_id}/export' },
  import_session: { method: 'POST', path: '/v1/sessions/import' },
  find_files: { method: 'GET', path: '/v1/sessions/{session_id}/files' },
  attach_file: { method: 'POST', path: '/v1/sessions/{session_id}/attachments' },
  list_attachments: { method: 'GET', path: '/v1/sessions/{session_id}/attachments' },
  get_attachment: { method: 'GET', path: '/v1/sessions/{session_id}/attachments/{file}' },
  list_artifacts: { method: 'GET', path: '/v1/sessions/{session_id}/artifacts/{turn_id}' },
  get_artifact: { method: 'GET', path: '/v1/sessions/{session_id}/artifacts/{turn_id}/{file}' },
} as const;

/** The name of an operation. */
export type OperationName = keyof typeof operations;

/** What each answers with, where that is JSON. */
export interface Results {
  health: http.Health;
  openapi: { [key: string]: unknown };
  list_agents: http.Agents;
  list_agent_sessions: http.AgentSessions;
  list_models: http.Models;
  get_trust: http.Trusted;
  set_trust: http.Trusted;
  list_tools: http.Tools;
  usage: http.UsageTable;
  make_login_code: http.LoginCode;
  get_settings: http.SettingsView;
  list_projects: http.ProjectList;
  add_project: http.Project;
  list_directories: http.DirectoryList;
  remove_project: http.ProjectRemoved;
  create_session: http.Created;
  list_sessions: http.SessionList;
  get_session: http.Shown;
  update_session: http.Shown;
  close_session: http.Closed;
  send_message: http.Sent;
  list_messages: http.Page;
  list_queue: http.Queue;
  withdraw_message: http.Withdrawn;
  change_queued: http.Queue;
  run: http.Started;
  retry_turn: http.Started;
  get_turn_diff: http.TurnDiff;
  undo: http.Undone;
  cancel: http.Canceled;
  answer_approval: http.Answered;
  get_approval_diff: http.ApprovalDiff;
  list_approvals: http.Approvals;
  fork_session: http.Created;
  compact: http.Started;
  run_subtasks: http.Started;
  get_context: http.ContextView;
  import_session: http.Created;
  find_files: http.FoundFiles;
  attach_file: http.Stored;
  list_attachments: http.Files;
  list_artifacts: http.Files;
}

/** The body that each takes, where that is JSON. */
export interface Bodies {
  set_trust: http.TrustBody;
  log_in: http.LoginBody;
  add_project: http.ProjectBody;
  create_session: http.NewSessionBody;
  update_session: http.UpdateBody;
  send_message: http.MessageBody;
  change_queued: http.QueuedBody;
  undo: http.UndoBody;
  cancel: http.CancelBody;
  answer_approval: http.AnswerBody;
  fork_session: http.ForkBody;
  run_subtasks: http.PlanBody;
  attach_file: http.AttachmentBody;
}

/** What each can be asked with. */
export interface Queries {
  list_agent_sessions: http.ListAgentSessionsQuery;
  list_models: http.ListModelsQuery;
  get_trust: http.GetTrustQuery;
  list_tools: http.ListToolsQuery;
  usage: http.UsageQuery;
  list_directories: http.ListDirectoriesQuery;
  list_sessions: http.ListSessionsQuery;
  get_session: http.GetSessionQuery;
  close_session: http.CloseSessionQuery;
  session_events: http.SessionEventsQuery;
  all_events: http.AllEventsQuery;
  list_messages: http.ListMessagesQuery;
  export_session: http.ExportSessionQuery;
  import_session: http.ImportSessionQuery;
  find_files: http.FindFilesQuery;
}
