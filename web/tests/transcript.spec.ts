// The transcript: text as it streams, calls by their kind, folded runs, scrolling, and how turns end.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { enter, expect, openSession, test, type Daemon } from './harness'
import { importTurns } from './transcript-log'

const FREE = { approval: { require_for_kinds: [] }, verify: { auto: false } }

/** Says yes to whatever is asked: where programs cannot be confined, each one is. */
async function allow(daemon: Daemon, session: string): Promise<void> {
  const { approvals } = await daemon.api<{
    approvals: { session_id: string; turn_id: string; tool_call_id: string }[]
  }>('GET', '/v1/approvals')
  for (const { turn_id, tool_call_id } of approvals.filter((approval) => approval.session_id === session)) {
    await daemon.api('POST', `/v1/sessions/${session}/approve`, { turn_id, tool_call_id, action: 'approve' })
  }
}

const scroller = (page: Page) => page.getByRole('region', { name: 'Messages and tool calls' })
const question = (page: Page, number: number) =>
  page.getByRole('article', { name: 'You' }).getByText(`Question ${number}`, { exact: true })
const scrollTop = (page: Page) => scroller(page).evaluate((element) => element.scrollTop)
const left = (page: Page) =>
  scroller(page).evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop)
const expectEnd = (page: Page) => expect.poll(() => left(page)).toBeLessThan(5)

/** Waits until neither the position nor the height of the transcript has changed for ten frames. */
async function still(page: Page): Promise<void> {
  await scroller(page).evaluate(async (element) => {
    let last = ''
    for (let frames = 0; frames < 10; frames += 1) {
      await new Promise((resolve) => requestAnimationFrame(resolve))
      const now = `${element.scrollTop} ${element.scrollHeight}`
      if (now !== last) frames = 0
      last = now
    }
  })
}

/** Turns the wheel upwards, and waits for the transcript to follow: a busy browser scrolls well after the event. */
async function wheelUp(page: Page, pixels: number): Promise<void> {
  const before = await scrollTop(page)
  await scroller(page).hover()
  await page.mouse.wheel(0, -pixels)
  await expect.poll(() => scrollTop(page)).toBeLessThan(before)
  await still(page)
}

test('markdown streams in, and what is settled is not drawn again', async ({ daemon, page }) => {
  let goOn = (): void => {}
  const more = new Promise<void>((resolve) => (goOn = resolve))
  daemon.model.next(
    { text: '# Plan\n\nFirst **bold** words.\n\n```rust\nfn main() {' },
    { until: more },
    { text: '}\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nThe end.' },
  )
  const session = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'go')
  const answer = page.getByRole('article', { name: 'Answer' })
  await expect(answer.locator('pre')).toContainText('fn main() {')
  await expect(answer.locator('strong')).toHaveText('bold')
  await answer
    .locator('p')
    .first()
    .evaluate((element) => ((element as HTMLElement & { mark?: boolean }).mark = true))
  goOn()
  await expect(answer.getByText('The end.')).toBeVisible()
  expect(
    await answer
      .locator('p')
      .first()
      .evaluate((element) => (element as HTMLElement & { mark?: boolean }).mark),
  ).toBe(true)
  await expect(answer.getByRole('cell', { name: '2' })).toBeVisible()
  await expect(answer.locator('.hl-keyword')).toHaveText('fn')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await answer.getByRole('button', { name: 'Copy code' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('fn main() {}')
})

test('a command shows what it prints while it runs, and how it ended', async ({ daemon, page }) => {
  const line = `printf '\\033[31mfirst\\033[0m\\n'; while [ ! -e go ]; do sleep 0.05; done; echo second; exit 3`
  daemon.model.next({ call: 'shell', input: { command: line } }).next({ text: 'It failed.' })
  const session = await daemon.scripted({ policy: FREE })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'run it')
  const card = page.locator('article[data-form=command]')
  await expect(card).toBeVisible()
  const status = async () => {
    await allow(daemon, session)
    return card.getAttribute('data-status')
  }
  await expect.poll(status).toBe('running')
  await expect(card.locator('.terminal .ansi-fg-1')).toHaveText('first')
  await writeFile(join(daemon.workspace, 'go'), '')
  await expect(card).toHaveAttribute('data-status', 'failed')
  await expect(card.locator('.terminal')).toContainText('second')
  await expect(card).toContainText('Exit code 3.')
  await card.getByRole('button', { expanded: true }).click()
  await expect(card.locator('.terminal')).toHaveCount(0)
})

