/** The browsers of a runner's sessions, for the agents, viewers and people who control them. */
import type { EventWithRows, LogStore } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { DestroyReason, Driven } from '@cairn/sessions'
import type { Clock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { ToolContext, ToolOutcome } from '../../tools/tool.ts'
import type { StateKeeper } from './saved-state.ts'
import type { OpenBrowser } from './open-browser.ts'
import type { SessionBrowser } from './session-browser.ts'

export type BrowsersOptions = {
  open: OpenBrowser
  /** Where the browsers run; logged with their start. */
  provider: 'local' | 'cdp'
  version: string
  store: LogStore
  runnerId: string
  config: Pick<Config['browser'], 'max' | 'idle_minutes'>
  kept: StateKeeper
  clock: Clock
  logger: Logger
  newId?: () => string
}

export type Used = {
  browser: SessionBrowser
  /**
   * Events for the commit of the call's result, requested just before it: the browser's start, which exactly
   * one call logs. Parallel calls get none.
   */
  events(): readonly EventWithRows[]
  /** A note for the model, added to the result. */
  note: Record<string, unknown>
  /** The commit was refused: ends the browser that it would have recorded. */
  refused(): Promise<ToolOutcome | null>
}

export type Browsers = {
  /** The session's browser; launches one if there is none. Only for the holder of the session's lease. */
  use(context: Pick<ToolContext, 'session_id' | 'egress'>): Promise<Used>
  /** The events that end the browser; its process is ended at once. */
  end(context: Pick<ToolContext, 'session_id'>): Promise<readonly EventWithRows[]>
  /** This runner's browser of a session. */
  held(session_id: string): SessionBrowser | undefined
  /** Ends a browser outside of a turn. False: there is none, or another process ended it first. */
  destroy(session_id: string, reason: DestroyReason): Promise<boolean>
  /** What the controlling person did so far. */
  drivenBy: (session_id: string) => Driven | undefined
  saveState(session_id: string): Promise<void>
  count(): number
  stop(): Promise<void>
}
