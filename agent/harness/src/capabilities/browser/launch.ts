/**
 * Starts one Chromium in its own sandbox. The sandbox has no network except its proxy, no workspace, and one
 * private folder for downloads and uploads; the profile is in the sandbox's memory.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError, type GovernanceConfig } from '@cairn/protocol'
import type { BrowserContext } from 'playwright-core'
import {
  type Sandbox,
  sandboxId,
  type SandboxProvider,
  type SandboxProxy,
  type PolicyProxy,
  COMMAND_PATH,
} from '@cairn/sandbox'
import { CHROMIUM_FLAGS, CHROMIUM_POLICY, DISABLED_FEATURES, POLICY_FILE } from './chromium.ts'
import { INIT_SCRIPT } from './sensitive-fields.ts'

export const VIEWPORT = { width: 1280, height: 800 }
const PROFILE = '/tmp/profile'
const LAUNCH_MS = 30_000
const MAX_TABS = 8

export type LaunchOptions = {
  provider: SandboxProvider
  proxy: PolicyProxy
  session_id: string
  egress: GovernanceConfig['egress']
  program: string
  memory_mb: number
  /** Creates its folder; absent: a temporary one. */
  makeFolder?: (what: string) => string
  /** Cookies and local storage of the session's previous browser, in Playwright's format. */
  storage?: Awaited<ReturnType<BrowserContext['storageState']>>
}

export type Launched = {
  context: BrowserContext
  /** A folder of the service that other sandboxes never see; holds `downloads`, `uploads` and `output`. */
  folder: string
  refusals(): readonly string[]
  /** Ends its processes only. */
  kill(): void
  /** Ends the browser and removes everything of it. */
  close(): Promise<void>
}

const inTemp = (what: string): string => mkdtempSync(join(tmpdir(), `cairn-${what}-`))

/** Closes pages above the maximum; the list of tabs shows it. */
export function keepTabsFew(context: BrowserContext): void {
  context.on('page', page => {
    if (context.pages().length <= MAX_TABS) return
    page.close().catch(() => {
      // It closed itself, or the browser did.
    })
  })
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export async function launchBrowser(options: LaunchOptions): Promise<Launched> {
  const { provider, proxy, session_id, egress, program, memory_mb, storage, makeFolder = inTemp } = options
  await using undo = new AsyncDisposableStack()
  const folder = makeFolder('browser')
  undo.defer(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['seen', 'output']) mkdirSync(join(folder, name))
  const seen = join(folder, 'seen')
  for (const name of ['downloads', 'uploads']) mkdirSync(join(seen, name))
  const policy = join(folder, 'policy.json')
  writeFileSync(policy, JSON.stringify(CHROMIUM_POLICY))
  const id = sandboxId(session_id, 'browser')
  const boxProxy: SandboxProxy = await proxy.open({ id, egress })
  undo.defer(() => boxProxy.close())
  const box = provider.open({
    id,
    workspace: seen,
    binds: [{ from: policy, to: POLICY_FILE, writable: false }],
    env: { PATH: COMMAND_PATH, HOME: '/tmp', LANG: 'C.UTF-8', DBUS_SESSION_BUS_ADDRESS: 'disabled:' },
    network: { socket: boxProxy.socket },
    limits: { memory_mb, pids: 400, tmp_mb: 512 },
    mayGrowFiles: true,
    nests: true,
  })
  undo.defer(() => box.close())
  const context = await start(box, folder, program)
  if (storage !== undefined) await context.setStorageState(storage)
  await context.addInitScript(INIT_SCRIPT)
  keepTabsFew(context)
  const parts = undo.move()
  return {
    context,
    folder,
    refusals: () => boxProxy.refusals(),
    kill: () => box.kill(),
    async close() {
      await context.close().catch(() => {
        // The sandbox ends it anyway.
      })
      await parts.disposeAsync()
    },
  }
}

/**
 * Writes its process id to `pidFile` and becomes the program. Chromium heeds only the last list of disabled
 * features, so ours are added to the list of Playwright.
 */
export const launcherScript = (argv: readonly string[], pidFile: string): string =>
  [
    '#!/bin/sh',
    `echo $$ >${quote(pidFile)}`,
    'for flag; do',
    '  shift',
    `  case $flag in --disable-features=*) flag="$flag,${DISABLED_FEATURES.join(',')}" ;; esac`,
    '  set -- "$@" "$flag"',
    'done',
    `exec ${argv.map(quote).join(' ')} "$@"`,
    '',
  ].join('\n')

/** Playwright starts the program itself, so it is given a script that execs the sandboxed program. */
async function start(box: Sandbox, folder: string, program: string): Promise<BrowserContext> {
  if (box.commandLine === null) throw new Error('this sandbox cannot run a browser')
  const { argv, env, adopt } = box.commandLine([program])
  const launcher = join(folder, 'launch')
  const pidFile = join(folder, 'pid')
  writeFileSync(launcher, launcherScript(argv, pidFile))
  chmodSync(launcher, 0o700)
  // Loaded on first use: the library takes tens of megabytes.
  const { chromium } = await import('playwright-core')
  try {
    const context = await chromium.launchPersistentContext(PROFILE, {
      executablePath: launcher,
      headless: true,
      chromiumSandbox: true,
      args: CHROMIUM_FLAGS,
      env: { ...env },
      viewport: VIEWPORT,
      acceptDownloads: true,
      downloadsPath: join(folder, 'seen', 'downloads'),
      timeout: LAUNCH_MS,
    })
    adopt(Number(readFileSync(pidFile, 'utf8')))
    return context
  } catch (error) {
    throw new Error(`the browser did not start: ${asError(error).message.split('\n')[0]}`, { cause: error })
  }
}
