/** Tasks of MCP are exchanges: `task_<session>_<first message>`. Nothing about them is stored. */
import type { Principal } from '@cairn/protocol'
import { AppError } from '@cairn/protocol'
import { findSession } from '@cairn/sessions'
import { listMessages } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { stop } from '../request/command.ts'
import { invalidParams } from './errors.ts'
import { applyResponses, elicitationsOf } from './input.ts'
import { type ExchangeRef, type Progress, readProgress } from './progress.ts'
import { outcomeOf } from './report.ts'
import type { TaskSource, TaskState } from './server.ts'

const POLL_MS = 1000

const taskId = ({ session, exchange }: ExchangeRef): string => `task_${session.id}_${exchange}`

/** The task of an exchange; throws for an unknown id and for one that the principal may not see. */
async function findTask(deps: CompatDeps, principal: Principal, id: string): Promise<ExchangeRef> {
  const found = await lookUpTask(deps, principal, id)
  if (found === null) throw invalidParams(`Unknown task ${JSON.stringify(id.slice(0, 100))}.`)
  return found
}

/** Null if the caller has no such task. */
export async function lookUpTask(
  deps: CompatDeps,
  principal: Principal,
  id: string,
): Promise<ExchangeRef | null> {
  const match = /^task_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})_([1-9]\d{0,14})$/.exec(id)
  if (match === null) return null
  try {
    const session = await findSession(deps.store, principal, match[1] ?? '')
    const exchange = Number(match[2])
    const messages = await listMessages(deps.store, session.id)
    if (messages.some(({ event, begins }) => begins && event.id === exchange)) return { session, exchange }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
  }
  return null
}

export const taskSource = (deps: CompatDeps, principal: Principal): TaskSource => ({
  get: async id => readTask(deps, await findTask(deps, principal, id)),
  async update(id, responses) {
    const ref = await findTask(deps, principal, id)
    const { open } = await readProgress(deps, ref)
    await applyResponses(deps, principal, ref.session.id, open, responses)
  },
  async cancel(id) {
    const ref = await findTask(deps, principal, id)
    const { isOver } = await readProgress(deps, ref)
    if (!isOver) await stop(deps, ref.session.id)
  },
})

export const readTask = async (deps: Pick<CompatDeps, 'store'>, ref: ExchangeRef): Promise<TaskState> =>
  taskOf(ref, await readProgress(deps, ref))

export function taskOf(ref: ExchangeRef, progress: Progress): TaskState {
  const { created_at, updated_at, end, open, isOver } = progress
  const task = {
    taskId: taskId(ref),
    createdAt: created_at,
    lastUpdatedAt: updated_at,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  }
  if (end?.reason === 'stopped') return { ...task, status: 'cancelled' }
  if (open.size > 0 && !isOver)
    return { ...task, status: 'input_required', inputRequests: elicitationsOf(open) }
  if (end === null && !isOver) return { ...task, status: 'working' }
  // A result within a task says itself that it is one.
  return { ...task, status: 'completed', result: { resultType: 'complete', ...outcomeOf(ref, progress) } }
}
