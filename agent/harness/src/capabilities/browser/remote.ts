/**
 * A remote browser (`browser.cdp`): the operator's own, or one of a rental service, by its CDP address. Its
 * traffic leaves from there, so only what it exposes is checked: the host name in each request of a page, in
 * each redirect hop and in each WebSocket of a frame. Not checked are the address that a name resolves to,
 * and WebSockets of web workers.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError, type GovernanceConfig } from '@cairn/protocol'
import type { BrowserContext } from 'playwright-core'
import { urlProblem } from '@cairn/sandbox/egress'
import { keepTabsFew, type Launched, type LaunchOptions, VIEWPORT } from './launch.ts'
import { INIT_SCRIPT } from './sensitive-fields.ts'

const CONNECT_MS = 30_000
const TOLD = 20

type ConnectOptions = Pick<LaunchOptions, 'egress' | 'storage' | 'makeFolder'> & {
  /** `ws:`, `wss:`, `http:` or `https:`; may contain a key, so it is never shown. */
  url: string
}

/** The part of an address that may be shown: without its path and key. */
export const cdpHost = (url: string): string => new URL(url).host

export async function connectBrowser({
  url,
  egress,
  storage,
  makeFolder = what => mkdtempSync(join(tmpdir(), `cairn-${what}-`)),
}: ConnectOptions): Promise<Launched> {
  await using undo = new AsyncDisposableStack()
  const folder = makeFolder('browser')
  undo.defer(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['output', 'seen/uploads']) mkdirSync(join(folder, name), { recursive: true })
  const [{ chromium }, { openCdpRelay }] = await Promise.all([
    import('playwright-core'),
    import('./cdp-relay.ts'),
  ])
  const checker = createNameChecker(egress)
  const unreached = (thrown: unknown): never => {
    const reason = asError(thrown).message.split('\n')[0]?.replaceAll(url, cdpHost(url))
    throw new Error(`cannot reach the remote browser at ${cdpHost(url)}: ${reason}`)
  }
  const relay = await openCdpRelay({ url, refuses: checker.refuses, timeoutMs: CONNECT_MS }).catch(unreached)
  undo.defer(() => relay.close())
  const browser = await chromium.connectOverCDP(relay.url, { timeout: CONNECT_MS }).catch(unreached)
  undo.defer(() => browser.close())
  const context = await browser.newContext({
    viewport: VIEWPORT,
    // Downloads would be saved on its disk, not on ours.
    acceptDownloads: false,
    // Requests of a service worker bypass the check.
    serviceWorkers: 'block',
    ...(storage === undefined ? {} : { storageState: storage }),
  })
  await checkRequests(context, checker.refuses)
  await context.addInitScript(INIT_SCRIPT)
  keepTabsFew(context)
  await context.newPage()
  const parts = undo.move()
  const close = async (): Promise<void> => {
    await context.close().catch(() => {
      // The connection is gone, and the context with it.
    })
    await parts.disposeAsync()
  }
  return { context, folder, refusals: () => checker.told, kill: () => void close(), close }
}

type NameChecker = {
  refuses(url: string): boolean
  /** The reasons of refusals, without duplicates, latest last. */
  told: readonly string[]
}

function createNameChecker(egress: GovernanceConfig['egress']): NameChecker {
  const told: string[] = []
  return {
    told,
    refuses(text) {
      const { protocol } = new URL(text)
      // These contain only data that the page already has.
      if (['data:', 'blob:', 'about:'].includes(protocol)) return false
      const reason = urlProblem(text.replace(/^ws/, 'http'), egress)
      if (reason !== null && !told.includes(reason)) told.push(reason)
      told.splice(0, told.length - TOLD)
      return reason !== null
    },
  }
}

/** Makes Playwright intercept requests; the relay then sees each of them. */
async function checkRequests(context: BrowserContext, refuses: NameChecker['refuses']): Promise<void> {
  await context.route(
    () => true,
    route => (refuses(route.request().url()) ? route.abort('blockedbyclient') : route.continue()),
  )
  await context.routeWebSocket(
    () => true,
    socket => {
      if (refuses(socket.url())) void socket.close({ code: 1008, reason: 'refused by policy' })
      else socket.connectToServer()
    },
  )
}
