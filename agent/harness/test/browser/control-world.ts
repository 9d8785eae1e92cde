/**
 * A session, its browser, the people who want it and the workers that come and go, all at once and in an
 * order that a seed decides: real store, gate, control and row guards; browsers without Chromium; a clock
 * that is turned by hand.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { CommitRefused, type LogStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { AppError, asError, decodeEvent, GovernanceConfig, type SessionEvent } from '@cairn/protocol'
import { createSession } from '@cairn/sessions'
import type { Browsers } from '../../src/capabilities/browser/browsers.ts'
import { createBrowsers } from '../../src/capabilities/browser/runner-browsers.ts'
import { HeldByPerson } from '../../src/capabilities/browser/gate.ts'
import { createLiveBrowsers, type LiveBrowsers } from '../../src/capabilities/browser/live-browsers.ts'
import type { SessionBrowser } from '../../src/capabilities/browser/session-browser.ts'
import { createMutex } from '../../src/mutex.ts'
import type { ToolOutcome } from '../../src/tools/tool.ts'
import { alice } from '../tools/bench.ts'
import { makeFolder } from '../tools/tool-context.ts'
import { type FakeClock, fakeClock } from '../turn/fake-clock.ts'
import { type FakeBrowser, fakeBrowser } from './fake-browser.ts'

type Who = 'ann' | 'ben' | 'root'
export type Act =
  | { do: 'call'; calls: 1 | 2; long: boolean }
  | { do: 'close' }
  | { do: 'delete' | 'crash' | 'death' | 'move' | 'settle' }
  | { do: 'acquire'; who: Who; force: boolean }
  | { do: 'release' | 'watch' | 'leave'; who: Who }
  | { do: 'wait'; ms: number }

export type Played = {
  events: SessionEvent[]
  /** What was seen and must not be. */
  wrong: string[]
}

type Worker = {
  store: LogStore
  browsers: Browsers
  live: LiveBrowsers
  died: PromiseWithResolvers<void>
  isDead: boolean
}

const { egress } = GovernanceConfig.parse({})
/** What people may be told instead of what they asked for. */
const TOLD = new Set(['no_browser', 'control_held', 'browser_unavailable', 'no_control'])
/** Whoever looks around does so at least this often. */
const TICK_MS = 20_000
/** A long call ends by itself after so long. */
const LONG_CALL_MS = 30_000

/** Where histories happen, one after the other. */
export type ControlPlace = { store: LogStore; clock: FakeClock }

export async function openControlPlace(): Promise<ControlPlace> {
  const clock = fakeClock(1_800_000_000_000)
  const { now } = clock
  return { clock, store: await openStoreInProcess({ dir: makeFolder('control'), now, monotonic: now }) }
}

export async function playControl(
  place: ControlPlace,
  acts: readonly Act[],
  random: () => number,
): Promise<Played> {
  const world = new ControlWorld(place, random)
  await world.open()
  for (const act of acts) await world.act(act)
  return world.end()
}

let ids = 0

class ControlWorld {
  readonly #random: () => number
  readonly #clock: FakeClock
  readonly #store: LogStore
  readonly #wrong: string[] = []
  readonly #fakes: FakeBrowser[] = []
  readonly #workers: Worker[] = []
  readonly #pending = new Set<Promise<void>>()
  /** The turns of the session, one at a time. */
  readonly #turns = createMutex()
  readonly #watching = new Map<Who, (() => void)[]>()
  #owner!: Worker
  #session_id = ''
  #busy = 0

  constructor({ store, clock }: ControlPlace, random: () => number) {
    this.#store = store
    this.#clock = clock
    this.#random = random
  }

