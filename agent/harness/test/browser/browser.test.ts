/**
 * The browser of a session: its tools, what it never reaches, who controls it, and which secrets stay hidden.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import type { LiveSocket } from '../../src/capabilities/browser/viewer.ts'
import { type BrowserStage, openStage, SECRETS } from './stage.ts'

const CANARY = 'human-typed-canary-77'
const LOGIN = `<title>Login</title><h1>Sign in</h1><form method=post action=/in>
  <label>User <input name=user value=bob></label>
  <label>Password <input type=password name=pw></label>
  <label>Code <input name=otp autocomplete=one-time-code></label><button>Go</button></form>`

let stage: BrowserStage

beforeAll(async () => {
  stage = await openStage((request, response) => {
    const html = (text: string): void =>
      void response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'sid=1' }).end(text)
    const path = request.url ?? ''
    const to = /^\/to\?(.*)$/.exec(path)?.[1]
    if (to !== undefined) return void response.writeHead(302, { location: decodeURIComponent(to) }).end()
    if (path === '/in') {
      let body = ''
      request.on('data', (data: Buffer) => (body += data.toString()))
      request.on('end', () => html(`<title>Home</title><h1>Welcome</h1><p>You sent ${body}</p>`))
      return
    }
    if (path === '/file') {
      response.writeHead(200, {
        'content-type': 'text/plain',
        'content-disposition': 'attachment; filename="..\\\\..%2F.report.txt"',
      })
      return void response.end('the report')
    }
    if (path === '/later')
      return html(
        `<title>Later</title><p style="height: 3000px">
          <button onclick="document.title = 'pressed'">Later</button>
          <div id=cover style="position: fixed; inset: 0"></div>
          <script>looked = new Promise(r => addEventListener('scroll', () => r(), { once: true }))</script>`,
      )
    if (path === '/offers')
      return html(
        `<title>Shop</title><h1>Shop</h1><script>
          const tool = { name: 'wire_money', description: 'Sends it.', inputSchema: '{}' }
          const modelContext = { getTools: async () => { document.title = 'asked'; return [tool] } }
          Object.defineProperty(document, 'modelContext', { value: modelContext })</script>`,
      )
    if (path === '/attack') return html('<title>Attack</title><h1>Attack</h1>')
    if (path === '/upload')
      return html(
        '<title>Up</title><input type=file id=f><p id=o></p><script>f.onchange=' +
          'async () => { o.textContent = f.files[0].name + " " + await f.files[0].text() }</script>',
      )
    html(LOGIN)
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

const types = async () =>
  (await stage.events()).map(({ type }) => type).filter(type => type.startsWith('browser.'))
const refOf = (page: unknown, name: string): string =>
  new RegExp(`"${name}"[^\\n]*\\[ref=(\\w+)\\]`).exec(String(page))?.[1] ?? ''

test('the first call launches the browser and returns the snapshot with browser.provisioned', async () => {
  const { page } = await stage.call('browser_navigate', { url: stage.site })
  expect(page).toContain('heading "Sign in"')
  expect(page).not.toContain('Ran Playwright code')
  expect(await types()).toEqual(['browser.provisioned'])
  // Pages of the browser itself are no tabs.
  expect(stage.browsers.held(stage.session_id)!.launched.context.pages()).toHaveLength(1)
  expect(await stage.store.browsers.browser(stage.session_id)).toMatchObject({
    worker_id: 'worker',
    holder: null,
  })
})

test('types a secret of the operator only on its own site, and never returns it', async () => {
  const { page } = await stage.call('browser_snapshot')
  const typed = await stage.call('browser_type', { target: refOf(page, 'Password'), text: '{{secret:crm}}' })
  expect(JSON.stringify(typed)).not.toContain(SECRETS.crm.value)
  const shown = await stage.call('browser_snapshot')
  expect(shown['page']).toContain('[hidden]')
  expect(JSON.stringify(shown)).not.toContain(SECRETS.crm.value)
  const other = await stage.call('browser_type', { target: refOf(page, 'Password'), text: '{{secret:none}}' })
  expect(other['error']).toContain("unknown secret 'none'")
})

/** The page makes each attempt itself, and the test's server reports what arrived. */
const ATTACKS: Readonly<Record<string, (port: string) => string>> = {
  'this machine, by fetch': port => `fetch('http://127.0.0.1:${port}/hit', { mode: 'no-cors' })`,
  'this machine by name': port => `fetch('http://localhost:${port}/hit', { mode: 'no-cors' })`,
  'an octal address': port => `fetch('http://0177.0.0.1:${port}/hit', { mode: 'no-cors' })`,
  'a decimal address': port => `fetch('http://2130706433:${port}/hit', { mode: 'no-cors' })`,
  'a mapped address': port => `fetch('http://[::ffff:127.0.0.1]:${port}/hit', { mode: 'no-cors' })`,
  'a name that leads inside': port => `fetch('http://inside.test:${port}/hit', { mode: 'no-cors' })`,
  'the metadata address': () => `fetch('http://169.254.169.254/latest/', { mode: 'no-cors' })`,
  'the metadata address by a name': () => `fetch('http://metadata.test/latest/', { mode: 'no-cors' })`,
  'a frame': port =>
    `new Promise(r => { const f = document.createElement('iframe'); f.onload = r; ` +
    `f.src = 'http://127.0.0.1:${port}/hit'; document.body.append(f) })`,
  'a picture': port =>
    `new Promise(r => { const i = new Image(); i.onload = i.onerror = r; ` +
    `i.src = 'http://127.0.0.1:${port}/hit' })`,
  'a WebSocket': port =>
    `new Promise(r => { const s = new WebSocket('ws://127.0.0.1:${port}/hit'); ` +
    `s.onopen = s.onerror = s.onclose = r })`,
  'a redirect': port =>
    `fetch('/to?' + encodeURIComponent('http://127.0.0.1:${port}/hit'), { mode: 'no-cors' })`,
  'a form': port =>
    `new Promise(r => { const f = document.createElement('form'); f.method = 'post'; ` +
    `f.target = 'frame'; f.action = 'http://127.0.0.1:${port}/hit'; ` +
    `const t = document.createElement('iframe'); ` +
    `t.name = 'frame'; t.onload = r; document.body.append(t, f); f.submit(); setTimeout(r, 1000) })`,
  'a beacon': port => `Promise.resolve(navigator.sendBeacon('http://127.0.0.1:${port}/hit'))`,
  WebRTC: port =>
    `new Promise(r => { const p = new RTCPeerConnection({ iceServers: [{ urls: ` +
    `'stun:127.0.0.1:${port}' }] }); p.createDataChannel('x'); p.createOffer().then(o => ` +
    `p.setLocalDescription(o)); setTimeout(r, 500) })`,
}

