/**
 * `subscriptions/listen` with `taskIds`: the state of each task when it changes. The SDK's own subscriptions
 * know no tasks, so this stream is ours; a subscription without tasks is left to the SDK.
 */
import type { Principal } from '@cairn/protocol'
import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { CompatDeps } from '../deps.ts'
import { streamOf } from '../request/sse.ts'
import { TASKS } from './errors.ts'
import { type ExchangeRef, followProgress } from './progress.ts'
import type { TaskState } from './server.ts'
import { lookUpTask, taskOf } from './tasks.ts'

const MAX_TASKS = 20
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

const Listen = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({
    notifications: z.looseObject({ taskIds: z.array(z.string().max(200)).min(1).max(MAX_TASKS) }),
    _meta: z.looseObject({
      [CAPABILITIES]: z.looseObject({ extensions: z.looseObject({ [TASKS]: z.unknown() }) }),
    }),
  }),
})
type Listen = z.infer<typeof Listen>

/** Null: the subscription is not one of tasks. */
export type ListenTasks = (message: unknown, signal: AbortSignal) => Response | null

export const isListen = (message: Record<string, unknown>): boolean =>
  message['method'] === 'subscriptions/listen'

export const listenTo =
  (deps: CompatDeps, principal: Principal, info: { name: string; version: string }): ListenTasks =>
  (message, signal) => {
    const parsed = Listen.safeParse(message)
    if (!parsed.success) return null
    const stop = new AbortController()
    signal.addEventListener('abort', () => stop.abort(), { once: true })
    return streamOf(framesOf(deps, principal, parsed.data, info, stop), stop)
  }

const frame = (message: object): string =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

async function* framesOf(
  deps: CompatDeps,
  principal: Principal,
  { id, params }: Listen,
  info: { name: string; version: string },
  stop: AbortController,
): AsyncGenerator<string> {
  const known: { taskId: string; ref: ExchangeRef }[] = []
  for (const taskId of new Set(params.notifications.taskIds)) {
    const ref = await lookUpTask(deps, principal, taskId)
    if (ref !== null) known.push({ taskId, ref })
  }
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: id }
  yield frame({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: known.map(({ taskId }) => taskId) }, _meta },
  })
  for await (const task of changesOf(deps, known, stop.signal))
    yield frame({ method: 'notifications/tasks', params: { ...task, _meta } })
  yield frame({ id, result: { resultType: 'complete', _meta: { ..._meta, [SERVER_INFO_META_KEY]: info } } })
}

const isTerminal = ({ status }: TaskState): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'

/** The states of several tasks as they change, until each is over. */
async function* changesOf(
  deps: CompatDeps,
  tasks: readonly { ref: ExchangeRef }[],
  signal: AbortSignal,
): AsyncGenerator<TaskState> {
  const changed: TaskState[] = []
  const state = { running: tasks.length }
  let wake = (): void => undefined
  async function follow(ref: ExchangeRef): Promise<void> {
    let last = ''
    for await (const progress of followProgress(deps, ref, signal)) {
      const task = taskOf(ref, progress)
      const seen = JSON.stringify([
        task.status,
        'inputRequests' in task ? Object.keys(task.inputRequests) : [],
      ])
      if (seen !== last) changed.push(task)
      last = seen
      wake()
      if (isTerminal(task)) return
    }
  }
  const all = tasks.map(({ ref }) =>
    follow(ref).finally(() => {
      state.running--
      wake()
    }),
  )
  const failed = Promise.all(all)
  while (state.running > 0 || changed.length > 0) {
    const next = changed.shift()
    if (next !== undefined) yield next
    else
      await Promise.race([
        new Promise<void>(resolve => {
          wake = resolve
        }),
        failed,
      ])
  }
  await failed
}
