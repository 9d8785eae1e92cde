/** Whether this runner has browsers, and with which provider; if not, why. Decided once, at its start. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import type { LogStore } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import { type Clock, systemClock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { SandboxChoice } from '@cairn/sandbox'
import type { Tool } from '../../tools/tool.ts'
import type { Quota } from '../../tools/workspace-quota.ts'
import { findChromium } from './chromium.ts'
import { createStateKeeper } from './saved-state.ts'
import { createLiveBrowsers, type LiveBrowsers } from './live-browsers.ts'
import { openSandboxedBrowser, type OpenBrowser, openRemoteBrowser } from './open-browser.ts'
import { cdpHost } from './remote.ts'
import { readSecrets } from './secrets.ts'
import { createBrowsers } from './runner-browsers.ts'
import { browserTools } from './tools.ts'

const VERSION_MS = 10_000
const run = promisify(execFile)

type Environment = Readonly<Record<string, string | undefined>>

export type BrowserStanding =
  | { offered: true; provider: 'local'; program: string; version: string }
  /** `version` contains the host only, because the address may contain a key. */
  | { offered: true; provider: 'cdp'; url: string; version: string }
  | { offered: false; reason: string }

/** The packages that drive a browser. Packages of Cairn do not contain them. */
const PACKAGES = ['playwright-core', '@playwright/mcp']

/** What a runner started here would have; starts nothing but `chromium --version`. */
export async function findBrowser(
  config: Config['browser'],
  { provider, standing }: Pick<SandboxChoice, 'provider' | 'standing'>,
  env: Environment,
  resolve: (name: string) => unknown = createRequire(import.meta.url).resolve,
): Promise<BrowserStanding> {
  if (!config.enabled) return { offered: false, reason: 'browser.enabled is false' }
  const missing = PACKAGES.find(name => !isInstalled(name, resolve))
  if (missing !== undefined)
    return {
      offered: false,
      reason: `the package ${missing} is not installed (npm install without --omit=optional)`,
    }
  if (config.cdp !== null) return findRemote(config.cdp.url_env, env)
  if (provider === null) return { offered: false, reason: `no sandbox is available. ${standing.summary}` }
  if (!provider.holdsBrowsers) return { offered: false, reason: `${provider.kind} cannot run a browser` }
  const program = findChromium(config.executable)
  if (program === null)
    return {
      offered: false,
      reason: `${config.executable} is not installed where sandboxes can see it (apt-get install chromium)`,
    }
  try {
    const { stdout } = await run(program, ['--version'], { timeout: VERSION_MS })
    return { offered: true, provider: 'local', program, version: stdout.trim() }
  } catch (error) {
    return { offered: false, reason: `${program} does not run: ${asError(error).message.split('\n')[0]}` }
  }
}

function isInstalled(name: string, resolve: (name: string) => unknown): boolean {
  try {
    resolve(name)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return false
    throw error
  }
}

function findRemote(name: string, env: Environment): BrowserStanding {
  const url = env[name]
  if (url === undefined || url === '')
    return { offered: false, reason: `browser.cdp: the environment variable ${name} is not set` }
  if (!URL.canParse(url) || !/^(?:wss?|https?):$/.test(new URL(url).protocol))
    return {
      offered: false,
      reason: `browser.cdp: ${name} must be a ws, wss, http or https URL`,
    }
  return { offered: true, provider: 'cdp', url, version: `remote, at ${cdpHost(url)}` }
}

export type BrowserParts = {
  config: Config['browser']
  env: Environment
  sandbox: SandboxChoice
  store: LogStore
  dataDir: string
  runnerId: string
  quota?: Quota
  logger: Logger
  clock?: Clock
}

export type StartedBrowsers = {
  tools: readonly Tool[]
  live: LiveBrowsers
  count(): number
  stop(): Promise<void>
}

/** Null if no browser is offered; the reason is logged. */
export async function startBrowsers(parts: BrowserParts): Promise<StartedBrowsers | null> {
  const { config, env, sandbox, store, dataDir, runnerId, quota, logger, clock = systemClock } = parts
  const standing = await findBrowser(config, sandbox, env)
  const open = standing.offered ? openOf(standing, parts, clock) : null
  if (!standing.offered || open === null) {
    const reason = standing.offered ? 'the sandboxes of this runner have no network access' : standing.reason
    logger('info', `Browsers are not offered: ${reason}`)
    return null
  }
  const browsers = createBrowsers({
    open,
    provider: standing.provider,
    version: standing.version,
    store,
    runnerId,
    config,
    kept: createStateKeeper(store, dataDir),
    clock,
    logger,
    newId: randomUUID,
  })
  const live = createLiveBrowsers({ browsers, store, clock, logger })
  return {
    tools: browserTools({ ...config, browsers, ...(quota === undefined ? {} : { quota }) }),
    live,
    count: () => browsers.count(),
    async stop() {
      live.stop()
      await browsers.stop()
    },
  }
}

/** Null: the sandbox has no proxy here, and a browser has no other way out. */
function openOf(
  standing: Extract<BrowserStanding, { offered: true }>,
  { config, env, sandbox: { provider, proxy, makeFolder } }: BrowserParts,
  clock: Clock,
): OpenBrowser | null {
  const secrets = readSecrets(config.secrets, env)
  if (standing.provider === 'cdp') return openRemoteBrowser({ url: standing.url, makeFolder, secrets, clock })
  if (provider === null || proxy === null) return null
  return openSandboxedBrowser({
    program: standing.program,
    provider,
    proxy,
    config,
    makeFolder,
    secrets,
    clock,
  })
}
