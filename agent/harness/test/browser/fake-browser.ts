/** A browser without Chromium: the gate is the real one, a call is whatever the test makes of it. */
import { EventEmitter } from 'node:events'
import type { BrowserContext } from 'playwright-core'
import type { Clock } from '@cairn/models/clock'
import { createGate } from '../../src/capabilities/browser/gate.ts'
import type { Launched } from '../../src/capabilities/browser/launch.ts'
import type { SessionBrowser } from '../../src/capabilities/browser/session-browser.ts'

export type FakeBrowser = SessionBrowser & {
  /** Its process is gone, whoever ended it. */
  isOver(): boolean
  /** As if its process had died. */
  die(): void
}

type FakeOptions = {
  id: string
  session_id: string
  clock: Clock
  /** Where its files would be; absent: nobody looks. */
  folder?: string
  /** What a call does. */
  run(browser: SessionBrowser, tool: string, signal: AbortSignal): Promise<string>
}

export function fakeBrowser({ id, session_id, clock, folder = '/nowhere', run }: FakeOptions): FakeBrowser {
  // What the code under test asks of a context, and no more.
  const context = new EventEmitter() as EventEmitter & Pick<BrowserContext, 'pages' | 'storageState'>
  let over = false
  const die = (): void => {
    if (over) return
    over = true
    context.emit('close')
  }
  const state = { cookies: [], origins: [] }
  Object.assign(context, { pages: () => [], storageState: () => Promise.resolve(state) })
  const close = (): Promise<void> => Promise.resolve(die())
  const launched: Launched = {
    context: context as never,
    folder,
    refusals: () => [],
    kill: die,
    close,
  }
  const browser: FakeBrowser = {
    id,
    session_id,
    launched,
    gate: createGate(clock),
    lastUsed: clock.now(),
    async call(tool, _, signal) {
      browser.lastUsed = clock.now()
      try {
        return await browser.gate.pass(either => run(browser, tool, either), signal)
      } finally {
        browser.lastUsed = clock.now()
      }
    },
    remember: () => Promise.resolve(),
    hide: text => text,
    conceal: () => {},
    secrets: new Map(),
    followTab: () => {},
    originOf: () => Promise.reject(new Error('a browser of a test has no page')),
    close,
    isOver: () => over,
    die,
  }
  return browser
}
