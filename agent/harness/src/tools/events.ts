/** The events of tools; the only place that holds the tools writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('tools')

/**
 * A tool is about to run, or was refused; on disk before anything happens. The caller masks the arguments.
 */
export const toolCall = (data: EventData<'tool.call'>): EventDraft => write('tool.call', data)

/** A tool ended, failed or was refused (`elapsed_ms` 0). */
export const toolResult = (data: EventData<'tool.result'>): EventDraft => write('tool.result', data)

/** The agent wrote its plan: always the whole list. */
export const todoUpdated = (todos: EventData<'todo.updated'>['todos']): EventDraft =>
  write('todo.updated', { todos })

/** An inline artifact was created; metadata only, its body is a row. */
export const artifactCreated = (data: EventData<'artifact.created'>): EventDraft =>
  write('artifact.created', data)