test('calls have cards by their kind, and reads in a row are folded', async ({ daemon, page }) => {
  await writeFile(join(daemon.workspace, 'a.rs'), 'fn greet() {\n    println!("hello");\n}\n')
  daemon.model
    .next({ thinking: 'I should look first.' }, { call: 'read_file', input: { path: 'a.rs' } })
    .next({ call: 'search', input: { query: 'hello' } })
    .next({ call: 'edit_file', input: { path: 'a.rs', old: 'hello', new: 'good morning' } })
    .next({ text: 'Changed.' })
  const session = await daemon.scripted({ policy: FREE })
  await daemon.say(session, 'change it')
  const requests = async () => {
    await allow(daemon, session)
    return daemon.model.requests.length
  }
  await expect.poll(requests).toBeGreaterThanOrEqual(4)
  await daemon.idle(session)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(page.getByRole('button', { name: /Thought/ })).toBeVisible()
  const run = page.getByRole('article', { name: 'Read 1 file, ran 1 search' })
  await run.getByRole('button').click()
  await run.getByRole('button', { name: /Read a.rs/ }).click()
  await expect(run.locator('.file-line').nth(1)).toContainText('println!')
  await run.getByRole('button', { name: /Searched for hello/ }).click()
  await expect(run.locator('.hit mark')).toHaveText('hello')
  const change = page.locator('article[data-form=change]')
  await expect(change).toContainText('+1 −1')
  await expect(change.locator('td.diff-text.diff-added')).toContainText('println!("good morning");')
  await expect(change.locator('td.diff-text.diff-removed mark')).toHaveText('hello')
})

test('a failed turn says why and can be tried again', async ({ daemon, page }) => {
  daemon.model.next({ fail: 400, message: 'no such thing' }).next({ text: 'Now it works.' })
  const session = await daemon.scripted()
  await daemon.say(session, 'go')
  await daemon.idle(session)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const end = page.locator('.turn-end[data-outcome=failed]')
  await expect(end).toContainText('The turn failed')
  await expect(end).toContainText('no such thing')
  await end.getByRole('button', { name: 'Retry' }).click()
  await expect(page.getByText('Now it works.')).toBeVisible()
  await expect(page.locator('.turn-end[data-outcome=completed]')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Retry' })).toHaveCount(0)
})

test('a session that was started by a call has a way to it', async ({ daemon, page }) => {
  daemon.model
    .next({ call: 'task', input: { description: 'count to three', prompt: 'Count.' } })
    .next({ text: 'One, two, three.' })
    .next({ text: 'It counted.' })
  const session = await daemon.scripted({ policy: FREE })
  await daemon.say(session, 'have it counted')
  await daemon.idle(session)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const card = page.locator('article[data-form=session]')
  await card.getByRole('button', { name: /count to three/ }).click()
  await expect(card).toContainText('One, two, three.')
  await card.getByRole('link', { name: 'Open the session' }).click()
  await expect(page.getByTestId('session')).not.toHaveAttribute('data-session', session)
  await expect(page.getByRole('article', { name: 'Answer' })).toContainText('One, two, three.')
})

test('the end is followed until the reader scrolls up, and again after a jump', async ({ daemon, page }) => {
  let goOn = (): void => {}
  const more = new Promise<void>((resolve) => (goOn = resolve))
  const lines = (from: number) => Array.from({ length: 60 }, (_, at) => `Paragraph ${from + at}.\n\n`).join('')
  daemon.model.next({ text: lines(0) }, { until: more }, { text: `${lines(100)}The end.` })
  const session = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'write')
  await expect(page.getByText('Paragraph 59.')).toBeInViewport()
  await expectEnd(page)
  await wheelUp(page, 600)
  await expect(page.getByRole('button', { name: 'Jump to latest' })).toBeVisible()
  const before = await scrollTop(page)
  goOn()
  await daemon.idle(session)
  await expect(page.getByRole('button', { name: 'New below' })).toBeVisible()
  expect(Math.abs((await scrollTop(page)) - before)).toBeLessThan(3)
  await page.getByRole('button', { name: 'New below' }).click()
  await expect(page.getByText('The end.')).toBeInViewport()
  await expectEnd(page)
  // Whoever says something wants to see it.
  await wheelUp(page, 600)
  await expect(page.getByRole('button', { name: 'Jump to latest' })).toBeVisible()
  daemon.model.next({ text: 'A short answer.' })
  await page.getByRole('textbox', { name: /message/i }).fill('and now?')
  await page.keyboard.press('Enter')
  await expect(page.getByText('A short answer.')).toBeInViewport()
  await expectEnd(page)
})

