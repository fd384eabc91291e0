// Addresses that lead to a place in a session, searches that lead to a message, and tabs that are opened again.

import { enter, expect, openSession, test } from './harness'
import { importTurns } from './transcript-log'

const turns = Array.from({ length: 200 }, (_, at) => ({
  prompt: `Question ${at}`,
  steps: [{ text: `Answer ${at}. ${'Some words. '.repeat(30)}${at === 7 ? 'A rare pangolin.' : ''}` }],
}))

test('the address of a message far back in a session leads to it, and so does a search', async ({
  daemon,
  page,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const id = await importTurns(daemon, turns)
  await enter(daemon, page)
  await page.getByRole('searchbox', { name: 'Search all sessions' }).fill('pangolin')
  const found = page.locator(`nav [data-session="${id}"] a`)
  await expect(found).toContainText('pangolin')
  await found.click()
  const message = page.getByRole('article', { name: 'Answer' }).filter({ hasText: 'A rare pangolin' })
  await expect(message).toBeInViewport({ timeout: 20_000 })
  await expect(page).toHaveURL(/#msg_[0-9a-f]{32}$/)

  await message.hover()
  await message.getByRole('button', { name: 'Copy a link to this message' }).click()
  const address = await page.evaluate(() => navigator.clipboard.readText())
  expect(address).toBe(page.url())
  const other = await context.newPage()
  await other.goto(address)
  await expect(other.getByRole('article', { name: 'Answer' }).filter({ hasText: 'A rare pangolin' })).toBeInViewport({
    timeout: 20_000,
  })
  // It is held there, and the end is a click away.
  await other.getByRole('button', { name: /Jump to latest|New below/ }).click()
  await expect(other.getByText('Answer 199.')).toBeInViewport()
})

test('the address of a turn leads to its question, and one that names nothing says so', async ({ daemon, page }) => {
  const id = await importTurns(daemon, turns)
  const { turns: known } = await daemon.api<{ turns: { id: string }[] }>('GET', `/v1/sessions/${id}`)
  await enter(daemon, page)
  await page.goto(`${daemon.url}/s/${id}#${known.at(-20)!.id}`)
  await expect(page.getByText('Question 180', { exact: true })).toBeInViewport({ timeout: 20_000 })
  await page.goto(`${daemon.url}/s/${id}#msg_${'0'.repeat(32)}`)
  await expect(page.getByText('has no message or turn')).toBeVisible({ timeout: 20_000 })
})

test('tabs that were closed are opened again, the last one first, over a reload', async ({ daemon, page }) => {
  const ids = []
  for (const title of ['First', 'Second', 'Third']) ids.push(await daemon.session({ title }))
  await enter(daemon, page)
  for (const id of ids) await openSession(daemon, page, id)
  const tabs = page.getByRole('tab')
  await expect(tabs).toHaveText(['First', 'Second', 'Third'])
  await page.keyboard.press('Alt+w')
  await page.keyboard.press('Alt+w')
  await expect(tabs).toHaveText(['First'])
  await page.reload()
  // Keys count once the page is there again.
  await expect(tabs).toHaveText(['First'])
  await page.keyboard.press('Alt+Shift+w')
  await expect(tabs).toHaveText(['First', 'Second'])
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search sessions and commands' }).fill('reopen third')
  await page.keyboard.press('Enter')
  await expect(tabs).toHaveText(['First', 'Second', 'Third'])
  await expect(page).toHaveURL(new RegExp(ids[2]!))
})

test('the list says at once what runs, without asking for each session', async ({ daemon, page }) => {
  const gate = new Promise<void>(() => {})
  for (let at = 0; at < 5; at += 1) {
    daemon.model.next({ text: 'working' }, { until: gate })
    const id = await daemon.scripted({ title: `Runs ${at}` })
    await daemon.say(id, 'work')
  }
  await expect
    .poll(
      async () =>
        (await daemon.api<{ sessions: { running_turn_id: string | null }[] }>('GET', '/v1/sessions')).sessions.filter(
          (each) => each.running_turn_id,
        ).length,
    )
    .toBe(5)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await enter(daemon, page)
  await expect(page.locator('nav [data-session] [data-status="running"]')).toHaveCount(5)
  expect(asked.filter((path) => /^\/v1\/sessions\/sess_/.test(path))).toEqual([])
})

test('what is answered in the page is recorded as the page’s doing', async ({ daemon, page }) => {
  daemon.model.next({ call: 'shell', input: { command: 'touch made' } }).next({ text: 'Well then.' })
  const id = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await daemon.say(id, 'make it')
  await page.getByRole('region', { name: 'Pending approval' }).getByRole('button', { name: /^Deny/ }).first().click()
  await daemon.idle(id)
  const log = await fetch(`${daemon.url}/v1/sessions/${id}/events?follow=false&types=approval_denied`, {
    headers: { authorization: `Bearer ${daemon.token}`, accept: 'application/x-ndjson' },
  })
  expect(JSON.parse((await log.text()).split('\n')[0]!)).toMatchObject({ data: { by: 'page' } })
})
