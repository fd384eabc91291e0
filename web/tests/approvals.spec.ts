/** Answering approvals: the card, its keys, what a lasting answer allows, other people's answers, all sessions at once. */

import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Locator, Page } from '@playwright/test'

import { enter, expect, openSession, otherBrowser, test, type Daemon } from './harness'

const dock = (page: Page): Locator => page.getByRole('region', { name: 'Pending approval' })
const card = (page: Page): Locator => dock(page).getByRole('article')

/** A session whose model asks to run a command, and says something when that is settled. */
async function asking(daemon: Daemon, command: string, after?: string): Promise<string> {
  const session = await daemon.scripted()
  daemon.model.next({ call: 'shell', input: { command } })
  if (after) daemon.model.next({ text: after })
  await daemon.say(session, 'go')
  return session
}

const exists = (daemon: Daemon, name: string): Promise<boolean> =>
  access(join(daemon.workspace, name)).then(
    () => true,
    () => false,
  )

test('the card shows the exact command and the exact rule, and a key answers', async ({ daemon, page }) => {
  const session = await asking(daemon, 'touch made.txt')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toContainText('touch made.txt')
  await expect(card(page)).toContainText('“Always” will allow')
  await expect(card(page)).toHaveAttribute('data-settled', 'true')
  await page.keyboard.press('y')
  await expect(dock(page)).toBeHidden()
  await daemon.idle(session)
  expect(await exists(daemon, 'made.txt')).toBe(true)
})

