// What a newcomer reaches for: the first screen's composer, closing for good, finding in a session and in all of them, the palette's
// commands of a session, the board, and a phone that does not scroll sideways.

import { enter, expect, openSession, test } from './harness'
import { importTurns } from './transcript-log'

test('closing for good asks first, and a closed session offers a fork instead of a retry', async ({ daemon, page }) => {
  daemon.model.next({ fail: 400, message: 'no such thing' })
  const id = await daemon.scripted({ title: 'Precious' })
  await daemon.say(id, 'go')
  await daemon.idle(id)
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const ask = async () => {
    await page.getByRole('button', { name: 'More about this session' }).click()
    await page.getByRole('menuitem', { name: 'Close session permanently…' }).click()
  }
  const status = async () => (await daemon.api<{ status: string }>('GET', `/v1/sessions/${id}`)).status
  const dialog = page.getByRole('dialog', { name: 'Close session permanently' })
  await ask()
  await expect(dialog).toContainText('Close “Precious” permanently?')
  await expect(dialog).toContainText('This cannot be undone')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toBeHidden()
  expect(await status()).not.toBe('completed')

  const end = page.locator('.turn-end[data-outcome=failed]')
  await expect(end.getByRole('button', { name: 'Retry' })).toBeVisible()
  await ask()
  await dialog.getByRole('button', { name: 'Close permanently' }).click()
  await expect(dialog).toBeHidden()
  await expect.poll(status).toBe('completed')
  await expect(end.getByRole('button', { name: 'Retry' })).toHaveCount(0)
  await expect(end.getByRole('button', { name: 'Fork', exact: true })).toBeVisible()
  await page.getByRole('region', { name: 'Composer' }).getByRole('button', { name: 'Fork' }).click()
  await expect(page).not.toHaveURL(new RegExp(id))
  await expect(page.getByRole('textbox', { name: 'Message', exact: true })).toBeEnabled()
})

test('a failed turn offers another model and a raw log, and its advice has no backticks', async ({ daemon, page }) => {
  daemon.model.next({ fail: 400, message: 'no such thing' })
  const id = await daemon.scripted()
  await daemon.say(id, 'go')
  await daemon.idle(id)
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const end = page.locator('.turn-end[data-outcome=failed]')
  await expect(end).toContainText('no such thing')
  await expect(end).not.toContainText('`')
  await end.getByRole('button', { name: 'Keep a raw log' }).click()
  await expect
    .poll(async () => (await daemon.api<{ raw_log: boolean }>('GET', `/v1/sessions/${id}`)).raw_log)
    .toBe(true)
  await expect(end.getByRole('button', { name: 'Keep a raw log' })).toHaveCount(0)
  await end.getByRole('button', { name: 'Use another model…' }).click()
  await expect(page.getByRole('textbox', { name: 'Model' })).toBeFocused()
})

test('words are found in a session that is not drawn, with a count', async ({ daemon, page }) => {
  const id = await importTurns(
    daemon,
    Array.from({ length: 200 }, (_, at) => ({
      prompt: `Question ${at}`,
      steps: [{ text: `Answer ${at}. ${'Some words. '.repeat(20)}${at % 80 === 7 ? 'A rare pangolin.' : ''}` }],
    })),
  )
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await expect(page.getByText('Answer 199.')).toBeInViewport()
  await page.keyboard.press('Control+f')
  const field = page.getByRole('textbox', { name: 'Find in session' })
  await field.fill('PANGOLIN')
  const count = page.getByTestId('find-count')
  await expect(count).toHaveText('– of 3', { timeout: 30_000 })
  await field.press('Enter')
  await expect(count).toHaveText('3 of 3')
  await expect(page.getByText('Answer 167.')).toBeInViewport()
  await field.press('Shift+Enter')
  await expect(count).toHaveText('2 of 3')
  await expect(page.getByText('Answer 87.')).toBeInViewport()
  await field.press('Enter')
  await field.press('Enter')
  await expect(count).toHaveText('1 of 3')
  await expect(page.getByText('Answer 7.')).toBeInViewport()
  await field.fill('quagga')
  await expect(count).toHaveText('No matches')
  await field.press('Escape')
  await expect(field).toBeHidden()
})

test('a search is used by keyboard alone', async ({ daemon, page }) => {
  const other = await daemon.session({ title: 'Mend the gate' })
  const id = await daemon.session({ title: 'Oil the hinge' })
  for (const each of [other, id]) {
    await daemon.say(each, 'say the hinge is rusty')
    await daemon.idle(each)
  }
  await enter(daemon, page)
  await page.locator('main').focus()
  await page.keyboard.press('/')
  const field = page.getByRole('searchbox', { name: 'Search all sessions' })
  await expect(field).toBeFocused()
  await page.keyboard.type('rusty')
  const rows = page.getByRole('region', { name: 'Search results' }).locator('[data-session]')
  await expect(rows).toHaveCount(2)
  const second = (await rows.nth(1).getAttribute('data-session'))!
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(second))
})