/** Promise 11.9: A page in the browser reaches no private address. */
test.each(Object.entries(ATTACKS))('a page in the browser does not reach %s', async (what, attempt) => {
  await stage.call('browser_navigate', { url: `${stage.site}/attack` })
  stage.seen.length = 0
  const port = new URL(stage.site).port
  await stage.call('browser_evaluate', {
    function:
      `async () => { await Promise.race([(${attempt(port)}).catch(() => {}), ` +
      'new Promise(r => setTimeout(r, 3000))]) }',
  })
  const hits = stage.seen.filter(line => line.includes('/hit'))
  tally(`the browser: ${what}`, 1, hits.length)
  expect(hits).toEqual([])
})

test.each(['file:///etc/passwd', 'chrome://version', 'view-source:http://site.test/', 'http://127.0.0.1:1/'])(
  'the browser does not open %s',
  async url => {
    const said = JSON.stringify(await stage.call('browser_navigate', { url }))
    expect(said).not.toMatch(/root:x|Command Line|Sign in/)
  },
)

test('reports refused requests with the reason', async () => {
  const { network_refused } = await stage.call('browser_navigate', { url: stage.site })
  expect(network_refused).toContainEqual(expect.stringContaining('is not public'))
})

test('ignores tools that a page offers, and shows none', async () => {
  await stage.call('browser_navigate', { url: `${stage.site}/offers` })
  const { page } = await stage.call('browser_snapshot')
  expect(page).toContain('heading "Shop"')
  expect(page).toContain('Page Title: Shop')
  expect(page).not.toContain('wire_money')
})

test('uploads a file of the workspace, saves a download under a safe name, and uploads nothing from outside', async () => {
  const { workspace } = stage.context
  mkdirSync(join(workspace, 'docs'))
  writeFileSync(join(workspace, 'docs', 'plan.txt'), 'the plan')
  await stage.call('browser_navigate', { url: `${stage.site}/upload` })
  const { page } = await stage.call('browser_snapshot')
  await stage.call('browser_click', {
    target: /button "Choose File"[^\n]*\[ref=(\w+)\]/.exec(String(page))?.[1] ?? '',
  })
  await stage.call('browser_file_upload', { paths: ['docs/plan.txt'] })
  expect((await stage.call('browser_wait_for', { text: 'the plan' }))['error']).toBeUndefined()
  const outside = await stage.call('browser_file_upload', { paths: ['/etc/passwd'] })
  expect(outside['error']).toBeDefined()

  await stage.call('browser_evaluate', { function: `() => { location.href = '/file' }` })
  await expect
    .poll(async () => {
      await stage.call('browser_snapshot')
      return existsSync(join(workspace, 'downloads'))
    })
    .toBe(true)
  const { readdirSync } = await import('node:fs')
  const [name = ''] = readdirSync(join(workspace, 'downloads'))
  expect(name).not.toMatch(/^\.|\/|\\/)
  expect(readFileSync(join(workspace, 'downloads', name), 'utf8')).toBe('the report')
})

