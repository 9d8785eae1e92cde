/**
 * The browsers of this runner's sessions, from the first call to the end.
 *
 *   none → live     the first call of a turn launches it; the commit of that call's result records it
 *   live → none     browser_close, DELETE, 10 minutes without use, 4 hours, archive, shutdown, a crash,
 *                   another runner that claimed the session
 *
 * The row names the runner that has a session's browser, and that runner renews it periodically. If it stops,
 * the runner has crashed and its browser with it: any runner writes its end.
 */
import { randomUUID } from 'node:crypto'
import type { BrowserInstance, EventWithRows } from '@cairn/log'
import { asError } from '@cairn/protocol'
import {
  BROWSER_ALIVE_MS,
  browserDestroyed,
  destroyBrowser,
  type DestroyReason,
  browserProvisioned,
} from '@cairn/sessions'
import { every } from '@cairn/models/clock'
import { createMutex } from '../../mutex.ts'
import { failure } from '../../tools/run-tool.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { Browsers, BrowsersOptions, Used } from './browsers.ts'
import type { SessionBrowser } from './session-browser.ts'

const TICK_MS = 15_000
/** Control changes at most once per try. */
const MAX_ATTEMPTS = 5
const LIFE_MS = 4 * 60 * 60_000
/** Idle timeout while a person is in control or has been asked to take it. */
const IDLE_WITH_PERSON_MS = 60 * 60_000

export const createBrowsers = (options: BrowsersOptions): Browsers => new WorkerBrowsers(options)

class WorkerBrowsers implements Browsers {
  drivenBy: Browsers['drivenBy'] = () => undefined
  readonly #options: BrowsersOptions
  readonly #live = new Map<string, HeldBrowser>()
  /** One launch or end of a session's browser at a time. */
  readonly #turns = new Map<string, ReturnType<typeof createMutex>>()
  /**
   * Browsers that ended here while a result with their start was being committed; it may be stored after the
   * end.
   */
  readonly #landing = new Map<string, HeldBrowser>()
  readonly #stopLooking: () => void
  #launching = 0

