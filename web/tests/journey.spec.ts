// Whole journeys: a newcomer's from the code to the search; reloads, restarts, two browsers, no network, many sessions, a phone.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { enter, expect, openSession, otherBrowser, test } from './harness'

test('a newcomer: code, demo, answer, approval, diff, verification, undo, archive, search', async ({
  daemon,
  page,
}) => {
  await daemon.api('POST', '/v1/projects', { path: daemon.workspace })
  await enter(daemon, page)
  await expect(page.getByRole('heading', { name: 'Welcome to Ostler' })).toBeVisible()
  await page.getByRole('button', { name: 'Try the demo' }).click()

  const session = page.getByTestId('session')
  await expect(session).toContainText('README.md')
  const question = page.getByRole('region', { name: 'Pending approval' })
  await expect(question).toContainText('hello-from-ostler.txt')
  await expect(page).toHaveTitle(/^\(1\) /)
  await question.getByRole('button', { name: /^Allow once/ }).click()
  await expect(question).toBeHidden()
  await expect
    .poll(() => readFile(join(daemon.workspace, 'hello-from-ostler.txt'), 'utf8').catch(() => ''))
    .toContain('Hello!')

  const id = /sess_[0-9a-f]+/.exec(page.url())![0]
  await daemon.idle(id)
  await daemon.api('PATCH', `/v1/sessions/${id}`, {
    policy: { verify: { auto: true, commands: ['test -f hello-from-ostler.txt'] } },
  })
  await page.getByRole('textbox', { name: /message/i }).fill('write second.txt with Second!')
  await page.keyboard.press('Enter')
  await question.getByRole('button', { name: /^Allow once/ }).click()
  await daemon.idle(id)
  await expect(session.getByText('Verified').first()).toBeVisible()

  await session.getByRole('button', { name: /^Undo/ }).last().click()
  const preview = page.getByRole('dialog', { name: /undo/i })
  await expect(preview).toContainText('second.txt')
  await preview.getByRole('button', { name: /^Undo/ }).click()
  await expect.poll(() => readFile(join(daemon.workspace, 'second.txt'), 'utf8').catch(() => 'gone')).toBe('gone')

  await page.getByRole('button', { name: 'More about this session' }).click()
  await page.getByRole('menuitem', { name: 'Archive', exact: true }).click()
  await expect(page.getByTestId('session')).toBeHidden()
  await page.getByRole('searchbox', { name: 'Search all sessions' }).fill('Second')
  await expect(page.locator(`nav [data-session="${id}"]`)).toBeVisible()
})

test('reload in mid-turn shows what was said so far, and goes on', async ({ daemon, page }) => {
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  daemon.model.next({ text: 'The first half, ' }, { until: gate }, { text: 'and the second half.' })
  const id = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await daemon.say(id, 'tell me')
  const session = page.getByTestId('session')
  await expect(session).toContainText('The first half,')
  await page.reload()
  await expect(session).toContainText('The first half,')
  go()
  await expect(session).toContainText('The first half, and the second half.')
  await expect(session.getByText('The first half,')).toHaveCount(1)
})

test('the daemon is killed and started again in mid-turn under an open page', async ({ daemon, page }) => {
  daemon.model.next({ text: 'I was about to' }, { until: new Promise(() => {}) })
  const id = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await daemon.say(id, 'work for long')
  const session = page.getByTestId('session')
  await expect(session).toContainText('I was about to')
  await daemon.kill()
  await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'lost')
  const field = page.getByRole('textbox', { name: /message/i })
  await field.fill('go on then')
  await page.keyboard.press('Enter')
  daemon.model.next({ text: 'Here I am again.' })
  await daemon.restart()
  await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live', { timeout: 30_000 })
  await expect(session).toContainText('Here I am again.', { timeout: 20_000 })
  await expect(session.getByText('go on then')).toHaveCount(1)
  await expect(session.getByRole('region', { name: 'Transcript' }).getByText('work for long')).toHaveCount(1)
})

