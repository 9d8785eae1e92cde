/** Tasks, read from the log and followed. */
import type { SessionRow } from '@cairn/log'
import type { EventId, Principal } from '@cairn/protocol'
import { findExchange, followExchange } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { findVisible } from '../request/ids.ts'
import { taskNotFound } from './errors.ts'
import { isTerminal, isWaiting, type StreamFrame, type Task, TaskWriter } from './tasks.ts'

/** `exchange` is the message that began the task. */
export type TaskRef = { session: SessionRow; exchange: EventId }

const taskId = ({ session, exchange }: TaskRef): string => `${session.id}-${exchange}`

/** The task; one of another person, or of another agent, is not found. */
export async function findTask(
  deps: CompatDeps,
  principal: Principal,
  agent: string,
  id: string,
): Promise<TaskRef> {
  const [, session_id, number] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})-([1-9]\d{0,14})$/.exec(id) ?? []
  const session = session_id === undefined ? null : await findVisible(deps, principal, session_id)
  const exchange = Number(number)
  if (session === null || session.agent !== agent) throw taskNotFound(id)
  if ((await findExchange(deps.store, session.id, exchange)) !== exchange) throw taskNotFound(id)
  return { session, exchange }
}

const writerOf = (ref: TaskRef, base: string): TaskWriter =>
  new TaskWriter({ taskId: taskId(ref), contextId: ref.session.id }, base)

/** A task with what it waits for. */
export async function readTask(
  deps: CompatDeps,
  ref: TaskRef,
  base: string,
): Promise<{ task: Task; writer: TaskWriter }> {
  const writer = writerOf(ref, base)
  const leave = new AbortController()
  const { session, exchange } = ref
  for await (const { changed, atEnd } of followExchange(deps.store, session.id, exchange, leave.signal)) {
    for (const each of changed) writer.take(each)
    if (atEnd) break
  }
  return { task: writer.task(), writer }
}

/** The task as it is, then what changes, until it is over or its caller must act. */
export async function* followTask(
  deps: CompatDeps,
  ref: TaskRef,
  base: string,
  signal: AbortSignal,
): AsyncGenerator<{ frames: StreamFrame[]; task: Task; isOver: boolean }> {
  const writer = writerOf(ref, base)
  const { session, exchange } = ref
  let isFirst = true
  for await (const { changed, atEnd, isOver } of followExchange(deps.store, session.id, exchange, signal)) {
    const frames = changed.flatMap(each => writer.take(each))
    if (isFirst && !atEnd && !isOver) continue
    const task = writer.task()
    const rests = isOver || (atEnd && (isTerminal(task) || isWaiting(task)))
    yield { frames: isFirst ? [{ task }] : frames, task, isOver: rests }
    if (rests) return
    isFirst = false
  }
}