/** Promise 14.19: A cancelled browser call has no later effect on the page. */
test('a cancelled call has no later effect on the page', async () => {
  await stage.call('browser_navigate', { url: `${stage.site}/later` })
  const { page } = await stage.call('browser_snapshot')
  const browser = stage.browsers.held(stage.session_id)!
  const shown = browser.launched.context.pages().find(each => each.url().endsWith('/later'))!
  const stop = new AbortController()
  // Something covers the button, so the call scrolls to it and waits for up to ten seconds.
  const waits = browser.call('browser_click', { target: refOf(page, 'Later') }, stop.signal)
  await shown.evaluate('looked')
  stop.abort(new Error('it is over'))
  await expect(waits).rejects.toThrow('it is over')
  // Longer than any delay of Playwright between its tries.
  const title = await shown.evaluate(
    '(async () => { cover.remove(); ' +
      'for (let frame = 0; frame < 120; frame += 1) await new Promise(requestAnimationFrame); ' +
      'return document.title })()',
  )
  expect(title).toBe('Later')
})

test('the live view shows the tab that the agent is in, not the newest one', async () => {
  await stage.call('browser_navigate', { url: `${stage.site}/attack` })
  await stage.call('browser_tabs', { action: 'new', url: `${stage.site}/upload` })
  await stage.call('browser_tabs', { action: 'select', index: 0 })
  const view = async () => (await stage.live.view(stage.session_id)).title
  expect(await view()).toBe('Attack')
  // A page that opens another does not take the agent with it.
  await stage.call('browser_evaluate', { function: "() => { open('/upload') }" })
  await expect.poll(view).toBe('Attack')
  await stage.call('browser_tabs', { action: 'select', index: 1 })
  await expect.poll(view).toBe('Up')
  for (const index of [2, 1]) await stage.call('browser_tabs', { action: 'close', index })
})

test('a browser has at most eight tabs', async () => {
  await stage.call('browser_navigate', { url: stage.site })
  const { context } = stage.browsers.held(stage.session_id)!.launched
  for (let at = 0; at < 12; at += 1) await stage.call('browser_tabs', { action: 'new' })
  await expect.poll(() => context.pages().length).toBe(8)
  for (const page of context.pages().slice(1)) await page.close()
})

test('saves a page as PDF in the workspace', async () => {
  await stage.call('browser_navigate', { url: stage.site })
  const { files } = await stage.call('browser_pdf_save')
  expect(files).toEqual([expect.stringMatching(/^downloads\/.*\.pdf$/)])
  const [path = ''] = files as string[]
  expect(readFileSync(join(stage.context.workspace, path)).subarray(0, 4).toString()).toBe('%PDF')
})

test('saves a screenshot in the workspace', async () => {
  const { files } = await stage.call('browser_take_screenshot')
  expect(files).toEqual([expect.stringMatching(/^screenshots\/.*\.png$/)])
  const [path = ''] = files as string[]
  expect(readFileSync(join(stage.context.workspace, path)).subarray(1, 4).toString()).toBe('PNG')
})

function fakeSocket() {
  const said: Record<string, unknown>[] = []
  let frames = 0
  let listener: (text: string) => void = () => {}
  const face: LiveSocket = {
    send: data => {
      if (typeof data === 'string') said.push(JSON.parse(data) as Record<string, unknown>)
      else {
        frames += 1
        listener(JSON.stringify({ t: 'ack', seq: data.readUInt32BE(0) }))
      }
    },
    close: () => {},
    onMessage: heard => (listener = heard),
    onClose: () => {},
  }
  return { face, said, frames: () => frames, say: (message: object) => listener(JSON.stringify(message)) }
}

