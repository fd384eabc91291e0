// The page as a whole: who is let in, which sessions are open, what is on screen, and the wiring between the connection and the
// state. There is one of it, `app`; components read it and call it.

import { archive, getSession, listAgents, listModels, listProjects, login, version } from '../api/actions'
import { ApiError, onLockedOut } from '../api/http'
import type { AgentInfo, Models, Project, SessionEvent } from '../api/types'
import { notifyRecord } from '../shell/notify'
import { say, tell } from '../shell/toasts.svelte'
import { keep, recall } from './local-storage'
import { EventConnection } from './connection.svelte'
import { SessionList } from './list.svelte'
import { SessionState } from './session.svelte'

/** Tabs that are open at once; the one that was not looked at for longest makes room. */
const TABS = 30
/** Tabs that were closed and can be had back. */
const CLOSED = 20

/** What the middle of the page shows. */
export type Screen =
  | { name: 'home' }
  | { name: 'session'; id: string }
  | { name: 'dashboard' }
  | { name: 'settings' }
  | { name: 'approvals' }

class App {
  entry = $state<'checking' | 'in' | 'locked'>('checking')
  /** Why the code did not open the page. */
  lockReason = $state<string | null>(null)
  screen = $state.raw<Screen>({ name: 'home' })
  /** The ids of the sessions that have a tab, in the order of the tabs. */
  tabs = $state.raw<readonly string[]>(recall<string[]>('tabs', []))
  /** The session that is shown beside the one on screen. */
  side = $state<string | null>(recall<string | null>('side', null))
  /** The tabs that were closed, the newest last. */
  closed = $state.raw<readonly string[]>(recall<string[]>('closed', []))
  /** The message or the turn that the address names, until it is shown. */
  target = $state.raw<{ session: string; id: string } | null>(null)
  projects = $state.raw<readonly Project[]>([])
  agents = $state.raw<readonly AgentInfo[]>([])
  models = $state.raw<Models | null>(null)
  sidebarOpen = $state(false)
  /** Sessions that this page is archiving itself. */
  readonly archiving = new Set<string>()
  readonly list = new SessionList()
  readonly connection: EventConnection
  /** The session on screen. */
  readonly current = $derived(this.screen.name === 'session' ? this.screen.id : null)
  #open = $state.raw<ReadonlyMap<string, SessionState>>(new Map())
  #used = new Map<string, number>()
  #version: string | null = null

  constructor() {
    this.connection = new EventConnection({
      fresh: () => void this.#loadAll(),
      resumed: () => this.#resume(),
      event: (event) => this.#event(event),
      wantsDeltas: (id) => this.#open.has(id),
    })
    this.list.isOnScreen = (id) =>
      this.current !== null && (this.current === id || this.side === id) && document.visibilityState === 'visible'
    this.list.onAttention = notifyRecord
  }

  /** Trades the code in the address for a cookie, and begins if that, or an older cookie, is good. */
  async start(): Promise<void> {
    onLockedOut.call = () => this.#lock()
    addEventListener('popstate', () => this.#route())
    addEventListener('hashchange', () => {
      if (this.entry === 'in' && locationHash()) this.#route()
      else void this.#useCode()
    })
    document.addEventListener('visibilitychange', () => this.#look())
    await this.#useCode()
    try {
      await listAgents()
      this.#enter()
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.#lock()
      else this.#enter()
    }
  }

  /** The open session of that id, loaded if it is not yet. */
  open(id: string): SessionState {
    const known = this.#open.get(id)
    if (known) return known
    const session = new SessionState(id, this.connection)
    this.#open = new Map([...this.#open, [id, session]])
    void session.load()
    return session
  }

  opened(id: string): SessionState | undefined {
    return this.#open.get(id)
  }

  /** Shows something, and puts its address into the address bar. */
  show(screen: Screen, how: 'push' | 'replace' = 'push', at: string | null = null): void {
    const path = screen.name === 'session' ? `/s/${screen.id}` : screen.name === 'home' ? '/' : `/${screen.name}`
    const address = at ? `${path}#${at}` : path
    if (location.pathname + location.hash !== address)
      history[how === 'push' ? 'pushState' : 'replaceState'](null, '', address)
    this.#set(screen, at)
  }

  /** Shows a session; where a message or a turn of it is named, at that. */
  showSession(id: string, at: string | null = null): void {
    this.show({ name: 'session', id }, 'push', at)
  }

  /** What the address names is on screen, or is not in the session. */
  arrived(isThere: boolean): void {
    this.target = null
    if (!isThere) say('This session has no message or turn with that address.')
  }

  /** Shows a session beside the one on screen; null shows none. */
  showBeside(id: string | null): void {
    if (id === this.current && id !== null) {
      const other = this.tabs.findLast((each) => each !== id)
      if (!other) return
      this.showSession(other)
    }
    this.side = id
    keep('side', id ?? undefined)
    if (id === null) return
    if (!this.tabs.includes(id)) this.#addTab(id)
    this.#used.set(id, Date.now())
    this.open(id)
    this.list.seen(id)
  }

  closeTab(id: string): void {
    if (this.side === id) this.showBeside(null)
    const place = this.tabs.indexOf(id)
    this.#setTabs(this.tabs.filter((each) => each !== id))
    if (place >= 0) this.#setClosed([...this.closed.filter((each) => each !== id), id].slice(-CLOSED))
    this.#open = new Map([...this.#open].filter(([each]) => each !== id))
    if (this.current !== id) return
    const next = this.tabs[Math.min(place, this.tabs.length - 1)]
    this.show(next ? { name: 'session', id: next } : { name: 'home' })
  }

  /** Shows the tab again that was closed last. Whether there was one. */
  reopenTab(): boolean {
    const id = this.closed.at(-1)
    if (id) this.showSession(id)
    return id !== undefined
  }

  /** Puts a tab before another one, or at the end. */
  moveTab(id: string, before: string | null): void {
    const rest = this.tabs.filter((each) => each !== id)
    const place = before === null ? rest.length : rest.indexOf(before)
    this.#setTabs([...rest.slice(0, place), id, ...rest.slice(place)])
  }

  /** The next tab, or the one before. */
  cycle(step: 1 | -1): void {
    if (this.tabs.length === 0) return
    const place = this.current ? this.tabs.indexOf(this.current) : -1
    const next = this.tabs[(place + step + this.tabs.length) % this.tabs.length]
    if (next) this.showSession(next)
  }

  async loadProjects(): Promise<void> {
    this.projects = await listProjects()
  }

  async #useCode(): Promise<void> {
    const code = /^#code=(.+)$/.exec(location.hash)?.[1]
    if (!code) return
    history.replaceState(null, '', location.pathname)
    try {
      await login(decodeURIComponent(code))
      if (this.entry === 'locked') location.reload()
    } catch (error) {
      this.lockReason = error instanceof ApiError ? error.message : String(error)
    }
  }

  #enter(): void {
    if (this.entry === 'in') return
    this.entry = 'in'
    this.#route()
    this.connection.start()
  }