test('a file that is replaced is compared with what it holds', async ({ daemon, page }) => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`)
  await writeFile(join(daemon.workspace, 'long.txt'), lines.join(''))
  const session = await daemon.scripted()
  daemon.model.next({
    call: 'write_file',
    input: { path: 'long.txt', content: lines.join('').replace('line 20\n', 'line twenty\n') },
  })
  daemon.model.next({ text: 'Replaced.' })
  await daemon.say(session, 'go')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toContainText('line twenty')
  await expect(card(page).getByText('+1', { exact: true })).toBeVisible()
  await expect(card(page).getByText('−1', { exact: true })).toBeVisible()
  await expect(card(page)).not.toContainText('line 10')
})

test('letters that are typed answer nothing; with the focus on the card they do', async ({ daemon, page }) => {
  const session = await asking(daemon, 'touch made.txt')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toHaveAttribute('data-settled', 'true')
  const field = page.getByRole('textbox', { name: 'Message', exact: true })
  await field.pressSequentially('yes and no')
  await expect(field).toHaveValue('yes and no')
  await expect(card(page)).toBeVisible()
  await field.press('Alt+y')
  await expect(card(page)).toBeFocused()
  await page.keyboard.press('n')
  await expect(dock(page)).toBeHidden()
  await daemon.idle(session)
  expect(await exists(daemon, 'made.txt')).toBe(false)
  await expect(field).toBeFocused()
})

test('a denial can say why, and the model reads it', async ({ daemon, page }) => {
  const session = await asking(daemon, 'git push --force')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await card(page).getByRole('button', { name: 'Deny with a reason' }).click()
  await card(page).getByRole('textbox').fill('never force a push')
  await card(page).getByRole('textbox').press('Enter')
  await expect(dock(page)).toBeHidden()
  await daemon.idle(session)
  expect(JSON.stringify(daemon.model.requests.at(-1))).toContain('never force a push')
})

test('what is always allowed is not asked about again', async ({ daemon, page }) => {
  const session = await asking(daemon, 'touch made.txt')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await card(page).getByRole('button', { name: 'Always allow' }).click()
  await expect(dock(page)).toBeHidden()
  await daemon.idle(session)
  const again = await asking(daemon, 'touch made.txt', 'Again.')
  await daemon.idle(again)
  await openSession(daemon, page, again)
  await expect(page.getByText('Again.')).toBeVisible()
  await expect(dock(page)).toBeHidden()
})

test('what is answered in one browser goes in the other', async ({ daemon, page, context }) => {
  const session = await asking(daemon, 'touch made.txt')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const other = await otherBrowser(daemon, context)
  await openSession(daemon, other.page, session)
  await expect(card(page)).toBeVisible()
  await card(other.page).getByRole('button', { name: /^Deny/ }).first().click()
  await expect(dock(page)).toBeHidden()
  await expect(dock(other.page)).toBeHidden()
  await other.close()
})

test('a command that hides something is shown with what it hides', async ({ daemon, page }) => {
  const session = await asking(daemon, 'echo safe \u202e# \u200brm -rf x')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toContainText('‹U+202E›')
  await expect(card(page)).toContainText('‹U+200B›')
})

test('a file to be written is shown as a change', async ({ daemon, page }) => {
  const session = await daemon.scripted()
  daemon.model.next({ call: 'write_file', input: { path: 'a.txt', content: 'one\n<img src=x onerror=alert(1)>\n' } })
  await daemon.say(session, 'go')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toContainText('Wants to change files')
  await expect(card(page)).toContainText('a.txt')
  await expect(card(page).getByText('<img src=x onerror=alert(1)>')).toBeVisible()
  await expect(card(page).locator('img')).toHaveCount(0)
})

test('the question of a session that the session has started is answered at its parent', async ({ daemon, page }) => {
  const session = await daemon.scripted()
  daemon.model
    .next({ call: 'task', input: { description: 'make a file', prompt: 'make it' } })
    .next({ call: 'shell', input: { command: 'touch made.txt' } })
  await daemon.say(session, 'go')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page)).toContainText('touch made.txt')
  await expect(card(page)).toContainText('requested by make a file')
  await card(page).getByRole('button', { name: 'Allow once' }).click()
  await expect(dock(page)).toBeHidden()
  await daemon.idle(session)
  expect(await exists(daemon, 'made.txt')).toBe(true)
})

test('on a phone the answers are in sight, however long the question is', async ({ daemon, page }) => {
  await page.setViewportSize({ width: 360, height: 640 })
  const session = await asking(daemon, Array.from({ length: 60 }, (_, at) => `echo ${at} > ${at}.txt`).join('\n'))
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(card(page).getByRole('button', { name: 'Allow once' })).toBeInViewport({ ratio: 1 })
  await expect(card(page).getByRole('button', { name: 'Deny', exact: true })).toBeInViewport({ ratio: 1 })
  await expect(page.getByRole('textbox', { name: 'Message', exact: true })).toBeInViewport({ ratio: 1 })
  await card(page).getByRole('button', { name: 'Deny', exact: true }).click()
  await expect(dock(page)).toBeHidden()
})

test('several wait one after the other, and all sessions are in one list', async ({ daemon, page }) => {
  const one = await asking(daemon, 'touch one.txt')
  await expect
    .poll(async () => (await daemon.api<{ approvals: unknown[] }>('GET', '/v1/approvals')).approvals.length)
    .toBe(1)
  const two = await asking(daemon, 'touch two.txt')
  await expect
    .poll(async () => (await daemon.api<{ approvals: unknown[] }>('GET', '/v1/approvals')).approvals.length)
    .toBe(2)
  await enter(daemon, page)
  await page.goto(`${daemon.url}/approvals`)
  const list = page.getByRole('region', { name: 'All pending approvals' })
  await expect(list.getByRole('article')).toHaveCount(2)
  await list.getByRole('article').filter({ hasText: 'two.txt' }).getByRole('button', { name: 'Allow once' }).click()
  await expect(list.getByRole('article')).toHaveCount(1)
  await daemon.idle(two)
  expect(await exists(daemon, 'two.txt')).toBe(true)
  await daemon.api('POST', `/v1/sessions/${one}/cancel`, {})
  await expect(list.getByRole('article')).toHaveCount(0)
  await expect(list).toContainText('No pending approvals')
})
