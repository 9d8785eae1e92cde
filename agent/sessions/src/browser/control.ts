/**
 * Browser events of a session and who controls the browser. The only module with the browser's writer.
 *
 * A turn commits browser events with its results. What a person or a timer does is a commit of its own; the
 * guard on the row lets one of two concurrent changes win.
 */
import { type BrowserInstance, CommitRefused, type EventWithRows, withRows } from '@cairn/log'
import { type EventData, writer } from '@cairn/protocol'
import type { Deps } from '../deps.ts'

const write = writer('browser')

export type DestroyReason = EventData<'browser.destroyed'>['reason']
export type ReturnReason = EventData<'browser.control_returned'>['reason']

/** What a person did while in control: the number of inputs and the sites, never the content. */
export type Driven = { inputs: number; origins: readonly string[] }
const NOTHING: Driven = { inputs: 0, origins: [] }

/** A browser without a heartbeat for this long, three intervals, counts as dead. */
export const BROWSER_ALIVE_MS = 90_000
/** Control returns to the agent if the person's page sends nothing for this long. */
export const CONTROL_HOLD_MS = 60_000

export const browserProvisioned = (
  session_id: string,
  browser_id: string,
  worker_id: string,
  what: { provider: 'local' | 'cdp'; version: string },
): EventWithRows =>
  withRows(write('browser.provisioned', { session_id, browser_id, ...what }), {
    do: 'browser.open',
    browser_id,
    worker_id,
    alive_ms: BROWSER_ALIVE_MS,
  })

const controlReturned = (
  { session_id, browser_id, holder }: BrowserInstance,
  now: number,
  by: string,
  reason: ReturnReason,
  { inputs, origins }: Driven,
): EventWithRows[] =>
  holder === null
    ? []
    : [
        withRows(
          write('browser.control_returned', {
            session_id,
            browser_id,
            released_by: by,
            reason,
            seconds: Math.max(0, Math.round((now - holder.since) / 1000)),
            inputs,
            origins: [...origins],
          }),
          { do: 'browser.control', browser_id, from: holder.user_id, to: null, hold_ms: 0 },
        ),
      ]

/** Control that is held ends first. */
export const browserDestroyed = (
  instance: BrowserInstance,
  now: number,
  reason: DestroyReason,
  driven: Driven = NOTHING,
): EventWithRows[] => [
  ...controlReturned(instance, now, 'system', 'destroyed', driven),
  withRows(
    write('browser.destroyed', { session_id: instance.session_id, browser_id: instance.browser_id, reason }),
    {
      do: 'browser.close',
      browser_id: instance.browser_id,
      holder: null,
    },
  ),
]

/** Returns false, and writes nothing, if the browser was changed concurrently. */
async function commit(
  { store }: Pick<Deps, 'store'>,
  session_id: string,
  events: EventWithRows[],
): Promise<boolean> {
  try {
    await store.commit({ session_id, events })
    return true
  } catch (error) {
    if (error instanceof CommitRefused && ['control_held', 'browser_moved'].includes(error.refusal))
      return false
    throw error
  }
}

type Clocked = Pick<Deps, 'store' | 'now'>

export const destroyBrowser = (
  deps: Clocked,
  instance: BrowserInstance,
  reason: DestroyReason,
  driven?: Driven,
): Promise<boolean> =>
  commit(deps, instance.session_id, browserDestroyed(instance, deps.now(), reason, driven))

/** Grants control to a user. Only an administrator can take it from another one, by force. */
export const grantControl = (
  deps: Clocked,
  instance: BrowserInstance,
  user_id: string,
  inbox_item_id: string | null,
  driven: Driven = NOTHING,
): Promise<boolean> => {
  const { session_id, browser_id } = instance
  return commit(deps, session_id, [
    ...controlReturned(instance, deps.now(), user_id, 'forced', driven),
    withRows(
      write('browser.control_granted', { session_id, browser_id, owner_user_id: user_id, inbox_item_id }),
      { do: 'browser.control', browser_id, from: null, to: user_id, hold_ms: CONTROL_HOLD_MS },
    ),
  ])
}

export const returnControl = (
  deps: Clocked,
  instance: BrowserInstance,
  by: string,
  reason: ReturnReason,
  driven: Driven,
): Promise<boolean> =>
  commit(deps, instance.session_id, controlReturned(instance, deps.now(), by, reason, driven))
