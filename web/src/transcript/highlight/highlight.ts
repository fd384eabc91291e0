// Asks the worker for colours, one piece of code at a time, and remembers the newest answers. Code that is too long, or in a
// language that is not known, stays plain.

import type { CodePiece } from './pieces'
import type { Answered, Asked } from './worker'

const MAX_LENGTH = 40_000
/** How much code is remembered with its colours, in characters. */
const MAX_KEPT = 1_000_000

const kept = new Map<string, CodePiece[] | null>()
const waiting = new Map<number, (pieces: CodePiece[] | null) => void>()
let keptLength = 0
let worker: Worker | null = null
let lastId = 0

/** The colours of a piece of code; null when it stays plain. */
export async function highlight(language: string, text: string): Promise<CodePiece[] | null> {
  if (language === '' || text.length > MAX_LENGTH) return null
  const key = `${language}\n${text}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const pieces = await ask(language, text)
  if (!kept.has(key)) keptLength += key.length
  kept.set(key, pieces)
  for (const oldest of kept.keys()) {
    if (keptLength <= MAX_KEPT) break
    kept.delete(oldest)
    keptLength -= oldest.length
  }
  return pieces
}

/** The colours that are known already, without waiting. */
export function highlighted(language: string, text: string): CodePiece[] | null {
  return kept.get(`${language}\n${text}`) ?? null
}

/** The language of a block of code, by the words behind its fence. */
export function languageOfFence(info: string): string {
  const word = /^[\w+#.-]+/.exec(info.trim())?.[0]?.toLowerCase() ?? ''
  return (
    { console: 'shell', terminal: 'shell', svelte: 'xml', vue: 'xml', jsonl: 'json', jsonc: 'json', zig: 'c' }[word] ??
    word
  )
}

const BY_ENDING: { [ending: string]: string } = {
  rs: 'rust',
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  py: 'python',
  rb: 'ruby',
  go: 'go',
  c: 'c',
  h: 'c',
  cc: 'cpp',
  cpp: 'cpp',
  hpp: 'cpp',
  cs: 'csharp',
  java: 'java',
  kt: 'kotlin',
  swift: 'swift',
  php: 'php',
  lua: 'lua',
  sh: 'bash',
  bash: 'bash',
  zsh: 'bash',
  json: 'json',
  toml: 'ini',
  ini: 'ini',
  yaml: 'yaml',
  yml: 'yaml',
  md: 'markdown',
  html: 'xml',
  xml: 'xml',
  svg: 'xml',
  svelte: 'xml',
  vue: 'xml',
  css: 'css',
  scss: 'css',
  sql: 'sql',
  diff: 'diff',
  patch: 'diff',
}

/** The language of a file, by its name. */
export function languageOfPath(path: string): string {
  const name = path.split('/').at(-1)!.toLowerCase()
  if (name === 'makefile') return 'makefile'
  if (name.startsWith('dockerfile')) return 'dockerfile'
  return BY_ENDING[name.split('.').at(-1)!] ?? ''
}

function ask(language: string, text: string): Promise<CodePiece[] | null> {
  worker ??= start()
  const asked: Asked = { id: (lastId += 1), language, text }
  return new Promise((resolve) => {
    waiting.set(asked.id, resolve)
    worker!.postMessage(asked)
  })
}

function start(): Worker {
  const started = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'highlight' })
  started.onmessage = ({ data }: MessageEvent<Answered>) => {
    waiting.get(data.id)?.(data.pieces)
    waiting.delete(data.id)
  }
  // Without it everything is as readable, only plain.
  started.onerror = () => {
    for (const resolve of waiting.values()) resolve(null)
    waiting.clear()
  }
  return started
}
