/**
 * Boxes and what goes on in them: an empty command, the proxy, and a browser, each beside what it costs in
 * processor time, which says more than the clock on a machine that is not quiet.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { GovernanceConfig, SandboxConfig } from '@cairn/protocol'
import { findChromium } from '../src/capabilities/browser/chromium.ts'
import { openSandboxedBrowser } from '../src/capabilities/browser/open-browser.ts'
import { createScreencast, type Frame } from '../src/capabilities/browser/screencast.ts'
import type { SessionBrowser } from '../src/capabilities/browser/session-browser.ts'
import { systemClock } from '@cairn/models/clock'
import {
  type SandboxProvider,
  chooseSandbox,
  type SandboxChoice,
  type PolicyProxy,
  COMMAND_PATH,
} from '@cairn/sandbox'

type Reading = { name: string; value: number; unit: string; aim?: string }

const COMMANDS = 40
const TUNNEL_BYTES = 2 ** 30
const LAUNCHES = 3
const SNAPSHOTS = 10
const NODES = 5000
const WATCH_MS = 4000
const INPUTS = 40
const { egress } = GovernanceConfig.parse({ egress: { internal: ['127.0.0.1'] } })

/** Throws where this machine has no boxes; without Chromium the part about browsers is left out. */
export async function benchSandboxes(directory: string): Promise<Reading[]> {
  const sandbox = await chooseSandbox({ config: SandboxConfig.parse({}), path: process.env['PATH'] })
  const dir = mkdtempSync(join(directory, 'cairn-bench-'))
  try {
    const { provider, proxy } = sandbox
    if (provider === null || proxy === null) throw new Error(sandbox.standing.summary)
    return [
      ...(await benchCommands(provider, null, dir)),
      ...(await benchCommands(provider, proxy, dir)),
      ...(await benchTunnel(proxy)),
      ...(await benchBrowser(sandbox, provider, proxy)),
    ]
  } finally {
    await sandbox.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0
const reading = (name: string, value: number, unit: string, aim?: string): Reading => ({
  name,
  value: Math.round(value * 10) / 10,
  unit,
  ...(aim === undefined ? {} : { aim }),
})

/** Milliseconds of the processor that this process and the children it has waited for used so far. */
function usedMs(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]) * 10, 0)
}

async function benchCommands(
  provider: SandboxProvider,
  proxy: PolicyProxy | null,
  workspace: string,
): Promise<Reading[]> {
  const times: number[] = []
  const began = usedMs()
  for (let at = 0; at < COMMANDS; at += 1) {
    const start = performance.now()
    const boxProxy = await proxy?.open({ id: 'bench', egress })
    const box = provider.open({
      id: 'bench',
      workspace,
      env: { PATH: COMMAND_PATH },
      network: boxProxy === undefined ? 'none' : { socket: boxProxy.socket },
      mayGrowFiles: true,
    })
    await box.spawn(['true']).exited
    await box.close()
    await boxProxy?.close()
    times.push(performance.now() - start)
  }
  const what = proxy === null ? 'an empty command in a box' : 'the same with the proxy'
  return [
    reading(`${what}, p50`, quantile(times, 0.5), 'ms', '≤ 30'),
    reading(`${what}, processor time`, (usedMs() - began) / COMMANDS, 'ms'),
  ]
}

/** Reads through CONNECT, as fast as it comes; a process of its own, as a box is. */
const READER = `
import { connect } from 'node:net'
const [socket, port, bytes] = process.argv.slice(1)
const client = connect(socket, () => client.write('CONNECT 127.0.0.1:' + port + ' HTTP/1.1\\r\\n\\r\\n'))
let seen = 0
client.on('data', chunk => {
  seen += chunk.length
  if (seen >= Number(bytes)) { console.log(seen); process.exit() }
})
`
const WRITER = `
import { createServer } from 'node:net'
const chunk = Buffer.alloc(1 << 20)
const server = createServer(socket => {
  const pour = () => { while (socket.write(chunk)); }
  socket.on('drain', pour).on('error', () => {})
  pour()
}).listen(0, '127.0.0.1', () => console.log(server.address().port))
`
const node = (script: string, ...args: string[]) =>
  spawn(process.execPath, ['--input-type=module', '-e', script, ...args])

