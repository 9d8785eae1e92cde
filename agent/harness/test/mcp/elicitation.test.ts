/** Questions of MCP servers: shown as fields, answered with the values that the schema allows, or declined. */
import type { Question } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { elicit } from '../../src/capabilities/mcp/elicitation.ts'
import type { AskPerson } from '../../src/tools/tool.ts'
import { makeContext } from '../tools/tool-context.ts'
import { type Answer, INITIALIZED, sound } from './raw-server.ts'
import { startWithRawServer } from './started.ts'

const signal = new AbortController().signal
const form = {
  message: 'Book the room?',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name', minLength: 2 },
      age: { type: 'integer', default: 30 },
      size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
      colour: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }] },
      vip: { type: 'boolean' },
      days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } },
      mail: { type: 'string', format: 'email' },
    },
    required: ['name'],
  },
}

/** Answers by the first word of a prompt; `shown` collects what the person sees. */
function answering(...rounds: Record<string, string>[]) {
  const shown: { questions: readonly Question[]; context?: string }[] = []
  const ask: AskPerson = asked => {
    shown.push(asked)
    const answers = rounds[shown.length - 1] ?? {}
    return Promise.resolve(
      asked.questions.flatMap(({ prompt }) => {
        const answer = answers[/^\w+/.exec(prompt)?.[0] ?? '']
        return answer === undefined ? [] : [{ question: prompt, answer }]
      }),
    )
  }
  return { ask, shown }
}

test('a form is a question a field, and the answers become values of its schema, with defaults', async () => {
  const { ask, shown } = answering({
    Name: 'Ann',
    size: 'Large',
    colour: 'Red',
    vip: 'Yes',
    days: 'mon, tue',
    Send: 'Send',
  })
  expect(await elicit('hotel', form, ask, signal)).toEqual({
    action: 'accept',
    content: { name: 'Ann', age: 30, size: 'l', colour: '#f00', vip: true, days: ['mon', 'tue'] },
  })
  expect(shown[0]?.context).toBe('MCP server "hotel" asks: Book the room?')
  expect(shown[0]?.questions.map(({ prompt }) => prompt)).toEqual([
    'Name',
    'age (optional) (default: 30)',
    'size (optional)',
    'colour (optional)',
    'vip (optional)',
    'days (choose from mon, tue) (optional)',
    'mail (optional)',
    'Send your answer to MCP server "hotel"?',
  ])
  expect(shown[0]?.questions[2]).toMatchObject({
    choices: [{ label: 'Small' }, { label: 'Large' }],
    allow_other: false,
  })
})

test('an answer that the schema does not allow is asked for again, with the reason', async () => {
  const { ask, shown } = answering(
    { Name: 'A', age: 'x', mail: 'nobody', Send: 'Send' },
    { Name: 'Ann', age: '31', mail: 'ann@example.org', Send: 'Send' },
  )
  expect(await elicit('hotel', form, ask, signal)).toEqual({
    action: 'accept',
    content: { name: 'Ann', age: 31, mail: 'ann@example.org' },
  })
  expect(shown[1]?.context).toMatch(
    /"A" is shorter than 2.*\n.*"x" is not a number.*\n.*"nobody" is not a valid email/,
  )
  const stubborn = answering({ Send: 'Send' }, { Send: 'Send' }, { Send: 'Send' })
  expect(await elicit('hotel', form, stubborn.ask, signal)).toEqual({ action: 'cancel' })
})

test.each([
  ['declines', () => answering({ Name: 'Ann', Send: 'Decline' }).ask, 'decline'],
  ['closes the question', (): AskPerson => () => Promise.resolve(null), 'cancel'],
  ['is not there', () => undefined, 'cancel'],
])('a person who %s sends nothing', async (_, asking, action) => {
  expect(await elicit('hotel', form, asking(), signal)).toEqual({ action })
})

test.each([
  ['https://pay.example.org/x', 'Done', 'accept'],
  ['https://pay.example.org/x', 'Decline', 'decline'],
])('an address is shown with its host: %s, %s', async (url, answer, action) => {
  const { ask, shown } = answering({ Open: answer })
  expect(await elicit('shop', { mode: 'url', message: 'Pay', url }, ask, signal)).toEqual({ action })
  expect(shown[0]?.questions[0]?.prompt).toBe(
    `Open this address of pay.example.org, then choose Done: ${url}`,
  )
})

