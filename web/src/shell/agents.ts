// Names of agents for people: a full one, and two letters for a badge.

const KNOWN: Record<string, [string, string]> = {
  native: ['Ostler', 'OS'],
  'claude-code': ['Claude Code', 'CC'],
  claude: ['Claude Code', 'CC'],
  codex: ['Codex', 'CX'],
  gemini: ['Gemini', 'GM'],
  opencode: ['opencode', 'OC'],
}

export function agentName(agent: string, title?: string | null): string {
  return title ?? KNOWN[agent]?.[0] ?? agent
}

export function agentBadge(agent: string): string {
  return (
    KNOWN[agent]?.[1] ??
    agent
      .replace(/[^a-z0-9]/gi, '')
      .slice(0, 2)
      .toUpperCase()
  )
}

/** A model's name without its provider. */
export function shortModel(model: string): string {
  return model.slice(model.indexOf(':') + 1)
}
