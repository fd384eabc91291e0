// The real daemon on a free port with a fresh data directory, for the specs; a model whose answers a spec scripts; and helpers to get
// in, to make sessions and to wait. Specs import `test` and `expect` from here: each test has a daemon of its own, and a page that is
// let in.

import { test as base, expect, type BrowserContext, type Page } from '@playwright/test'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { ScriptedModel } from './scripted-model'

export { expect }
export const BINARY = resolve(process.env.OSTLER_BINARY ?? '../target/debug/ostler')

/** A session as a spec makes it. */
export interface NewSession {
  title?: string
  model?: string
  workspace_path?: string
  policy?: unknown
  [name: string]: unknown
}

/** A daemon that can be killed and started again at the same address. */
export class Daemon {
  #child: ChildProcess | undefined
  #address = ''
  token = ''
  readonly model = new ScriptedModel()

  private constructor(readonly place: string) {}

  static async start(): Promise<Daemon> {
    const daemon = new Daemon(await mkdtemp(join(tmpdir(), 'ostler-page-')))
    await mkdir(daemon.workspace)
    await writeFile(join(daemon.workspace, 'README.md'), '# A small project\n\nIt greets people.\n')
    await daemon.model.start()
    await writeFile(join(daemon.place, 'config.toml'), daemon.#configuration())
    await daemon.restart()
    return daemon
  }

  get workspace(): string {
    return join(this.place, 'work')
  }

  get data(): string {
    return join(this.place, 'data')
  }

  /** Where the page is. */
  get url(): string {
    return this.#address
  }

  #configuration(): string {
    return [
      '[models]',
      'default = "demo:demo"',
      'discover = false',
      '',
      '[providers.scripted]',
      'kind = "openai-chat"',
      `base_url = "${this.model.url}"`,
      'api_key_env = "OSTLER_SCRIPTED_KEY"',
      'models = ["model"]',
      '',
    ].join('\n')
  }

  /** Starts it, at the address that it had before. */
  async restart(): Promise<void> {
    const listen = this.#address ? new URL(this.#address).host : '127.0.0.1:0'
    const { PATH, HOME } = process.env
    const child = spawn(
      BINARY,
      ['serve', '--listen', listen, '--data-dir', this.data, '--config', join(this.place, 'config.toml')],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH, HOME, RUST_LOG: 'error', OSTLER_SCRIPTED_KEY: 'scripted' },
      },
    )
    this.#child = child
    let said = ''
    child.stderr.on('data', (text: Buffer) => (said += text.toString()))
    child.stdout.setEncoding('utf8')
    for await (const text of child.stdout) {
      said += text
      if (said.includes('the token is in')) break
    }
    child.stdout.resume()
    const address = /ready at (\S+)/.exec(said)?.[1]
    if (!address) throw new Error(`the daemon did not start; it said: ${said}`)
    this.#address = address
    this.token = (await readFile(join(this.data, 'token'), 'utf8')).trim()
  }

  /** An address that lets a browser in, once. */
  async invitation(): Promise<string> {
    return (await this.api<{ address: string }>('POST', '/v1/login/code')).address
  }

  /** A request with the token, as a program makes it. */
  async api<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.#address + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text ? JSON.parse(text) : undefined) as T
  }

  /** Makes a session; its id. */
  async session(body: NewSession = {}): Promise<string> {
    const made = await this.api<{ session_id: string }>('POST', '/v1/sessions', {
      workspace_path: this.workspace,
      ...body,
    })
    return made.session_id
  }

  /** Makes a session whose model says what `daemon.model` is told to. */
  scripted(body: NewSession = {}): Promise<string> {
    return this.session({ model: 'scripted:model', ...body })
  }

  async say(session: string, text: string, more: Record<string, unknown> = {}): Promise<void> {
    await this.api('POST', `/v1/sessions/${session}/messages`, {
      role: 'user',
      parts: [{ type: 'text', text }],
      ...more,
    })
  }

  /** Waits until no turn runs. */
  async idle(session: string): Promise<void> {
    await expect
      .poll(
        async () =>
          (await this.api<{ running_turn_id: string | null }>('GET', `/v1/sessions/${session}`)).running_turn_id,
        { timeout: 30_000 },
      )
      .toBeNull()
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM')
    await this.model.stop()
    await rm(this.place, { recursive: true, force: true })
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
}

/** Lets a browser in; the page is at its first screen. */
export async function enter(daemon: Daemon, page: Page, path = '/'): Promise<void> {
  await page.goto(await daemon.invitation())
  // On a phone it is there, and hidden.
  await expect(page.locator('nav[aria-label="Sessions"]')).toBeAttached({ timeout: 15_000 })
  if (path !== '/') await page.goto(daemon.url + path)
}

/** Shows a session by its address. */
export async function openSession(daemon: Daemon, page: Page, session: string): Promise<void> {
  await page.goto(`${daemon.url}/s/${session}`)
  await expect(page.getByTestId('session')).toBeVisible({ timeout: 15_000 })
}

/** Another browser with a cookie of its own. */
export async function otherBrowser(
  daemon: Daemon,
  context: BrowserContext,
): Promise<{ page: Page; close: () => Promise<void> }> {
  const browser = context.browser()
  if (!browser) throw new Error('the context has no browser')
  const other = await browser.newContext()
  const page = await other.newPage()
  await enter(daemon, page)
  return { page, close: () => other.close() }
}

/** `test` with a daemon for each test, a page that is let in, and a check that the browser's console stayed free of errors. */
export const test = base.extend<{ daemon: Daemon; consoleErrors: string[] }>({
  daemon: async ({}, use) => {
    const daemon = await Daemon.start()
    await use(daemon)
    await daemon.stop()
  },
  consoleErrors: [
    async ({ page }, use) => {
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(String(error.stack ?? error)))
      page.on('console', (message) => {
        if (message.type() === 'error' && /Content Security Policy|Uncaught/.test(message.text()))
          errors.push(message.text())
      })
      await use(errors)
      expect(errors, 'errors in the page').toEqual([])
    },
    { auto: true },
  ],
})
