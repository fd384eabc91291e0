// Pictures of the main screens, for people to look at: OSTLER_SCREENSHOTS=docs/images web/test.sh screenshots. Not a test.

import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from '@playwright/test'

import { type Daemon, enter, expect, openSession, test } from './harness'

const FOLDER = process.env.OSTLER_SCREENSHOTS
test.skip(!FOLDER, 'only when asked for')

const DISCOUNT = 'pub fn discounted(cents: i64, percent: i64) -> i64 {\n    cents * (100 - percent) / 100\n}\n'
const ROUNDED = DISCOUNT.replace('cents * (100 - percent) / 100', '(cents * (100 - percent) + 50) / 100')

/** A day's work: sessions that run, wait, have failed and are done. */
async function workshop(daemon: Daemon): Promise<string> {
  const shop = join(daemon.place, 'shop')
  const site = join(daemon.place, 'website')
  await mkdir(join(shop, 'src'), { recursive: true })
  await mkdir(site)
  await writeFile(join(shop, 'src/discount.rs'), DISCOUNT)
  await writeFile(join(shop, 'README.md'), '# Shop\n\nPrices, carts and discounts.\n')
  for (const path of [shop, site]) await daemon.api('POST', '/v1/projects', { path })
  const { model } = daemon
  const work = { workspace_path: shop }
  await daemon.session({ title: 'Redo the landing page', workspace_path: site })

  model.next({ text: 'It cannot be built.' }, { fail: 400, message: 'the model is not there' })
  const failed = await daemon.scripted({ title: 'Port the importer', ...work })
  await daemon.say(failed, 'port it')
  await daemon.idle(failed)

  const done = await daemon.session({ title: 'What does this project do?', ...work })
  await daemon.say(done, 'read README.md')
  await daemon.idle(done)

  const policy = {
    approval: { require_for_kinds: ['exec'] },
    verify: { auto: true, commands: ['test -f src/discount.rs'] },
  }
  const main = await daemon.scripted({ title: 'Round discounts to whole cents', policy, ...work })
  model.next(
    { thinking: 'The rounding must be in discount.rs. I look at it first.' },
    { text: 'I look at the code first.' },
    { call: 'search', input: { pattern: 'discounted' } },
    { call: 'read_file', input: { path: 'src/discount.rs' } },
  )
  model.next(
    { text: 'Integer division cuts off. Half a cent has to be added before it:' },
    { call: 'write_file', input: { path: 'src/discount.rs', content: ROUNDED } },
  )
  model.next({
    text:
      'Discounts are rounded to the nearest cent now:\n\n```rust\nassert_eq!(discounted(1999, 15), 1699);\n```\n\n' +
      '- `src/discount.rs` is the only file that changed\n- the check passed\n',
  })
  await daemon.say(main, 'Round discounts to whole cents instead of cutting them off.')
  await daemon.idle(main)
  model.next(
    { text: 'I run the tests to be sure.' },
    { call: 'shell', input: { command: 'cargo test --package shop discount > test.log' } },
  )
  await daemon.say(main, 'Run the tests as well.')
  await expect
    .poll(async () => (await daemon.api<{ status: string }>('GET', `/v1/sessions/${main}`)).status)
    .toBe('waiting_approval')

  const running = await daemon.session({ title: 'Explain the checkout flow', ...work })
  await daemon.say(running, `say ${'and then the cart is priced again '.repeat(60)} slowly`)
  return main
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(400)
  await page.screenshot({ path: resolve(FOLDER as string, `${name}.png`), animations: 'disabled', caret: 'hide' })
}

for (const scheme of ['light', 'dark'] as const) {
  test(`wide, ${scheme}`, async ({ daemon, page }) => {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize({ width: 1440, height: 900 })
    await enter(daemon, page)
    await shoot(page, `first-${scheme}`)
    const id = await workshop(daemon)
    await page.goto(daemon.url)
    await shoot(page, `home-${scheme}`)
    await openSession(daemon, page, id)
    await expect(page.getByRole('region', { name: 'Pending approval' })).toBeVisible()
    await shoot(page, `session-${scheme}`)
    await page.keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find in session' }).fill('discount')
    await page.keyboard.press('Enter')
    await shoot(page, `find-${scheme}`)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog', { name: 'Command palette' })).toBeVisible()
    await shoot(page, `palette-${scheme}`)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+n')
    await shoot(page, `new-${scheme}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'More about this session' }).click()
    await shoot(page, `menu-${scheme}`)
    await page.getByRole('menuitem', { name: 'Close session permanently…' }).click()
    await shoot(page, `close-${scheme}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Changes', exact: true }).first().click()
    await expect(page.getByRole('complementary', { name: 'Review' })).toBeVisible()
    await shoot(page, `review-${scheme}`)
    for (const screen of ['dashboard', 'settings', 'approvals']) {
      await page.goto(`${daemon.url}/${screen}`)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live')
      await shoot(page, `${screen}-${scheme}`)
    }
    const failed = page.locator('nav').getByRole('link', { name: /Port the importer/ })
    await failed.click()
    await expect(page.locator('.turn-end[data-outcome=failed]')).toBeVisible()
    await shoot(page, `failed-${scheme}`)
  })
}

test('narrow', async ({ daemon, browser }) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
  const page = await context.newPage()
  const id = await workshop(daemon)
  await enter(daemon, page)
  await openSession(daemon, page, id)
  await expect(page.getByRole('region', { name: 'Pending approval' })).toBeVisible()
  await shoot(page, 'session-phone')
  await page.getByRole('button', { name: 'Open the sidebar' }).click()
  await shoot(page, 'sidebar-phone')
  await page.goto(`${daemon.url}/dashboard`)
  await shoot(page, 'dashboard-phone')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(daemon.url)
  await openSession(daemon, page, id)
  await page.getByRole('button', { name: 'Open sessions' }).click()
  await shoot(page, 'tabs-phone')
  await page.keyboard.press('Escape')
  await page.locator('.brand').dispatchEvent('click')
  await shoot(page, 'home-phone')
  await context.close()
})
