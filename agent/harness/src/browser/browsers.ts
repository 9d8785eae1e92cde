/**
 * The browsers of this worker's sessions, from the first call to the end.
 *
 *   none → live     the first call of a turn launches; the commit of that call's result records it
 *   live → none     browser_close, DELETE, 10 minutes without use, 4 hours, archive, shutdown, a crash,
 *                   another worker that took the session
 *
 * The row says which worker has the browser of a session, and the worker says again and again that it lives.
 * A row whose worker is silent belongs to a dead one, whose browser died with it: any worker writes its end.
 */
import { randomUUID } from 'node:crypto'
import type { Draft, LogStore } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import {
  BROWSER_ALIVE_MS,
  browserDestroyed,
  browserProvisioned,
  destroyBrowser,
  type DestroyReason,
  type Driven,
} from '@cairn/sessions'
import { type Clock, every } from '../clock.ts'
import type { Log } from '../log.ts'
import { createMutex } from '../mutex.ts'
import type { SandboxProvider } from '../sandbox/box.ts'
import type { PolicyProxy } from '../sandbox/policy-proxy.ts'
import { failure } from '../tools/run-tool.ts'
import type { ToolContext, ToolOutcome } from '../tools/tool.ts'
import { launchBrowser } from './launch.ts'
import type { BrowserSecrets } from './secrets.ts'
import { openSessionBrowser, type SessionBrowser } from './session-browser.ts'
import type { StateKeeper } from './kept-state.ts'

const TICK_MS = 15_000
const LIFE_MS = 4 * 60 * 60_000
/** While a person drives, or is asked to. */
const IDLE_WITH_PERSON_MS = 60 * 60_000

export type BrowsersOptions = {
  provider: SandboxProvider
  proxy: PolicyProxy
  program: string
  version: string
  store: LogStore
  workerId: string
  config: Config['browser']
  secrets: BrowserSecrets
  kept: StateKeeper
  clock: Clock
  log: Log
  newId?: () => string
}

type Used = {
  browser: SessionBrowser
  /** For the commit of the call's result: what this call began. */
  events: readonly Draft[]
  /** What the model is told beside the result. */
  note: Record<string, unknown>
  /** That commit was refused: the browser it would have recorded is ended. */
  refused(): Promise<ToolOutcome | null>
}

export type Browsers = {
  /** The session's browser; launches one where there is none. Only for who holds the session's lease. */
  use(context: Pick<ToolContext, 'session_id' | 'egress'>): Promise<Used>
  /** Events that end it; the process is ended at once. */
  end(context: Pick<ToolContext, 'session_id'>): Promise<readonly Draft[]>
  /** The browser that this worker has for a session. */
  held(session_id: string): SessionBrowser | undefined
  /** Ends a browser outside of a turn. False: there is none, or another was quicker. */
  destroy(session_id: string, reason: DestroyReason): Promise<boolean>
  /** What the person who drives did so far. */
  drivenBy: (session_id: string) => Driven | undefined
  saveState(session_id: string): Promise<void>
  stop(): Promise<void>
}

export const createBrowsers = (options: BrowsersOptions): Browsers => new WorkerBrowsers(options)

type Held = { browser: SessionBrowser; /** Epoch milliseconds. */ born: number }

class WorkerBrowsers implements Browsers {
  drivenBy: Browsers['drivenBy'] = () => undefined
  readonly #options: BrowsersOptions
  readonly #live = new Map<string, Held>()
  /** One launch or end of a session's browser at a time. */
  readonly #turns = new Map<string, ReturnType<typeof createMutex>>()
  readonly #stopLooking: () => void
  #launching = 0

