// A page of another origin, in a browser that is let in: it cannot read, write, open a socket or show us in a frame. Another port of
// this machine is the worst case, because the browser sends the cookie along: there only the gateway's socket opens, which knows no
// cookie and answers nothing without the token.

import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { enter, expect, test } from './harness'

let server: Server
let port = 0

test.beforeAll(async () => {
  server = createServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' })
    answer.end('<!doctype html><title>elsewhere</title><p>elsewhere</p>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
test.afterAll(() => void server.close())

for (const host of ['elsewhere.test', '127.0.0.1'])
  test(`a page of ${host} can neither fetch, post, open a socket nor frame us`, async ({
    daemon,
    page,
    consoleErrors,
  }) => {
    const id = await daemon.session({ title: 'Secret' })
    await enter(daemon, page)
    await page.goto(`http://${host}:${port}`)
    const outcome = await page.evaluate(
      async ({ url, id }) => {
        const attempt = async (path: string, init: RequestInit): Promise<string> => {
          try {
            const answer = await fetch(url + path, { credentials: 'include', ...init })
            return answer.type === 'opaque' ? 'opaque' : `read ${answer.status}`
          } catch {
            return 'refused'
          }
        }
        const socket = (path: string): Promise<string> =>
          new Promise((resolve) => {
            const opened = new WebSocket(url.replace('http', 'ws') + path)
            opened.onopen = () => opened.send(JSON.stringify({ id: 1, method: 'sessions.list' }))
            opened.onmessage = ({ data }) => {
              if (String(data).includes('sessions')) resolve('answered')
            }
            opened.onclose = opened.onerror = () => resolve('refused')
          })
        const body = JSON.stringify({ role: 'user', parts: [{ type: 'text', text: 'say I was here' }] })
        return {
          read: await attempt('/v1/sessions', {}),
          write: await attempt(`/v1/sessions/${id}/messages`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          }),
          simple: await attempt(`/v1/sessions/${id}/messages`, {
            method: 'POST',
            mode: 'no-cors',
            headers: { 'content-type': 'text/plain' },
            body,
          }),
          events: await attempt('/v1/events', {}),
          ide: await socket('/ws'),
          gateway: await socket('/gateway'),
        }
      },
      { url: daemon.url, id },
    )
    expect(outcome).toEqual({
      read: 'refused',
      write: 'refused',
      simple: 'refused',
      events: 'refused',
      ide: 'refused',
      gateway: 'refused',
    })
    const { messages } = await daemon.api<{ messages: unknown[] }>('GET', `/v1/sessions/${id}/messages`)
    expect(messages).toEqual([])

    await page.setContent(`<iframe src="${daemon.url}/"></iframe>`)
    const frame = page.frames().find((each) => each !== page.mainFrame())
    expect(
      await frame
        ?.locator('nav')
        .count()
        .catch(() => 0),
    ).toBe(0)
    await expect.poll(() => consoleErrors.join()).toContain('frame-ancestors')
    consoleErrors.length = 0
  })

test('the page is served with a strict policy, and keeps no secret where scripts can read it', async ({
  daemon,
  page,
}) => {
  const answer = await page.goto(await daemon.invitation())
  const headers = answer?.headers() ?? {}
  expect(headers['content-security-policy']).toContain("default-src 'self'")
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(headers['content-security-policy']).not.toContain('unsafe')
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers['referrer-policy']).toBe('no-referrer')
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeVisible()
  const kept = await page.evaluate(
    () => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href,
  )
  expect(kept).not.toContain(daemon.token)
  expect(kept).not.toContain('code=')
  expect(await page.evaluate(() => document.cookie)).toBe('')
})

test('nothing is fetched from anywhere else', async ({ daemon, page }) => {
  const elsewhere: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(daemon.url) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url())
  })
  daemon.model.next({
    text: '![a picture](https://example.com/a.png) and <img src="https://example.com/b.png"> and [a link](javascript:alert(1))',
  })
  const id = await daemon.scripted()
  await enter(daemon, page, `/s/${id}`)
  await daemon.say(id, 'show me')
  await daemon.idle(id)
  await expect(page.getByTestId('session')).toContainText('a picture')
  for (const screen of ['dashboard', 'settings', 'approvals']) await page.goto(`${daemon.url}/${screen}`)
  expect(elsewhere).toEqual([])
})
