/**
 * One MCP server: connected, or retrying. Its tools exist while it is connected; a call to a vanished tool
 * fails like any tool call. Its states are in connection-state.ts.
 */
import { type McpServerConfig, asError, checkMove } from '@cairn/protocol'
import { rootCause } from '../../tools/root-cause.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import {
  absenceOf,
  type ConnectionOptions,
  type McpConnection,
  MOVES,
  notConnected,
  type State,
  waitBeforeAttempt,
} from './connection-state.ts'
import type { DefinedTool } from './definition.ts'
import { consentFor, withLogin } from './call-login.ts'
import { LeftOut } from './left-out.ts'
import { listTools, type ToolList } from './list-tools.ts'
import { type Era, eraAfter } from './era.ts'
import { ConsentNeeded } from './oauth/consent-needed.ts'
import { createThrottle } from './throttle.ts'
import { isBroken, isRefusal, refusedWith, request } from './request.ts'
import { type McpSession, openSession } from './session.ts'
import { within } from './within.ts'
import { type CallContext, wrapTools } from './wrap-tool.ts'

/** A connection that lasted this long resets the series of attempts; a shorter one continues it. */
const STABLE_MS = 60_000
/** Time for a server to accept the end of its session. */
const END_TIMEOUT_MS = 2000

export const connectMcpServer = (
  name: string,
  config: McpServerConfig,
  options: ConnectionOptions,
): McpConnection => new Connection(name, config, options)

class Connection implements McpConnection {
  readonly ready: Promise<void>
  readonly #name: string
  readonly #config: McpServerConfig
  readonly #options: ConnectionOptions
  /** Attempts since the last stable connection. */
  #attempts = 0
  /** Why tools of the last list are not offered, by name. */
  #leftOut: ReadonlyMap<string, string> = new Map()
  /** The protocol's generation of the last session, so that the next one need not ask. */
  #era: Era | undefined
  #state: State

  constructor(name: string, config: McpServerConfig, options: ConnectionOptions) {
    this.#name = name
    this.#config = config
    this.#options = options
    this.#state = { at: 'waiting', cancelRetry: () => {} }
    this.ready = this.#connect()
  }

  tools(): readonly Tool[] {
    return this.#state.at === 'connected' ? this.#state.tools : []
  }

  absence(tool: string): string | null {
    return absenceOf(this.#name, this.#state) ?? this.#leftOut.get(tool) ?? null
  }

  #move(next: State): void {
    checkMove(`MCP server ${this.#name}`, MOVES, this.#state.at, next.at)
    this.#state = next
  }

  #wrap(list: ToolList): Tool[] {
    const { logger, named, onTools } = this.#options
    const { tools, leftOut } = wrapTools({ name: this.#name, config: this.#config, named, logger }, list, {
      call: (tool, args, context) => this.#call(tool, args, context),
      confirm: tool => this.#confirm(tool),
    })
    this.#leftOut = leftOut
    onTools(tools)
    return tools
  }

