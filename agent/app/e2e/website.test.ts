/** The website widget on a page of another site, in a real Chromium. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import axe, { type AxeResults } from 'axe-core'
import type { Frame, Page } from 'playwright-core'
import { ROUTES, type Route } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser, PHONE, takePictures } from './browser.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const SCENARIO = {
  rules: [
    {
      name: 'ask',
      when: { user: '^choose$' },
      steps: [
        {
          tool_calls: [
            {
              name: 'ask_user_question',
              arguments: {
                questions: [{ prompt: 'Which colour?', choices: [{ label: 'Red' }, { label: 'Blue' }] }],
              },
            },
          ],
        },
        { text: 'So be it.' },
      ],
    },
    { name: 'slow', when: { user: '^slow$' }, answer: { text: 'slowly '.repeat(4), hang: true } },
    {
      name: 'rich',
      when: { user: '^rich$' },
      answer: {
        text: [
          'A **list**:\n\n- one\n- [two](https://example.org)',
          '```js\nlet x = "<img src=x onerror=alert(1)>"\n```',
        ].join('\n\n'),
      },
    },
    { name: 'echo', when: { user: '^(.*)$' }, answer: { text: 'echo {{user.1}}' } },
  ],
}

/**
 * A page of a shop on a different site than the service, with styles that would break any element they apply
 * to.
 */
async function openShop(widget: () => string): Promise<string> {
  const server = createServer((_req, res) =>
    res.setHeader('content-type', 'text/html').end(
      `<!doctype html><html lang="en"><title>Shop</title><style>* { color: #600 !important; font-size: 9px }
      button { display: none }</style><main><h1>Shop</h1><p>Goods.</p></main>${widget()}</html>`,
    ),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())))
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

const widgetOf = ({ url }: RunningService, key: string): string =>
  `<script async src="${url}/v1/website/widget.js" data-key="${key}"></script>`

async function start(
  require_confirm: boolean,
): Promise<{ server: RunningService; shop: string; key: string }> {
  let script = ''
  const shop = await openShop(() => script)
  const place = makePlace({
    scenario: SCENARIO,
    config: {
      agents: { greeter: { tools: ['ask_user_question'] } },
      disclosure: { level: 'enhanced', operator: 'Example Ltd', human_contact: 'help@example.org' },
      channels: {
        site: { platform: 'website', origins: [shop], access: 'open', agent: 'greeter', require_confirm },
      },
    },
  })
  const server = await startService(place)
  const { channels } = await server.client.call('listChannels', {})
  const key = `cairn_wk_${channels[0]!.id}`
  script = widgetOf(server, key)
  return { server, shop, key }
}

/**
 * The axe violations of a document. The frame's policy allows no scripts, so axe is injected from outside.
 */
async function violationsIn(part: Page | Frame): Promise<unknown[]> {
  await part.evaluate(axe.source)
  const { violations } = await part.evaluate<AxeResults>('axe.run(document, { iframes: false })')
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
}

async function openWidget(page: Page): Promise<Frame> {
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const frame = await (await page.waitForSelector('iframe')).contentFrame()
  if (frame === null) throw new Error('the widget has no frame')
  return frame
}

