/** Tasks of MCP servers: polled to their result, answered, cancelled, and not lost with a restart. */
import { expect, test } from 'vitest'
import type { AskPerson } from '../../src/tools/tool.ts'
import { makeContext } from '../tools/tool-context.ts'
import { type Answer, sound } from './raw-server.ts'
import { type Started, startWithRawServer } from './started.ts'

type Json = Record<string, unknown>
const TASKS = 'io.modelcontextprotocol/tasks'

const modern: Readonly<Record<string, Answer>> = {
  ...sound,
  'server/discover': () => ({
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    serverInfo: { name: 'raw', version: '1' },
  }),
  'tools/list': () => ({
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    tools: [{ name: 'pay', inputSchema: { type: 'object' } }],
  }),
}
const task = (status: string, more: Json = {}): Json => ({
  resultType: 'complete',
  taskId: 't1',
  status,
  createdAt: '2026-11-29T00:00:00Z',
  lastUpdatedAt: '2026-11-29T00:00:00Z',
  ttlMs: null,
  pollIntervalMs: 1,
  ...more,
})
const form = { mode: 'form', message: 'Pay?', requestedSchema: { type: 'object', properties: {} } }
const yes: AskPerson = ({ questions }) =>
  Promise.resolve(questions.map(({ prompt }) => ({ question: prompt, answer: 'Send' })))

/** A server whose call is a task with these states, one a poll; the last one stays. */
async function start(
  ...states: (Json | 'broken')[]
): Promise<Started & { updates: Json[]; cancelled: Json[] }> {
  const updates: Json[] = []
  const cancelled: Json[] = []
  let polls = 0
  const started = await startWithRawServer({
    ...modern,
    'tools/call': () => ({ ...task('working'), resultType: 'task' }),
    'tasks/get'(_, response) {
      const state = states[Math.min(polls++, states.length - 1)] ?? {}
      if (state !== 'broken') return state
      response.writeHead(503).end()
      return undefined
    },
    'tasks/update'({ params }) {
      updates.push(params)
      return { resultType: 'complete' }
    },
    'tasks/cancel'({ params }) {
      cancelled.push(params)
      return { resultType: 'complete' }
    },
  })
  await started.mcp.ready
  return { ...started, updates, cancelled }
}
const pay = ({ mcp }: Started, context: Parameters<typeof makeContext>[0] = {}) =>
  mcp.tools()[0]?.run({}, makeContext(context))

test('a task is polled to its result, through failed polls', async () => {
  const result = { content: [{ type: 'text', text: 'paid' }] }
  const started = await start(task('working'), 'broken', task('working'), task('completed', { result }))
  expect((await pay(started))?.content).toBe('paid')
  expect(started.server.asked.filter(method => method === 'tasks/get')).toHaveLength(4)
})

test('input that a task requires is asked for once a key, and sent back by key', async () => {
  const asks = { method: 'elicitation/create', params: form }
  const result = { content: [{ type: 'text', text: 'paid' }] }
  const started = await start(
    task('input_required', { inputRequests: { one: asks } }),
    task('input_required', { inputRequests: { one: asks, two: asks } }),
    task('completed', { result }),
  )
  expect((await pay(started, { ask: yes }))?.content).toBe('paid')
  expect(started.updates.map(({ inputResponses }) => inputResponses)).toEqual([
    { one: { action: 'accept', content: {} } },
    { two: { action: 'accept', content: {} } },
  ])
})

test('a task that fails, is cancelled, or has no result fails its call with the reason', async () => {
  const failing: [Json, RegExp][] = [
    [task('failed', { error: { code: -32603, message: 'no money' } }), /failed: no money$/],
    [task('cancelled', { statusMessage: 'closed' }), /cancelled the task: closed$/],
    [task('completed'), /has no result$/],
    [task('sleeping'), /unknown status "sleeping"$/],
    [
      task('completed', { result: { isError: true, content: [{ type: 'text', text: 'refused' }] } }),
      /refused$/,
    ],
  ]
  for (const [state, message] of failing) await expect(pay(await start(state))).rejects.toThrow(message)
})

test('an aborted call cancels its task', async () => {
  const started = await start(task('working'))
  const stop = new AbortController()
  const call = pay(started, { signal: stop.signal })
  await expect.poll(() => started.server.asked.includes('tasks/get')).toBe(true)
  stop.abort(new Error('stopped'))
  await expect(call).rejects.toThrow()
  await expect.poll(() => started.cancelled.map(({ taskId }) => taskId)).toEqual(['t1'])
})

test('a server that is not reached for long fails the call', async () => {
  const started = await start('broken')
  await expect(pay(started)).rejects.toThrow(/cannot connect|503/)
})