async function benchTunnel(proxy: PolicyProxy): Promise<Reading[]> {
  const writer = node(WRITER)
  const [port] = (await once(writer.stdout, 'data')) as [Buffer]
  const boxProxy = await proxy.open({ id: 'bench', egress })
  const before = process.cpuUsage()
  const reader = node(READER, boxProxy.socket, String(port).trim(), String(TUNNEL_BYTES))
  await once(reader, 'spawn')
  const start = performance.now()
  await once(reader.stdout, 'data')
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  writer.kill()
  await boxProxy.close()
  return [
    reading('the proxy through CONNECT', TUNNEL_BYTES / 1e6 / seconds, 'MB/s', '≥ 500'),
    reading(
      'a gigabyte through it, processor time of the proxy',
      ((user + system) / 1000 / TUNNEL_BYTES) * 1e9,
      'ms',
    ),
  ]
}

const PAGES: Readonly<Record<string, string>> = {
  '/nodes': Array.from(
    { length: NODES / 5 },
    (_, at) => `<ul><li>${at}</li><li>b</li><li>c</li><li>d</li></ul>`,
  ).join(''),
  '/busy':
    '<canvas id=c width=1200 height=700></canvas><script>let n = 0; const x = c.getContext("2d");' +
    '(function draw() { x.fillStyle = `hsl(${n++ % 360} 80% 50%)`; ' +
    'x.fillRect(n * 7 % 1100, n * 3 % 600, 90, 90);' +
    'requestAnimationFrame(draw) })()</script>',
  '/still':
    '<body style="background:#fff"><script>let n = 0; onmousedown = () => ' +
    '{ document.body.style.background = n++ % 2 ? "#fff" : "#000" }</script>',
}

async function benchBrowser(
  { makeFolder }: SandboxChoice,
  provider: SandboxProvider,
  proxy: PolicyProxy,
): Promise<Reading[]> {
  const program = findChromium('chromium')
  if (program === null) return []
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(PAGES[request.url ?? ''] ?? '')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = openSandboxedBrowser({
    program,
    provider,
    proxy,
    makeFolder,
    config: { memory_mb: 1536 },
    secrets: new Map(),
    clock: systemClock,
  })
  const launches: number[] = []
  let browser: SessionBrowser | null = null
  try {
    for (let at = 0; at < LAUNCHES; at += 1) {
      await browser?.close()
      const start = performance.now()
      browser = await open({ id: 'bench', session_id: 'bench', egress })
      launches.push(performance.now() - start)
    }
    if (browser === null) return []
    return [
      reading('a browser launched, p50', quantile(launches, 0.5), 'ms', '≤ 2,000'),
      ...(await benchSnapshot(browser, site)),
      ...(await benchFrames(browser, site)),
    ]
  } finally {
    await browser?.close()
    server.closeAllConnections()
    server.close()
  }
}

async function benchSnapshot(browser: SessionBrowser, site: string): Promise<Reading[]> {
  const { signal } = new AbortController()
  await browser.call('browser_navigate', { url: `${site}/nodes` }, signal)
  const times: number[] = []
  for (let at = 0; at < SNAPSHOTS; at += 1) {
    const start = performance.now()
    await browser.call('browser_snapshot', {}, signal)
    times.push(performance.now() - start)
  }
  return [reading(`a snapshot of a page of ${NODES} nodes, p50`, quantile(times, 0.5), 'ms', '≤ 300')]
}

async function benchFrames(browser: SessionBrowser, site: string): Promise<Reading[]> {
  const { context } = browser.launched
  const screencast = createScreencast(context)
  const page = screencast.page()
  await page?.goto(`${site}/busy`)
  let frames = 0
  const waiting = new Set<(frame: Frame) => void>()
  const unwatch = screencast.watch({
    onFrame(frame) {
      frames += 1
      for (const tell of waiting) tell(frame)
      waiting.clear()
    },
    onTabs: () => {},
  })
  const next = () => new Promise<Frame>(resolve => waiting.add(resolve))
  await next()
  frames = 0
  await new Promise(resolve => setTimeout(resolve, WATCH_MS))
  const perSecond = (frames / WATCH_MS) * 1000
  await page?.goto(`${site}/still`)
  const session = await screencast.session()
  const times: number[] = []
  for (let at = 0; at < INPUTS; at += 1) {
    // The page is at rest, and so is the cast.
    await new Promise(resolve => setTimeout(resolve, 150))
    const start = performance.now()
    const drawn = next()
    for (const type of ['mousePressed', 'mouseReleased'] as const)
      await session.send('Input.dispatchMouseEvent', { type, x: 300, y: 300, button: 'left', clickCount: 1 })
    await drawn
    times.push(performance.now() - start)
  }
  unwatch()
  return [
    reading('frames of a busy page', perSecond, 'a second', '≥ 15'),
    reading('input to the frame that shows it, p95', quantile(times, 0.95), 'ms', '≤ 150'),
  ]
}