test('what becomes shorter at the end lets nobody go of it', async ({ daemon, page }) => {
  const lines = Array.from({ length: 60 }, (_, at) => `Paragraph ${at}.\n\n`).join('')
  daemon.model.next({ text: lines })
  const session = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'write')
  await expect(page.getByText('Paragraph 59.')).toBeInViewport()
  // The browser pulls the window up, and says so only when there is more again.
  const space = scroller(page).locator('> .space')
  await space.evaluate((element) => {
    element.style.marginBottom = '-400px'
    void element.getBoundingClientRect()
    element.parentElement!.scrollTop = element.parentElement!.scrollHeight
    element.style.marginBottom = '200px'
  })
  await expectEnd(page)
  await expect(page.getByRole('button', { name: 'Jump to latest' })).toBeHidden()
})

test('what is opened at the end stays where it is, and the end is followed again when it is closed', async ({
  daemon,
  page,
}) => {
  const told = Array.from({ length: 19 }, (_, at) => `line ${at}`).join('\n')
  const turn = {
    prompt: 'go',
    steps: [
      {
        text: 'words\n\n'.repeat(40),
        calls: [{ name: 'shell', input: { command: 'x' }, told, details: { exit_code: 0 } }],
      },
      { text: 'Done.' },
    ],
  }
  const session = await importTurns(daemon, [turn])
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const head = page.locator('article[data-form=command] > button')
  await expect(head).toBeInViewport()
  await still(page)
  const before = (await head.boundingBox())!.y
  await head.click()
  await expect(page.locator('.terminal')).toContainText('line 18')
  await expect.poll(async () => Math.abs((await head.boundingBox())!.y - before)).toBeLessThan(3)
  const latest = page.getByRole('button', { name: 'Jump to latest' })
  await expect(latest).toBeVisible()
  await latest.click()
  await expect(latest).toBeHidden()
  await head.click()
  await expect(page.locator('.terminal')).toHaveCount(0)
  await expect(latest).toBeHidden()
})

test('older messages are loaded on the way up, and the reader stays where they are', async ({ daemon, page }) => {
  const session = await importTurns(
    daemon,
    Array.from({ length: 300 }, (_, at) => ({
      prompt: `Question ${at}`,
      steps: [{ text: `Answer ${at}: ${'words '.repeat((at % 7) * 30)}` }],
    })),
  )
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(question(page, 299)).toBeInViewport()
  await scroller(page).hover()
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, -3000)
        return question(page, 0).isVisible()
      },
      { timeout: 40_000, intervals: [30] },
    )
    .toBe(true)
  expect(await page.locator('.transcript .row').count()).toBeLessThan(60)
  await page.getByRole('button', { name: 'Jump to latest' }).click()
  await expect(question(page, 299)).toBeInViewport()
})

test('a page that is put before does not move what is read', async ({ daemon, page }) => {
  const session = await importTurns(
    daemon,
    Array.from({ length: 200 }, (_, at) => ({
      prompt: `Question ${at}`,
      steps: [{ text: `Answer ${at}: ${'words '.repeat((at % 5) * 40)}` }],
    })),
  )
  await enter(daemon, page)
  let hold = false
  let stopFollowing = (): void => {}
  const held = new Promise<void>((resolve) => (stopFollowing = resolve))
  await page.route('**/events?*follow=false*', async (route) => {
    if (hold) await held
    await route.continue()
  })
  await openSession(daemon, page, session)
  await expect(question(page, 199)).toBeInViewport()
  hold = true
  await scroller(page).evaluate((element) => (element.scrollTop = 0))
  await expect(page.getByText('Loading earlier messages…')).toBeVisible()
  await still(page)
  const first = page.locator('.transcript .row').first()
  const key = await first.getAttribute('data-key')
  const place = async () => (await page.locator(`.transcript .row[data-key="${key}"]`).boundingBox())!.y
  const before = await place()
  hold = false
  stopFollowing()
  await expect(page.getByText('Loading earlier messages…')).toBeHidden()
  await expect.poll(() => scrollTop(page)).toBeGreaterThan(1000)
  await expect.poll(async () => Math.abs((await place()) - before)).toBeLessThan(3)
})

