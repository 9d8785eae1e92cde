/** Tasks in memory, and the tools of the conformance suite that start them. */
import { randomUUID } from 'node:crypto'
import {
  acceptedContent,
  type CallToolResult,
  inputRequired,
  ProtocolError,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { invalidParams, tasksNeeded } from '../../src/mcp/errors.ts'
import {
  type McpTool,
  startedTask,
  type TaskSource,
  type TaskState,
  type ToolCall,
  type ToolOutcome,
} from '../../src/mcp/server.ts'
import { NAME_FORM } from './conformance-rounds.ts'
import { fixture, says, text } from './conformance-tools.ts'

type Outcome = { result: CallToolResult } | { error: { code: number; message: string } }
type Held = {
  created: string
  changed: string
  outcome: Outcome | 'cancelled' | null
  asked: Map<string, object>
  /** Called when the last question is answered. */
  answered: () => void
}

export class MemoryTasks implements TaskSource {
  readonly #tasks = new Map<string, Held>()

  /** Starts a task that ends with `outcome` after `ms`, and after the questions are answered. */
  start(outcome: Outcome, ms: number, asked: Record<string, object> = {}): TaskState {
    const taskId = randomUUID()
    const now = new Date().toISOString()
    const end = (): void => {
      held.outcome ??= outcome
      held.changed = new Date().toISOString()
    }
    const run = (): void => void setTimeout(end, ms)
    const held: Held = {
      created: now,
      changed: now,
      outcome: null,
      asked: new Map(Object.entries(asked)),
      answered: run,
    }
    this.#tasks.set(taskId, held)
    if (held.asked.size === 0) run()
    return this.#state(taskId, held)
  }

  #find(taskId: string): Held {
    const held = this.#tasks.get(taskId)
    if (held === undefined) throw invalidParams('Unknown task.')
    return held
  }

  #state(taskId: string, { created, changed, outcome, asked }: Held): TaskState {
    const task = { taskId, createdAt: created, lastUpdatedAt: changed, ttlMs: 60_000, pollIntervalMs: 100 }
    if (outcome === 'cancelled') return { ...task, status: 'cancelled' }
    if (outcome !== null)
      return 'result' in outcome
        ? { ...task, status: 'completed', ...outcome }
        : { ...task, status: 'failed', ...outcome }
    return asked.size > 0
      ? { ...task, status: 'input_required', inputRequests: Object.fromEntries(asked) }
      : { ...task, status: 'working' }
  }

  async get(taskId: string): Promise<TaskState> {
    return this.#state(taskId, this.#find(taskId))
  }

  async update(taskId: string, responses: Readonly<Record<string, unknown>>): Promise<void> {
    const { asked, answered } = this.#find(taskId)
    const open = asked.size
    for (const key of Object.keys(responses)) asked.delete(key)
    if (open > 0 && asked.size === 0) answered()
  }

  async cancel(taskId: string): Promise<void> {
    this.#find(taskId).outcome ??= 'cancelled'
  }
}

/** A task where the client takes one; otherwise the result itself. */
const maybeTask = (tasks: MemoryTasks, call: ToolCall, result: CallToolResult, ms: number): ToolOutcome =>
  call.takesTasks ? startedTask(tasks.start({ result }, ms)) : result

const asTask = (call: ToolCall, start: () => TaskState): ToolOutcome => {
  if (!call.takesTasks) throw tasksNeeded()
  return startedTask(start())
}

const done = (value: string): CallToolResult => ({ content: [text(value)] })

export const taskTools = (tasks: MemoryTasks): McpTool[] => [
  fixture('greet', ({ name }) => says(`Hello, ${String(name)}!`), {
    type: 'object',
    properties: { name: { type: 'string' } },
  }),
  fixture(
    'slow_compute',
    ({ seconds }, call) => maybeTask(tasks, call, done('Computed.'), Number(seconds) * 1000),
    { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
  ),
  fixture('failing_job', (_, call) =>
    asTask(call, () => tasks.start({ result: { content: [text('The job failed.')], isError: true } }, 100)),
  ),
  fixture('protocol_error_job', (_, call) =>
    asTask(call, () => tasks.start({ error: { code: -32603, message: 'Internal error.' } }, 100)),
  ),
  fixture(
    'confirm_delete',
    (_, call) =>
      asTask(call, () =>
        tasks.start({ result: done('Deleted.') }, 0, {
          confirm: {
            ...NAME_FORM,
            params: {
              mode: 'form',
              message: 'Delete?',
              requestedSchema: {
                type: 'object',
                properties: { confirm: { type: 'boolean' } },
                required: ['confirm'],
              },
            },
          },
        }),
      ),
    { type: 'object', properties: { filename: { type: 'string' } } },
  ),
  fixture('multi_input', (_, call) =>
    asTask(call, () =>
      tasks.start({ result: done('Both answered.') }, 0, { one: NAME_FORM, two: NAME_FORM }),
    ),
  ),
  fixture('test_tool_with_task', (_, call) => {
    const given = acceptedContent({ ...call.inputResponses }, 'user_name', z.object({ name: z.string() }))
    if (given === undefined) return inputRequired({ inputRequests: { user_name: NAME_FORM } })
    return asTask(call, () => tasks.start({ result: done(`Hello, ${given.name}!`) }, 100))
  }),
  fixture('test_unknown_failure', () => {
    throw new ProtocolError(-32603, 'Internal error.')
  }),
]
