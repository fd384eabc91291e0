/** MessageDraft messages: keys, menus, pastes, files, drafts, the switches, and what happens without a connection. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Locator, Page } from '@playwright/test'

import { enter, expect, openSession, test, type Daemon } from './harness'

interface Said {
  role: string
  parts: { type: string; text?: string; ref?: string }[]
}

const field = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true })

async function begin(daemon: Daemon, page: Page, body: Record<string, unknown> = {}): Promise<string> {
  const session = await daemon.scripted(body)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(field(page)).toBeVisible()
  return session
}

async function said(daemon: Daemon, session: string): Promise<Said[]> {
  const { messages } = await daemon.api<{ messages: Said[] }>('GET', `/v1/sessions/${session}/messages`)
  return messages.filter(({ role }) => role === 'user')
}

const texts = async (daemon: Daemon, session: string): Promise<string[]> =>
  (await said(daemon, session)).map(({ parts }) => parts.map(({ text }) => text ?? '').join(''))

/** Pastes a text, or a file, as the browser would. */
async function paste(
  page: Page,
  given: { text?: string; file?: { name: string; type: string; bytes: number[] } },
): Promise<void> {
  await field(page).evaluate((element, { text, file }) => {
    const data = new DataTransfer()
    if (text !== undefined) data.setData('text/plain', text)
    if (file) data.items.add(new File([new Uint8Array(file.bytes)], file.name, { type: file.type }))
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }, given)
}

/** The smallest picture that there is. */
const PIXEL = [
  ...Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
]

test('Enter sends, Shift and Enter begin a line, and an unfinished word is not sent', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await field(page).fill('one')
  await field(page).press('Shift+Enter')
  await page.keyboard.type('two')
  await field(page).evaluate((element) => {
    element.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }),
    )
  })
  await expect(field(page)).toHaveValue('one\ntwo')
  await field(page).press('Enter')
  await expect(field(page)).toHaveValue('')
  await expect.poll(() => texts(daemon, session)).toEqual(['one\ntwo'])
})

test('up walks through what was sent, down comes back to what was being written', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  for (const text of ['first', 'second']) {
    await field(page).fill(text)
    await field(page).press('Enter')
    await expect.poll(() => texts(daemon, session)).toContain(text)
    await daemon.idle(session)
  }
  await field(page).fill('unfinished')
  await field(page).press('Home')
  await field(page).press('ArrowUp')
  await expect(field(page)).toHaveValue('second')
  await field(page).press('ArrowUp')
  await expect(field(page)).toHaveValue('first')
  await field(page).press('ArrowDown')
  await field(page).press('ArrowDown')
  await expect(field(page)).toHaveValue('unfinished')
})

test('a slash lists commands, and they do what they say', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await field(page).pressSequentially('/ren')
  const menu = page.getByRole('listbox', { name: 'Commands' })
  await expect(menu.getByRole('option').first()).toContainText('/rename')
  await field(page).press('Tab')
  await expect(field(page)).toHaveValue('/rename ')
  await page.keyboard.type('Another title')
  await field(page).press('Enter')
  await expect
    .poll(async () => (await daemon.api<{ title: string }>('GET', `/v1/sessions/${session}`)).title)
    .toBe('Another title')
  await expect(field(page)).toHaveValue('')

  await field(page).pressSequentially('/')
  await expect(menu).toBeVisible()
  await field(page).press('Escape')
  await expect(menu).toBeHidden()
  await field(page).fill('/usr/bin is a path')
  await field(page).press('Enter')
  await expect.poll(() => texts(daemon, session)).toEqual(['/usr/bin is a path'])
})

test('an at sign finds files by a few letters', async ({ daemon, page }) => {
  await mkdir(join(daemon.workspace, 'src/deep'), { recursive: true })
  await writeFile(join(daemon.workspace, 'src/deep/greeting.rs'), 'fn main() {}\n')
  await writeFile(join(daemon.workspace, 'src/other.rs'), '\n')
  await begin(daemon, page)
  await field(page).pressSequentially('look at @greet')
  const menu = page.getByRole('listbox', { name: 'Files' })
  await expect(menu.getByRole('option')).toHaveCount(1)
  await expect(menu.getByRole('option')).toContainText('greeting.rs')
  await field(page).press('Enter')
  await expect(field(page)).toHaveValue('look at @src/deep/greeting.rs ')
  await expect(menu).toBeHidden()
})

