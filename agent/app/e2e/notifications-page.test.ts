/** A person turns notifications on in the page. Their webhook receives them, also across a server crash. */
import { startHook } from '@cairn/channels/test/hook'
import { expect, onTestFinished, test } from 'vitest'
import { createLooks } from './axe-look.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { choose, picker } from './page-session.ts'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const ask = {
  name: 'ask_user_question',
  arguments: { questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }] },
}
const scenario = { rules: [{ when: { user: 'ask' }, answer: { tool_calls: [ask] } }] }

test('a person turns on the webhook, sees its secret once, and is notified, also after a service crash', async () => {
  const hook = await startHook()
  onTestFinished(hook.close)
  const place = makePlace({
    scenario,
    config: {
      public_url: 'https://cairn.example.org',
      notices: {
        egress: { internal: ['127.0.0.1'] },
        mail: { smtp: { host: '127.0.0.1', port: 1, security: 'none' }, from: 'cairn@example.org' },
      },
    },
  })
  const server = await startServer(place)
  const { page, troubles } = await openPage(await openBrowser())
  const { look, found } = createLooks(page, server.url, { oneIn: 3 })
  // The link has the public address, which this browser cannot reach.
  const { pathname, hash } = new URL(server.loginUrl)
  await page.goto(server.url + pathname + hash)
  await page.waitForURL(url => url.pathname === '/')
  await page.getByTestId('account').click()
  await page.getByTestId('open-notices').click()
  await page.getByTestId('notices-input_required').check()
  await choose(picker(page, 'If still open'), 'Immediately')

  await page.getByTestId('webhook-address').fill('https://10.0.0.1/hook')
  await page.getByTestId('webhook-set').click()
  await page.getByText('is not public').waitFor()
  troubles.length = 0
  await page.getByTestId('webhook-address').fill(hook.url)
  await page.getByTestId('webhook-set').click()
  const secret = (await page.getByTestId('shown-once').locator('code').textContent()) ?? ''
  expect(secret).toMatch(/^whsec_/)
  hook.trust(secret)
  await page.getByTestId('test-webhook').click()
  await page.locator('[data-testid="notice"][data-state="sent"]').waitFor()
  await look('notices with a secret')
  await page.reload()
  await page.getByTestId('webhook-url').waitFor()
  expect(await page.content(), 'shown once').not.toContain(secret)

  hook.replyAlways(503)
  const id = await newSession(server.client)
  await say(server.client, id, 'ask me')
  await waitFor(server.client, id, 0, isType('inbox.input_required'))
  await page.locator('[data-testid="notice"]', { hasText: 'the webhook returned 503' }).waitFor()
  await takePictures(page, 'notices')
  await look('notices')
  await server.kill()
  hook.replyAlways(204)
  const again = await startServer(place)
  const told = () =>
    hook.calls.flatMap(({ id, body }) => {
      const { type, data } = body as { type: string; data: Record<string, unknown> }
      return type === 'inbox.item_raised' ? [{ id, data }] : []
    })
  const isSent = async () => (await again.client.call('getNotices')).recent[0]?.state
  await expect.poll(isSent, { timeout: PATIENCE_MS }).toBe('sent')
  expect(new Set(told().map(({ id }) => id)).size).toBe(1)
  expect(told().at(-1)?.data).toEqual({
    item_id: expect.any(String) as string,
    kind: 'input_required',
    title: expect.stringContaining('Which colour?') as string,
    agent: 'assistant',
    session_id: id,
    session_title: 'ask me',
    url: `https://cairn.example.org/sessions/${id}`,
  })

  // A failed notification can be sent again from the page.
  hook.reply(410)
  await page.goto(`${again.url}/notices`)
  await page.getByTestId('test-webhook').click()
  await page.locator('[data-testid="notice"][data-state="dead"]').waitFor()
  await look('notices with one given up')
  await page.getByTestId('resend-notice').click()
  await expect.poll(isSent, { timeout: PATIENCE_MS }).toBe('sent')
  await page.locator('[data-testid="notice"][data-state="dead"]').waitFor({ state: 'detached' })
  expect(found, found.join('\n')).toEqual([])
  expect(troubles.filter(text => !/ERR_CONNECTION|Failed to load|503/.test(text))).toEqual([])
})
