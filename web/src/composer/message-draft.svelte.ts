/**
 * What is being written in a session: the text, long pastes, files on their way to the daemon. It outlives the
 * component, so that changing tabs loses nothing, and is kept in the browser. Keys, menus and looks are left to
 * the components; sending to the session.
 */

import { upload } from '../api/actions'
import { ApiError } from '../api/http'
import type { InputPart } from '../api/types'
import { loadDraft, saveDraft, type KeptAttachment } from './drafts'
import { gather, HistoryWalk, loadHistory, saveHistory } from './history'
import { expand, isLong, mark, nextId, present, remove, resolve, type Paste } from './paste'

/** A file that is to go with the message. */
export interface Attachment {
  key: string
  name: string
  size: number
  mimeType: string
  state: 'uploading' | 'ready' | 'waiting' | 'failed'
  /** Where the daemon keeps it, once it does. */
  ref: string | null
  error: string | null
}

const MAX_FILES = 20
/** What the daemon takes of one file, and of one message. */
const MAX_FILE_BYTES = 25 * 1024 * 1024
const MAX_MESSAGE_BYTES = 1024 * 1024
/** How long after the last letter a draft is kept. */
const KEEP_AFTER_MS = 250

export class MessageDraft {
  text = $state('')
  pastes = $state.raw<readonly Paste[]>([])
  attachments = $state<Attachment[]>([])
  /** What went wrong with the last thing that was tried here. */
  problem = $state<string | null>(null)
  /** A message that goes out as soon as its files are there. */
  pending = $state<'queue' | 'steer' | 'interrupt' | null>(null)

  readonly #files = new Map<string, File>()
  #walk: HistoryWalk | null = null
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(readonly sessionId: string) {
    const draft = loadDraft(localStorage, sessionId)
    this.text = draft.text
    this.pastes = present(draft.text, draft.pastes)
    this.attachments = draft.attachments.map((kept) => ({ ...kept, key: kept.ref, state: 'ready', error: null }))
  }

  get isEmpty(): boolean {
    return this.text.trim() === '' && this.attachments.length === 0
  }

  /** Another text, typed or put there. */
  set(text: string): void {
    this.text = text
    this.pastes = present(text, this.pastes)
    this.pending = null
    this.#walk = null
    this.keepSoon()
  }

  /** Takes a long paste; returns what stands for it in the text, or null when it is short and goes in as it is. */
  takePaste(text: string): string | null {
    if (!isLong(text)) return null
    const paste = { id: nextId(this.pastes), text: text.replaceAll('\r\n', '\n') }
    this.pastes = [...this.pastes, paste]
    return mark(paste)
  }

  expandPaste(paste: Paste): number {
    const { text, caret } = expand(this.text, paste)
    this.set(text)
    return caret
  }

  removePaste(paste: Paste): number {
    const { text, caret } = remove(this.text, paste)
    this.set(text)
    return caret
  }

  /** Takes files and sends them to the daemon, each by itself. */
  attach(files: Iterable<File>): void {
    this.problem = null
    for (const file of files) {
      if (this.attachments.length >= MAX_FILES) {
        this.problem = `A message can have ${MAX_FILES} files at most; the rest were skipped.`
        return
      }
      if (file.size > MAX_FILE_BYTES) {
        this.problem = `${file.name} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB and was skipped.`
        continue
      }
      const key = crypto.randomUUID()
      this.#files.set(key, file)
      this.attachments.push({
        key,
        name: file.name || 'pasted',
        size: file.size,
        mimeType: file.type,
        state: 'uploading',
        ref: null,
        error: null,
      })
      void this.#upload(key)
    }
  }

  detach(key: string): void {
    this.attachments = this.attachments.filter((attachment) => attachment.key !== key)
    this.#files.delete(key)
    this.keepSoon()
  }

  /** Tries those again that did not arrive: all that wait for the connection, or one that failed. */
  retryUploads(key?: string): void {
    for (const attachment of this.attachments) {
      const again = key === undefined ? attachment.state === 'waiting' : attachment.key === key
      if (!again || !this.#files.has(attachment.key)) continue
      attachment.state = 'uploading'
      void this.#upload(attachment.key)
    }
  }

  async #upload(key: string): Promise<void> {
    const file = this.#files.get(key)
    if (!file) return
    const found = () => this.attachments.find((attachment) => attachment.key === key)
    try {
      const stored = await upload(this.sessionId, named(file))
      const attachment = found()
      if (!attachment) return
      Object.assign(attachment, {
        state: 'ready',
        ref: stored.ref,
        mimeType: stored.mime_type,
        size: stored.size,
        error: null,
      })
      this.#files.delete(key)
      this.keepSoon()
    } catch (error) {
      const attachment = found()
      if (!attachment) return
      const passing = error instanceof ApiError && error.isPassing
      attachment.state = passing ? 'waiting' : 'failed'
      attachment.error = error instanceof Error ? error.message : String(error)
    }
  }

