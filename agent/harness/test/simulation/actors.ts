/**
 * What a worker of the simulation acts with: a model that says what the seed chose, and tools whose effects
 * are counted.
 */
import { z } from 'zod'
import {
  type ModelAnswer,
  ModelError,
  type ModelProvider,
  type ModelRequest,
  type Models,
  PROFILES,
} from '@cairn/models'
import { askUserQuestionTool } from '../../src/tools/ask-user-question.ts'
import { todoTool } from '../../src/tools/todo.ts'
import type { Tool, ToolContext } from '../../src/tools/tool.ts'
import type { Process, World } from './world.ts'

/** What really happened outside the log, where a crash cannot take it back. */
export type Effects = {
  /** How often the tool of a call was started, and how often its effect took place. */
  started: Map<string, number>
  done: Map<string, number>
  /** By the value of the note that was to be taken back. */
  undone: Map<string, number>
  problems: string[]
}
export const noEffects = (): Effects => ({
  started: new Map(),
  done: new Map(),
  undone: new Map(),
  problems: [],
})
const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1)

export type Mood = {
  /** Nothing strange happens any more; whatever is under way may come to its end. */ calm: boolean
}

type ToolCalls = NonNullable<ModelAnswer['message']['tool_calls']>
type Plan = {
  text: string
  calls: ToolCalls
  reasoning: string
  finish: string
  error: ModelError | null
  hang: boolean
}

const USAGE = { input_tokens: 10, output_tokens: 5, reasoning_tokens: 0, cache_read_tokens: 0 }
const VERDICTS = [
  [3, 'satisfied'],
  [4, 'needs_revision'],
  [1, 'blocked'],
  [1, 'failed'],
] as const