test('the palette has the commands of the session on screen', async ({ daemon, page }) => {
  const id = await daemon.session({ title: 'Fix the rounding' })
  await daemon.say(id, 'say hello')
  await daemon.idle(id)
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const run = async (words: string, title: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search sessions and commands' }).fill(words)
    await expect(page.getByRole('option', { selected: true })).toContainText(title)
    await page.keyboard.press('Enter')
  }
  await run('rename', 'Rename')
  await page.getByLabel('Title').fill('Fix the sums')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Fix the sums')
  await run('model', 'Change model')
  await expect(page.getByRole('textbox', { name: 'Model' })).toBeFocused()
  await page.keyboard.press('Escape')
  await run('find in', 'Find in session')
  await expect(page.getByRole('textbox', { name: 'Find in session' })).toBeFocused()
  await page.keyboard.press('Escape')
  await run('fork', 'Fork')
  await expect(page).not.toHaveURL(new RegExp(id))
})

test('a session begins on the first screen, and a new one with the open project and a task', async ({
  daemon,
  page,
}) => {
  await daemon.api('POST', '/v1/projects', { path: daemon.workspace })
  await enter(daemon, page)
  const form = page.getByRole('form', { name: 'Start a session' })
  await expect(form.getByLabel('Project')).toHaveValue(daemon.workspace)
  await form.getByRole('textbox', { name: 'Task' }).fill('say good morning')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('region', { name: 'Transcript' })).toContainText('good morning')

  await page.keyboard.press('Alt+n')
  const picker = page.getByRole('dialog', { name: 'New session' })
  await expect(picker.getByRole('combobox', { name: 'Project folder' })).toHaveValue(daemon.workspace)
  await expect(picker.getByRole('textbox', { name: /^Task/ })).toBeFocused()
  await page.keyboard.type('say good evening')
  await page.keyboard.press('Enter')
  await expect(picker).toBeHidden()
  await expect(page.getByTestId('session').getByRole('region', { name: 'Transcript' })).toContainText('good evening')
  await expect(page.getByRole('tab')).toHaveCount(2)
})

test('sessions that need approval stand on top, in the sidebar and on the board', async ({ daemon, page }) => {
  const waiting = await daemon.session({ title: 'Waiting' })
  await daemon.say(waiting, 'write a.txt with Hello!')
  await expect
    .poll(async () => (await daemon.api<{ status: string }>('GET', `/v1/sessions/${waiting}`)).status)
    .toBe('waiting_approval')
  for (const title of ['Later', 'Latest']) await daemon.session({ title })
  await enter(daemon, page)
  const group = page.getByRole('navigation').getByRole('region', { name: 'Sessions that need approval' })
  await expect(group).toContainText('Waiting')
  await expect(page.locator('nav [data-session]').first()).toHaveAttribute('data-session', waiting)
  await page.getByRole('button', { name: 'Dashboard' }).click()
  const board = page.getByRole('group', { name: 'Sessions by state' })
  await expect(board.getByRole('region', { name: 'Needs approval' })).toContainText('Waiting')
  await expect(board.getByRole('region', { name: 'Idle' })).toContainText('Latest')
  await page.getByRole('group', { name: 'Group usage by' }).getByRole('button', { name: 'Session' }).click()
  await expect(page.getByRole('group', { name: 'By session' })).toContainText('Waiting')
})

test('the tab of a session that is archived elsewhere closes, and can be had back', async ({ daemon, page }) => {
  const id = await daemon.session({ title: 'Put away' })
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await expect(page.getByRole('tab')).toHaveCount(1)
  await daemon.api('PATCH', `/v1/sessions/${id}`, { archived: true })
  await expect(page.getByRole('tab')).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('tab')).toHaveCount(1)
  await expect
    .poll(async () => (await daemon.api<{ archived: boolean }>('GET', `/v1/sessions/${id}`)).archived)
    .toBe(false)
})

test('on a phone one title stands for all tabs, and nothing is wider than the screen', async ({ daemon, page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  const ids: string[] = []
  for (let at = 0; at < 6; at += 1) {
    const id = await daemon.session({ title: `A session with a long title, number ${at}` })
    if (at % 2 === 0) await daemon.say(id, 'write a.txt with Hello!')
    ids.push(id)
  }
  await enter(daemon, page)
  for (const id of ids) await openSession(daemon, page, id)
  await expect(page.getByRole('tab')).toHaveCount(0)
  const switcher = page.getByRole('button', { name: 'Open sessions' })
  await expect(switcher).toContainText('number 5')
  const widths = () =>
    page.evaluate(() => [document.scrollingElement!.scrollWidth, document.documentElement.clientWidth])
  expect(await widths()).toEqual([390, 390])
  await switcher.click()
  await page.getByRole('option', { name: /number 2/ }).click()
  await expect(page).toHaveURL(new RegExp(ids[2]!))
  expect(await widths()).toEqual([390, 390])
})

test('formulas are drawn as MathML, and what is not known stays as it was written', async ({ daemon, page }) => {
  daemon.model.next({
    text: 'So $a^2 + \\frac{1}{b}$, and\n\n$$\\sum_{i=0}^n i$$\n\nbut $\\href{javascript:alert(1)}{x}$ for $5.\n',
  })
  const id = await daemon.scripted()
  await daemon.say(id, 'calculate')
  await daemon.idle(id)
  await enter(daemon, page)
  await openSession(daemon, page, id)
  const answer = page.getByRole('article', { name: 'Answer' })
  await expect(answer.locator('math')).toHaveCount(2)
  await expect(answer.locator('math mfrac mi')).toHaveText('b')
  await expect(answer.locator('math[display="block"] munderover')).toHaveCount(1)
  await expect(answer.getByText('\\href{javascript:alert(1)}{x}')).toBeVisible()
  await expect(answer).toContainText('for $5.')
  await expect(answer.locator('a')).toHaveCount(0)
})