  /** Whether every file has arrived. */
  get isReady(): boolean {
    return this.attachments.every(({ state }) => state === 'ready')
  }

  /** The message as it is sent; null, with the reason in `problem`, when it cannot be. */
  parts(before: string | null): InputPart[] | null {
    const text = [before, resolve(this.text, this.pastes).trim()].filter((piece) => piece).join('\n\n')
    if (new TextEncoder().encode(text).length > MAX_MESSAGE_BYTES) {
      this.problem = 'The message is longer than 1 MiB. Attach the long part as a file instead.'
      return null
    }
    const parts: InputPart[] = text === '' ? [] : [{ type: 'text', text }]
    for (const { ref, mimeType } of this.attachments) {
      if (ref !== null) parts.push({ type: partType(mimeType), ref })
    }
    return parts
  }

  /** Forgets what was written, because it was sent. */
  sent(): void {
    saveHistory(localStorage, resolve(this.text, this.pastes))
    this.clear()
  }

  clear(): void {
    this.text = ''
    this.pastes = []
    this.attachments = []
    this.#files.clear()
    this.#walk = null
    this.pending = null
    this.problem = null
    this.keep()
  }

  /** Puts a message back that was not sent after all, before whatever has been written since. */
  putBack(parts: readonly InputPart[]): void {
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    const files: Attachment[] = parts.flatMap((part) => {
      if (part.type === 'text') return []
      const name = part.ref.split('/').at(-1) ?? part.ref
      return [
        {
          key: part.ref,
          name,
          size: 0,
          mimeType: part.mime_type ?? '',
          state: 'ready' as const,
          ref: part.ref,
          error: null,
        },
      ]
    })
    this.attachments = [...files, ...this.attachments]
    this.set(this.text.trim() === '' ? text : `${text}\n\n${this.text}`)
  }

  /** The message before the one that is shown, or after it; null when there is none. `own` are the session's. */
  recall(direction: 'older' | 'newer', own: readonly string[]): string | null {
    this.#walk ??= new HistoryWalk(gather(loadHistory(localStorage), own))
    const walk = this.#walk
    const text = direction === 'older' ? walk.older(this.text) : walk.newer(this.text)
    if (text === null) return null
    this.set(text)
    this.#walk = walk
    return text
  }

  /** Whether an old message is being shown, so that further presses go on through the history. */
  get isRecalling(): boolean {
    return this.#walk !== null && this.#walk.shown === this.text
  }

  keepSoon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.keep(), KEEP_AFTER_MS)
  }

  /** Keeps the draft in the browser now. Files that have not arrived are not part of it. */
  keep(): void {
    clearTimeout(this.#timer)
    const attachments: KeptAttachment[] = this.attachments.flatMap(({ ref, name, mimeType, size }) =>
      ref === null ? [] : [{ ref, name, mimeType, size }],
    )
    saveDraft(localStorage, this.sessionId, { text: this.text, pastes: [...this.pastes], attachments }, Date.now())
  }
}

/** Pasted pictures are all called `image.png`, or nothing; the daemon gives each a name of its own. */
function named(file: File): File {
  return file.name === '' ? new File([file], 'pasted', { type: file.type }) : file
}

function partType(mimeType: string): 'image' | 'audio' | 'file' {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mimeType)) return 'image'
  return mimeType.startsWith('audio/') ? 'audio' : 'file'
}

const drafts = new Map<string, MessageDraft>()
/** The rest is in the browser's own storage and comes back from there. */
const MAX_DRAFTS = 50

/** What is being written in a session. */
export function messageDraftOf(sessionId: string): MessageDraft {
  const known = drafts.get(sessionId)
  if (known) return known
  const writing = new MessageDraft(sessionId)
  drafts.set(sessionId, writing)
  for (const [oldest, old] of drafts) {
    if (drafts.size <= MAX_DRAFTS) break
    if (oldest !== sessionId && old.isReady) drafts.delete(oldest)
  }
  return writing
}