test('a long paste is a chip that can be looked at, put into the text, or taken out', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  const long = Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n')
  await field(page).fill('see ')
  await paste(page, { text: long })
  await expect(field(page)).toHaveValue('see [Pasted text 1: 40 lines]')
  const chip = page.getByRole('list', { name: 'Attached to the message' }).getByRole('listitem')
  await chip
    .getByRole('button', { name: /Pasted text 1/ })
    .first()
    .click()
  await expect(page.getByRole('region', { name: 'Pasted text 1' })).toContainText('line 39')
  await field(page).press('End')
  await field(page).press('Backspace')
  await expect(field(page)).toHaveValue('see ')
  await expect(chip).toHaveCount(0)

  await paste(page, { text: long })
  await chip.getByRole('button', { name: 'Expand' }).click()
  await expect(field(page)).toHaveValue(`see ${long}`)
  await field(page).fill('again ')
  await paste(page, { text: long })
  await field(page).press('Enter')
  await expect.poll(() => texts(daemon, session)).toEqual([`again ${long}`])
})

test('pictures can be pasted and files dropped, and go with the message', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await paste(page, { file: { name: 'shot.png', type: 'image/png', bytes: PIXEL } })
  await field(page).evaluate((element) => {
    const data = new DataTransfer()
    data.items.add(new File(['some notes'], 'notes.txt', { type: 'text/plain' }))
    element.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
  })
  const chips = page.getByRole('list', { name: 'Attached to the message' })
  await expect(chips.getByRole('listitem')).toHaveCount(2)
  await expect(chips).toContainText('shot.png')
  await field(page).fill('look')
  // Sent before the files are there: it goes out when they are.
  await field(page).press('Enter')
  await expect
    .poll(async () => (await said(daemon, session))[0]?.parts.map(({ type }) => type))
    .toEqual(['text', 'image', 'file'])
  await expect(chips).toBeHidden()
})

test('a draft is kept for each session, over a reload', async ({ daemon, page }) => {
  const one = await begin(daemon, page)
  const two = await daemon.scripted({ title: 'The other' })
  await field(page).fill('half a thought')
  await openSession(daemon, page, two)
  await expect(field(page)).toHaveValue('')
  await field(page).fill('another')
  await openSession(daemon, page, one)
  await expect(field(page)).toHaveValue('half a thought')
  await page.reload()
  await expect(field(page)).toHaveValue('half a thought')
})

test('while a turn runs messages wait in rows: edited, moved, withdrawn, handed to the turn; Escape twice stops it', async ({
  daemon,
  page,
}) => {
  const session = await begin(daemon, page)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  daemon.model.next({ text: 'Working' }, { until: held })
  await field(page).fill('begin')
  await field(page).press('Enter')
  await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible()
  for (const text of ['first', 'second', 'third']) {
    await field(page).fill(text)
    await field(page).press('Enter')
  }
  const rows = page.getByRole('list', { name: 'Queued messages' }).getByRole('listitem')
  await expect(rows).toHaveCount(3)

  await rows.nth(2).getByRole('button', { name: 'Move up: third' }).click()
  await expect(rows.nth(1)).toContainText('third')
  await rows.nth(2).dragTo(rows.nth(0))
  await expect(rows.nth(0)).toContainText('second')
  await rows.nth(0).getByRole('button', { name: 'Edit: second' }).focus()
  await page.keyboard.press('Alt+ArrowDown')
  await expect(rows.nth(1)).toContainText('second')
  await expect(rows.nth(1).getByRole('button', { name: 'Edit: second' })).toBeFocused()
  await page.keyboard.press('Alt+ArrowDown')
  await expect(rows.nth(2)).toContainText('second')
  await rows.nth(0).getByRole('button', { name: 'Edit: first' }).click()
  await page.getByRole('textbox', { name: 'Edit queued message' }).fill('first, but better')
  await page.getByRole('textbox', { name: 'Edit queued message' }).press('Enter')
  await expect(rows.nth(0)).toContainText('first, but better')
  await rows.nth(2).getByRole('button', { name: 'Withdraw: second' }).click()
  await expect(rows).toHaveCount(2)
  await rows.nth(1).getByRole('button', { name: 'Steer now' }).click()
  await expect(page.getByText('next step')).toHaveCount(1)
  await field(page).fill('and mind the tests')
  await field(page).press('Control+Enter')
  await expect(page.getByText('next step')).toHaveCount(2)

  await field(page).press('Escape')
  await expect(page.getByText('Press Esc again to stop the turn')).toBeVisible()
  await field(page).press('Escape')
  release()
  await daemon.idle(session)
  const all = await texts(daemon, session)
  expect(all).toContain('first, but better')
  expect(all).not.toContain('second')
  await expect(rows).toHaveCount(0)
})

