/**
 * Tasks of MCP (the extension of revision 2026-07-28): a server answers a call with a task, and the call
 * polls it until it has a result. Meanwhile the server may ask for input, and its restart does not end the
 * call.
 */
import { SdkError, SdkHttpError } from '@modelcontextprotocol/client'
import { asError } from '@cairn/protocol'
import { type Clock, sleep } from '@cairn/models/clock'

export const TASKS = 'io.modelcontextprotocol/tasks'

type Json = Record<string, unknown>
type Send = (method: string, params: Json, signal?: AbortSignal) => Promise<Json>
type Following = {
  signal: AbortSignal
  clock: Clock
  /** Asks the person of the session for each request, by its key. */
  respond: (requests: Json) => Promise<Json>
}

const MIN_POLL_MS = 250
const MAX_POLL_MS = 30_000
const USUAL_POLL_MS = 1_000
/** Failed polls in a row after which the call fails. */
const MAX_FAILURES = 10

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The task with which a server answered a call; null: it answered with a result. */
export const taskIn = (result: Json): Json | null => (result['resultType'] === 'task' ? result : null)

const pauseOf = ({ pollIntervalMs }: Json): number =>
  typeof pollIntervalMs === 'number'
    ? Math.min(Math.max(pollIntervalMs, MIN_POLL_MS), MAX_POLL_MS)
    : USUAL_POLL_MS

/** The result of the call. An aborted call cancels its task. */
export async function followTask(send: Send, started: Json, following: Following): Promise<Json> {
  const { taskId } = started
  if (typeof taskId !== 'string') throw new Error('the server started a task without an id')
  try {
    return await poll(send, taskId, started, following)
  } catch (error) {
    // Not awaited, because the call has ended; a server that is not reached ends the task itself.
    if (following.signal.aborted) send('tasks/cancel', { taskId }).catch(() => undefined)
    throw error
  }
}

async function poll(
  send: Send,
  taskId: string,
  started: Json,
  { signal, clock, respond }: Following,
): Promise<Json> {
  const answered = new Set<string>()
  let task = started
  for (let failures = 0; ;) {
    await sleep(clock, pauseOf(task), signal)
    try {
      task = await send('tasks/get', { taskId }, signal)
      failures = 0
    } catch (error) {
      signal.throwIfAborted()
      failures += 1
      if (!isPassing(error) || failures === MAX_FAILURES) throw error
      continue
    }
    const outcome = outcomeOf(task)
    if (outcome !== null) return outcome
    const open = Object.entries(isObject(task['inputRequests']) ? task['inputRequests'] : {}).filter(
      ([key]) => !answered.has(key),
    )
    if (open.length === 0) continue
    const inputResponses = await respond(Object.fromEntries(open))
    await send('tasks/update', { taskId, inputResponses }, signal)
    for (const key of Object.keys(inputResponses)) answered.add(key)
  }
}

/** Null: the task is not over. Throws if it has no result. */
function outcomeOf({ status, statusMessage, result, error }: Json): Json | null {
  switch (status) {
    case 'working':
    case 'input_required':
      return null
    case 'completed':
      if (isObject(result)) return result
      throw new Error('the task of the server is completed, and has no result')
    case 'cancelled':
      throw new Error(`the server cancelled the task${reason(statusMessage)}`)
    case 'failed':
      throw new Error(
        `the task of the server failed${reason(isObject(error) ? error['message'] : statusMessage)}`,
      )
    default:
      throw new Error(`the task of the server has the unknown status ${JSON.stringify(status)}`)
  }
}

const reason = (text: unknown): string => (typeof text === 'string' && text !== '' ? `: ${text}` : '')

/** Whether the server may answer the next poll: it was not reached, or not ready. */
const isPassing = (thrown: unknown): boolean =>
  thrown instanceof SdkHttpError
    ? thrown.status === undefined || thrown.status >= 500 || thrown.status === 429
    : thrown instanceof SdkError || asError(thrown) instanceof TypeError
