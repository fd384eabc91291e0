/** A turn's changes: accepted and rejected by file and by hunk, commented on, checked, and undone. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import AxeBuilder from '@axe-core/playwright'
import type { Locator, Page } from '@playwright/test'

import { enter, expect, openSession, test, type Daemon } from './harness'

const panel = (page: Page): Locator => page.getByRole('region', { name: 'Changes of the turn' })
const part = (page: Page, path: string): Locator => panel(page).getByRole('region', { name: path, exact: true })
const numbered = (change: { [line: number]: string } = {}): string =>
  Array.from({ length: 30 }, (_, at) => `${change[at + 1] ?? `line ${at + 1}`}\n`).join('')

const content = (daemon: Daemon, name: string): Promise<string> => readFile(join(daemon.workspace, name), 'utf8')

/** A session whose model changes two places of one file and makes another. */
async function changing(daemon: Daemon, policy: Record<string, unknown> = {}): Promise<string> {
  await writeFile(join(daemon.workspace, 'long.txt'), numbered())
  const session = await daemon.scripted({ policy: { approval: { require_for_kinds: [] }, ...policy } })
  daemon.model
    .next(
      { call: 'edit_file', input: { path: 'long.txt', old: 'line 3\n', new: 'three\n' } },
      { call: 'edit_file', input: { path: 'long.txt', old: 'line 25\n', new: 'twenty-five\n' } },
      { call: 'write_file', input: { path: 'new.txt', content: 'fresh\n' } },
    )
    .next({ text: 'Changed.' })
  await daemon.say(session, 'change it')
  return session
}

