/** Whether this worker has browsers, and if so, with what; if not, why. Decided once, when it starts. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { LogStore } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Sandbox } from '../sandbox/choose.ts'
import type { Tool } from '../tools/tool.ts'
import type { Quota } from '../tools/workspace-quota.ts'
import { findChromium } from './chromium.ts'
import { createStateKeeper } from './kept-state.ts'
import { createLiveBrowsers, type LiveBrowsers } from './live-browsers.ts'
import { openBoxedBrowser } from './open-browser.ts'
import { readSecrets } from './secrets.ts'
import { createBrowsers } from './worker-browsers.ts'
import { browserTools } from './tools.ts'

const VERSION_MS = 10_000
const run = promisify(execFile)

export type BrowserStanding =
  { offered: true; program: string; version: string } | { offered: false; reason: string }

/** What a worker started here would have; starts nothing but `chromium --version`. */
export async function findBrowser(
  config: Config['browser'],
  { provider, standing }: Pick<Sandbox, 'provider' | 'standing'>,
): Promise<BrowserStanding> {
  if (!config.enabled) return { offered: false, reason: 'browser.enabled is false' }
  if (provider === null) return { offered: false, reason: `there is no box for it. ${standing.summary}` }
  if (!provider.holdsBrowsers) return { offered: false, reason: `${provider.kind} cannot hold a browser` }
  const program = findChromium(config.executable)
  if (program === null)
    return {
      offered: false,
      reason: `${config.executable} is not installed in a folder that boxes see (apt-get install chromium)`,
    }
  try {
    const { stdout } = await run(program, ['--version'], { timeout: VERSION_MS })
    return { offered: true, program, version: stdout.trim() }
  } catch (thrown) {
    return { offered: false, reason: `${program} does not run: ${asError(thrown).message.split('\n')[0]}` }
  }
}

export type BrowserParts = {
  config: Config['browser']
  env: Readonly<Record<string, string | undefined>>
  sandbox: Sandbox
  store: LogStore
  dataDir: string
  workerId: string
  quota?: Quota
  log: Log
  clock?: Clock
}

export type StartedBrowsers = { tools: readonly Tool[]; live: LiveBrowsers; stop(): Promise<void> }

/** Null where no browser is offered; the log says why. */
export async function startBrowsers(parts: BrowserParts): Promise<StartedBrowsers | null> {
  const { config, env, sandbox, store, dataDir, workerId, quota, log, clock = systemClock } = parts
  const standing = await findBrowser(config, sandbox)
  if (!standing.offered || sandbox.provider === null || sandbox.proxy === null) {
    const reason = standing.offered ? 'the boxes of this worker have no way to the network' : standing.reason
    log('info', `Browsers are not offered: ${reason}`)
    return null
  }
  const open = openBoxedBrowser({
    program: standing.program,
    provider: sandbox.provider,
    proxy: sandbox.proxy,
    makeFolder: sandbox.makeFolder,
    config,
    secrets: readSecrets(config.secrets, env),
    clock,
  })
  const browsers = createBrowsers({
    open,
    version: standing.version,
    store,
    workerId,
    config,
    kept: createStateKeeper(store, dataDir),
    clock,
    log,
    newId: randomUUID,
  })
  const live = createLiveBrowsers({ browsers, store, clock, log })
  return {
    tools: browserTools({ ...config, browsers, ...(quota === undefined ? {} : { quota }) }),
    live,
    async stop() {
      live.stop()
      await browsers.stop()
    },
  }
}