  constructor(options: BrowsersOptions) {
    this.#options = options
    const { clock, logger } = options
    this.#stopLooking = every(clock, TICK_MS, () =>
      this.#lookAround().catch((error: unknown) =>
        logger('warn', 'browser maintenance failed', { why: asError(error).message }),
      ),
    )
  }

  held(session_id: string): SessionBrowser | undefined {
    return this.#live.get(session_id)?.browser
  }

  count(): number {
    return this.#live.size
  }

  use({ session_id, egress }: Parameters<Browsers['use']>[0]): Promise<Used> {
    return this.#inTurn(session_id, async () => {
      const { store, kept } = this.#options
      const instance = await store.browsers.browser(session_id)
      const held = this.#live.get(session_id)
      if (held !== undefined && isStill(held, instance, this.#options.clock.now())) return this.#used(held)
      if (held !== undefined) await this.#forget(session_id)
      const isAgain = instance !== null || (await kept.read(session_id)) !== null
      return this.#used(await this.#launch(session_id, egress, instance), isAgain)
    })
  }

  end({ session_id }: Pick<ToolContext, 'session_id'>): Promise<readonly EventWithRows[]> {
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
    const { kept, logger } = this.#options
    const browser = this.held(session_id)
    if (browser === undefined) return
    try {
      await kept.write(session_id, await browser.launched.context.storageState())
    } catch (error) {
      logger('info', 'failed to save the cookies of a browser', { session_id, why: asError(error).message })
    }
  }

  async stop(): Promise<void> {
    this.#stopLooking()
    await this.#endLanded()
    await Promise.all([...this.#live.keys()].map(session_id => this.destroy(session_id, 'shutdown')))
  }

  #inTurn<T>(session_id: string, run: () => Promise<T>): Promise<T> {
    const mutex = this.#turns.get(session_id) ?? createMutex()
    this.#turns.set(session_id, mutex)
    return mutex(run)
  }

  #used(held: HeldBrowser, isAgain = false): Used {
    const { browser } = held
    const { session_id } = browser
    let tells = false
    return {
      browser,
      events: () => {
        tells = this.#live.get(session_id) === held && held.recordedAt === null && !held.wasRecorded
        const { clock } = this.#options
        return tells ? recordProvisioning(held, this.#options, clock.now()) : []
      },
      note: isAgain ? { browser: 'The browser was restarted; forms are empty.' } : {},
      refused: async () => {
        if (!tells) return null
        if (this.#live.get(session_id) === held) await this.#forget(session_id)
        return { content: failure('another runner claimed the browser; try again') }
      },
    }
  }

  async #forget(session_id: string): Promise<void> {
    const held = this.#live.get(session_id)
    this.#live.delete(session_id)
    if (held !== undefined && held.recordedAt !== null && !held.wasRecorded)
      this.#landing.set(held.browser.id, held)
    await held?.browser.close()
  }

  async #launch(
    session_id: string,
    egress: ToolContext['egress'],
    replaces: BrowserInstance | null,
  ): Promise<HeldBrowser> {
    const { config, kept, clock, open, newId = randomUUID } = this.#options
    if (this.#live.size + this.#launching >= config.max)
      throw new Error('all browsers are in use; try again later')
    this.#launching += 1
    try {
      const storage = await kept.read(session_id)
      const browser = await open({
        id: newId(),
        session_id,
        egress,
        ...(storage === null ? {} : { storage }),
      })
      browser.launched.context.once('close', () => {
        if (this.held(session_id) === browser) this.#endDead(session_id)
      })
      const held: HeldBrowser = { browser, born: clock.now(), replaces, recordedAt: null, wasRecorded: false }
      this.#live.set(session_id, held)
      return held
    } finally {
      this.#launching -= 1
    }
  }

  /** If the store does not answer, the periodic check writes the end. */
  #endDead(session_id: string): void {
    const { logger } = this.#options
    this.destroy(session_id, 'crashed').catch((error: unknown) =>
      logger('warn', 'failed to record the end of a browser', { session_id, why: asError(error).message }),
    )
  }

  /** Ends a browser outside of a turn: first the commit, then the process. */
  async #end(session_id: string, reason: DestroyReason): Promise<boolean> {
    const { store, clock } = this.#options
    const browser = this.held(session_id)
    if (reason !== 'crashed') await this.saveState(session_id)
    const deps = { store, now: () => clock.now() }
    let written = false
    // Refused if control changed since it was read: read again and retry.
    for (let tries = 0; !written && tries < MAX_ATTEMPTS; tries += 1) {
      const instance = await store.browsers.browser(session_id)
      if (instance === null || (browser !== undefined && instance.browser_id !== browser.id)) break
      written = await destroyBrowser(deps, instance, reason, this.drivenBy(session_id))
    }
    await this.#forget(session_id)
    return written
  }

  async #lookAround(): Promise<void> {
    const { store, runnerId, clock } = this.#options
    await store.browsers.renew(runnerId, BROWSER_ALIVE_MS)
    for (const instance of await store.browsers.silent())
      await destroyBrowser({ store, now: () => clock.now() }, instance, 'lost')
    await this.#endLanded()
    for (const [session_id, held] of this.#live) {
      await this.saveState(session_id)
      await this.#judge(session_id, held)
    }
  }

  /** Ends rows whose browser is gone: their runner is alive, so no other one would end them. */
  async #endLanded(): Promise<void> {
    const { store, clock } = this.#options
    for (const [id, { browser, recordedAt }] of this.#landing) {
      const instance = await store.browsers.browser(browser.session_id)
      const hasLanded = instance?.browser_id === id
      if (hasLanded) await destroyBrowser({ store, now: () => clock.now() }, instance, 'crashed')
      if (hasLanded || clock.now() - (recordedAt ?? 0) > MAX_RECORDING_MS) this.#landing.delete(id)
    }
  }

  async #judge(session_id: string, held: HeldBrowser): Promise<void> {
    const { store, clock, config } = this.#options
    const { browser, born } = held
    const instance = await store.browsers.browser(session_id)
    const age = clock.now() - born
    // A browser without a row is either young, or none of its results was ever recorded.
    const isStray = instance === null && age > 2 * BROWSER_ALIVE_MS
    if (isStray || !isStill(held, instance, this.#options.clock.now()))
      return this.#inTurn(session_id, () => this.#forget(session_id))
    const session = await store.sessions.get(session_id)
    const idleMs = browser.gate.holder === null ? config.idle_minutes * 60_000 : IDLE_WITH_PERSON_MS
    if (session === null || session.status === 'archived') await this.destroy(session_id, 'archived')
    else if (age > LIFE_MS) await this.destroy(session_id, 'limit')
    else if (clock.now() - browser.lastUsed > idleMs) await this.destroy(session_id, 'idle')
  }
}

/** Maximum time for a result to be committed; after that it never will be. */
const MAX_RECORDING_MS = 10_000

type HeldBrowser = {
  browser: SessionBrowser
  /** Epoch milliseconds. */
  born: number
  /** The row of the previous browser, which this start ends; null: none. */
  replaces: BrowserInstance | null
  /** When a call took the start event along to log it with its result; null: not yet. */
  recordedAt: number | null
  /** The row existed. If it is missing now, another process ended the browser, and it does not return. */
  wasRecorded: boolean
}

/**
 * Whether the row matches this runner's browser. Before the first recorded result, the row may not exist yet.
 */
function isStill(held: HeldBrowser, instance: BrowserInstance | null, now: number): boolean {
  const { browser, replaces, recordedAt } = held
  if (instance?.browser_id === browser.id) return (held.wasRecorded = true)
  if (held.wasRecorded || (recordedAt !== null && now - recordedAt > MAX_RECORDING_MS)) return false
  return instance === null || instance.browser_id === replaces?.browser_id
}

/** The start event for the commit of a result; marks it as logged. */
function recordProvisioning(
  held: HeldBrowser,
  { runnerId, provider, version }: Pick<BrowsersOptions, 'runnerId' | 'provider' | 'version'>,
  now: number,
): readonly EventWithRows[] {
  const { browser, replaces } = held
  held.recordedAt = now
  const isDead = replaces !== null && replaces.alive_until <= now
  return [
    ...(replaces === null ? [] : browserDestroyed(replaces, now, isDead ? 'lost' : 'moved')),
    browserProvisioned(browser.session_id, browser.id, runnerId, { provider, version }),
  ]
}
