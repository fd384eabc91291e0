// What wants attention: dots, unread marks, the dashboard, notices of the browser; and how projects are found and sessions pinned.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { enter, expect, openSession, test } from './harness'

test('dots tell what runs, waits, failed and is unread; a key leads there', async ({ daemon, page }) => {
  let go = (): void => {}
  const gate = new Promise<void>((resolve) => (go = resolve))
  const watched = await daemon.session({ title: 'Watched' })
  const asking = await daemon.session({ title: 'Asking' })
  const failing = await daemon.scripted({ title: 'Failing' })
  const working = await daemon.scripted({ title: 'Working' })
  await enter(daemon, page)
  await openSession(daemon, page, watched)
  const dot = (id: string) => page.locator(`nav [data-session="${id}"] [data-status]`)

  await daemon.say(asking, 'write a.txt with Hello!')
  await expect(dot(asking)).toHaveAttribute('data-status', 'waiting')
  daemon.model.next({ fail: 400, message: 'no such model' })
  await daemon.say(failing, 'fail')
  await expect(dot(failing)).toHaveAttribute('data-status', 'failed')
  daemon.model.next({ text: 'Half' }, { until: gate }, { text: ' and whole.' })
  await daemon.say(working, 'work')
  await expect(dot(working)).toHaveAttribute('data-status', 'running')

  await page.goto(`${daemon.url}/dashboard`)
  for (const [column, title] of [
    ['Needs approval', 'Asking'],
    ['Running', 'Working'],
    ['Failed', 'Failing'],
  ] as const) {
    await expect(page.getByRole('main').getByRole('region', { name: column })).toContainText(title)
  }
  go()
  await expect(dot(working)).toHaveAttribute('data-status', 'unread')
  await expect(page.getByRole('main').getByRole('region', { name: 'Unread' })).toContainText('Working')
  await page.locator(`nav [data-session="${working}"] a`).click()
  await expect(dot(working)).toHaveAttribute('data-status', 'idle')
  await page.keyboard.press('Alt+u')
  await expect(page).not.toHaveURL(new RegExp(working))
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Asking|Failing/)
})

test('a hidden page sends a notice when something waits, once it was asked to', async ({ daemon, page, context }) => {
  await context.grantPermissions(['notifications'], { origin: daemon.url })
  await page.addInitScript(() => {
    const shown: string[] = []
    class Notice {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      onclick: (() => void) | null = null
      constructor(title: string, options: { body: string }) {
        shown.push(`${title}: ${options.body}`)
      }
      close() {}
    }
    Object.assign(window, { Notification: Notice, shownNotices: shown })
    Object.defineProperty(document, 'visibilityState', {
      get: () => ((window as { pretendHidden?: boolean }).pretendHidden ? 'hidden' : 'visible'),
    })
  })
  const notices = () => page.evaluate(() => (window as unknown as { shownNotices: string[] }).shownNotices)
  const id = await daemon.session({ title: 'Gate' })
  await enter(daemon, page, '/settings')
  await page.getByLabel(/Notify me/).check()
  await daemon.say(id, 'say nothing to see')
  await daemon.idle(id)
  expect(await notices()).toEqual([])
  await page.evaluate(() => ((window as { pretendHidden?: boolean }).pretendHidden = true))
  await daemon.say(id, 'write a.txt with Hello!')
  await expect.poll(notices).toEqual([expect.stringContaining('Needs approval: Gate')])
})

test('a project is found by walking folders, and taken off the list in the settings', async ({ daemon, page }) => {
  await mkdir(join(daemon.workspace, 'inner'))
  await daemon.api('POST', '/v1/projects', { path: daemon.workspace })
  await enter(daemon, page)
  await page.getByRole('button', { name: 'New session in work' }).click()
  await page.getByRole('button', { name: 'Browse…' }).click()
  await page.getByRole('list', { name: 'Folders' }).getByRole('button', { name: 'inner' }).click()
  await expect(page.getByRole('dialog').locator('.path')).toContainText('inner')
  await page.getByRole('button', { name: 'Use this folder' }).click()
  await page.getByRole('button', { name: 'Create session' }).click()
  await expect(page.getByTestId('session')).toBeVisible()
  await expect(page.locator('nav').getByRole('region', { name: 'inner' })).toContainText('New session')

  await page.goto(`${daemon.url}/settings`)
  await page.getByRole('button', { name: 'Remove project work' }).click()
  await expect(page.locator('nav').getByRole('region', { name: 'work' })).toBeHidden()
})

test('what is pinned stands first, here and after a reload', async ({ daemon, page }) => {
  const first = await daemon.session({ title: 'First' })
  await daemon.session({ title: 'Second' })
  await enter(daemon, page)
  const rows = page.locator('nav [data-session]')
  await expect(rows.first()).toContainText('Second')
  const row = page.locator(`nav [data-session="${first}"]`)
  await row.hover()
  await row.getByRole('button', { name: 'Pin First' }).click()
  await expect(rows.first()).toContainText('First')
  await page.reload()
  await expect(rows.first()).toContainText('First')
})