  /** Connects, or waits for the running attempt; never rejects. */
  #connect(): Promise<void> {
    const state = this.#state
    if (state.at === 'connecting') return state.done
    if (state.at !== 'waiting' && state.at !== 'needs_login') return Promise.resolve()
    if (state.at === 'waiting') state.cancelRetry()
    const next: Extract<State, { at: 'connecting' }> = {
      at: 'connecting',
      opening: null,
      done: Promise.resolve(),
    }
    this.#move(next)
    next.done = this.#open(next)
    return next.done
  }

  async #open(connecting: Extract<State, { at: 'connecting' }>): Promise<void> {
    const { logger, clock } = this.#options
    try {
      const options = { ...this.#options, auth: this.#options.login?.auth, era: this.#era }
      const { session, list } = await openSession(this.#name, this.#config, options, {
        onOpening: client => void (connecting.opening = client),
        onClosed: (lost, why) => this.#lose(lost, why),
        onToolsChanged: of => this.#has(of)?.relist.trigger(),
      })
      if (this.#state !== connecting) return await session.client.close()
      this.#era = session.client.getProtocolEra()
      const tools = this.#wrap(list)
      const relist = createThrottle(clock, () => this.#relist(session))
      this.#move({ at: 'connected', session, tools, since: clock.monotonic(), relist })
      logger('info', `MCP server ${this.#name} is connected`, { tools: tools.length })
    } catch (error) {
      this.#era = eraAfter(this.#config, this.#era, error)
      const consent = await consentFor(this.#name, this.#options.login, error).catch(asError)
      if (this.#state === connecting) this.#explain(consent ?? asError(error))
    }
  }

  loginLink(): string | null {
    return this.#state.at === 'needs_login' ? this.#state.link : null
  }

  async retryLogin(): Promise<void> {
    if (this.#state.at !== 'needs_login') return
    try {
      if ((await this.#options.login?.isConnected()) === true) await this.#connect()
    } catch (error) {
      this.#report('its account could not be read', error)
    }
  }

  #explain(cause: Error): void {
    const { logger } = this.#options
    if (cause instanceof LeftOut) {
      this.#move({ at: 'left_out' })
      logger('error', `MCP server ${this.#name} skipped: ${cause.message}`)
      return
    }
    if (cause instanceof ConsentNeeded) {
      this.#move({ at: 'needs_login', link: cause.link })
      logger('info', `MCP server ${this.#name} is left out until its user logs in`, { link: cause.link })
      return
    }
    const waitMs = this.#retryLater()
    // Logged at once, and then about every ten minutes, so that an unreachable server does not fill the log.
    if (this.#attempts === 1 || this.#attempts % 20 === 0)
      logger('warn', `cannot connect to MCP server ${this.#name}; its tools are unavailable`, {
        why: cause.message,
        attempts: this.#attempts,
        next_attempt_in_ms: waitMs,
      })
  }

  #retryLater(): number {
    const { clock, random } = this.#options
    const waitMs = waitBeforeAttempt(this.#attempts, random)
    this.#attempts += 1
    this.#move({ at: 'waiting', cancelRetry: clock.after(waitMs, () => void this.#connect()) })
    return waitMs
  }

  /** Drops a session that is no longer usable, once. */
  #lose(lost: McpSession, why: string): void {
    const state = this.#has(lost)
    if (state === null) return
    const { logger, clock } = this.#options
    state.relist.stop()
    if (clock.monotonic() - state.since >= STABLE_MS) this.#attempts = 0
    logger('warn', `lost MCP server ${this.#name}; its tools are unavailable until it reconnects`, {
      why,
      said: lost.lastWords(),
    })
    this.#retryLater()
    lost.client.close().catch((error: unknown) => this.#report('the connection could not be closed', error))
  }

  #has(session: McpSession): Extract<State, { at: 'connected' }> | null {
    return this.#state.at === 'connected' && this.#state.session === session ? this.#state : null
  }

  async #list(session: McpSession): Promise<void> {
    const tools = this.#wrap(await listTools(session.client))
    const state = this.#has(session)
    if (state !== null) state.tools = tools
  }

  async #relist(session: McpSession): Promise<void> {
    try {
      await this.#list(session)
    } catch (error) {
      this.#report('it announced a change of its tools and did not list them', error)
    }
  }

  #report(what: string, thrown: unknown): void {
    this.#options.logger('warn', `MCP server ${this.#name}: ${what}`, { why: asError(thrown).message })
  }

  #connected(): Extract<State, { at: 'connected' }> {
    if (this.#state.at === 'connected') return this.#state
    throw new Error(notConnected(this.#name))
  }

  async #confirm(tool: DefinedTool): Promise<void> {
    const { session } = this.#connected()
    try {
      await this.#list(session)
    } catch (error) {
      if (!isRefusal(error)) throw error
      await this.#reopen(session)
    }
    this.#requireCurrent(tool)
  }

  /** Throws if the tool differs from the server's current definition. */
  #requireCurrent({ tool, hash }: DefinedTool): void {
    const { tools } = this.#connected()
    if (tools.some(({ definition }) => definition?.hash === hash)) return
    throw new Error(
      `MCP server '${this.#name}' changed the definition of '${tool.name}', so the call was not ` +
        'sent; an approval of the earlier definition does not cover the new one',
    )
  }

  async #call(
    defined: DefinedTool,
    args: Record<string, unknown>,
    context: CallContext,
  ): Promise<ToolOutcome> {
    const { session, relist } = this.#connected()
    // A change that the server has announced applies from then on, even before its list is read.
    await relist.settle()
    this.#requireCurrent(defined)
    const deps = { ...this.#options, server: this.#name }
    const send = (to: McpSession): Promise<ToolOutcome> =>
      withLogin(this.#name, this.#options.login, context, () => request(to, defined, args, context, deps))
    try {
      return await send(session)
    } catch (error) {
      context.signal.throwIfAborted()
      if (isRefusal(error) && (await this.#isLost(session, error))) {
        await this.#reopen(session)
        // By its status the server refused the request, as it refuses every other one of that session, and
        // therefore ran nothing. Nothing else is ever sent twice.
        if (refusedWith(error) === null) throw error
        this.#requireCurrent(defined)
        return send(this.#connected().session)
      }
      if (!isBroken(error)) throw error
      const { message } = rootCause(error)
      this.#lose(session, message)
      throw new Error(`cannot connect to MCP server '${this.#name}': ${message}`, { cause: error })
    }
  }

  /**
   * Whether the server no longer knows the session. The protocol has the status 404 for this; many servers
   * use another status, or an error as an answer. A session that does not even list its tools is lost.
   */
  async #isLost(session: McpSession, refusal: unknown): Promise<boolean> {
    if (this.#has(session) === null) return true
    if (refusedWith(refusal) === 404 && session.hasSession()) return true
    try {
      await this.#list(session)
      return false
    } catch (error) {
      return isRefusal(error)
    }
  }

  /** Replaces a lost session, before the next call. */
  async #reopen(lost: McpSession): Promise<void> {
    this.#lose(lost, 'the server refuses every request of this session')
    await this.#connect()
  }

  async stop(): Promise<void> {
    const last = this.#state
    if (last.at === 'stopped') return
    this.#move({ at: 'stopped' })
    if (last.at === 'waiting') last.cancelRetry()
    if (last.at === 'connecting') {
      await last.opening?.close()
      await last.done
    }
    if (last.at !== 'connected') return
    last.relist.stop()
    try {
      await within(this.#options.clock, END_TIMEOUT_MS, 'ending the session', last.session.end())
    } catch (error) {
      this.#report('the session could not be ended', error)
    }
    await last.session.client.close()
  }
}
