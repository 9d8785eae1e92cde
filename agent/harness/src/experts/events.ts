/** The events of experts; the one place that holds the experts writer (contract 14.9). */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('experts')

/** What expert.delegation shows of a task (contract 10.8). */
const TASK_MAX = 500

/** The model called consult_expert; on disk before the expert begins. */
export const expertDelegation = (data: EventData<'expert.delegation'>): EventDraft =>
  write('expert.delegation', { ...data, task: cutTask(data.task) })
export const expertResult = (data: Omit<EventData<'expert.result'>, 'success'>): EventDraft =>
  write('expert.result', { ...data, success: true })
export const expertFailure = (data: Omit<EventData<'expert.failure'>, 'success'>): EventDraft =>
  write('expert.failure', { ...data, success: false })

/** The first 500 characters; half of a surrogate pair is no character. */
export const cutTask = (task: string): string =>
  task.slice(0, TASK_MAX).replace(task.length > TASK_MAX ? /[\uD800-\uDBFF]$/ : /$^/, '')
