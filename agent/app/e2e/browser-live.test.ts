/**
 * A login that only a person can do, in a real browser page. The agent reaches the login page and asks; the
 * person takes over, types a secret and returns; the same turn continues in the same browser. The secret
 * appears nowhere.
 */
import { once } from 'node:events'
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import axe from 'axe-core'
import { createScripted } from '@cairn/scripted-model/internal/provider'
import { RUN_ALL } from '@cairn/protocol/test/sample'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { cairn, makePlace, startServer } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const SECRET = 'canary-typed-by-a-person-93'
const POLL = { timeout: PATIENCE_MS }

async function startSite(): Promise<string> {
  const site = createServer((request, response) => {
    let body = ''
    request.on('data', (data: Buffer) => (body += data.toString()))
    request.on('end', () => {
      response.setHeader('content-type', 'text/html')
      if (request.url !== '/in') {
        response.end(
          '<title>Sign in</title><h1>Sign in</h1><form method=post action=/in><label>Password ' +
            '<input name=pw type=password autofocus></label><button>Go</button></form>',
        )
        return
      }
      const isRight = body.includes(SECRET)
      // The worst case: the site displays what it was sent.
      response.end(`<title>Home</title><h1>${isRight ? 'Welcome back' : 'Wrong'}</h1><p>${body}</p>`)
    })
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  onTestFinished(() => {
    site.closeAllConnections()
    site.close()
  })
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`
}

const call = (name: string, args: Record<string, unknown>) => ({ tool_calls: [{ name, arguments: args }] })
const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)

/** The content of every file below a folder, as one string. */
const textBelow = (folder: string): string =>
  readdirSync(folder)
    .map(name => {
      const path = join(folder, name)
      return statSync(path).isDirectory() ? textBelow(path) : readFileSync(path, 'latin1')
    })
    .join('\n')

/** The end of a file that is too large to read repeatedly. */
function lastBytes(path: string, count: number): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(count)
    const length = readSync(file, bytes, 0, count, Math.max(0, fstatSync(file).size - count))
    return bytes.toString('latin1', 0, length)
  } finally {
    closeSync(file)
  }
}

/**
 * Whether the process's heap contains the string after a garbage collection. V8 writes the snapshot on the
 * signal and closes the JSON last.
 */
async function heapHas(pid: number, folder: string, text: string): Promise<boolean> {
  process.kill(pid, 'SIGUSR2')
  const isWritten = (): boolean => {
    const [name] = readdirSync(folder)
    return name !== undefined && lastBytes(join(folder, name), 8).trimEnd().endsWith(']}')
  }
  await expect.poll(isWritten, { ...POLL, interval: 500 }).toBe(true)
  const has = readdirSync(folder).some(name => readFileSync(join(folder, name)).includes(text))
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
  return has
}

const findings = async (page: Page) => {
  await page.evaluate(axe.source)
  return page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(result => result.violations.map(v => v.id))',
  )
}

/** Promise 14.19: After a person logs in on a page, the same turn continues in the same browser. */
test('after a person takes over and types a secret, the turn continues and the secret appears nowhere', async () => {
  const site = await startSite()
  const scenario = {
    rules: [
      {
        when: { user: '^log in' },
        steps: [
          call('browser_navigate', { url: site }),
          call('browser_take_screenshot', {}),
          call('request_user_action', {
            title: 'Sign in',
            instructions: 'Type the password and press Go.',
            reason: 'Only you know it.',
            action_type: 'login',
            target: site,
          }),
        ],
      },
      {
        when: { user: 'says that this is done' },
        steps: [call('browser_snapshot', {}), { text: 'Signed in.' }],
      },
      { answer: { text: 'Hm.' } },
    ],
  }
  const egress = { internal: ['127.0.0.1'] }
  // The test's own model server, which records its requests.
  const model = await createScripted(scenario, { record: 100 })
  onTestFinished(() => model.close())
  const place = makePlace({
    config: {
      models: {
        default: 'test/scripted',
        providers: { test: { kind: 'openai', base_url: model.server.url } },
      },
      agents: { assistant: { governance: { egress } } },
    },
  })
  const dumps = join(place.dir, 'dumps')
  mkdirSync(dumps)
  const NODE_OPTIONS = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dumps}`
  const server = await startServer({ ...place, env: { ...place.env, NODE_OPTIONS } })
  const { client } = server
  const id = await newSession(client)
  await say(client, id, 'log in')
  await waitFor(client, id, 0, isType('inbox.action_required'))

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  await by(page, 'open-browser').click()
  await page.waitForURL(`**/sessions/${id}/browser`)
  await page.locator('[data-testid="live-picture"][data-drawn]').waitFor()
  expect(await by(page, 'browser-url').textContent()).toContain(site)
  expect(await by(page, 'browser-asked').textContent()).toContain('Type the password')
  expect(await findings(page)).toEqual([])

  await by(page, 'browser-take').click()
  await by(page, 'browser-return-done').waitFor()
  await waitFor(client, id, 0, isType('browser.control_granted'))
  const picture = page.locator('[data-testid="live-picture"][data-drives]')
  await picture.waitFor()
  const frame = await picture.boundingBox()
  if (frame === null) throw new Error('the picture has no place')
  // The position of the field in a page of 1280 by 800: the first line below the heading.
  await page.mouse.click(frame.x + (150 / 1280) * frame.width, frame.y + (80 / 800) * frame.height)
  await page.keyboard.type(SECRET)
  expect(await findings(page)).toEqual([])
  await takePictures(page, 'browser')
  await picture.focus()
  await page.keyboard.press('Enter')
  const view = () => client.call('getBrowser', { params: { id } })
  await expect.poll(async () => (await view()).title, POLL).toBe('Home')
  const { browser_id } = await view()
  await by(page, 'browser-return-done').click()
  await waitFor(client, id, 0, isType('browser.control_returned'))
  const done = await waitFor(client, id, 0, isType('session.complete'))
  const log = await readLog(client, id)
  expect(log.findLast(isType('llm.response'))?.data.message.content).toBe('Signed in.')
  const snapshot = log.findLast(isType('tool.result'))
  expect(snapshot?.data.content).toContain('Welcome back')
  expect(snapshot?.data.content).toContain('[hidden]')
  expect((await view()).browser_id).toBe(browser_id)
  expect(log.filter(({ type }) => type === 'browser.provisioned')).toHaveLength(1)
  expect(endsTurn(done)).toBe(true)

  // It is in no event, export, log line or file of the data directory, which includes the store.
  const exported = await cairn(place, ['export', id])
  for (const text of [JSON.stringify(log), exported.stdout, server.log(), textBelow(place.dataDir)])
    expect(text).not.toContain(SECRET)
  // It is not in the requests to the model either: before, during and after the login.
  expect(model.server.requests.length).toBeGreaterThan(2)
  expect(JSON.stringify(model.server.requests)).not.toContain(SECRET)
  // The service keeps the secret while the browser is open, to redact it, and drops it when the browser
  // closes. Writing the service's heap twice takes longer than the rest of this test.
  if (RUN_ALL) expect(await heapHas(server.pid, dumps, SECRET)).toBe(true)
  await client.call('destroyBrowser', { params: { id } })
  await waitFor(client, id, done.id, isType('browser.destroyed'))
  if (RUN_ALL) expect(await heapHas(server.pid, dumps, SECRET)).toBe(false)
  // The pages that the agent was on stay in view.
  await by(page, 'no-browser').waitFor()
  await by(page, 'visit').first().locator('img').waitFor()
  expect(await by(page, 'visit').locator('strong').allTextContents()).toEqual(['Sign in', 'Home'])
  expect(await findings(page)).toEqual([])
  await by(page, 'visit').first().click()
  await by(page, 'event-detail').getByText('browser_navigate').first().waitFor()
  expect(troubles.filter(trouble => !/ERR_|Failed to (load|fetch)|404|WebSocket/.test(trouble))).toEqual([])
})