test('two browsers on one session see the same, and the first answer counts', async ({ daemon, page, context }) => {
  const id = await daemon.session()
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const other = await otherBrowser(daemon, context)
  await openSession(daemon, other.page, id)
  await page.getByRole('textbox', { name: /message/i }).fill('write a.txt with Hello!')
  await page.keyboard.press('Enter')
  const here = page.getByRole('region', { name: 'Pending approval' })
  const there = other.page.getByRole('region', { name: 'Pending approval' })
  await expect(here).toBeVisible()
  await expect(there).toBeVisible()
  await there.getByRole('button', { name: /^Allow once/ }).click()
  await expect(there).toBeHidden()
  await expect(here).toBeHidden()
  await daemon.idle(id)
  for (const each of [page, other.page]) await expect(each.getByTestId('session')).toContainText('a.txt')
  await other.close()
})

test('without a network messages wait, and are sent once when it is back', async ({ daemon, page, context }) => {
  const id = await daemon.session()
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const field = page.getByRole('textbox', { name: /message/i })
  await expect(field).toBeVisible()
  await context.setOffline(true)
  await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'lost')
  await field.fill('say one')
  await page.keyboard.press('Enter')
  await field.fill('say two')
  await page.keyboard.press('Enter')
  await context.setOffline(false)
  await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live', { timeout: 20_000 })
  await expect
    .poll(
      async () => {
        const { messages } = await daemon.api<{ messages: { role: string; parts: { text?: string }[] }[] }>(
          'GET',
          `/v1/sessions/${id}/messages`,
        )
        return messages.filter((message) => message.role === 'user').map((message) => message.parts[0]?.text)
      },
      { timeout: 20_000 },
    )
    .toEqual(['say one', 'say two'])
})

test('twenty sessions at once stay in step, and the page stays small', async ({ daemon, page }) => {
  test.setTimeout(150_000)
  await enter(daemon, page)
  const ids: string[] = []
  for (let index = 0; index < 20; index += 1) ids.push(await daemon.session({ title: `Number ${index}` }))
  for (const id of ids) await page.locator(`nav [data-session="${id}"] a`).click()
  await expect(page.getByRole('tab')).toHaveCount(20)
  const before = await heap(page)
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ')
  await Promise.all(ids.map((id) => daemon.say(id, `say ${words} slowly`)))
  await expect(page.locator('nav [data-status="running"]').first()).toBeVisible()
  await Promise.all(ids.map((id) => daemon.idle(id)))
  for (const id of [ids[0]!, ids[10]!, ids[19]!]) {
    await page.locator(`#tab-${id}`).click()
    await expect(page.getByTestId('session')).toContainText('word39')
  }
  await expect(page.locator('nav [data-status="running"]')).toHaveCount(0)
  expect((await heap(page)) - before, 'growth of the heap').toBeLessThan(40 * 1024 * 1024)
})

test('on a phone: one pane, the sidebar over it, everything in reach', async ({ daemon, browser }) => {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true })
  const page = await context.newPage()
  const id = await daemon.session({ title: 'On the way' })
  await enter(daemon, page)
  await page.getByRole('button', { name: 'Open the sidebar' }).click()
  await page.locator(`nav [data-session="${id}"] a`).click()
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeHidden()
  await page.getByRole('textbox', { name: /message/i }).fill('write pocket.txt with Hello!')
  await page.getByRole('button', { name: /^Send/ }).click()
  const question = page.getByRole('region', { name: 'Pending approval' })
  await question.getByRole('button', { name: /^Allow once/ }).click()
  await daemon.idle(id)
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(overflow).toBe(0)
  await context.close()
})

async function heap(page: import('@playwright/test').Page): Promise<number> {
  const client = await page.context().newCDPSession(page)
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  await client.detach()
  return usedSize
}
