/** The browsers of a worker's sessions, as those who use, watch and drive them see them. */
import type { Draft, LogStore } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { DestroyReason, Driven } from '@cairn/sessions'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { ToolContext, ToolOutcome } from '../tools/tool.ts'
import type { StateKeeper } from './saved-state.ts'
import type { OpenBrowser } from './open-browser.ts'
import type { SessionBrowser } from './session-browser.ts'

export type BrowsersOptions = {
  open: OpenBrowser
  /** Where they run; told with their beginning. */
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
   * For the commit of the call's result, asked for just before it: the beginning of the browser, which one
   * call tells, once. Calls that run beside it have nothing to tell.
   */
  events(): readonly Draft[]
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
  /** How many there are now. */
  count(): number
  stop(): Promise<void>
}
