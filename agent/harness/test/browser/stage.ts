/** A session with a browser, and a site of the test: real Chromium in a real box, and a real store. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LogStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { BrowserConfig, decodeEvent, GovernanceConfig, type SessionEvent } from '@cairn/protocol'
import { createSession } from '@cairn/sessions'
import type { Browsers } from '../../src/capabilities/browser/browsers.ts'
import { createBrowsers } from '../../src/capabilities/browser/runner-browsers.ts'
import { findChromium } from '../../src/capabilities/browser/chromium.ts'
import { createStateKeeper } from '../../src/capabilities/browser/saved-state.ts'
import { createLiveBrowsers, type LiveBrowsers } from '../../src/capabilities/browser/live-browsers.ts'
import { openSandboxedBrowser, openRemoteBrowser } from '../../src/capabilities/browser/open-browser.ts'
import { browserTools } from '../../src/capabilities/browser/tools.ts'
import { systemClock } from '@cairn/models/clock'
import { createPolicyProxy, type PolicyProxy } from '@cairn/sandbox'
import type { ToolContext } from '../../src/tools/tool.ts'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { alice } from '../tools/bench.ts'
import { makeContext, makeFolder } from '../tools/tool-context.ts'

export type BrowserStage = {
  site: string
  /** What reached the site: method, host, path. */
  seen: string[]
  store: LogStore
  session_id: string
  context: ToolContext
  browsers: Browsers
  live: LiveBrowsers
  proxy: PolicyProxy
  /** Runs a tool and commits what it began, as a turn does; gives what the model would read. */
  call(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>
  events(): Promise<SessionEvent[]>
  /** The whole log as it is stored. */
  text(): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

type Page = (request: IncomingMessage, response: ServerResponse) => void

export const SECRETS = { crm: { value: 'crm-password-canary', origins: [] as string[] } }

export function chromiumHere(): string {
  const program = findChromium('chromium')
  if (program === null) throw new Error('there is no Chromium: apt-get install chromium')
  return program
}

/** `site.test` leads here and may be reached; `inside.test` leads here and may not. */
export type Site = {
  url: string
  /** What reached the site: method, host, path. */
  seen: string[]
  proxy: PolicyProxy
  /** The browsers of one runner. `remote`: the CDP address of a running browser; absent: one in a box. */
  openBrowsers(runner: {
    store: LogStore
    runnerId: string
    /** Where saved states are kept. */
    dir: string
    config?: Partial<BrowserConfig>
    remote?: string | undefined
  }): Promise<Browsers>
  close(): Promise<void>
}

export async function openSite(page: Page): Promise<Site> {
  const seen: string[] = []
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`)
    page(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://site.test:${port}`
  const addresses: Readonly<Record<string, string>> = {
    'site.test': '127.0.0.1',
    'inside.test': '127.0.0.1',
    'metadata.test': '169.254.169.254',
  }
  const proxy = createPolicyProxy({
    ports: [port],
    resolveHost: host =>
      addresses[host] === undefined
        ? Promise.reject(new Error(`no such name: ${host}`))
        : Promise.resolve([{ address: addresses[host], family: 4 }]),
  })
  return {
    url,
    seen,
    proxy,
    async openBrowsers({ store, runnerId, dir, config = {}, remote }) {
      const settings = BrowserConfig.parse(config)
      const secrets = new Map([['crm', { ...SECRETS.crm, origins: [url] }]])
      const open =
        remote === undefined
          ? openSandboxedBrowser({
              provider: await sandboxed(),
              proxy,
              program: chromiumHere(),
              config: settings,
              secrets,
              clock: systemClock,
            })
          : openRemoteBrowser({ url: remote, secrets, clock: systemClock })
      return createBrowsers({
        open,
        provider: remote === undefined ? 'local' : 'cdp',
        version: 'Chromium',
        store,
        runnerId,
        config: settings,
        kept: createStateKeeper(store, dir),
        clock: systemClock,
        logger: () => {},
      })
    },
    async close() {
      await proxy.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A session with one browser. */
export async function openStage(
  page: Page,
  config: Partial<BrowserConfig> = {},
  /** The CDP address of a browser that is there already; absent: one in a box. */
  remote?: string,
): Promise<BrowserStage> {
  const { url: site, seen, proxy, openBrowsers, close } = await openSite(page)
  const dir = makeFolder('browser')
  const store = await openStoreInProcess({ dir: `${dir}/log` })
  const { id: session_id } = await createSession({ store, now: Date.now, newId: randomUUID }, ['assistant'], {
    principal: alice,
  })
  const browsers = await openBrowsers({ store, runnerId: 'worker', dir, config, remote })
  const live = createLiveBrowsers({ browsers, store, clock: systemClock, logger: () => {} })
  const tools = new Map(browserTools({ browsers, evaluate: true, pdf: true }).map(tool => [tool.name, tool]))
  const { egress } = GovernanceConfig.parse({ egress: { internal: ['site.test'] } })
  const context = makeContext({ session_id, egress, timeoutMs: 60_000 })
  const read = async () => (await store.events.read(session_id, 0, 1000)).map(({ json }) => json)
  return {
    site,
    seen,
    store,
    session_id,
    context,
    browsers,
    live,
    proxy,
    async call(name, args = {}) {
      const tool = tools.get(name)
      if (tool === undefined) throw new Error(`no tool ${name}`)
      const { content, events = [] } = await tool.run(args, context)
      if (events.length > 0) await store.commit({ session_id, events })
      return typeof content === 'string' ? { page: content } : content
    },
    events: async () => (await read()).map(decodeEvent),
    text: async () => (await read()).join('\n'),
    async [Symbol.asyncDispose]() {
      live.stop()
      await browsers.stop()
      await close()
      await store.close()
    },
  }
}
