/** The events of experts; the only place that holds the experts writer (contract 14.9). */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('experts')

/** Maximum length of a task in expert.delegation (contract 10.8). */
const TASK_MAX = 500

/** The model called consult_expert; on disk before the expert starts. */
export const expertDelegation = (data: EventData<'expert.delegation'>): EventDraft =>
  write('expert.delegation', { ...data, task: cutTask(data.task) })
export const expertResult = (data: Omit<EventData<'expert.result'>, 'success'>): EventDraft =>
  write('expert.result', { ...data, success: true })
export const expertFailure = (data: Omit<EventData<'expert.failure'>, 'success'>): EventDraft =>
  write('expert.failure', { ...data, success: false })

/** The first 500 characters, without splitting a surrogate pair. */
export const cutTask = (task: string): string =>
  task.slice(0, TASK_MAX).replace(task.length > TASK_MAX ? /[\uD800-\uDBFF]$/ : /$^/, '')
