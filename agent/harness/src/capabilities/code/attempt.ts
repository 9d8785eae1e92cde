/**
 * One process of a run: initialized, given its session and its prompt, and followed until it has answered,
 * must wait for a person, or is asked to end. In any case none of its processes is alive when this returns.
 */
import { Readable, Writable, Transform } from 'node:stream'
import {
  client,
  type ClientContext,
  type ContentBlock,
  methods,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { asError } from '@cairn/protocol'
import { type Clock, sleep } from '@cairn/models/clock'
import type { AgentProcess } from './agent-process.ts'
import { readFrames } from './frames.ts'

/** The first start of a 200 MB program takes more than ten seconds on busy cores. */
const GREETING_MS = 30_000
const MAX_FRAME = 16 * 2 ** 20
/** Time for a cancelled agent to stop, and then for its terminated processes to exit. */
const CANCEL_MS = 5000
/** Time for an agent that has answered to exit. */
const ENDED_MS = 1000
const TERMINATE_MS = 2000
const STDERR_CHARS = 2000

export type Ended =
  | { how: 'answered'; response: PromptResponse }
  /** The agent cannot restore its session. */
  | { how: 'lost' }
  | { how: 'failed'; error: string }

export type AttemptOptions = {
  clock: Clock
  process: AgentProcess
  cwd: string
  /** The agent's session to resume; null: a new one. */
  resume: string | null
  prompt: string
  /** Aborts when the run is stopped, paused, parked or handed over. */
  signal: AbortSignal
  /** Must be on disk before the prompt is sent. */
  onSession(acpSessionId: string): Promise<void>
  /** Called when the prompt has been sent. */
  onPrompted(): void
  onUpdate(update: SessionUpdate): void
  onPermission(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
}

export async function runAttempt(options: AttemptOptions): Promise<Ended> {
  const { clock, process: agent, signal } = options
  let stderr = ''
  agent.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-STDERR_CHARS)
  })
  let unread: string | null = null
  const giveUp = (reason: string): void => {
    unread ??= reason
    void agent.close()
  }
  const frames = readFrames(limitFlood(agent.stdout, clock, giveUp), giveUp)
  // Writes to an exited agent are lost; ignore the error.
  agent.stdin.on('error', goneAlready)
  let isOurs: string | null = null
  const connection = client({ name: 'cairn' })
    .onNotification(methods.client.session.update, ({ params }) => {
      if (params.sessionId === isOurs) options.onUpdate(params.update)
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) =>
      signal.aborted ? { outcome: { outcome: 'cancelled' as const } } : options.onPermission(params),
    )
    .connect(
      ndJsonStream(
        Writable.toWeb(agent.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(frames.readable) as ReadableStream<Uint8Array>,
        { maxMessageBytes: MAX_FRAME },
      ),
    )
  try {
    return await converse(connection.agent, options, id => {
      isOurs = id
    })
  } catch (error) {
    signal.throwIfAborted()
    // Its pipes close before its exit is reported; a live agent has reported the error itself.
    const died = await ended(agent, clock)
    const why = (unread ?? died ?? asError(error).message) + frames.passedOver()
    return { how: 'failed', error: stderr.trim() === '' ? why : `${why}\n${stderr.trim()}` }
  } finally {
    // Pending permissions were answered `cancelled` first, because some agents wait for that. An exited one
    // needs no cancel.
    if (signal.aborted && isOurs !== null)
      await connection.agent.notify(methods.agent.session.cancel, { sessionId: isOurs }).catch(goneAlready)
    await end(agent, clock, signal.aborted ? CANCEL_MS : ENDED_MS)
    connection.close()
  }
}

/** An exited agent receives nothing; its exit reports the reason. */
const goneAlready = (): void => {}
/** A promise that lost its race; the winner has reported how the attempt ended. */
const ignoreUpdate = (): void => {}

