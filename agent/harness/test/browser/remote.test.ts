/** A remote browser, by its CDP address: the same tools, live view and control, with host names checked. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DISABLED_FEATURES } from '../../src/capabilities/browser/chromium.ts'
import { connectBrowser } from '../../src/capabilities/browser/remote.ts'
import { makeFolder } from '../tools/tool-context.ts'
import { type BrowserStage, chromiumHere, openStage, SECRETS } from './stage.ts'

let chromium: ChildProcess
/** Its page never loads: the browser's own tab, which others opened, waits for it. */
let stuck: Server
let stage: BrowserStage

beforeAll(async () => {
  stuck = createServer().listen(0, '127.0.0.1')
  await once(stuck, 'listening')
  const flags = [
    '--headless',
    '--no-sandbox',
    '--remote-debugging-port=0',
    `--disable-features=${DISABLED_FEATURES.join(',')}`,
    `--user-data-dir=${makeFolder('remote')}`,
    '--host-resolver-rules=MAP site.test 127.0.0.1, MAP denied.test 127.0.0.1',
    `http://127.0.0.1:${(stuck.address() as AddressInfo).port}/`,
  ]
  chromium = spawn(chromiumHere(), flags, { stdio: ['ignore', 'ignore', 'pipe'] })
  let address = ''
  for await (const line of createInterface({ input: chromium.stderr! })) {
    address = /^DevTools listening on (ws:.*)$/.exec(line)?.[1] ?? ''
    if (address !== '') break
  }
  // The loop paused the stream at its end, and a browser that fills the pipe stands still.
  chromium.stderr!.resume()
  stage = await openStage(
    (request, response) => {
      const to = /^\/to\/(.*)$/.exec(request.url ?? '')?.[1]
      if (to !== undefined) {
        const headers = { location: decodeURIComponent(to), 'access-control-allow-origin': '*' }
        return void response.writeHead(307, headers).end()
      }
      response.setHeader('content-type', 'text/html')
      response.end(
        request.url === '/upload'
          ? '<title>Up</title><input type=file id=f><p id=o></p><script>f.onchange=' +
              'async () => { o.textContent = f.files[0].name + " " + await f.files[0].text() }</script>'
          : '<title>Login</title><h1>Sign in</h1><label>Password <input type=password></label>',
      )
    },
    {},
    address,
  )
  stage.context.egress.deny.push('denied.test')
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  chromium.kill()
  await once(chromium, 'exit')
  stuck.close()
})

const refOf = (page: unknown, name: string): string =>
  new RegExp(`"${name}"[^\\n]*\\[ref=(\\w+)\\]`).exec(String(page))?.[1] ?? ''

test('a remote browser whose own tab never loads has the same tools, and its provider is named', async () => {
  const { page } = await stage.call('browser_navigate', { url: stage.site })
  expect(page).toContain('heading "Sign in"')
  const { files } = await stage.call('browser_take_screenshot')
  const [path = ''] = files as string[]
  expect(readFileSync(join(stage.context.workspace, path)).subarray(1, 4).toString()).toBe('PNG')
  expect((await stage.events()).find(({ type }) => type === 'browser.provisioned')?.data).toMatchObject({
    provider: 'cdp',
  })
})

/** The page makes each attempt; `PORT` is the port of the test's server. */
const ATTEMPTS = {
  'this machine': `fetch('http://127.0.0.1:PORT/hit', { mode: 'no-cors' })`,
  'an octal address': `fetch('http://0177.0.0.1:PORT/hit', { mode: 'no-cors' })`,
  'a mapped address': `fetch('http://[::ffff:127.0.0.1]:PORT/hit', { mode: 'no-cors' })`,
  'a host on the deny list': `fetch('http://denied.test:PORT/hit', { mode: 'no-cors' })`,
  'a frame':
    `new Promise(r => { const f = document.createElement('iframe'); f.onload = r; ` +
    `f.src = 'http://127.0.0.1:PORT/hit'; document.body.append(f) })`,
  'a redirect': `fetch('/to/' + encodeURIComponent('http://127.0.0.1:PORT/hit'), { mode: 'no-cors' })`,
  'a second redirect':
    `fetch('/to/' + encodeURIComponent('/to/' + encodeURIComponent('http://denied.test:PORT/hit')), ` +
    `{ mode: 'no-cors' })`,
  'a redirect that keeps a body':
    `fetch('/to/' + encodeURIComponent('http://127.0.0.1:PORT/hit'), ` +
    `{ method: 'POST', body: 'x', mode: 'no-cors' })`,
  'a frame that is redirected':
    `new Promise(r => { const f = document.createElement('iframe'); f.onload = r; ` +
    `f.src = '/to/' + encodeURIComponent('http://127.0.0.1:PORT/hit'); document.body.append(f) })`,
  'a worker that is redirected':
    `new Promise(r => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + location.origin + ` +
    `"/to/" + encodeURIComponent('http://127.0.0.1:PORT/hit') + "', { mode: 'no-cors' })` +
    `.finally(() => postMessage(1))"]))); w.onmessage = r })`,
  'a new page that is redirected': `new Promise(r => {
    open('/to/' + encodeURIComponent('http://127.0.0.1:PORT/hit'))
    setTimeout(r, 1500)
  })`,
  'a WebSocket':
    `new Promise(r => { const s = new WebSocket('ws://127.0.0.1:PORT/hit'); ` +
    's.onopen = s.onerror = s.onclose = r })',
} as const

