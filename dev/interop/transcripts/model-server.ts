/**
 * A model server for coding agents of others: the same scripted turns in Anthropic's Messages, OpenAI's
 * Responses and OpenAI's Chat Completions. It answers by the number of tool results in the request, so a
 * program that repeats a request gets the same answer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'

export type ScriptedCall = { id: string; name: string; arguments: Record<string, unknown> }
export type ScriptedTurn = { text: string; calls?: readonly ScriptedCall[] }
/** The answer after `results` tool results; `offered` are the names of the offered tools. */
export type Script = (results: number, offered: readonly string[], asked: string) => ScriptedTurn

type Json = Record<string, unknown>
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

async function readJson(request: IncomingMessage): Promise<Json> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text === '' ? {} : (JSON.parse(text) as Json)
}

const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : list(value)
        .map(part => (typeof part['text'] === 'string' ? part['text'] : ''))
        .join('\n')

export async function startModelServer(script: Script): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answer(script, request, response).catch((error: unknown) => {
      process.stderr.write(`[model server] ${String(error)}\n`)
      response.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('[model server] no TCP address')
  const close = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${address.port}`, close }
}

async function answer(script: Script, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://scripted').pathname
  const body = await readJson(request)
  if (path.endsWith('/messages')) return anthropic(script, body, response)
  if (path.endsWith('/responses')) return responses(script, body, response)
  if (path.endsWith('/chat/completions')) return completions(script, body, response)
  response.writeHead(path.endsWith('/models') || path.endsWith('/count_tokens') ? 200 : 404, {
    'content-type': 'application/json',
  })
  response.end(JSON.stringify({ input_tokens: 10, data: [], models: [] }))
}

function send(response: ServerResponse, frames: readonly [string | null, unknown][], end = ''): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [event, data] of frames)
    response.write(`${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
  response.end(end)
}

function anthropic(script: Script, body: Json, response: ServerResponse): void {
  const messages = list(body['messages'])
  const blocks = messages.flatMap(message => list(message['content']))
  const results = blocks.filter(block => block['type'] === 'tool_result').length
  const asked = messages.map(message => textOf(message['content'])).join('\n')
  const offered = list(body['tools']).map(tool => String(tool['name']))
  const { text, calls = [] } = script(results, offered, asked)
  const usage = {
    input_tokens: 11,
    output_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  }
  const content = [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(call => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments })),
  ]
  const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn'
  const message = { id: `msg_${results}`, type: 'message', role: 'assistant', model: body['model'], usage }
  if (body['stream'] !== true) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...message, content, stop_reason, stop_sequence: null }))
    return
  }
  const started = { ...message, content: [], stop_reason: null, stop_sequence: null }
  send(response, [
    ['message_start', { type: 'message_start', message: started }],
    ...content.flatMap((block, index): [string, unknown][] => {
      const isText = block.type === 'text'
      const delta = isText
        ? { type: 'text_delta', text }
        : { type: 'input_json_delta', partial_json: JSON.stringify((block as { input: unknown }).input) }
      const content_block = isText ? { type: 'text', text: '' } : { ...block, input: {} }
      return [
        ['content_block_start', { type: 'content_block_start', index, content_block }],
        ['content_block_delta', { type: 'content_block_delta', index, delta }],
        ['content_block_stop', { type: 'content_block_stop', index }],
      ]
    }),
    ['message_delta', { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }],
    ['message_stop', { type: 'message_stop' }],
  ])
}

function responses(script: Script, body: Json, response: ServerResponse): void {
  const input = list(body['input'])
  const results = input.filter(item => String(item['type']).endsWith('_call_output')).length
  const asked = input.map(item => textOf(item['content'])).join('\n')
  const offered = list(body['tools']).map(tool => String(tool['name'] ?? tool['type']))
  const { text, calls = [] } = script(results, offered, asked)
  const items = [
    ...(text === ''
      ? []
      : [
          {
            type: 'message',
            id: `msg_${results}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map(call => ({
      type: 'function_call',
      id: `fc_${call.id}`,
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.arguments),
      status: 'completed',
    })),
  ]
  const usage = {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 18,
  }
  const whole = { id: `resp_${results}`, object: 'response', model: body['model'], output: items, usage }
  send(response, [
    [
      'response.created',
      { type: 'response.created', response: { ...whole, output: [], status: 'in_progress' } },
    ],
    ...items.flatMap((item, output_index): [string, unknown][] => [
      ['response.output_item.added', { type: 'response.output_item.added', output_index, item }],
      ...(item.type === 'message'
        ? ([
            [
              'response.output_text.delta',
              {
                type: 'response.output_text.delta',
                item_id: item.id,
                output_index,
                content_index: 0,
                delta: text,
              },
            ],
          ] as [string, unknown][])
        : []),
      ['response.output_item.done', { type: 'response.output_item.done', output_index, item }],
    ]),
    ['response.completed', { type: 'response.completed', response: { ...whole, status: 'completed' } }],
  ])
}

function completions(script: Script, body: Json, response: ServerResponse): void {
  const messages = list(body['messages'])
  const results = messages.filter(message => message['role'] === 'tool').length
  const asked = messages.map(message => textOf(message['content'])).join('\n')
  const offered = list(body['tools']).map(tool => String((tool['function'] as Json)['name']))
  const { text, calls = [] } = script(results, offered, asked)
  const chunk = (delta: Json, finish_reason: string | null): [null, unknown] => [
    null,
    {
      id: `chatcmpl_${results}`,
      object: 'chat.completion.chunk',
      created: 1,
      model: body['model'],
      choices: [{ index: 0, delta, finish_reason }],
      usage: finish_reason === null ? null : { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    },
  ]
  const tool_calls = calls.map((call, index) => ({
    index,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }))
  send(
    response,
    [
      chunk({ role: 'assistant', content: text }, null),
      ...(calls.length > 0 ? [chunk({ tool_calls }, null)] : []),
      chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    ],
    'data: [DONE]\n\n',
  )
}
