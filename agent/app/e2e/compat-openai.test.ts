/** OpenAI's own client, unchanged, against the service. */
import OpenAI from 'openai'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, type RunningService, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

type Stage = { server: RunningService; openai: OpenAI }
async function start(more: { fetch?: typeof fetch } = {}): Promise<Stage> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  const apiKey = await localToken(place.dataDir)
  return { server, openai: new OpenAI({ apiKey, baseURL: `${server.url}/compat/openai/v1`, ...more }) }
}

type Created = OpenAI.Responses.Response
const find = <T extends string>({ output }: Created, type: T) =>
  output.find(item => item.type === type) as Extract<Created['output'][number], { type: T }> | undefined

test('a turn with a tool is one response, streamed, read back and in the items of its conversation', async () => {
  const { openai } = await start()
  const stream = openai.responses.stream({ model: 'assistant', input: 'plan it' })
  const types = new Set<string>()
  for await (const event of stream) types.add(event.type)
  const final = await stream.finalResponse()
  expect(final.status).toBe('completed')
  expect(final.output.map(({ type }) => type)).toEqual([
    'reasoning',
    'message',
    'mcp_call',
    'reasoning',
    'message',
  ])
  expect(final.output_text).toContain('Planned, in words.')
  expect(types).toContain('response.reasoning_text.delta')
  const read = await openai.responses.retrieve(final.id)
  expect(read.output).toEqual(plain(final.output))
  expect(read.usage).toEqual(final.usage)
  const items = await openai.conversations.items.list(final.conversation?.id ?? '', { order: 'asc' })
  expect(items.data.map(({ type }) => type)).toEqual(['message', ...final.output.map(({ type }) => type)])
  const again = await openai.responses.create({ previous_response_id: final.id, input: 'hello' })
  expect([again.output_text, again.conversation]).toEqual(['Hello there.', final.conversation])
})

/** The parser of the helper adds keys of its own. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, each: unknown) =>
    key === 'parsed' || key === 'parsed_arguments' ? undefined : each,
  )

test('an approval ends its response; the decision starts the next one, with the result of the call', async () => {
  const { openai } = await start()
  const asked = await openai.responses.create({ model: 'assistant', input: 'run it' })
  expect(asked.status).toBe('completed')
  const request = find(asked, 'mcp_approval_request')
  expect(request).toMatchObject({ name: 'terminal', arguments: '{"command":"echo hi"}' })
  const decide = (approve: boolean) =>
    openai.responses.create({
      previous_response_id: asked.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve }],
    })
  const approved = await decide(true)
  expect(find(approved, 'mcp_call')).toMatchObject({ status: 'completed', approval_request_id: request?.id })
  expect(approved.output_text).toContain('It said')

  const other = await openai.responses.create({ model: 'assistant', input: 'run it' })
  const rejected = await openai.responses.create({
    conversation: other.conversation?.id ?? '',
    input: [
      {
        type: 'mcp_approval_response',
        approval_request_id: find(other, 'mcp_approval_request')?.id ?? '',
        approve: false,
      },
    ],
  })
  expect([rejected.output_text, find(rejected, 'mcp_call')]).toEqual(['Then I leave it.', undefined])
})

test('a question is a function call, which its output answers', async () => {
  const { openai } = await start()
  const asked = await openai.responses.create({ model: 'assistant', input: 'paint it' })
  const call = find(asked, 'function_call')
  expect(JSON.parse(call?.arguments ?? '')).toMatchObject({ questions: [{ prompt: 'Which colour?' }] })
  await expect(openai.responses.create({ previous_response_id: asked.id, input: 'hello' })).rejects.toThrow(
    /question/,
  )
  const answered = await openai.responses.create({
    previous_response_id: asked.id,
    input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'red' }],
  })
  expect(answered.output_text).toBe('Red it is.')
})

test('a response in the background is cancelled, and its stream ends', async () => {
  const { openai } = await start()
  const background = await openai.responses.create({ model: 'assistant', input: 'hang', background: true })
  expect(background.status).toBe('in_progress')
  const seen: string[] = []
  const reading = (async () => {
    for await (const event of await openai.responses.retrieve(background.id, { stream: true }))
      seen.push(event.type)
  })()
  await vi.waitFor(() => expect(seen).toContain('response.output_text.delta'), { timeout: PATIENCE_MS })
  expect((await openai.responses.cancel(background.id)).status).toBe('cancelled')
  await reading
  expect(seen.at(-1)).toBe('response.incomplete')
  expect((await openai.responses.retrieve(background.id)).status).toBe('cancelled')
})

test('each position of a stream gives the rest of it', async () => {
  const { openai } = await start()
  const { id } = await openai.responses.create({ model: 'assistant', input: 'plan it' })
  const read = async (starting_after?: number) => {
    const events = []
    for await (const event of await openai.responses.retrieve(id, {
      stream: true,
      ...(starting_after === undefined ? {} : { starting_after }),
    }))
      events.push(event)
    return events
  }
  const whole = await read()
  for (const [at, event] of whole.entries())
    if (at % 5 === 0) expect(await read(event.sequence_number)).toEqual(whole.slice(at + 1))
})

/** The client repeats a request whose answer was lost, and names no Idempotency-Key. */
test('a request whose answer was lost is repeated by the client and sends one message', async () => {
  let lost = 0
  const { openai, server } = await start({
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method !== 'POST' || lost++ > 0) return response
      await response.body?.cancel()
      throw new TypeError('fetch failed')
    },
  })
  const { conversation, output_text } = await openai.responses.create({ model: 'assistant', input: 'hello' })
  expect([output_text, lost]).toEqual(['Hello there.', 2])
  const { sessions } = await server.client.call('listSessions', { query: {} })
  expect(sessions).toHaveLength(1)
  const id = sessions[0]?.id ?? ''
  expect(conversation?.id).toBe(`conv_${id.replaceAll('-', '')}`)
  expect((await readLog(server.client, id)).filter(({ type }) => type === 'user.message')).toHaveLength(1)
})

test('an action is a function call, and a failed session a failed response', async () => {
  const { openai } = await start()
  const asked = await openai.responses.create({ model: 'assistant', input: 'log in' })
  const call = find(asked, 'function_call')
  expect([asked.status, call?.name]).toEqual(['completed', 'request_user_action'])
  const done = await openai.responses.create({
    previous_response_id: asked.id,
    input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'done' }],
  })
  expect(done.output_text).toBe('Thank you.')
  const items = await openai.conversations.items.list(done.conversation?.id ?? '', { order: 'asc' })
  expect(items.data.map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'function_call_output',
    'message',
  ])
  const failed = await openai.responses.create({ model: 'assistant', input: 'break' })
  expect([failed.status, failed.error?.message]).toEqual(['failed', expect.stringContaining('broken')])
})