/** Promise 11.9: A page in a remote browser requests no host that the policy refuses. */
test.each(Object.entries(ATTEMPTS))('a page in a remote browser does not reach %s', async (_, attempt) => {
  await stage.call('browser_navigate', { url: stage.site })
  stage.seen.length = 0
  const { port } = new URL(stage.site)
  await stage.call('browser_evaluate', {
    function: `async () => { await (${attempt.replaceAll('PORT', port)}).catch(() => {}) }`,
  })
  expect(stage.seen.filter(line => line.includes('/hit'))).toEqual([])
  const { network_refused } = await stage.call('browser_snapshot')
  expect(network_refused).toContainEqual(expect.stringMatching(/not public|deny list/))
})

test('uploads a file of the workspace to a remote browser', async () => {
  mkdirSync(join(stage.context.workspace, 'docs'))
  writeFileSync(join(stage.context.workspace, 'docs', 'plan.txt'), 'the plan')
  await stage.call('browser_navigate', { url: `${stage.site}/upload` })
  const { page } = await stage.call('browser_snapshot')
  await stage.call('browser_click', { target: refOf(page, 'Choose File') })
  await stage.call('browser_file_upload', { paths: ['docs/plan.txt'] })
  expect((await stage.call('browser_wait_for', { text: 'the plan' }))['error']).toBeUndefined()
})

test('a person controls a remote browser, and secrets stay hidden', async () => {
  const { live, session_id } = stage
  const alice = { id: 'user-alice', admin: false }
  const { page } = await stage.call('browser_navigate', { url: stage.site })
  await stage.call('browser_type', { target: refOf(page, 'Password'), text: '{{secret:crm}}' })
  await live.acquire(session_id, alice, false, null)
  expect(await stage.call('browser_snapshot')).toMatchObject({ code: 'browser_user_control' })
  expect((await live.picture(session_id, alice.id))?.subarray(0, 2).toString('hex')).toBe('ffd8')
  await live.release(session_id, alice)
  const shown = await stage.call('browser_snapshot')
  expect(shown['page']).toContain('[hidden]')
  expect(JSON.stringify(shown) + (await stage.text())).not.toContain(SECRETS.crm.value)
})

test('follows no redirect of the browser address, which contains a key', async () => {
  const asked: string[] = []
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const location = `http://127.0.0.1:${port}/elsewhere`
  server.on('request', ({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(302, { location }).end()
  })
  server.on('upgrade', ({ url = '' }, socket) => {
    asked.push(url)
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${location.replace('http', 'ws')}\r\n\r\n`)
  })
  const { egress } = stage.context
  for (const scheme of ['ws', 'http']) {
    const told = await connectBrowser({ url: `${scheme}://127.0.0.1:${port}/?token=the-key`, egress }).catch(
      String,
    )
    expect(told).toContain(`cannot reach the remote browser at 127.0.0.1:${port}`)
  }
  expect(asked).toEqual(['/?token=the-key', '/json/version/?token=the-key'])
  server.close()
})

test('records a lost browser as crashed, and never shows a key of its address', async () => {
  await stage.browsers.held(stage.session_id)?.launched.kill()
  await expect.poll(async () => (await stage.events()).at(-1)?.data).toMatchObject({ reason: 'crashed' })
  const { egress } = stage.context
  const told = await connectBrowser({ url: 'ws://127.0.0.1:9/?token=the-key', egress }).catch(String)
  expect(told).toContain('cannot reach the remote browser at 127.0.0.1:9')
  expect(told).not.toContain('the-key')
})
