/** Files in the widget, and an operator's own chat page on another origin, in a real Chromium. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import axe, { type AxeResults } from 'axe-core'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const POLL = { timeout: PATIENCE_MS }
const scenario = { rules: [{ when: { user: '^(.*)' }, answer: { text: 'echo {{user.1}}' } }] }

async function openPlain(page: () => string): Promise<string> {
  const server = createServer((_req, res) => res.setHeader('content-type', 'text/html').end(page()))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())))
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

async function startSite() {
  let script = ''
  const shop = await openPlain(
    () => `<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1></main>${script}</html>`,
  )
  const site = { platform: 'website', origins: [shop], access: 'open', agent: 'greeter' }
  const place = makePlace({ scenario, config: { agents: { greeter: { tools: [] } }, channels: { site } } })
  const server = await startService(place)
  const { channels } = await server.client.call('listChannels', {})
  const key = `cairn_wk_${channels[0]!.id}`
  script = `<script async src="${server.url}/v1/website/widget.js" data-key="${key}"></script>`
  return { shop, server, key }
}

test(
  'a visitor sends files with a message, removes one, and sees which one is too large',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const { shop, server } = await startSite()
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(shop)
    await page.getByRole('button', { name: 'Open chat' }).click()
    const frame = await (await page.waitForSelector('iframe')).contentFrame()
    if (frame === null) throw new Error('the widget has no frame')
    const files = frame.getByRole('listitem')
    const choose = (name: string, size: number): Promise<void> =>
      frame.locator('#file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'a') })
    await frame.getByRole('button', { name: 'Add files' }).waitFor()
    await expect.poll(() => frame.getByRole('button', { name: 'Add files' }).isEnabled(), POLL).toBe(true)
    await choose('notes.txt', 20)
    await choose('other.txt', 20)
    await expect.poll(() => files.count(), POLL).toBe(2)
    await choose('large.txt', 5 * 1024 * 1024)
    await frame.locator('#status.trouble').getByText('Not accepted').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await frame.evaluate(axe.source)
      const { violations } = await frame.evaluate<AxeResults>('axe.run(document, { iframes: false })')
      expect(violations.map(({ id }) => id)).toEqual([])
    }
    await frame.getByRole('button', { name: 'Remove: other.txt' }).press('Enter')
    await expect.poll(() => files.count(), POLL).toBe(1)
    await frame.getByRole('textbox', { name: 'Your message' }).fill('read this')
    await frame.getByRole('button', { name: 'Send' }).click()
    await frame.locator('.item.mine', { hasText: '+ notes.txt' }).waitFor()
    await frame.getByText('echo read this').waitFor()
    expect(await files.count()).toBe(0)
    const { sessions } = await server.client.call('listSessions', {})
    const said = (await readLog(server.client, sessions[0]!.id)).find(({ type }) => type === 'user.message')
    expect(said?.data).toMatchObject({
      content: 'read this',
      attachments: [{ filename: 'notes.txt', size: 20, path: expect.stringMatching(/^inbox\//) as string }],
    })
    expect(troubles.filter(trouble => !trouble.includes('413'))).toEqual([])
  },
)

/** Runs in a page: a conversation without a frame and without cookies. */
const CHAT = async ([url, key]: [string, string]): Promise<string> => {
  const post = (path: string, headers: Record<string, string>, body: unknown): Promise<Response> =>
    fetch(`${url}/v1/website/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  try {
    const begun = (await (await post('sessions', {}, { key, no_cookies: true })).json()) as {
      session_id: string
      csrf: string
      token: string
    }
    const mine = { authorization: `Visitor ${begun.token}`, 'x-cairn-csrf': begun.csrf }
    const blank = await post(`sessions/${begun.session_id}/messages`, mine, { content: ' ' })
    const refused = ((await blank.json()) as { code: string }).code
    const said = await post(`sessions/${begun.session_id}/messages`, mine, { content: 'hello' })
    return `${refused} ${said.status}`
  } catch (error) {
    return String(error)
  }
}

test(
  'a page of an allowed origin chats without a frame and reads errors; another origin cannot',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const { shop, server, key } = await startSite()
    const thief = await openPlain(() => '<!doctype html><html lang="en"><title>Thief</title></html>')
    const { page } = await openPage(await openBrowser())
    await page.goto(shop)
    expect(await page.evaluate(CHAT, [server.url, key] as [string, string])).toBe('invalid_body 202')
    await page.goto(thief)
    expect(await page.evaluate(CHAT, [server.url, key] as [string, string])).toContain('Failed to fetch')
    expect((await server.client.call('listSessions', {})).sessions).toHaveLength(1)
  },
)