  #lock(): void {
    this.entry = 'locked'
    this.connection.stop()
  }

  async #loadAll(): Promise<void> {
    try {
      const lists = [this.list.load(), this.loadProjects(), this.#loadChoices(), this.#compareVersions()]
      for (const session of this.#open.values()) lists.push(session.load())
      await Promise.all(lists)
    } catch (error) {
      tell(error)
    }
  }

  async #loadChoices(): Promise<void> {
    ;[this.agents, this.models] = await Promise.all([listAgents(), listModels()])
  }

  #resume(): void {
    for (const session of this.#open.values()) {
      // Records come by the cursor; the text of a message that was being written does not.
      if (session.session?.running_turn_id || session.problem) void session.load()
      session.flush()
    }
    void this.loadProjects().catch(() => {})
    void this.#compareVersions().catch(() => {})
  }

  /** A daemon that came back newer has a newer page. */
  async #compareVersions(): Promise<void> {
    const now = await version()
    this.#version ??= now
    if (this.#version === now) return
    this.#version = now
    say('Ostler was updated.', { label: 'Reload', run: () => location.reload() })
  }

  #event(event: SessionEvent): void {
    this.#closeArchived(event)
    this.list.event(event)
    this.#open.get(event.session_id)?.take(event)
  }

  /** A session that was archived elsewhere needs no tab. What this tab archives closes its own. */
  #closeArchived(event: SessionEvent): void {
    if (event.type !== 'session_updated' || !event.data.session.archived) return
    const id = event.session_id
    if (!this.tabs.includes(id) || this.archiving.has(id)) return
    const before = this.#open.get(id)?.session ?? this.list.row(id)
    if (!before || before.archived) return
    this.closeTab(id)
    const undo = async (): Promise<void> => {
      this.list.tell(await archive(id, false))
      this.showSession(id)
    }
    say(`“${event.data.session.title ?? 'New session'}” was archived elsewhere.`, {
      label: 'Undo',
      run: () => void undo().catch(tell),
    })
  }

  #route(): void {
    const path = location.pathname
    const id = /^\/s\/(sess_[0-9a-f]{32})$/.exec(path)?.[1]
    if (id) return this.#set({ name: 'session', id }, locationHash())
    const name = path.slice(1)
    if (name === 'dashboard' || name === 'settings' || name === 'approvals') return this.#set({ name })
    const last = recall<string | null>('current', null)
    if (path === '/' && last && this.tabs.includes(last)) return this.show({ name: 'session', id: last }, 'replace')
    this.#set({ name: 'home' })
  }

  #set(screen: Screen, at: string | null = null): void {
    const left = this.current
    this.target = at && screen.name === 'session' ? { session: screen.id, id: at } : null
    this.screen = screen
    this.sidebarOpen = false
    if (left && screen.name !== 'session') this.#open.get(left)?.rest()
    keep('current', this.current ?? undefined)
    if (screen.name !== 'session') return
    if (left && left !== screen.id) this.#open.get(left)?.rest()
    // What comes on screen is not shown a second time beside itself.
    if (this.side === screen.id) this.showBeside(null)
    else if (this.side) this.open(this.side)
    if (!this.tabs.includes(screen.id)) this.#addTab(screen.id)
    this.#used.set(screen.id, Date.now())
    this.open(screen.id)
    this.#look()
    if (!this.list.row(screen.id))
      void getSession(screen.id).then(
        (shown) => this.list.tell(shown),
        () => {},
      )
  }

  #addTab(id: string): void {
    this.#setTabs([...this.tabs, id])
    if (this.closed.includes(id)) this.#setClosed(this.closed.filter((each) => each !== id))
    if (this.tabs.length <= TABS) return
    const oldest = [...this.tabs].sort((one, other) => (this.#used.get(one) ?? 0) - (this.#used.get(other) ?? 0))
    const victim = oldest.find((each) => each !== id)
    if (victim) this.closeTab(victim)
  }

  #setTabs(tabs: readonly string[]): void {
    this.tabs = tabs
    keep('tabs', tabs)
  }

  #setClosed(closed: readonly string[]): void {
    this.closed = closed
    keep('closed', closed)
  }

  #look(): void {
    if (this.current && document.visibilityState === 'visible') this.list.seen(this.current)
  }
}

/** The message or the turn that the address names. */
function locationHash(): string | null {
  return /^#((?:msg|turn)_[0-9a-f]{32})$/.exec(location.hash)?.[1] ?? null
}

/** The page. */
export const app = new App()
