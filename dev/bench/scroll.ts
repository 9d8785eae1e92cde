/**
 * How the page bears long logs: how fast a long chat opens, and how the EVENTS tab moves with a hundred
 * thousand events: frame times while a real browser scrolls, filters and follows.
 *   npm run dev -- bench:page [--events 100000] [--chromium /usr/bin/chromium] [--json]
 * Needs a built UI (npm run build:web). The mock server of agent/web/dev serves it.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Page, chromium } from 'playwright-core'

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    port: { type: 'string', default: '8797' },
    json: { type: 'boolean', default: false },
  },
})
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

type Frames = { frames: number; p50: number; p95: number; p99: number; max: number; longTasks: number }
type Result = { what: string } & Frames

async function startServer(): Promise<() => void> {
  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('../../agent/web/dev/mock-server.ts', import.meta.url)),
      '--port',
      options.port,
      '--events',
      options.events,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await new Promise<void>((ready, failed) => {
    child.stdout.once('data', () => ready())
    child.once('exit', code => failed(new Error(`[bench] the mock server ended with ${code}`)))
  })
  return () => child.kill()
}

// Prettier begins a line that is one expression with a semicolon.
const inPage = readFileSync(new URL('measure-frames.js', import.meta.url), 'utf8').replace(/^;/m, '')
const measure = (page: Page, kind: 'steady' | 'jumps' | 'still', frames: number) =>
  page.evaluate<Frames>(`(${inPage})(${JSON.stringify(kind)}, ${frames})`)

const countOf = (page: Page) => page.getByTestId('events-status').innerText()

/** Processor time of the page's main thread, in milliseconds: the same however busy the machine is. */
async function readCpu(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
}

/** From the click on its link to an answer that is drawn and a field that takes text. */
async function openChat(page: Page): Promise<{ chatMs: number; chatCpuMs: number; messages: number }> {
  await page.goto(`http://127.0.0.1:${options.port}/sessions`)
  const link = page.locator('[data-session-id="talk"]')
  await link.waitFor()
  const cpu = await readCpu(page)
  const before = await cpu()
  const started = performance.now()
  await link.click()
  await page.getByTestId('answer').last().locator('.markdown p').first().waitFor()
  await page.getByText(/^Show earlier items/).waitFor()
  await page.getByTestId('composer').waitFor()
  const chatMs = Math.round(performance.now() - started)
  const chatCpuMs = Math.round((await cpu()) - before)
  const earlier = await page.getByText(/^Show earlier items/).innerText()
  return {
    chatMs,
    chatCpuMs,
    messages: Number(earlier.replace(/\D/g, '')) + (await page.getByTestId('answer').count()),
  }
}

async function run() {
  const stop = await startServer()
  const profile = mkdtempSync(join(tmpdir(), 'cairn-scroll-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: options.chromium,
    headless: true,
    args: FLAGS,
    viewport: { width: 1360, height: 860 },
  })
  try {
    const page = await context.newPage()
    const results: Result[] = []
    const started = performance.now()
    await page.goto(`http://127.0.0.1:${options.port}/sessions/big/events`)
    await page
      .getByTestId('events-status')
      .getByText(/\d events?$/)
      .first()
      .waitFor({ timeout: 120_000 })
    await page.getByTestId('events-status').getByText('loading').waitFor({ state: 'detached' })
    // Every row, the chunks of answers among them.
    await page.getByTestId('show-deltas').click()
    const loadMs = Math.round(performance.now() - started)
    const shown = await countOf(page)
    // Let the tail go, or following would pull back.
    await page.getByTestId('follow-tail').click()
    await page.getByTestId('event-grid').press('Home')
    results.push({ what: 'idle', ...(await measure(page, 'still', 120)) })
    const cpu = await readCpu(page)
    const before = await cpu()
    results.push({ what: 'steady scroll, 10 rows a frame', ...(await measure(page, 'steady', 600)) })
    const cpuPerFrame = Math.round(((await cpu()) - before) / 6) / 100
    results.push({ what: 'jumps over the whole log', ...(await measure(page, 'jumps', 300)) })
    await page.getByTestId('follow-tail').click()
    await page.evaluate(
      "fetch('/v1/sessions/big/messages', { method: 'POST', headers: { 'content-type': " +
        `'application/json' }, body: JSON.stringify({ content: '${'a longer message '.repeat(40)}' }) })`,
    )
    results.push({ what: 'following a streamed answer', ...(await measure(page, 'still', 180)) })
    const filterStarted = performance.now()
    await page.getByTestId('filter-text').fill('out of memory')
    await page.getByTestId('events-status').getByText(/ of /).waitFor()
    await page.getByTestId('events-status').getByText('filtering').waitFor({ state: 'detached' })
    const filterMs = Math.round(performance.now() - filterStarted)
    const filtered = await countOf(page)
    const heapMb = Math.round((await page.evaluate<number>('performance.memory.usedJSHeapSize')) / 1e6)
    const chat = await openChat(page)
    const report = {
      date: new Date().toISOString(),
      browser: context.browser()?.version() ?? 'chromium',
      shown: shown.split('\n')[0],
      loadMs,
      filterMs,
      filtered: filtered.split('\n')[0],
      heapMb,
      cpuPerFrame,
      ...chat,
      results,
    }
    if (options.json) console.log(JSON.stringify(report))
    else {
      console.log(
        `${report.shown}; first paint to last event ${loadMs} ms; text filter ${filterMs} ms ` +
          `(${report.filtered}); heap ${heapMb} MB; ` +
          `${cpuPerFrame} ms of the processor a frame of steady scroll; ` +
          `a chat of some ${chat.messages} items opens in ` +
          `${chat.chatMs} ms (${chat.chatCpuMs} ms of the processor)`,
      )
      console.table(Object.fromEntries(results.map(({ what, ...figures }) => [what, figures])))
    }
  } finally {
    await context.close()
    rmSync(profile, { recursive: true, force: true })
    stop()
  }
}

await run()
