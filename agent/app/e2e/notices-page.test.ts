/** A person turns notices on in the page; what waits comes to their webhook, whatever is killed in between. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { createLooks } from './axe-look.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const ask = {
  name: 'ask_user_question',
  arguments: { questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }] },
}
const scenario = { rules: [{ when: { user: 'ask' }, answer: { tool_calls: [ask] } }] }

type Called = { id: string; signature: Record<string, string>; raw: string }
/** Takes calls, and answers 503 while it is told to. */
async function startReceiver() {
  const calls: Called[] = []
  let status = 204
  const server = createServer((req, res) => {
    let raw = ''
    req.on('data', (chunk: Buffer) => {
      raw += chunk.toString()
    })
    req.on('end', () => {
      const signature = req.headers as Record<string, string>
      calls.push({ id: String(signature['webhook-id']), signature, raw })
      res.writeHead(status).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return {
    calls,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mine`,
    refuse: (isRefusing: boolean) => void (status = isRefusing ? 503 : 204),
  }
}

test('a person turns the webhook on, reads its secret once, and is called, also after the service was killed', async () => {
  const receiver = await startReceiver()
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
  const { look, found } = createLooks(page, server.url)
  await page.goto(server.loginUrl)
  await page.waitForURL('**/sessions')
  await page.getByTestId('account').click()
  await page.getByTestId('open-notices').click()
  await page.getByTestId('notices-input_required').check()
  await page.getByLabel('When it is still open').selectOption('0')

  await page.getByTestId('webhook-address').fill('https://10.0.0.1/hook')
  await page.getByTestId('webhook-set').click()
  await page.getByText('not a public one').waitFor()
  troubles.length = 0
  await page.getByTestId('webhook-address').fill(receiver.url)
  await page.getByTestId('webhook-set').click()
  const secret = (await page.getByTestId('shown-once').locator('code').textContent()) ?? ''
  expect(secret).toMatch(/^whsec_/)
  await page.getByTestId('test-webhook').click()
  await page.locator('[data-testid="notice"][data-state="sent"]').waitFor()
  await look('notices with a secret')
  await page.reload()
  await page.getByTestId('webhook-url').waitFor()
  expect(await page.content(), 'shown once').not.toContain(secret)

  receiver.refuse(true)
  const id = await newSession(server.client)
  await say(server.client, id, 'ask me')
  const { data } = await waitFor(server.client, id, 0, isType('inbox.input_required'))
  await page.locator('[data-testid="notice"]', { hasText: 'the webhook answered 503' }).waitFor()
  await takePictures(page, 'notices')
  await look('notices')
  await server.kill()
  receiver.refuse(false)
  const again = await startServer(place)
  const told = () =>
    receiver.calls.map(({ id, signature, raw }) => ({
      id,
      body: new Webhook(secret).verify(raw, signature) as { type: string; data: Record<string, unknown> },
    }))
  const ofItem = () => told().filter(({ body }) => body.type === 'inbox.item_raised')
  const isSent = async () => (await again.client.call('getNotices')).recent[0]?.state
  await expect.poll(isSent, { timeout: PATIENCE_MS }).toBe('sent')
  expect(new Set(ofItem().map(({ id }) => id)).size).toBe(1)
  expect(ofItem().at(-1)?.body.data).toEqual({
    item_id: expect.any(String) as string,
    kind: 'input_required',
    title: expect.stringContaining('Which colour?') as string,
    agent: 'assistant',
    session_id: id,
    session_title: 'ask me',
    url: `https://cairn.example.org/sessions/${id}`,
  })
  expect(data.tool_call_id, 'the rest of the item stays here').not.toBe('')
  expect(found, found.join('\n')).toEqual([])
  expect(troubles.filter(text => !/ERR_CONNECTION|Failed to load|503/.test(text))).toEqual([])
})
