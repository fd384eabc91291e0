// Many tabs of one browser share one connection: a browser has six for each host, and the page may not use them up.

import { enter, expect, openSession, test } from './harness'

test('eight tabs are live at once, and one takes over when the leading one is closed', async ({
  daemon,
  page,
  context,
}) => {
  const id = await daemon.session({ title: 'Shared' })
  await enter(daemon, page)
  const others = []
  for (let index = 0; index < 7; index += 1) {
    const other = await context.newPage()
    await openSession(daemon, other, id)
    await expect(other.getByTestId('connection')).toHaveAttribute('data-state', 'live')
    others.push(other)
  }
  await daemon.say(id, 'say good morning')
  for (const other of others)
    await expect(other.getByRole('region', { name: 'Transcript' })).toContainText('good morning')

  await page.close()
  await daemon.say(id, 'say good evening')
  for (const other of others)
    await expect(other.getByRole('region', { name: 'Transcript' })).toContainText('good evening')

  await daemon.kill()
  for (const other of others) await expect(other.getByTestId('connection')).toHaveAttribute('data-state', 'lost')
  await daemon.restart()
  for (const other of others)
    await expect(other.getByTestId('connection')).toHaveAttribute('data-state', 'live', { timeout: 30_000 })
  await daemon.say(id, 'say good night')
  for (const other of others) {
    await expect(other.getByRole('region', { name: 'Transcript' })).toContainText('good night')
    await expect(other.locator('nav [data-session]')).toHaveCount(1)
  }
})
