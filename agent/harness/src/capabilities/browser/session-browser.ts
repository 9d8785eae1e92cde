/**
 * The browser of one session: the tools of @playwright/mcp on our own context, and the gate before each call.
 * The connection to Chromium stays the same when control changes.
 */
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import type { BrowserContext, Page } from 'playwright-core'
import { abortable } from './abortable.ts'
import { CAPABILITIES } from './offered.ts'
import type { Clock } from '@cairn/models/clock'
import { createGate, type Gate } from './gate.ts'
import type { Launched } from './launch.ts'
import { type BrowserSecrets, collectSensitive, hideValues } from './sensitive-fields.ts'

const ACTION_MS = 10_000
const NAVIGATION_MS = 60_000
const MAX_CHARS = 20_000
export type SessionBrowser = {
  readonly id: string
  readonly session_id: string
  readonly launched: Launched
  readonly gate: Gate
  /** Epoch milliseconds. */
  lastUsed: number
  call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string>
  /** Collects the current values of sensitive fields; they stay known for the life of the browser. */
  remember(): Promise<void>
  hide(text: string): string
  /** Hides this value in all later results. */
  conceal(value: string): void
  readonly secrets: BrowserSecrets
  /** Calls the listener with the tab that the agent is in: now, and after each of its calls. */
  followTab(listener: (page: Page) => void): void
  /** Origin of the frame that contains a snapshot's field. */
  originOf(target: string): Promise<string>
  close(): Promise<void>
}

export async function openSessionBrowser(
  id: string,
  session_id: string,
  launched: Launched,
  { clock, secrets }: { clock: Clock; secrets: BrowserSecrets },
): Promise<SessionBrowser> {
  const output = join(launched.folder, 'output')
  const client = await connect(launched, output)
  const known = new Set<string>()
  const gate = createGate(clock)
  const tab = createAgentTab(launched.context, client)

  async function remember(): Promise<void> {
    for (const value of await collectSensitive(launched.context)) known.add(value)
  }

  async function run(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    await remember()
    const result = await abortable(launched.context, signal, () =>
      client.callTool({ name: tool, arguments: args }, { signal, timeout: NAVIGATION_MS + ACTION_MS }),
    )
    await remember()
    await tab.note()
    const said = result.content.map(block => (block.type === 'text' ? block.text : '')).join('\n')
    const text = hideValues(await inPlaceOfLinks(said, output), known)
    if (result.isError === true) throw new Error(text.replace(/^### Error\n(?:Error: )?/, ''))
    return text
  }

  const browser: SessionBrowser = {
    id,
    session_id,
    launched,
    gate,
    lastUsed: clock.now(),
    async call(tool, args, signal) {
      browser.lastUsed = clock.now()
      try {
        return await gate.pass(either => run(tool, args, either), signal)
      } finally {
        browser.lastUsed = clock.now()
      }
    },
    remember,
    hide: text => hideValues(text, known),
    conceal: value => void known.add(value),
    secrets,
    followTab: tab.follow,
    async originOf(target) {
      const page = launched.context.pages().find(each => !each.isClosed())
      const field = await page?.locator(`aria-ref=${target}`).elementHandle({ timeout: ACTION_MS })
      const frame = await field?.ownerFrame()
      if (!frame) throw new Error(`field ${target} not found`)
      return new URL(frame.url()).origin
    },
    async close() {
      await client.close()
      await launched.close()
      // The call that it ends may still report something about the page. Never rejects.
      void gate.quiet().then(() => known.clear())
    },
  }
  return browser
}

/**
 * The tab that the package works in. It is not always the newest one: a page may open another, and Chromium
 * may open its first tab late.
 */
function createAgentTab(context: BrowserContext, client: Client) {
  let current: Page | undefined
  const listeners = new Set<(page: Page) => void>()
  return {
    /** Called after each call of the agent. */
    async note(): Promise<void> {
      const pages = context.pages()
      const index = pages.length > 1 ? await currentIndex(client) : 0
      if (index !== null) current = pages[index]
      if (current !== undefined) for (const listener of listeners) listener(current)
    },
    follow(listener: (page: Page) => void): void {
      listeners.add(listener)
      if (current !== undefined && !current.isClosed()) listener(current)
    },
  }
}

/**
 * The index of the current tab in the package's list, which has the order of the context's pages. Null while
 * a dialog of the page is open.
 */
async function currentIndex(client: Client): Promise<number | null> {
  const { content } = await client.callTool({ name: 'browser_tabs', arguments: { action: 'list' } })
  const text = content.map(block => (block.type === 'text' ? block.text : '')).join('\n')
  const index = /^- (\d+): \(current\)/m.exec(text)?.[1]
  return index === undefined ? null : Number(index)
}

/** Connects the package's server and our client, both in this process. */
async function connect({ context, folder }: Launched, output: string): Promise<Client> {
  const { createConnection } = await import('@playwright/mcp')
  const server = await createConnection(
    {
      capabilities: [...CAPABILITIES],
      outputDir: output,
      codegen: 'none',
      imageResponses: 'omit',
      // A page could otherwise offer its own ungoverned tools, listed in each snapshot.
      webmcp: false,
      timeouts: { action: ACTION_MS, navigation: NAVIGATION_MS },
    },
    // Its types refer to another version of the same library.
    () => Promise.resolve(context as never),
  )
  const client = new Client({ name: 'cairn', version: '1.0.0' }, { capabilities: { roots: {} } })
  client.setRequestHandler('roots/list', () => ({
    roots: [{ uri: `file://${join(folder, 'seen', 'uploads')}`, name: 'uploads' }],
  }))
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  // Its types refer to the earlier SDK, whose transport has the same form.
  await server.connect(theirs as never)
  await client.connect(ours)
  return client
}

const LINK =
  /\[(Snapshot|Screenshot[^\]]*|[^\]]*)\]\(([^)\s]*\/)?((?:page|console|network|snapshot)-[\w.-]+)\)/g

/** Replaces links to snapshot files that the package wrote by their content. */
async function inPlaceOfLinks(text: string, output: string): Promise<string> {
  let whole = text
  for (const [link, , , name] of text.matchAll(LINK)) {
    if (name === undefined || !name.endsWith('.yml')) continue
    const snapshot = await readFile(join(output, name), 'utf8')
    whole = whole.replace(`- ${link}`, () => `\`\`\`yaml\n${snapshot}\n\`\`\``)
  }
  for (const name of await readdir(output))
    if (name.endsWith('.yml') || name.endsWith('.log')) await rm(join(output, name), { force: true })
  return whole.length > MAX_CHARS
    ? `${whole.slice(0, MAX_CHARS)}\n[${whole.length - MAX_CHARS} characters left out: use browser_find]`
    : whole
}