test('files and hunks are accepted and rejected, remarks go with the answer', async ({ daemon, page }) => {
  const session = await changing(daemon, { patch_review: { mode: 'request' } })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const waiting = page.getByRole('article', { name: /ready for review/ })
  await expect(waiting).toContainText('2 files')
  await waiting.getByRole('button', { name: 'Review', exact: true }).click()
  await expect(panel(page)).toContainText('three')

  await part(page, 'new.txt').getByRole('button', { name: 'Revert', exact: true }).click()
  await part(page, 'long.txt').getByRole('button', { name: 'Revert this part' }).nth(1).click()
  await part(page, 'long.txt').getByRole('button', { name: 'Comment on line 3', exact: true }).last().click()
  await panel(page)
    .getByRole('textbox', { name: /Comment on line 3/ })
    .fill('say it in words')
  await panel(page)
    .getByRole('textbox', { name: /Comment on line 3/ })
    .press('Enter')
  await expect(part(page, 'long.txt')).toContainText('say it in words')

  await panel(page).getByRole('button', { name: 'Accept the rest, revert 2 files' }).click()
  await expect(panel(page)).toBeHidden()
  // The model has been told something and has changed nothing since, so there is nothing more to review.
  await daemon.idle(session)
  expect(await content(daemon, 'long.txt')).toBe(numbered({ 3: 'three' }))
  await expect(content(daemon, 'new.txt')).rejects.toThrow()
  expect(JSON.stringify(daemon.model.requests.at(-1))).toContain('say it in words')
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing in a review, ${colorScheme}`, async ({ daemon, page }) => {
    await page.emulateMedia({ colorScheme })
    const session = await changing(daemon, { patch_review: { mode: 'request' } })
    await enter(daemon, page)
    await openSession(daemon, page, session)
    await page.getByRole('button', { name: 'Review', exact: true }).click()
    await part(page, 'new.txt').getByRole('button', { name: 'Revert', exact: true }).click()
    await part(page, 'long.txt').getByRole('button', { name: 'Revert this part' }).first().click()
    await part(page, 'long.txt').getByRole('button', { name: 'Comment on line 25', exact: true }).last().click()
    const { violations } = await new AxeBuilder({ page }).analyze()
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
  })
}

test('a change can be put back as a whole, and laid out side by side', async ({ daemon, page }) => {
  const session = await changing(daemon, { patch_review: { mode: 'request' } })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await panel(page).getByRole('button', { name: 'Split' }).click()
  await expect(panel(page).locator('.diff-split')).toHaveCount(2)
  // The text has the room, whatever stands in the first row.
  const line = panel(page).locator('.diff-split').first().locator('tr:not(.diff-heading)').first()
  const widths = await line
    .locator('td')
    .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().width))
  expect(widths[2]).toBeCloseTo(widths[5]!, 0)
  expect(widths[2]).toBeGreaterThan(2 * (widths[0]! + widths[1]!))
  await page.reload()
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await expect(panel(page).locator('.diff-split')).toHaveCount(2)
  await panel(page).getByRole('button', { name: 'Unified' }).click()

  await panel(page).getByRole('button', { name: 'Revert all' }).click()
  await daemon.idle(session)
  expect(await content(daemon, 'long.txt')).toBe(numbered())
})

test('remarks on a finished turn go with the next message, and survive a reload', async ({ daemon, page }) => {
  const session = await changing(daemon)
  await daemon.idle(session)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/review')
  await page.keyboard.press('Enter')
  await part(page, 'new.txt').getByRole('button', { name: 'Comment on line 1' }).click()
  await panel(page)
    .getByRole('textbox', { name: /Comment on line 1/ })
    .fill('needs a heading')
  await panel(page).getByRole('button', { name: 'Comment', exact: true }).click()
  await expect(panel(page)).toContainText('1 comment will go with your next message')
  await page.reload()
  await expect(page.getByRole('list', { name: 'Attached to the message' })).toContainText('1 comment on the changes')
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('please')
  await page.keyboard.press('Enter')
  await expect.poll(() => JSON.stringify(daemon.model.requests.at(-1))).toContain('new.txt:1: needs a heading')
  await expect(page.getByRole('list', { name: 'Attached to the message' })).toBeHidden()
})

test('a turn is undone after a look at what that changes; what somebody else changed is left alone', async ({
  daemon,
  page,
}) => {
  const session = await changing(daemon)
  await daemon.idle(session)
  await writeFile(join(daemon.workspace, 'new.txt'), 'mine now\n')
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/undo')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Undo the turn?' })
  await expect(dialog).toContainText('long.txt')
  await expect(dialog).toContainText('Changed since then: 1 file')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toBeHidden()
  expect(await content(daemon, 'long.txt')).toBe(numbered({ 3: 'three', 25: 'twenty-five' }))

  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/undo')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Undo 1 file' }).click()
  await expect(dialog).toBeHidden()
  await expect.poll(() => content(daemon, 'long.txt')).toBe(numbered())
  expect(await content(daemon, 'new.txt')).toBe('mine now\n')
})

test('how the turn was checked is told, with what the checks printed', async ({ daemon, page }) => {
  const session = await changing(daemon, {
    verify: { auto: true, commands: ["echo 'all is <b>well</b>'; exit 3"], max_rounds: 0 },
  })
  await daemon.idle(session)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('/review')
  await page.keyboard.press('Enter')
  const checks = panel(page).getByRole('region', { name: 'Verification' })
  await expect(checks).toContainText('Checks failed')
  await expect(checks).toContainText('exit code 3')
  await expect(checks).toContainText('all is <b>well</b>')
})

test('every turn that changed files shows its changes, those of commands too, while it runs and afterwards', async ({
  daemon,
  page,
}) => {
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  await writeFile(join(daemon.workspace, 'long.txt'), numbered())
  const session = await daemon.scripted({ policy: { approval: { require_for_kinds: [] } } })
  daemon.model
    .next({
      call: 'shell',
      input: { command: "sed -i 's/^line 3$/three/' long.txt && rm README.md && echo made > made.txt" },
    })
    .next({ until: gate }, { text: 'Changed.' })
    .next({ text: 'Only talk.' })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'change it')
  const transcript = page.getByRole('region', { name: 'Transcript' })
  await transcript.getByRole('button', { name: 'Changes so far' }).click()
  await expect(panel(page).getByRole('heading', { name: 'Changes so far' })).toBeVisible()
  await expect(part(page, 'long.txt')).toContainText('three')
  await expect(part(page, 'README.md')).toContainText('deleted')
  go()
  await expect(panel(page).getByRole('heading', { name: 'Changes of the turn' })).toBeVisible()
  await panel(page).getByRole('button', { name: 'Split' }).click()
  await expect(part(page, 'made.txt')).toContainText('made')
  await panel(page).getByRole('button', { name: 'Close the changes' }).click()

  await daemon.say(session, 'talk')
  await expect(transcript).toContainText('Only talk.')
  await daemon.idle(session)
  await expect(transcript.getByRole('button', { name: 'Changes', exact: true })).toHaveCount(1)
  await transcript.getByRole('button', { name: 'Changes', exact: true }).click()
  await expect(panel(page)).toContainText('3 files')
  await panel(page).getByRole('button', { name: 'Undo the turn…' }).click()
  await page.getByRole('dialog', { name: 'Undo the turn?' }).getByRole('button', { name: 'Undo 3 files' }).click()
  await expect.poll(() => content(daemon, 'long.txt')).toBe(numbered())
  expect(await content(daemon, 'README.md')).toContain('A small project')
})