test.each([
  [
    'an address that is not of the web',
    { mode: 'url', url: 'javascript:alert(1)' },
    /not an http or https address/,
  ],
  [
    'a nested field',
    { requestedSchema: { properties: { a: { type: 'object' } } } },
    /the field a has the type "object"/,
  ],
  ['an unknown mode', { mode: 'voice' }, /unknown elicitation mode "voice"/],
])('%s is refused without a question', async (_, params, reason) => {
  const { ask, shown } = answering()
  await expect(elicit('x', params, ask, signal)).rejects.toThrow(reason)
  expect(shown).toEqual([])
})

const SSE = { 'content-type': 'text/event-stream' }
const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const yes = answering({ Send: 'Send' }).ask
const asks = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }

test('a question within the stream of a call reaches the person of that call, of two at the same time', async () => {
  const replies = new Map<string, unknown>()
  const waiting = new Map<unknown, () => void>()
  const started = await startWithRawServer({
    ...sound,
    'tools/call': ({ id, params }, response) => {
      const { who } = params['arguments'] as { who: string }
      response.writeHead(200, SSE).write(event({ id: who, method: 'elicitation/create', params: asks }))
      waiting.set(who, () =>
        response.end(
          event({
            id,
            result: { content: [{ type: 'text', text: `${who} said ${JSON.stringify(replies.get(who))}` }] },
          }),
        ),
      )
      return undefined
    },
    undefined: (request, response) => {
      const reply = request as unknown as { id: unknown; result: { action: string } }
      replies.set(String(reply.id), reply.result.action)
      response.writeHead(202).end()
      waiting.get(reply.id)?.()
      return undefined
    },
  } as Record<string, Answer>)
  await started.mcp.ready
  const [tool] = started.mcp.tools()
  const no: AskPerson = ({ questions }) =>
    Promise.resolve(questions.map(({ prompt }) => ({ question: prompt, answer: 'Decline' })))
  const results = await Promise.all([
    tool?.run({ who: 'ann' }, makeContext({ ask: answering({ Send: 'Send' }).ask })),
    tool?.run({ who: 'bob' }, makeContext({ ask: no })),
  ])
  expect(results.map(result => result?.content)).toEqual(['ann said "accept"', 'bob said "decline"'])
})

/** A server of revision 2026-07-28. */
const modern = (call: (params: Record<string, unknown>) => object): Record<string, Answer> => ({
  'server/discover': () => ({
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    supportedVersions: ['2026-07-28'],
    capabilities: INITIALIZED.capabilities,
    serverInfo: INITIALIZED.serverInfo,
  }),
  'tools/list': () => ({
    resultType: 'complete',
    tools: [{ name: 'pay', inputSchema: { type: 'object' } }, { name: 7 }],
  }),
  'tools/call': ({ params }) => call(params),
})

test('in revision 2026-07-28 a call is repeated with the answer and the unread state, and a bad tool costs itself', async () => {
  const calls: Record<string, unknown>[] = []
  const started = await startWithRawServer(
    modern(params => {
      calls.push(params)
      return calls.length === 1
        ? {
            resultType: 'input_required',
            requestState: '{ "a" : 1 }',
            inputRequests: { ok: { method: 'elicitation/create', params: asks } },
          }
        : { resultType: 'complete', content: [{ type: 'hologram' }, { type: 'text', text: 'paid' }] }
    }),
  )
  await started.mcp.ready
  const [tool, ...others] = started.mcp.tools()
  expect([tool?.name, others]).toEqual(['mcp__x__pay', []])
  const { content } = (await tool?.run({}, makeContext({ ask: yes }))) ?? {}
  expect(content).toMatch(/^\[content of the type "hologram".*\]\npaid$/)
  expect(calls[0]).not.toHaveProperty('requestState')
  expect(calls[1]).toMatchObject({
    requestState: '{ "a" : 1 }',
    inputResponses: { ok: { action: 'accept', content: {} } },
  })
  expect(started.server.asked).not.toContain('initialize')
})

test('a server that asks for input without end, or for a model, fails its call', async () => {
  const endless = await startWithRawServer(
    modern(() => ({
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: asks } },
    })),
  )
  await endless.mcp.ready
  const always: AskPerson = ({ questions }) =>
    Promise.resolve(questions.map(({ prompt }) => ({ question: prompt, answer: 'Send' })))
  await expect(endless.mcp.tools()[0]?.run({}, makeContext({ ask: always }))).rejects.toThrow(
    /asked for input 10 times/,
  )
  const model = await startWithRawServer(
    modern(() => ({
      resultType: 'input_required',
      inputRequests: { q: { method: 'sampling/createMessage', params: {} } },
    })),
  )
  await model.mcp.ready
  await expect(model.mcp.tools()[0]?.run({}, makeContext({ ask: yes }))).rejects.toThrow(
    /asks for "sampling\/createMessage", which this client does not offer/,
  )
})