test('what is sent while the daemon is away goes out once when it is back', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await daemon.kill()
  await field(page).fill('later')
  await field(page).press('Enter')
  const waiting = page.getByRole('list', { name: 'Unsent messages' })
  await expect(waiting).toContainText('waiting for the connection')
  await field(page).fill('still writing')
  await paste(page, { file: { name: 'shot.png', type: 'image/png', bytes: PIXEL } })
  const chip = page.getByRole('list', { name: 'Attached to the message' }).getByRole('listitem')
  await expect(chip).toContainText('waiting for the connection')
  await daemon.restart()
  await expect(waiting).toBeHidden({ timeout: 30_000 })
  await expect.poll(() => texts(daemon, session)).toEqual(['later'])
  await expect(field(page)).toHaveValue('still writing')
  await expect(chip).toContainText('70 B')
})

test('a message that the daemon refuses stays, and can be edited or tried again', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await page.route('**/messages', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 429, json: { error: { code: 'queue_full', message: 'too much waits', hint: null } } })
      : route.fallback(),
  )
  await field(page).fill('refused')
  await field(page).press('Enter')
  const refused = page.getByRole('list', { name: 'Unsent messages' }).getByRole('listitem')
  await expect(refused).toContainText('too much waits')
  await page.unroute('**/messages')
  await refused.getByRole('button', { name: 'Edit' }).click()
  await expect(field(page)).toHaveValue('refused')
  await expect(refused).toHaveCount(0)
  await field(page).press('Enter')
  await expect.poll(() => texts(daemon, session)).toEqual(['refused'])
})

test('the mode and the model are switched below the field', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  const shown = () =>
    daemon.api<{
      model: string
      policy: { approval: { require_for_kinds: string[] }; patch_review: { mode: string } }
    }>('GET', `/v1/sessions/${session}`)
  await page.getByRole('button', { name: /^Mode:/ }).click()
  await page.getByRole('option', { name: /Review edits/ }).click()
  await expect.poll(async () => (await shown()).policy.patch_review.mode).toBe('request')
  await page.getByRole('button', { name: 'Mode: Review edits' }).click()
  await page.getByRole('option', { name: /Accept edits/ }).click()
  await expect.poll(async () => (await shown()).policy.approval.require_for_kinds.sort()).toEqual(['exec', 'network'])
  expect((await shown()).policy.patch_review.mode).toBe('off')
  await expect(page.getByRole('button', { name: 'Mode: Accept edits' })).toBeVisible()

  await page.getByRole('button', { name: /^Model:/ }).click()
  await page.getByRole('textbox', { name: 'Model' }).fill('demo')
  await page.keyboard.press('Enter')
  await expect.poll(async () => (await shown()).model).toBe('demo:demo')
  await expect(page.getByRole('button', { name: 'Model: demo:demo' })).toBeFocused()
})

test('the ring says how full the window is, and the conversation can be made shorter', async ({ daemon, page }) => {
  const session = await begin(daemon, page)
  await field(page).fill('hello')
  await field(page).press('Enter')
  await expect.poll(() => texts(daemon, session)).toEqual(['hello'])
  await daemon.idle(session)
  await field(page).fill('/context')
  await field(page).press('Enter')
  const sheet = page.getByRole('dialog', { name: /^Context:/ })
  await expect(sheet).toContainText('Input')
  await expect(sheet.getByRole('meter').first()).toBeVisible()
  await sheet.getByRole('button', { name: 'Compact the conversation' }).click()
  await expect(sheet).toBeHidden()
  await expect
    .poll(async () => (await daemon.api<{ turns: unknown[] }>('GET', `/v1/sessions/${session}`)).turns.length)
    .toBe(2)
})
