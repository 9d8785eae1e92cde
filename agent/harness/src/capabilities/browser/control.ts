/**
 * Tracks who controls a browser, and for how long. The row arbitrates between people; this keeps what only
 * this process knows: whether the person's page is connected, their last activity, and on which sites.
 */
import type { BrowserInstance, LogStore } from '@cairn/log'
import { AppError, asError } from '@cairn/protocol'
import { CONTROL_HOLD_MS, type Driven, grantControl, returnControl, type ReturnReason } from '@cairn/sessions'
import { type Clock, every } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import { createMutex } from '../../mutex.ts'
import type { Browsers } from './browsers.ts'
import type { SessionBrowser } from './session-browser.ts'

const RENEW_MS = 20_000
const WITHOUT_INPUT_MS = 15 * 60_000
const IN_ALL_MS = 60 * 60_000

export type Controlled = { outcome: 'granted' | 'refreshed' | 'released'; control_until: number | null }
export type Person = { id: string; admin: boolean }
export type Found = { instance: BrowserInstance; browser: SessionBrowser }

export const noBrowser = (session_id: string): AppError =>
  new AppError('no_browser', `Session ${session_id} has no browser at the moment.`)
const heldBy = (holder: string): AppError =>
  new AppError('control_held', 'Another user controls this browser.', { extra: { holder } })

type Wheel = { since: number; lastInput: number; inputs: number; origins: Set<string> }
export type ControlOptions = {
  browsers: Browsers
  store: LogStore
  clock: Clock
  logger: Logger
  /** Whether a page of that person is watching the browser. */
  isThere(session_id: string, user_id: string): boolean
  /** Control moved to another person or to the agent. */
  onChange(session_id: string): void
}

export class Control {
  readonly #options: ControlOptions
  readonly #wheels = new Map<string, Wheel>()
  /** Changes of control of a session's browser run one at a time, so that each sees the previous one. */
  readonly #turns = new Map<string, ReturnType<typeof createMutex>>()
  readonly stop: () => void

  constructor(options: ControlOptions) {
    this.#options = options
    const { clock, logger, browsers } = options
    browsers.drivenBy = session_id => this.#driven(session_id)
    this.stop = every(clock, RENEW_MS, () =>
      this.#renew().catch((error: unknown) =>
        logger('warn', 'failed to renew the control of browsers', { why: asError(error).message }),
      ),
    )
  }

  /** Throws `no_browser`, or `browser_unavailable` if another process has it. */
  async find(session_id: string): Promise<Found> {
    const { store, browsers } = this.#options
    const instance = await store.browsers.browser(session_id)
    if (instance === null) throw noBrowser(session_id)
    const browser = browsers.held(session_id)
    if (browser?.id !== instance.browser_id)
      throw new AppError('browser_unavailable', 'The browser runs in another process of this service.')
    return { instance, browser }
  }

  acquire(session_id: string, person: Person, force: boolean, item: string | null): Promise<Controlled> {
    return this.#inTurn(session_id, async () => {
      const { store, clock } = this.#options
      const { instance, browser } = await this.find(session_id)
      const held = instance.holder
      const control_until = clock.now() + CONTROL_HOLD_MS
      if (held?.user_id === person.id) {
        await store.browsers.extendControl(session_id, browser.id, person.id, CONTROL_HOLD_MS)
        return { outcome: 'refreshed', control_until }
      }
      if (held !== null && !(force && person.admin)) throw heldBy(held.user_id)
      browser.gate.holder = person.id
      await browser.gate.quiet()
      const deps = { store, now: () => clock.now() }
      const isGranted = await grantControl(deps, instance, person.id, item, this.#driven(session_id)).catch(
        (error: unknown) => {
          browser.gate.holder = held?.user_id ?? null
          throw error
        },
      )
      if (!isGranted) {
        const now = (await store.browsers.browser(session_id))?.holder ?? null
        browser.gate.holder = now?.user_id ?? null
        throw now === null ? noBrowser(session_id) : heldBy(now.user_id)
      }
      const now = clock.now()
      this.#wheels.set(session_id, { since: now, lastInput: now, inputs: 0, origins: new Set() })
      this.#options.onChange(session_id)
      return { outcome: 'granted', control_until }
    })
  }

  release(session_id: string, person: Person): Promise<Controlled> {
    return this.#inTurn(session_id, async () => {
      const { instance } = await this.find(session_id)
      const { holder } = instance
      if (holder === null || (holder.user_id !== person.id && !person.admin))
        throw new AppError('no_control', 'You do not control this browser.')
      await this.#giveBack(instance, person.id, holder.user_id === person.id ? 'returned' : 'forced')
      return { outcome: 'released', control_until: null }
    })
  }

  /**
   * Whether this person's input is accepted; records that they acted and on which site, never what they did.
   */
  hears(browser: SessionBrowser, user_id: string, url: string): boolean {
    const wheel = this.#wheels.get(browser.session_id)
    if (browser.gate.holder !== user_id || wheel === undefined) return false
    wheel.lastInput = this.#options.clock.now()
    wheel.inputs += 1
    wheel.origins.add(URL.canParse(url) ? new URL(url).origin : 'null')
    return true
  }

  forget(session_id: string): void {
    this.#wheels.delete(session_id)
    this.#turns.delete(session_id)
  }

  #inTurn<T>(session_id: string, run: () => Promise<T>): Promise<T> {
    const mutex = this.#turns.get(session_id) ?? createMutex()
    this.#turns.set(session_id, mutex)
    return mutex(run)
  }

  #driven(session_id: string): Driven {
    const wheel = this.#wheels.get(session_id)
    return { inputs: wheel?.inputs ?? 0, origins: [...(wheel?.origins ?? [])] }
  }

  async #giveBack(instance: BrowserInstance, by: string, reason: ReturnReason): Promise<void> {
    const { store, clock, browsers, onChange } = this.#options
    const { session_id } = instance
    const browser = browsers.held(session_id)
    // Remember the typed values before the agent can see the page again.
    await browser?.remember()
    const deps = { store, now: () => clock.now() }
    if (!(await returnControl(deps, instance, by, reason, this.#driven(session_id)))) return
    this.#wheels.delete(session_id)
    if (browser !== undefined) {
      browser.gate.holder = null
      browser.lastUsed = clock.now()
      await browsers.saveState(session_id)
    }
    onChange(session_id)
  }

  /** Ends control by a person who left, is idle, or exceeded the time limit. */
  async #renew(): Promise<void> {
    for (const session_id of this.#wheels.keys())
      await this.#inTurn(session_id, () => this.#judge(session_id))
  }

  async #judge(session_id: string): Promise<void> {
    const { store, clock, isThere } = this.#options
    const wheel = this.#wheels.get(session_id)
    const instance = await store.browsers.browser(session_id)
    const holder = instance?.holder ?? null
    if (instance === null || holder === null || wheel === undefined) return this.forget(session_id)
    const now = clock.now()
    if (now - wheel.lastInput > WITHOUT_INPUT_MS || now - wheel.since > IN_ALL_MS || now > holder.until)
      await this.#giveBack(instance, 'system', 'expired')
    else if (isThere(session_id, holder.user_id))
      await store.browsers.extendControl(session_id, instance.browser_id, holder.user_id, CONTROL_HOLD_MS)
  }
}