  constructor(options: BrowsersOptions) {
    this.#options = options
    const { clock, log } = options
    this.#stopLooking = every(clock, TICK_MS, () =>
      this.#lookAround().catch((thrown: unknown) =>
        log('warn', 'looking after the browsers failed', { why: asError(thrown).message }),
      ),
    )
  }

  held(session_id: string): SessionBrowser | undefined {
    return this.#live.get(session_id)?.browser
  }

  use({ session_id, egress }: Parameters<Browsers['use']>[0]): Promise<Used> {
    return this.#inTurn(session_id, async () => {
      const { store, clock, kept } = this.#options
      const instance = await store.browsers.browser(session_id)
      const had = this.held(session_id)
      if (had !== undefined && (instance === null || instance.browser_id === had.id))
        return this.#used(had, instance === null ? [this.#begun(had)] : [])
      if (had !== undefined) await this.#forget(session_id)
      const isDead = instance !== null && instance.alive_until <= clock.now()
      const before =
        instance === null ? [] : browserDestroyed(instance, clock.now(), isDead ? 'lost' : 'moved')
      const isAgain = instance !== null || (await kept.read(session_id)) !== null
      const browser = await this.#launch(session_id, egress)
      return this.#used(browser, [...before, this.#begun(browser)], isAgain)
    })
  }

  end({ session_id }: Pick<ToolContext, 'session_id'>): Promise<readonly Draft[]> {
    return this.#inTurn(session_id, async () => {
      const { store, clock } = this.#options
      const instance = await store.browsers.browser(session_id)
      await this.saveState(session_id)
      await this.#forget(session_id)
      return instance === null
        ? []
        : browserDestroyed(instance, clock.now(), 'closed', this.drivenBy(session_id))
    })
  }

  destroy(session_id: string, reason: DestroyReason): Promise<boolean> {
    return this.#inTurn(session_id, () => this.#end(session_id, reason))
  }

  async saveState(session_id: string): Promise<void> {
    const { kept, log } = this.#options
    const browser = this.held(session_id)
    if (browser === undefined) return
    try {
      await kept.write(session_id, await browser.launched.context.storageState())
    } catch (thrown) {
      log('info', 'the cookies of a browser were not kept', { session_id, why: asError(thrown).message })
    }
  }

  async stop(): Promise<void> {
    this.#stopLooking()
    await Promise.all([...this.#live.keys()].map(session_id => this.destroy(session_id, 'shutdown')))
  }

  #inTurn<T>(session_id: string, run: () => Promise<T>): Promise<T> {
    const mutex = this.#turns.get(session_id) ?? createMutex()
    this.#turns.set(session_id, mutex)
    return mutex(run)
  }

  #begun({ id, session_id }: SessionBrowser): Draft {
    const { workerId, version } = this.#options
    return browserProvisioned(session_id, id, workerId, version)
  }

  #used(browser: SessionBrowser, events: readonly Draft[], isAgain = false): Used {
    return {
      browser,
      events,
      note: isAgain ? { browser: 'The browser was restarted; forms are empty.' } : {},
      refused: async () => {
        if (events.length === 0) return null
        await this.#forget(browser.session_id)
        return { content: failure('the browser was taken by another worker; try again') }
      },
    }
  }

  async #forget(session_id: string): Promise<void> {
    const held = this.#live.get(session_id)
    this.#live.delete(session_id)
    await held?.browser.close()
  }

  async #launch(session_id: string, egress: ToolContext['egress']): Promise<SessionBrowser> {
    const { config, kept, clock, secrets, newId = randomUUID } = this.#options
    if (this.#live.size + this.#launching >= config.max)
      throw new Error('no browser is free at the moment; try later')
    this.#launching += 1
    try {
      const storage = await kept.read(session_id)
      const launched = await launchBrowser({
        ...this.#options,
        session_id,
        egress,
        memory_mb: config.memory_mb,
        ...(storage === null ? {} : { storage }),
      })
      const browser = await openSessionBrowser(newId(), session_id, launched, {
        now: () => clock.now(),
        secrets,
      })
      launched.context.once('close', () => {
        if (this.held(session_id) === browser) void this.destroy(session_id, 'crashed')
      })
      this.#live.set(session_id, { browser, born: clock.now() })
      return browser
    } finally {
      this.#launching -= 1
    }
  }

  /** Outside of a turn: a commit of its own, then the process. */
  async #end(session_id: string, reason: DestroyReason): Promise<boolean> {
    const { store, clock } = this.#options
    const instance = await store.browsers.browser(session_id)
    const browser = this.held(session_id)
    const isOurs = instance !== null && (browser === undefined || instance.browser_id === browser.id)
    if (reason !== 'crashed') await this.saveState(session_id)
    const deps = { store, now: () => clock.now() }
    const written = isOurs && (await destroyBrowser(deps, instance, reason, this.drivenBy(session_id)))
    await this.#forget(session_id)
    return written
  }

  async #lookAround(): Promise<void> {
    const { store, workerId, clock } = this.#options
    await store.browsers.renew(workerId, BROWSER_ALIVE_MS)
    for (const instance of await store.browsers.silent())
      await destroyBrowser({ store, now: () => clock.now() }, instance, 'lost')
    for (const [session_id, held] of this.#live) {
      await this.saveState(session_id)
      await this.#judge(session_id, held)
    }
  }

  async #judge(session_id: string, { browser, born }: Held): Promise<void> {
    const { store, clock, config } = this.#options
    const instance = await store.browsers.browser(session_id)
    const age = clock.now() - born
    // One that no result has recorded yet is young; one that never was is nobody's.
    const isGone = instance === null ? age > 2 * BROWSER_ALIVE_MS : instance.browser_id !== browser.id
    if (isGone) return this.#inTurn(session_id, () => this.#forget(session_id))
    const session = await store.getSession(session_id)
    const idleMs = browser.holder === null ? config.idle_minutes * 60_000 : IDLE_WITH_PERSON_MS
    if (session === null || session.status === 'archived') await this.destroy(session_id, 'archived')
    else if (age > LIFE_MS) await this.destroy(session_id, 'limit')
    else if (clock.now() - browser.lastUsed > idleMs) await this.destroy(session_id, 'idle')
  }
}
