/** Browsers of sessions: one per session, one holder at a time, and a runner that renews it. */
import { expect, test } from 'vitest'
import type { BrowserChange, LogStore } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, refused, thought } from './fixture.ts'

const open = (browser_id: string, worker_id = 'worker'): BrowserChange => ({
  do: 'browser.open',
  browser_id,
  worker_id,
  alive_ms: 1000,
})
const control = (browser_id: string, from: string | null, to: string | null): BrowserChange => ({
  do: 'browser.control',
  browser_id,
  from,
  to,
  hold_ms: 500,
})
const close = (browser_id: string, holder: string | null = null): BrowserChange => ({
  do: 'browser.close',
  browser_id,
  holder,
})

export function defineBrowsers({ open: openStore }: Bench): void {
  async function begin() {
    const opened = await openStore()
    await opened.store.sessions.create(newSession('s'))
    return opened
  }
  const change = (...rows: BrowserChange[]) => ({ session_id: 's', events: [thought('acts')], rows })
  const act = (store: LogStore, ...rows: BrowserChange[]) => store.commit(change(...rows))

  test('a session has one browser, and another one can be opened after it is closed', async () => {
    const { store, clock } = await begin()
    expect(await store.browsers.browser('s')).toBeNull()
    await act(store, open('one'))
    expect(await store.browsers.browser('s')).toEqual({
      session_id: 's',
      browser_id: 'one',
      worker_id: 'worker',
      alive_until: clock.now() + 1000,
      created_at: clock.now(),
      holder: null,
    })
    await refused(store, change(open('two')), 'browser_moved')
    await refused(store, change(close('two')), 'browser_moved')
    await act(store, close('one'), open('two', 'other'))
    expect(await store.browsers.browser('s')).toMatchObject({ browser_id: 'two', worker_id: 'other' })
  })

  /** Promise 14.19: On each store one person drives a browser at a time. */
  test('one user controls a browser at a time, and a close must name the current holder', async () => {
    const { store, clock } = await begin()
    await act(store, open('one'), control('one', null, 'alice'))
    const holder = { user_id: 'alice', since: clock.now(), until: clock.now() + 500 }
    expect(await store.browsers.browser('s')).toMatchObject({ holder })
    await refused(store, change(control('one', null, 'bob')), 'control_held')
    await refused(store, change(control('other', 'alice', null)), 'control_held')
    await refused(store, change(close('one')), 'browser_moved')
    expect(await store.browsers.extendControl('s', 'one', 'bob', 900)).toBe(false)
    expect(await store.browsers.extendControl('s', 'one', 'alice', 900)).toBe(true)
    expect(await store.browsers.browser('s')).toMatchObject({ holder: { until: clock.now() + 900 } })
    await act(store, control('one', 'alice', 'bob'), control('one', 'bob', null), close('one'))
    expect(await store.browsers.browser('s')).toBeNull()
  })

  test('a browser is silent if its runner stops renewing it, and not after a renewal', async () => {
    const { store, clock } = await begin()
    await act(store, open('one'))
    expect(await store.browsers.silent()).toEqual([])
    clock.advance(1000)
    expect(await store.browsers.silent()).toMatchObject([{ browser_id: 'one' }])
    await store.browsers.renew('another', 1000)
    expect(await store.browsers.silent()).toHaveLength(1)
    await store.browsers.renew('worker', 1000)
    expect(await store.browsers.silent()).toEqual([])
  })

  test('saved browser state outlives the browser until it expires', async () => {
    const { store, clock } = await begin()
    await act(store, open('one'))
    await store.browsers.keepState('s', 'sealed', 1000)
    await act(store, close('one'))
    expect(await store.browsers.state('s')).toBe('sealed')
    clock.advance(1000)
    expect(await store.browsers.state('s')).toBeNull()
  })
}
