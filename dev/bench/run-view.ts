/**
 * How the Run view bears a long log: the time from its data to its first rows, and frame times while a real
 * browser scrolls its rows and zooms its axis.
 *   npm run dev -- bench:run [--events 100000] [--chromium /usr/bin/chromium] [--check] [--json]
 * Needs a built UI (npm run build:web). The mock server of agent/web/dev serves it. With --check it fails
 * above its limits, which hold on a quiet machine.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Page, chromium } from 'playwright-core'

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    port: { type: 'string', default: '8798' },
    check: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']

/** Milliseconds. */
const LIMITS = { firstRows: 1000, p50: 16.8, p95: 34 }

type Frames = {
  frames: number
  p50: number
  p95: number
  p99: number
  max: number
  longTasks: number
  rows: number
  /** Processor time of the main thread, in milliseconds a frame. */
  cpu: number
}
type Result = { what: string } & Frames

async function startServer(): Promise<() => void> {
  const program = fileURLToPath(new URL('../../agent/web/dev/mock-server.ts', import.meta.url))
  const child = spawn(process.execPath, [program, '--port', options.port, '--events', options.events], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((ready, failed) => {
    child.stdout.once('data', () => ready())
    child.once('exit', code => failed(new Error(`[bench] the mock server ended with ${code}`)))
  })
  return () => child.kill()
}

// Prettier begins a line that is one expression with a semicolon.
const inPage = readFileSync(new URL('measure-run.js', import.meta.url), 'utf8').replace(/^;/m, '')
type Kind = 'steady' | 'jumps' | 'zoom' | 'pan' | 'still'

/** Frame times, and the processor time of the page's main thread: the same however busy the machine is. */
async function measure(page: Page, kind: Kind, frames: number): Promise<Frames> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpu = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
  const before = await cpu()
  const times = await page.evaluate<Omit<Frames, 'cpu'>>(`(${inPage})(${JSON.stringify(kind)}, ${frames})`)
  const perFrame = Math.round((((await cpu()) - before) / frames) * 100) / 100
  await session.detach()
  return { ...times, cpu: perFrame }
}

/** Notes in the page when the first rows are drawn. */
const NOTE_FIRST_ROWS = `addEventListener('DOMContentLoaded', () => {
  const look = () => {
    if (document.querySelector('[data-testid="run-row"]')) window.firstRowsAt = performance.now()
    else requestAnimationFrame(look)
  }
  look()
})`
const OPENING = `(() => {
  const spans = performance.getEntriesByType('resource').find(({ name }) => name.includes('/spans'))
  return {
    requestMs: Math.round(spans.responseEnd - spans.startTime),
    bytes: spans.decodedBodySize,
    firstRowsMs: Math.round(window.firstRowsAt - spans.responseEnd),
    sinceNavigationMs: Math.round(window.firstRowsAt),
  }
})()`

type Opening = { requestMs: number; bytes: number; firstRowsMs: number; sinceNavigationMs: number }

async function measureAll(page: Page): Promise<{ opening: Opening; results: Result[]; heapMb: number }> {
  await page.addInitScript(NOTE_FIRST_ROWS)
  await page.goto(`http://127.0.0.1:${options.port}/sessions/big/run`)
  await page.getByTestId('run-row').first().waitFor({ timeout: 120_000 })
  await page.waitForFunction('window.firstRowsAt !== undefined')
  const opening = await page.evaluate<Opening>(OPENING)
  const heapMb = Math.round((await page.evaluate<number>('performance.memory.usedJSHeapSize')) / 1e6)
  // A click on a row lets go of the end, or following would pull back.
  await page.getByTestId('run-row').last().click()
  await page.keyboard.press('Home')
  const results: Result[] = [{ what: 'still', ...(await measure(page, 'still', 120)) }]
  results.push({ what: 'scroll closed turns, 10 rows a frame', ...(await measure(page, 'steady', 400)) })
  results.push({ what: 'jumps over all turns', ...(await measure(page, 'jumps', 200)) })
  results.push({ what: 'zoom, closed turns', ...(await measure(page, 'zoom', 360)) })
  await page.keyboard.press('0')
  await page.getByTestId('run-kind').click()
  await page.locator('[role="option"][data-key="tool"]').click()
  await page.getByTestId('run-grid').focus()
  await page.keyboard.press('Home')
  results.push({ what: 'scroll open turns, 10 rows a frame', ...(await measure(page, 'steady', 400)) })
  results.push({ what: 'jumps over all tool calls', ...(await measure(page, 'jumps', 200)) })
  results.push({ what: 'zoom, open turns', ...(await measure(page, 'zoom', 360)) })
  await page.keyboard.press('0')
  for (let times = 0; times < 6; times++) await page.keyboard.press('+')
  results.push({ what: 'move along the axis', ...(await measure(page, 'pan', 240)) })
  return { opening, results, heapMb }
}

async function run(): Promise<void> {
  const stop = await startServer()
  const profile = mkdtempSync(join(tmpdir(), 'cairn-run-view-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: options.chromium,
    headless: true,
    args: FLAGS,
    viewport: { width: 1440, height: 900 },
  })
  try {
    const load = loadavg()[0] ?? 0
    const measured = await measureAll(await context.newPage())
    const { opening, results, heapMb } = measured
    const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, load ${load.toFixed(1)}`
    if (options.json) console.log(JSON.stringify({ date: new Date().toISOString(), machine, ...measured }))
    else {
      console.log(
        `${machine}; ${options.events} events; spans after ${opening.requestMs} ms (${opening.bytes} bytes); ` +
          `first rows ${opening.firstRowsMs} ms after the data; heap ${heapMb} MB`,
      )
      console.table(Object.fromEntries(results.map(({ what, ...figures }) => [what, figures])))
    }
    if (options.check) check(opening, results)
  } finally {
    await context.close()
    rmSync(profile, { recursive: true, force: true })
    stop()
  }
}

function check({ firstRowsMs }: Opening, results: readonly Result[]): void {
  const faults = results.flatMap(({ what, p50, p95, rows }) => [
    ...(p50 > LIMITS.p50 ? [`${what}: median ${p50} ms, limit ${LIMITS.p50}`] : []),
    ...(p95 > LIMITS.p95 ? [`${what}: p95 ${p95} ms, limit ${LIMITS.p95}`] : []),
    ...(rows > 60 ? [`${what}: ${rows} rows in the document, limit 60`] : []),
  ])
  if (firstRowsMs > LIMITS.firstRows) faults.push(`first rows after ${firstRowsMs} ms, limit 1000`)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}

await run()