function planAnswer(world: World, mood: Mood, request: ModelRequest): Plan {
  const plan: Plan = { text: '', calls: [], reasoning: '', finish: 'stop', error: null, hang: false }
  const call = (name: string, args: object): ToolCalls[number] => ({
    id: `call-${world.newId()}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  })
  if (request.json_schema !== undefined) {
    if (!mood.calm && world.chance(0.08))
      return {
        ...plan,
        error: new ModelError('network', 'no verdict came', { retryable: world.chance(0.5) }),
      }
    const result = world.pick(VERDICTS)
    return {
      ...plan,
      text: world.chance(0.2)
        ? 'I cannot say.'
        : JSON.stringify({ result, explanation: `it is ${result}`, feedback: `do more: ${world.newId()}` }),
    }
  }
  const speak = (): string => `I say ${world.newId()}. ${'word '.repeat(world.between(0, 30))}`
  const useTools = (): Plan => ({
    ...plan,
    text: world.chance(0.5) ? speak() : '',
    reasoning: world.chance(0.3) ? 'I think.' : '',
    finish: 'tool_calls',
    calls: Array.from({ length: world.between(1, 3) }, () =>
      world.pick<() => ToolCalls[number]>([
        [5, () => call('note', { value: world.newId() })],
        [4, () => call('look', { value: world.newId() })],
        [2, () => call('put', { value: world.newId() })],
        [1, () => call('fail', { value: world.newId() })],
        [1, () => call('nothing_of_the_kind', {})],
        [1, () => call('todo', { todos: [{ id: '1', content: 'go on', status: 'pending' }] })],
        [mood.calm ? 0 : 1, () => call('slow', { value: world.newId() })],
        [2, () => call('guarded', { value: 'the same' })],
        [mood.calm ? 0 : 1, () => call('ask_user_question', { questions: [{ prompt: 'Which one?' }] })],
        ...familyCalls(world, mood, request, call),
      ])(),
    ),
  })
  if (mood.calm)
    return request.tools.length > 0 && world.chance(0.3) ? useTools() : { ...plan, text: speak() }
  const fault = (category: ConstructorParameters<typeof ModelError>[0], retryable: boolean): Plan => ({
    ...plan,
    text: world.chance(0.5) ? 'I begin' : '',
    error: new ModelError(category, `the model failed: ${category}`, { retryable }),
  })
  return world.pick<() => Plan>([
    [8, () => ({ ...plan, text: speak() })],
    [request.tools.length > 0 ? 11 : 0, useTools],
    [0.6, () => plan],
    [0.5, () => ({ ...plan, text: speak(), finish: 'length' })],
    [0.8, () => fault('network', true)],
    [0.3, () => fault('auth_failed', false)],
    [0.3, () => fault('context_overflow', false)],
    [0.4, () => ({ ...plan, text: 'I be', hang: true })],
  ])()
}

type Choice = readonly [number, () => ToolCalls[number]]

/** What the model does with workers, where it may have any: the ids are those it was told. */
function familyCalls(
  world: World,
  mood: Mood,
  { tools, messages }: ModelRequest,
  call: (name: string, args: object) => ToolCalls[number],
): Choice[] {
  const told = [...JSON.stringify(messages).matchAll(/worker_id\\?\\?\\?":\\?\\?\\?"([0-9a-f-]{36})/g)].map(
    found => found[1] ?? '',
  )
  const tasks = [...JSON.stringify(messages).matchAll(/task_id\\?\\?\\?":\\?\\?\\?"([0-9a-f-]{36})/g)].map(
    found => found[1] ?? '',
  )
  /** Most sessions that may have workers are to have some. */
  const first = told.length + tasks.length === 0 ? 4 : 1
  const someTask = (): string => tasks[world.between(0, tasks.length - 1)] ?? 'no task'
  const someBefore = (): object =>
    world.chance(0.6) && tasks.length > 0 ? { after: [someTask(), someTask()] } : {}
  const some = (): string => told[world.between(0, told.length - 1)] ?? 'nobody'
  const spawned = (): object => ({
    goal: `reach ${world.newId()}`,
    ...(world.chance(0.5) ? { role: 'orchestrator' } : {}),
    ...(world.chance(0.3) ? { agent: world.chance(0.5) ? 'helper' : 'assistant' } : {}),
  })
  const all: readonly (readonly [string, number, () => object])[] = [
    ['spawn_worker', mood.calm ? 0 : 6 * first, spawned],
    ['delegate_task', mood.calm ? 0 : 3, () => ({ goals: [spawned()], timeout_s: world.between(2, 40) })],
    [
      'wait_for_workers',
      4,
      () => (world.chance(0.5) ? {} : { ids: [world.chance(0.5) ? some() : someTask()] }),
    ],
    [
      'spawn_task',
      mood.calm ? 0 : 6 * first,
      () => ({ goal: `reach ${world.newId()}`, max_attempts: world.between(1, 3), ...someBefore() }),
    ],
    ['unblock_task', 2, () => ({ task_id: someTask(), answer: `because ${world.newId()}` })],
    ['cancel_task', 0.5, () => ({ task_id: someTask(), reason: 'enough' })],
    ['list_tasks', 1, () => ({})],
    [
      'share_note',
      2,
      () => ({
        notes: [
          {
            type: world.pick([
              [1, 'FACT'],
              [1, 'CLAIM'],
              [1, 'RESULT'],
            ]),
            content: `it is ${world.newId()}`,
          },
        ],
      }),
    ],
    ['read_board', 0.5, () => ({})],
    ['worker_block', mood.calm ? 0 : 3, () => ({ reason: `I need ${world.newId()}` })],
    ['stop_worker', 1, () => ({ worker_id: some(), reason: 'enough' })],
    ['send_worker_message', 1, () => ({ worker_id: some(), message: `more ${world.newId()}` })],
    ['list_workers', 1, () => ({})],
    ['read_worker_result', 1, () => ({ worker_id: some() })],
    [
      'schedule_create',
      mood.calm ? 0 : 0.7,
      () => ({
        prompt: `look ${world.newId()}`,
        every_s: 60,
        max_runs: world.between(1, 3),
        wake: world.chance(0.3),
      }),
    ],
    ['schedule_list', 0.2, () => ({})],
    ['worker_complete', 3, () => ({ summary: `reached ${world.newId()}` })],
  ]
  return all
    .filter(([name]) => tools.some(tool => tool.name === name))
    .map(([name, weight, args]) => [weight, () => call(name, args())] as const)
}

/** What a model server would refuse: a call without its result, or with two. */
function checkResults({ messages }: ModelRequest, { problems }: Effects): void {
  const results = messages.flatMap(message => (message.role === 'tool' ? [message.tool_call_id] : []))
  const calls = messages.flatMap(message =>
    message.role === 'assistant' ? (message.tool_calls ?? []).map(call => call.id) : [],
  )
  if (calls.toSorted().join() !== results.toSorted().join())
    problems.push(`the model was sent the calls ${calls.join()} with the results ${results.join()}`)
}

export function createModel(world: World, process: Process, mood: Mood, effects: Effects): Models {
  const provider: ModelProvider = {
    call: (request, onChunk, signal) =>
      new Promise((resolve, reject) => {
        checkResults(request, effects)
        if (signal.aborted) return reject(signal.reason as Error)
        signal.addEventListener('abort', () => reject(signal.reason as Error), {
          once: true,
          signal: world.over,
        })
        const plan = planAnswer(world, mood, request)
        const pieces = plan.text.match(/.{1,24}/gs) ?? []
        let at = world.between(5, 400)
        if (plan.reasoning !== '')
          process.after(at, () => onChunk({ type: 'reasoning', text: plan.reasoning }))
        for (const text of pieces)
          process.after((at += world.between(1, 90)), () => {
            if (!signal.aborted) onChunk({ type: 'text', text })
          })
        if (plan.hang) return
        process.after(at + world.between(1, 50), () => {
          if (plan.error !== null) return reject(plan.error)
          const message = {
            role: 'assistant' as const,
            content: plan.text,
            ...(plan.calls.length > 0 ? { tool_calls: plan.calls } : {}),
          }
          resolve({
            message,
            reasoning: plan.reasoning,
            usage: USAGE,
            finish_reason: plan.finish,
            model: request.model,
          })
        })
      }),
  }
  return {
    secrets: [],
    close: () => Promise.resolve(),
    explainServer: () => [],
    resolve: name => ({
      name,
      provider,
      model: name,
      rates: undefined,
      contextWindow: 100_000,
      serverProfile: () => PROFILES.compatible,
      maxOutputTokens: undefined,
      reasoning: false,
      scripted: false,
    }),
  }
}

/**
 * `isOnDisk` says whether the tool.call of that id can be read. What takes a step of a saga back is no call:
 * its event is saga.step_compensate.
 */
export function createTools(
  world: World,
  process: Process,
  effects: Effects,
  isOnDisk: (sessionId: string, callId: string) => boolean,
): Tool[] {
  const parameters = z.strictObject({ value: z.string() })
  const tool = (
    name: string,
    kind: Pick<Tool, 'readOnly' | 'idempotent'>,
    maxMs: number,
    act: (value: string, context: ToolContext) => Record<string, unknown>,
  ): Tool => ({
    name,
    description: name,
    parameters,
    ...kind,
    run: (args, context) =>
      new Promise((resolve, reject) => {
        const { tool_call_id, session_id, signal } = context
        if (name !== 'take_back' && !isOnDisk(session_id, tool_call_id))
          effects.problems.push(`${name} ${tool_call_id} was started without its tool.call on disk`)
        count(effects.started, tool_call_id)
        signal.addEventListener('abort', () => reject(signal.reason as Error), {
          once: true,
          signal: world.over,
        })
        process.after(world.between(0, maxMs), () => {
          if (signal.aborted) return
          count(effects.done, tool_call_id)
          const content = act(String(args['value']), context)
          process.after(world.between(0, 50), () => resolve({ content }))
        })
      }),
  })
  const writes = { readOnly: false, idempotent: false }
  return [
    askUserQuestionTool,
    todoTool,
    tool('note', writes, 300, value => ({ noted: value })),
    tool('guarded', writes, 100, value => ({ did: value })),
    // Longer than a lease, so that only renewals keep it.
    tool('slow', writes, 25_000, value => ({ at_last: value })),
    tool('look', { readOnly: true, idempotent: true }, 200, value => ({ saw: value })),
    tool('put', { readOnly: false, idempotent: true }, 200, value => ({ put: value })),
    tool('fail', writes, 50, value => ({ error: `no ${value}` })),
    tool('take_back', writes, 100, value => {
      count(effects.undone, value)
      return { took_back: value }
    }),
  ]
}