/** Promise 15.7: The widget works by keyboard, on a phone and on another site's page. */
test(
  'a visitor of another site chats by keyboard, and the widget has no axe violation',
  { timeout: 3 * PATIENCE_MS },
  async () => {
    const { server, shop } = await start(true)
    const browser = await openBrowser()
    const page = await browser.newPage({ viewport: { width: 1000, height: 800 }, reducedMotion: 'reduce' })
    page.setDefaultTimeout(PATIENCE_MS)
    const troubles: string[] = []
    page.on('pageerror', error => troubles.push(String(error)))
    page.on('console', message => message.type() === 'error' && troubles.push(message.text()))
    let loaded = 0
    page.on('response', async response => {
      if (response.url().startsWith(server.url))
        loaded += (await response.body().catch(() => Buffer.alloc(0))).length
    })
    await page.goto(shop)
    await page.getByRole('button', { name: 'Open chat' }).waitFor()
    expect(loaded).toBeLessThanOrEqual(20_000)
    expect(loaded).toBeGreaterThan(0)

    const frame = await openWidget(page)
    await frame.getByText('an AI system run by Example Ltd').first().waitFor()
    const field = frame.getByRole('textbox', { name: 'Your message' })
    expect(await field.isDisabled()).toBe(true)
    await expect.poll(() => frame.evaluate('document.activeElement?.id')).toBe('accept')
    await page.keyboard.press('Enter')
    await expect.poll(() => frame.evaluate('document.activeElement?.id')).toBe('text')

    await page.keyboard.type('hello')
    await page.keyboard.press('Enter')
    await frame.getByText('echo hello').waitFor()
    await page.keyboard.type('rich')
    await page.keyboard.press('Enter')
    await frame.getByRole('link', { name: 'two' }).waitFor()
    await page.keyboard.type('choose')
    await page.keyboard.press('Enter')
    await frame.getByRole('group', { name: 'Which colour?' }).waitFor()
    await takePictures(page, 'widget', () => field.focus())
    await frame.getByRole('button', { name: 'Blue' }).focus()
    await page.keyboard.press('Enter')
    await frame.locator('.item.mine', { hasText: 'Blue' }).waitFor()
    await frame.getByText('So be it.').waitFor()
    const stop = frame.getByRole('button', { name: 'Stop' })
    await stop.waitFor({ state: 'hidden' })

    // The stop must not overtake the message that was typed just before it, however slow that one is.
    const isTyped = Promise.withResolvers<void>()
    await page.route('**/messages', async route => {
      await isTyped.promise
      await route.continue()
    })
    await field.focus()
    await page.keyboard.type('slow')
    await page.keyboard.press('Enter')
    await page.keyboard.type('/stop')
    await page.keyboard.press('Enter')
    isTyped.resolve()
    await frame.getByText('Stopped.').waitFor()

    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const viewport of [{ width: 1000, height: 800 }, PHONE]) {
        await page.setViewportSize(viewport)
        for (const part of [page, frame]) expect(await violationsIn(part)).toEqual([])
        expect(await frame.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      }
    }
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('iframe').isHidden()).toBe(true)

    // The same browser returns to its conversation.
    await page.reload()
    const again = await openWidget(page)
    await again.getByText('echo hello').waitFor()
    expect(troubles).toEqual([])
    const { sessions } = await server.client.call('listSessions', {})
    expect(sessions).toMatchObject([{ channel: 'website', agent: 'greeter' }])
    const log = await readLog(server.client, sessions[0]!.id)
    expect(log.slice(0, 3).map(({ type }) => type)).toEqual([
      'disclosure.presented',
      'disclosure.confirmed',
      'user.message',
    ])
    await page.close()
  },
)

/** Promise 15.7: A visitor's token gives access to no API route, and no unlisted site can embed the frame. */
test(
  'an unlisted site cannot embed the frame, and a visitor token gives access to no API route',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const { server, key } = await start(false)
    const thief = await openShop(() => widgetOf(server, key))
    const browser = await openBrowser()
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    const refused = page.waitForEvent('console', message => message.text().includes('frame-ancestors'))
    await page.goto(thief)
    await page.getByRole('button', { name: 'Open chat' }).click()
    await refused
    expect((await server.client.call('listSessions', {})).sessions).toEqual([])

    const begun = await fetch(`${server.url}/v1/website/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify({ key, no_cookies: true }),
    })
    const { session_id, token, csrf } = (await begun.json()) as Record<string, string>
    expect(begun.status).toBe(201)
    const cookie = `cairn_session=${token}; cairn_visitor=${token}`
    const opened: string[] = []
    for (const [name, route] of Object.entries(ROUTES as Record<string, Route>)) {
      if (route.access === 'public') continue
      const path = route.path.replace('{id}', session_id ?? '').replaceAll(/\{\w+\}/g, 'x')
      for (const prefix of route.alias ? ['/v1', '/v1/api'] : ['/v1'])
        for (const said of [
          { authorization: `Visitor ${token}` },
          { authorization: `Bearer ${token}` },
          { cookie },
        ]) {
          const { status } = await fetch(server.url + prefix + path, {
            method: route.method,
            headers: { ...said, 'x-cairn-csrf': said.cookie === undefined ? String(csrf) : '1' },
          })
          if (status !== 401) opened.push(`${name} ${prefix} ${JSON.stringify(Object.keys(said))} ${status}`)
        }
    }
    expect(opened).toEqual([])
  },
)
