// axe-core finds nothing at all on the main screens, in light and in dark; and they can be used by keyboard alone.

import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { type Daemon, enter, expect, openSession, test } from './harness'

async function audit(page: Page, screen: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const words = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`).join('; ')}`,
  )
  expect(words, screen).toEqual([])
}

/** A session with text, code, a call, a diff, a failed turn, and a question that waits. */
async function furnished(daemon: Daemon): Promise<string> {
  daemon.model.next(
    { thinking: 'First the list.' },
    {
      text:
        '# Findings\n\nSome *words*, a [link](https://example.com) and `code`:\n\n```rust\nfn main() {}\n```\n\n' +
        '| a | b |\n| - | - |\n| 1 | 2 |\n',
    },
    { call: 'read_file', input: { path: 'README.md' } },
  )
  daemon.model.next({ call: 'write_file', input: { path: 'a.txt', content: 'one\ntwo\n' } })
  const id = await daemon.scripted({ title: 'Furnished', policy: { approval: { require_for_kinds: ['exec'] } } })
  await daemon.say(id, 'look around')
  await daemon.idle(id)
  daemon.model.next({ fail: 400, message: 'no such thing' })
  await daemon.say(id, 'fail once')
  await daemon.idle(id)
  daemon.model.next({ text: 'I would run this.' }, { call: 'shell', input: { command: 'rm -rf build && make' } })
  await daemon.say(id, 'now run it')
  await expect
    .poll(async () => (await daemon.api<{ status: string }>('GET', `/v1/sessions/${id}`)).status)
    .toBe('waiting_approval')
  return id
}

for (const scheme of ['light', 'dark'] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme })

    test(`the session and its question, ${scheme}`, async ({ daemon, page }) => {
      const id = await furnished(daemon)
      await enter(daemon, page)
      await openSession(daemon, page, id)
      await expect(page.getByRole('region', { name: 'Pending approval' })).toBeVisible()
      await expect(page.locator('html')).toHaveAttribute('data-theme', scheme)
      await audit(page, 'session')
    })

    test(`the other screens and the dialogs, ${scheme}`, async ({ daemon, page }) => {
      await furnished(daemon)
      await enter(daemon, page)
      await audit(page, 'home')
      for (const screen of ['dashboard', 'settings', 'approvals']) {
        await page.goto(`${daemon.url}/${screen}`)
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
        await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live')
        await audit(page, screen)
      }
      await page.keyboard.press('Alt+n')
      await expect(page.getByRole('dialog', { name: 'New session' })).toBeVisible()
      await audit(page, 'picker')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+k')
      await expect(page.getByRole('dialog', { name: 'Command palette' })).toBeVisible()
      await audit(page, 'palette')
      await page.keyboard.press('Escape')
      await page.locator('main').focus()
      await page.keyboard.press('?')
      await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
      await audit(page, 'help')
    })
  })
}

test('the page that asks for a code', async ({ daemon, page }) => {
  await page.goto(daemon.url)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await audit(page, 'login')
})

test('a session can be made, spoken to and answered by keyboard alone', async ({ daemon, page }) => {
  await daemon.api('POST', '/v1/projects', { path: daemon.workspace })
  await enter(daemon, page)
  await page.keyboard.press('Alt+n')
  await expect(page.getByRole('dialog', { name: 'New session' })).toBeVisible()
  const create = page.getByRole('button', { name: 'Create session' })
  await expect(create).toBeEnabled()
  await create.focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('textbox', { name: /message/i })).toBeFocused()
  await page.keyboard.type('write keys.txt with Hello!')
  await page.keyboard.press('Enter')
  const question = page.getByRole('region', { name: 'Pending approval' })
  await expect(question).toBeVisible()
  await question.getByRole('button', { name: /^Allow once/ }).focus()
  await page.keyboard.press('Enter')
  await expect(question).toBeHidden()
})