  async open(): Promise<void> {
    const deps = { store: this.#store, now: this.#clock.now, newId: () => this.#newId() }
    this.#session_id = (await createSession(deps, ['assistant'], { principal: alice })).id
    this.#owner = this.#hire()
  }

  #newId = (): string => `id-${(ids += 1)}`

  /** A few turns of the loop: whatever else can happen in between may. */
  async #linger(most = 4): Promise<void> {
    for (let left = Math.floor(this.#random() * most); left > 0; left -= 1) await turn()
  }

  /** What a dead process wanted to ask is never asked, and what it asked is never answered. */
  #asked<A extends unknown[], R>(runner: Pick<Worker, 'isDead'>, run: (...args: A) => Promise<R>) {
    return async (...args: A): Promise<R> => {
      this.#busy += 1
      try {
        await this.#linger()
        if (!runner.isDead) {
          const answer = await run(...args)
          await this.#linger()
          if (!runner.isDead) return answer
        }
      } finally {
        this.#busy -= 1
      }
      return new Promise<never>(() => {})
    }
  }

  #hire(): Worker {
    const died = Promise.withResolvers<void>()
    const mortal = { isDead: false, died }
    const { browsers: rows } = this.#store
    const ask = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => this.#asked(mortal, run)
    const store: LogStore = {
      ...this.#store,
      commit: ask(this.#store.commit),
      sessions: { ...this.#store.sessions, get: ask(this.#store.sessions.get) },
      browsers: {
        browser: ask(id => rows.browser(id)),
        silent: ask(() => rows.silent()),
        renew: ask((...args) => rows.renew(...args)),
        extendControl: ask((...args) => rows.extendControl(...args)),
        keepState: ask((...args) => rows.keepState(...args)),
        state: ask(id => rows.state(id)),
      },
    }
    const clock = this.#clock
    const log = () => {}
    const browsers = createBrowsers({
      open: async ({ id, session_id }) => {
        await this.#linger()
        if (mortal.isDead) return new Promise<never>(() => {})
        const run = (browser: SessionBrowser, tool: string, signal: AbortSignal) =>
          this.#run(browser, tool, signal)
        const fake = fakeBrowser({ id, session_id, clock, run })
        this.#fakes.push(fake)
        return fake
      },
      provider: 'local',
      version: 'of a test',
      store,
      runnerId: this.#newId(),
      config: { max: 4, idle_minutes: 10 },
      kept: { write: () => this.#linger(), read: () => this.#linger().then(() => null) },
      clock,
      logger: log,
      newId: this.#newId,
    })
    const live = createLiveBrowsers({ browsers, store, clock, logger: log })
    const worker = Object.assign(mortal, { store, browsers, live })
    this.#workers.push(worker)
    return worker
  }

  /** A call in the browser: nobody may drive while it runs. */
  async #run(browser: SessionBrowser, tool: string, signal: AbortSignal): Promise<string> {
    const until = this.#clock.now() + LONG_CALL_MS
    let left = Math.floor(this.#random() * 4)
    while (tool === 'long' ? this.#clock.now() < until : left-- > 0) {
      if (this.#fakes.find(({ id }) => id === browser.id)?.isOver()) throw new Error('the browser has closed')
      signal.throwIfAborted()
      this.#busy += 1
      const row = await this.#store.browsers.browser(this.#session_id)
      this.#busy -= 1
      if (row?.browser_id === browser.id && row.holder !== null)
        this.#wrong.push(`a call ran while ${row.holder.user_id} drove`)
      await turn()
    }
    return 'done'
  }

  #begin(runner: Worker, run: () => Promise<unknown>): void {
    const done = Promise.race([run(), runner.died.promise]).then(
      () => {},
      (error: unknown) => {
        if (error instanceof AppError && TOLD.has(error.code)) return
        this.#wrong.push(asError(error).stack ?? 'it threw')
      },
    )
    this.#pending.add(done)
    const forget = (): void => void this.#pending.delete(done)
    void done.then(forget)
  }

  /** As a turn lands a result: the events of the call, or what it does where they are refused. */
  async #land(runner: Worker, outcome: ToolOutcome): Promise<void> {
    try {
      const { events = [] } = outcome
      if (events.length > 0) await runner.store.commit({ session_id: this.#session_id, events })
    } catch (error) {
      const other = error instanceof CommitRefused ? await outcome.refused?.(error) : null
      if (!other) throw error
      await this.#land(runner, other)
    }
  }

  async act(act: Act): Promise<void> {
    const owner = this.#owner
    const there = this.#workers.find(({ isDead, browsers }) => !isDead && browsers.held(this.#session_id))
    const at = there ?? owner
    const id = this.#session_id
    switch (act.do) {
      case 'wait':
        this.#clock.advance(act.ms)
        break
      case 'settle':
        await this.#settle()
        break
      case 'crash':
        this.#fakes.findLast(fake => !fake.isOver())?.die()
        break
      case 'move':
        this.#begin(owner, () => this.#turns(() => Promise.resolve(void (this.#owner = this.#hire()))))
        break
      case 'death':
        this.#kill(at)
        break
      case 'delete':
        this.#begin(at, () => at.live.destroy(id))
        break
      case 'acquire':
        this.#begin(at, () => at.live.acquire(id, person(act.who), act.force, null))
        break
      case 'release':
        this.#begin(at, () => at.live.release(id, person(act.who)))
        break
      case 'watch':
        this.#begin(at, () => this.#watch(at, act.who))
        break
      case 'leave':
        for (const leave of this.#watching.get(act.who) ?? []) leave()
        break
      case 'close':
      case 'call':
        this.#begin(owner, () => this.#turn(act))
    }
    // Most see what came of the one before; the others come in its middle.
    if (this.#random() < 0.6) await this.#quiet()
    else await this.#linger(20)
  }

  #kill(runner: Worker): void {
    runner.isDead = true
    runner.died.resolve()
  }

  /** One iteration of the agent: its calls side by side, as those that only read are. */
  #turn(act: Extract<Act, { do: 'call' | 'close' }>): Promise<void> {
    return this.#turns(async () => {
      const runner = this.#owner
      if (runner.isDead) this.#owner = this.#hire()
      const calls = Array.from({ length: act.do === 'call' ? act.calls : 1 }, () =>
        act.do === 'call' ? this.#call(this.#owner, act.long) : this.#close(this.#owner),
      )
      await Promise.race([Promise.all(calls), this.#owner.died.promise])
    })
  }

  async #call(runner: Worker, long: boolean): Promise<void> {
    const used = await runner.browsers.use({ session_id: this.#session_id, egress })
    const content = await used.browser
      .call(long ? 'long' : 'short', {}, new AbortController().signal)
      .catch((error: unknown) => {
        if (error instanceof HeldByPerson || asError(error).message === 'the browser has closed')
          return 'not done'
        throw error
      })
    await this.#land(runner, { content, events: used.events(), refused: () => used.refused() })
  }

  async #close(runner: Worker): Promise<void> {
    const outcome = async (): Promise<ToolOutcome> => ({
      content: 'closed',
      events: await runner.browsers.end({ session_id: this.#session_id }),
      refused: outcome,
    })
    await this.#land(runner, await outcome())
  }

  async #watch({ live }: Worker, who: Who): Promise<void> {
    const gone: (() => void)[] = []
    const leave = (): void => gone.splice(0).forEach(tell => tell())
    this.#watching.set(who, [...(this.#watching.get(who) ?? []), leave])
    const socket = { send: () => {}, close: leave, onMessage: () => {}, onClose: gone.push.bind(gone) }
    await live.attach(this.#session_id, socket, person(who))
  }

  /** Until nobody waits for anything but time. */
  async #quiet(): Promise<void> {
    for (let idle = 0; idle < 10; idle = this.#busy === 0 ? idle + 1 : 0) await turn()
  }

  /** Until nobody waits for anything but time, and then some time, until nobody waits at all. */
  async #settle(): Promise<void> {
    for (let rounds = 0; ; rounds += 1) {
      if (rounds > 200) throw new Error('somebody waits for ever')
      await this.#quiet()
      if (this.#pending.size === 0) return
      this.#clock.advance(5_000)
    }
  }

  /** All the time that anything takes: lost pages, silent workers, idle browsers. */
  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      this.#clock.advance(TICK_MS)
      await this.#settle()
    }
  }

  async end(): Promise<Played> {
    await this.#settle()
    for (const leaves of this.#watching.values()) for (const leave of leaves) leave()
    // Somebody looks after what dead workers left.
    this.#hire()
    await this.#pass(120_000)
    const held = await this.#store.browsers.browser(this.#session_id)
    if (held !== null && held.holder !== null) this.#wrong.push(`${held.holder.user_id} still drives`)
    for (const runner of this.#workers.filter(({ isDead }) => !isDead)) {
      runner.live.stop()
      await runner.browsers.stop()
      runner.isDead = true
    }
    if ((await this.#store.browsers.browser(this.#session_id)) !== null) this.#wrong.push('a row is left')
    const events = (await this.#store.events.read(this.#session_id, 0, 10_000)).map(({ json }) =>
      decodeEvent(json),
    )
    return { events, wrong: this.#wrong }
  }
}

const person = (who: Who) => ({ id: `user-${who}`, admin: who === 'root' })