async function converse(
  agent: ClientContext,
  options: AttemptOptions,
  onSession: (id: string) => void,
): Promise<Ended> {
  const { clock, process, cwd, resume, signal } = options
  const died = process.exited.then(exit => {
    throw new Error(deathOf(exit))
  })
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(asError(signal.reason)), { once: true })
  })
  // Each is raced several times; a rejection after the last race must not count as unhandled.
  for (const unheard of [died, aborted]) unheard.catch(ignoreUpdate)
  const until = <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(ignoreUpdate)
    return Promise.race([promise, died, aborted])
  }
  signal.throwIfAborted()
  const late = new AbortController()
  const { agentCapabilities } = await until(
    Promise.race([
      agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientInfo: { name: 'cairn', version: '1' },
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      }),
      sleep(clock, GREETING_MS, late.signal).then(() => {
        throw new Error(`the agent did not answer initialize within ${GREETING_MS / 1000} s`)
      }),
    ]),
  ).finally(() => late.abort(new Error('it has answered')))
  const sessionId = await until(openSession())
  if (sessionId === null) return { how: 'lost' }
  onSession(sessionId)
  await options.onSession(sessionId)
  signal.throwIfAborted()
  const prompt: ContentBlock[] = [{ type: 'text', text: options.prompt }]
  const answer = agent.request(methods.agent.session.prompt, { sessionId, prompt })
  options.onPrompted()
  return { how: 'answered', response: await until(answer) }

  async function openSession(): Promise<string | null> {
    if (resume === null) {
      const made = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
      await chooseAsking(agent, made.sessionId, made.modes, made.configOptions)
      return made.sessionId
    }
    const { sessionCapabilities, loadSession } = agentCapabilities ?? {}
    if (sessionCapabilities?.resume) {
      const { modes, configOptions } = await agent.request(methods.agent.session.resume, {
        sessionId: resume,
        cwd,
      })
      await chooseAsking(agent, resume, modes, configOptions)
      return resume
    }
    if (loadSession !== true) return null
    // What it replays is already in the log: updates count from here on.
    const { modes, configOptions } = await agent.request(methods.agent.session.load, {
      sessionId: resume,
      cwd,
      mcpServers: [],
    })
    await chooseAsking(agent, resume, modes, configOptions)
    return resume
  }
}

type Exit = Awaited<AgentProcess['exited']>
const deathOf = ({ exitCode, signal, overran }: Exit): string =>
  overran ?? `the agent exited (${signal ?? `exit code ${String(exitCode)}`}) before it answered`

/** How the process died; null: it is alive. */
async function ended({ exited }: AgentProcess, clock: Clock): Promise<string | null> {
  const told = exited.then(deathOf, (error: unknown) => asError(error).message)
  const isOver = await within(
    clock,
    ENDED_MS,
    told.then(() => undefined),
  )
  return isOver ? told : null
}

const ASKS = /^(?:ask|default|manual|suggest|read[-_]?only)/i

/**
 * Selects a mode in which the agent asks before it acts: the policy decides, not the agent's own settings.
 */
async function chooseAsking(
  agent: ClientContext,
  sessionId: string,
  modes: SessionModeState | null | undefined,
  options: SessionConfigOption[] | null | undefined,
): Promise<void> {
  const mode = modes?.availableModes.find(({ id }) => ASKS.test(id))
  if (mode !== undefined && mode.id !== modes?.currentModeId)
    await agent.request(methods.agent.session.setMode, { sessionId, modeId: mode.id })
  const option = options?.find(({ category, type }) => category === 'mode' && type === 'select')
  if (mode !== undefined || option?.type !== 'select') return
  const values = option.options.flatMap(each => ('options' in each ? each.options : [each]))
  const value = values.find(each => ASKS.test(each.value))?.value
  if (value !== undefined && value !== option.currentValue)
    await agent.request(methods.agent.session.setConfigOption, { sessionId, configId: option.id, value })
}

/** Waits for a voluntary exit, then sends SIGTERM to all its processes, then ends the sandbox. */
async function end(agent: AgentProcess, clock: Clock, patience: number): Promise<void> {
  const gone = agent.exited.then(
    () => undefined,
    () => undefined,
  )
  agent.stdin.end()
  if (!(await within(clock, patience, gone))) {
    agent.terminate()
    await within(clock, TERMINATE_MS, gone)
  }
  await agent.close()
}

async function within(clock: Clock, ms: number, what: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const cancel = clock.after(ms, () => resolve(false))
  try {
    return await Promise.race([what.then(() => true), promise])
  } finally {
    cancel()
  }
}

/** An agent that writes faster than it can be read is ended. */
const MAX_BYTES_PER_S = 8 * 2 ** 20
const MAX_LINE_BYTES = 16 * 2 ** 20

/** Forwards the data; above the limit, calls `onFlood` once and forwards nothing more. */
function limitFlood(from: Readable, clock: Clock, onFlood: (reason: string) => void): Readable {
  let since = clock.monotonic()
  let bytes = 0
  let line = 0
  let isOver = false
  const limited = new Transform({
    transform(chunk: Buffer, _, done) {
      const now = clock.monotonic()
      if (now - since >= 1000) {
        since = now
        bytes = 0
      }
      bytes += chunk.length
      const end = chunk.lastIndexOf(10)
      line = end === -1 ? line + chunk.length : chunk.length - end - 1
      const reason =
        bytes > MAX_BYTES_PER_S
          ? 'the agent wrote more than 8 MB within a second and was stopped'
          : line > MAX_LINE_BYTES
            ? 'the agent wrote a frame of more than 16 MB and was stopped'
            : null
      if (reason !== null && !isOver) {
        isOver = true
        onFlood(reason)
      }
      done(null, isOver ? undefined : chunk)
    },
  })
  from.on('error', thrown => limited.destroy(thrown))
  return from.pipe(limited)
}