test('a tab that comes back is where it was left, with what was opened', async ({ daemon, page }) => {
  const turns = Array.from({ length: 40 }, (_, at) => ({
    prompt: `Question ${at}`,
    steps: [
      {
        text: `Answer ${at}`,
        calls: [{ name: 'shell', input: { command: `echo ${at}` }, told: `${at}`, details: { exit_code: 0 } }],
      },
      { text: 'Done.' },
    ],
  }))
  const first = await importTurns(daemon, turns)
  await enter(daemon, page)
  await openSession(daemon, page, first)
  await expect(question(page, 39)).toBeInViewport()
  await wheelUp(page, 1500)
  await expect(page.getByRole('button', { name: 'Jump to latest' })).toBeVisible()
  const call = await page
    .locator('article[data-form=command]')
    .filter({ visible: true })
    .nth(2)
    .getAttribute('data-call')
  const opened = page.locator(`article[data-call="${call}"]`)
  await opened.getByRole('button').first().click()
  await expect(opened.locator('.terminal')).toBeVisible()
  await still(page)
  const before = (await opened.boundingBox())!.y
  await page.getByRole('button', { name: 'Dashboard' }).click()
  await expect(opened).toHaveCount(0)
  await page.getByRole('tab').first().click()
  await expect(opened.locator('.terminal')).toBeVisible()
  await expect.poll(async () => Math.abs((await opened.boundingBox())!.y - before)).toBeLessThan(4)
})

test('pictures and files of a message are shown, and a missing one says so', async ({ daemon, page }) => {
  const session = await daemon.scripted()
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const picture = await daemon.api<{ ref: string }>('POST', `/v1/sessions/${session}/attachments`, {
    name: 'dot.png',
    data: pixel,
  })
  const notes = await daemon.api<{ ref: string }>('POST', `/v1/sessions/${session}/attachments`, {
    name: 'notes.txt',
    data: Buffer.from('some notes').toString('base64'),
  })
  daemon.model.next({ text: `Seen: ![the dot](${picture.ref}) and ![none](attachments/none.png)` })
  await daemon.say(session, '', {
    parts: [
      { type: 'text', text: 'look' },
      { type: 'image', ref: picture.ref },
      { type: 'file', ref: notes.ref },
    ],
  })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const shown = page.getByRole('article', { name: 'You' }).getByRole('img')
  await expect.poll(() => shown.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(1)
  await expect(page.getByRole('article', { name: 'You' }).getByRole('link', { name: 'notes.txt' })).toHaveAttribute(
    'download',
    'notes.txt',
  )
  const answer = page.getByRole('article', { name: 'Answer' })
  await expect(answer.getByRole('img', { name: 'the dot' })).toBeVisible()
  await expect(answer).toContainText('The picture none.png cannot be shown.')
})

test('a turn that was stopped keeps what was said, and says who stopped it', async ({ daemon, page }) => {
  let goOn = (): void => {}
  daemon.model.next({ text: 'Half of' }, { until: new Promise<void>((resolve) => (goOn = resolve)) })
  const session = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'go')
  await expect(page.getByRole('article', { name: 'Answer' })).toContainText('Half of')
  await expect(page.locator('.activity')).toBeVisible()
  await daemon.api('POST', `/v1/sessions/${session}/cancel`, { reason: 'enough' })
  await expect(page.locator('.turn-end[data-outcome=canceled]')).toContainText(/Canceled by node: enough/)
  await expect(page.getByRole('article', { name: 'Answer' })).toContainText('Half of')
  await expect(page.locator('.activity')).toHaveCount(0)
  goOn()
})

test('a message can be edited and sent again, in a session that shares what was said before it', async ({
  daemon,
  page,
}) => {
  daemon.model.next({ text: 'One.' }).next({ text: 'Two.' }).next({ text: 'Three, then.' })
  const id = await daemon.scripted({ title: 'Counting' })
  for (const text of ['count to one', 'count to two']) {
    await daemon.say(id, text)
    await daemon.idle(id)
  }
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const said = page.getByRole('article', { name: 'You' }).filter({ hasText: 'count to two' })
  await said.hover()
  await said.getByRole('button', { name: 'Edit and resend in a fork' }).click()
  const field = page.getByRole('textbox', { name: 'Message', exact: true })
  await expect(field).toHaveValue('count to two')
  expect(page.url()).not.toContain(id)
  await field.fill('count to three')
  await page.keyboard.press('Enter')
  const transcript = page.getByRole('region', { name: 'Transcript' })
  await expect(transcript).toContainText('Three, then.')
  await expect(transcript).toContainText('One.')
  await expect(transcript).not.toContainText('Two.')
})