/** Promise 14.19, 11.5: No agent reads and no store contains what a person types in the browser. */
test('a person takes control, types a secret and returns it, and the agent never reads the secret', async () => {
  const { live, session_id } = stage
  await stage.call('browser_navigate', { url: stage.site })
  const bob = { id: 'user-bob', admin: false }
  const alice = { id: 'user-alice', admin: false }
  // A page left by an earlier test must not be the one that the person sees here.
  const { context } = stage.browsers.held(session_id)!.launched
  for (const other of context.pages()) if (!other.url().startsWith(stage.site)) await other.close()
  const socket = fakeSocket()
  await live.attach(session_id, socket.face, alice)
  socket.say({ t: 'paste', text: 'not heard' })
  expect(await live.acquire(session_id, alice, false, null)).toMatchObject({ outcome: 'granted' })
  expect(await live.acquire(session_id, alice, false, null)).toMatchObject({ outcome: 'refreshed' })
  await expect(live.acquire(session_id, bob, false, null)).rejects.toMatchObject({ code: 'control_held' })
  await expect(live.release(session_id, bob)).rejects.toMatchObject({ code: 'no_control' })
  expect(await stage.call('browser_snapshot')).toMatchObject({ code: 'browser_user_control' })
  expect(await live.picture(session_id, 'user-bob')).toBeNull()

  const { browser_id, tabs } = await live.view(session_id)
  expect(tabs).toEqual([expect.objectContaining({ front: true })])
  const page = stage.browsers.held(session_id)?.launched.context.pages()[0]
  const box = await page?.locator('[type=password]').boundingBox()
  const at = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 8 }
  for (const kind of ['down', 'up']) socket.say({ t: 'mouse', kind, ...at, button: 'left' })
  for (const text of CANARY) {
    socket.say({ t: 'key', kind: 'down', key: text, text })
    socket.say({ t: 'key', kind: 'up', key: text })
  }
  socket.say({ t: 'key', kind: 'down', key: 'Enter', code: 'Enter' })
  // The site echoes what it received, which is the worst case.
  await expect
    .poll(() =>
      page
        ?.locator('p')
        .textContent()
        .catch(() => ''),
    )
    .toContain(CANARY)
  await expect.poll(() => socket.frames()).toBeGreaterThan(0)
  expect(await live.release(session_id, alice)).toMatchObject({ outcome: 'released' })

  const after = await stage.call('browser_snapshot')
  expect(after['page']).toContain('Welcome')
  expect(after['page']).toContain('[hidden]')
  expect((await live.view(session_id)).browser_id).toBe(browser_id)
  const told = JSON.stringify([
    after,
    await stage.call('browser_network_requests', { static: false }),
    await stage.call('browser_console_messages', { level: 'debug' }),
    await stage.call('browser_evaluate', { function: '() => document.body.innerHTML' }),
    await live.view(session_id),
    socket.said,
  ])
  for (const canary of [CANARY, SECRETS.crm.value, 'not heard'])
    expect(told + (await stage.text())).not.toContain(canary)
  const events = await stage.events()
  expect(events.find(({ type }) => type === 'browser.control_returned')?.data).toMatchObject({
    released_by: 'user-alice',
    reason: 'returned',
    browser_id,
    origins: [stage.site],
    inputs: 2 + 2 * CANARY.length + 1,
  })
  expect(await types()).toEqual([
    'browser.provisioned',
    'browser.control_granted',
    'browser.control_returned',
  ])
})

/** Promise 14.19: When a browser is destroyed while a person drives it, their control ends first. */
test('destroying a browser under control of a person ends the control first, with one event each', async () => {
  const { live, session_id } = stage
  await live.acquire(session_id, { id: 'user-alice', admin: false }, false, null)
  await live.destroy(session_id)
  expect((await types()).slice(-3)).toEqual([
    'browser.control_granted',
    'browser.control_returned',
    'browser.destroyed',
  ])
  await expect(live.view(session_id)).rejects.toMatchObject({ code: 'no_browser' })
})

test('the next call relaunches the browser with the earlier cookies, and reports the restart', async () => {
  const again = await stage.call('browser_navigate', { url: stage.site })
  expect(again['browser']).toBe('The browser was restarted; forms are empty.')
  const cookies = await stage.browsers.held(stage.session_id)?.launched.context.cookies()
  expect(cookies?.map(({ name }) => name)).toContain('sid')
  expect((await types()).at(-1)).toBe('browser.provisioned')
})

test('records a browser that dies as crashed, and one that the agent closes as closed', async () => {
  await stage.browsers.held(stage.session_id)?.launched.kill()
  await expect.poll(async () => (await stage.events()).at(-1)?.data).toMatchObject({ reason: 'crashed' })
  await stage.call('browser_navigate', { url: stage.site })
  await stage.call('browser_close')
  expect((await stage.events()).at(-1)?.data).toMatchObject({ reason: 'closed' })
  const all = await types()
  expect(all.filter(type => type === 'browser.provisioned')).toHaveLength(3)
  expect(all.filter(type => type === 'browser.destroyed')).toHaveLength(3)
})
