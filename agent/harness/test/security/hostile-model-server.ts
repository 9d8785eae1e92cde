/** A model server that misbehaves, over real HTTP: each way by its name in the path, for both protocols. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

export type Protocol = 'openai' | 'anthropic'
/** How an answer of the protocol is put together; `raw` writes with the patience of a socket. */
export type Wire = {
  protocol: Protocol
  response: ServerResponse
  head(type?: string, headers?: Record<string, string>): void
  raw(text: string | Buffer): Promise<boolean>
  text(piece: string): string
  reasoning(piece: string): string
  call(id: string, name: string, args: string, index: number): string
  end(reason?: string, usage?: object): string
  /** The nth answer of this server to this way, from 0. */
  nth: number
}
export type Way = (wire: Wire) => Promise<void> | void

const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
const anthropic = (value: { type: string; [key: string]: unknown }): string => sse(value, value.type)

function pieces(protocol: Protocol): Pick<Wire, 'text' | 'reasoning' | 'call' | 'end'> {
  if (protocol === 'openai') {
    const delta = (value: object): string => sse({ choices: [{ index: 0, delta: value }] })
    return {
      text: piece => delta({ content: piece }),
      reasoning: piece => delta({ reasoning_content: piece }),
      call: (id, name, args, index) =>
        delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] }),
      end(reason = 'stop', usage) {
        const choices = [{ index: 0, delta: {}, finish_reason: reason }]
        return `${sse({ choices, ...(usage ? { usage } : {}) })}data: [DONE]\n\n`
      },
    }
  }
  let index = 0
  const block = (content_block: object, delta: object): string => {
    const at = index++
    return (
      anthropic({ type: 'content_block_start', index: at, content_block }) +
      anthropic({ type: 'content_block_delta', index: at, delta }) +
      anthropic({ type: 'content_block_stop', index: at })
    )
  }
  return {
    text: piece => block({ type: 'text', text: '' }, { type: 'text_delta', text: piece }),
    reasoning: piece =>
      block({ type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: piece }),
    call: (id, name, args) =>
      block({ type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json: args }),
    end: (reason = 'end_turn', usage) =>
      anthropic({ type: 'message_delta', delta: { stop_reason: reason }, ...(usage ? { usage } : {}) }) +
      anthropic({ type: 'message_stop' }),
  }
}

export type HostileServer = {
  baseUrl(way: string, protocol: Protocol): string
  /** Bytes that left for a way, all its answers together. */
  sent(way: string, protocol: Protocol): number
  /** Each way begins anew, with its first answer. */
  beginAnew(): void
  [Symbol.asyncDispose](): Promise<void>
}

export async function startHostileServer(ways: Readonly<Record<string, Way>>): Promise<HostileServer> {
  const names = Object.keys(ways)
  const sent = new Map<string, number>()
  const answered = new Map<string, number>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume()
    const [, protocol, number] = (request.url ?? '').split('/') as [string, Protocol, string]
    const key = `${protocol}/${number}`
    const nth = answered.get(key) ?? 0
    answered.set(key, nth + 1)
    const way = ways[names[Number(number)] ?? '']
    if (way === undefined) return void response.writeHead(404).end()
    await way({
      protocol,
      response,
      nth,
      ...pieces(protocol),
      head(type = 'text/event-stream', headers = {}) {
        response.writeHead(200, { 'content-type': type, ...headers })
        if (protocol === 'anthropic' && type === 'text/event-stream')
          response.write(anthropic({ type: 'message_start', message: {} }))
      },
      async raw(text) {
        if (response.destroyed) return false
        sent.set(key, (sent.get(key) ?? 0) + Buffer.byteLength(text))
        if (!response.write(text))
          await Promise.race([once(response, 'drain'), once(response, 'close')]).catch(() => undefined)
        return !response.destroyed
      },
    })
  }

  const server = createServer((request, response) => {
    response.on('error', () => response.destroy())
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: (way, protocol) =>
      `http://127.0.0.1:${port}/${protocol}/${names.indexOf(way)}${protocol === 'openai' ? '/v1' : ''}`,
    sent: (way, protocol) => sent.get(`${protocol}/${names.indexOf(way)}`) ?? 0,
    beginAnew: () => answered.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const MB = 1024 * 1024
const LONG = 'x'.repeat(64 * 1024)
const flood =
  (next: (wire: Wire, at: number) => string): Way =>
  async wire => {
    wire.head()
    for (let at = 0; await wire.raw(next(wire, at)); at++);
  }
const says =
  (body: (wire: Wire) => string, reason?: string, usage?: object): Way =>
  async wire => {
    wire.head()
    await wire.raw(body(wire) + wire.end(reason, usage))
    wire.response.end()
  }
/** Makes calls once, and ends in order after that. */
const calls =
  (make: (wire: Wire) => string): Way =>
  async wire => {
    wire.head()
    await wire.raw(
      wire.nth === 0
        ? make(wire) + wire.end(wire.protocol === 'openai' ? 'tool_calls' : 'tool_use')
        : wire.text('done') + wire.end(),
    )
    wire.response.end()
  }
const look = (wire: Wire, id: string, index: number, args = '{"value":"1"}'): string =>
  wire.call(id, 'look', args, index)

/** What the turn must come to: `fails`, `ends` in order, or either. */
export type Due = 'fails' | 'ends' | 'either'

export const WAYS: Readonly<Record<string, { due: Due; way: Way; most?: number }>> = {
  'garbage bytes': {
    due: 'fails',
    way: async ({ head, raw, response }) => {
      head()
      await raw(Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 73) % 256)))
      response.end()
    },
  },
  'data that is no JSON': { due: 'fails', way: says(() => 'event: message_start\ndata: {"choices": [\n\n') },
  'a web page': {
    due: 'fails',
    way: ({ head, response }) => {
      head('text/html')
      response.end('<!doctype html><h1>Welcome</h1>')
    },
  },
  'a status without a body': { due: 'fails', way: ({ response }) => void response.writeHead(500).end() },
  'a body without an answer': {
    due: 'fails',
    way: ({ head, response }) => {
      head('application/json')
      response.end('{}')
    },
  },
  'an answer that is cut': {
    due: 'fails',
    way: async ({ head, raw, text, response }) => {
      head()
      await raw(text('half an ans'))
      response.destroy()
    },
  },
  'an answer without an end': {
    due: 'fails',
    way: async ({ head, raw, text, response }) => {
      head()
      await raw(text('half an answer'))
      response.end()
    },
  },
  'wrong types everywhere': {
    due: 'fails',
    way: says(() =>
      sse({ choices: 'none', type: 'content_block_delta', index: 'x', delta: 7 }, 'content_block_delta'),
    ),
  },
  'counts of tokens that are none': {
    due: 'ends',
    way: says(({ text }) => text('hi'), undefined, {
      prompt_tokens: -3,
      completion_tokens: 1.5,
      input_tokens: -3,
      output_tokens: 1e300,
    }),
  },
  'a reason nobody knows': { due: 'ends', way: says(({ text }) => text('hi'), 'r'.repeat(100_000)) },
  'half characters and zero bytes': { due: 'ends', way: says(({ text }) => text('a\ud800b\u0000c\u202e')) },
  'an answer of nothing': { due: 'fails', way: says(() => '') },
  'an answer of blanks': { due: 'either', way: says(({ text }) => text(' \n'.repeat(500_000))) },
  'half a fence and blanks behind it': {
    due: 'ends',
    way: says(({ text }) => text(`\`\`\`${' '.repeat(MB)}`)),
  },
  'a command as an answer': { due: 'ends', way: says(({ text }) => text('/stop')) },
  'a call without a name': { due: 'ends', way: calls(wire => wire.call('a', '', '{}', 0)) },
  'calls of one id': { due: 'ends', way: calls(wire => look(wire, 'same', 0) + look(wire, 'same', 1)) },
  'an id that is a path': { due: 'ends', way: calls(wire => look(wire, '../../../etc/x', 0)) },
  'an id of a megabyte': { due: 'ends', way: calls(wire => look(wire, 'i'.repeat(MB), 0)) },
  'a name of a megabyte': { due: 'ends', way: calls(wire => wire.call('a', 'n'.repeat(MB), '{}', 0)) },
  'arguments that are no object': { due: 'ends', way: calls(wire => look(wire, 'a', 0, '[[]]')) },
  'arguments nested 200,000 deep': {
    due: 'ends',
    way: calls(wire => look(wire, 'a', 0, `{"value":${'['.repeat(2e5)}${']'.repeat(2e5)}}`)),
  },
  'arguments with __proto__': {
    due: 'ends',
    way: calls(wire => look(wire, 'a', 0, '{"__proto__":{"x":1},"value":"1"}')),
  },
  '256 calls': {
    due: 'ends',
    way: calls(wire => Array.from({ length: 256 }, (_, at) => look(wire, `c${at}`, at)).join('')),
  },
  '2,000 calls': {
    due: 'fails',
    way: calls(wire => Array.from({ length: 2000 }, (_, at) => look(wire, `c${at}`, at)).join('')),
  },
  'the same call for ever': {
    due: 'ends',
    way: async wire => {
      wire.head()
      await wire.raw(
        look(wire, `c${wire.nth}`, 0) + wire.end(wire.protocol === 'openai' ? 'tool_calls' : 'tool_use'),
      )
      wire.response.end()
    },
  },
  'silence before the first byte': { due: 'fails', way: () => new Promise(() => undefined) },
  'silence in the middle': {
    due: 'fails',
    way: async ({ head, raw, text }) => {
      head()
      await raw(text('wait'))
    },
  },
  'signs of life for ever': {
    due: 'fails',
    way: ({ head, raw, response }) => {
      head()
      const beat = setInterval(() => void raw(': alive\n\n'), 100)
      response.on('close', () => clearInterval(beat))
    },
  },
  'text without end': { due: 'fails', way: flood(({ text }) => text(LONG)), most: 12 * MB },
  'reasoning without end': { due: 'fails', way: flood(({ reasoning }) => reasoning(LONG)), most: 12 * MB },
  'arguments without end': {
    due: 'fails',
    way: flood(wire => wire.call('a', 'look', LONG, 0)),
    most: 12 * MB,
  },
  'a line without end': { due: 'fails', way: flood(() => LONG), most: 24 * MB },
  'lines without a blank one': { due: 'fails', way: flood(() => `data: ${LONG}\n`), most: 24 * MB },
  'a refusal without end': {
    due: 'fails',
    way: async ({ response, raw }) => {
      response.writeHead(429, { 'content-type': 'application/json' })
      while (await raw(LONG));
    },
    most: 12 * MB,
  },
  'a gzip bomb': {
    due: 'fails',
    way: ({ head, response }) => {
      head('text/event-stream', { 'content-encoding': 'gzip' })
      response.end(gzipSync(Buffer.alloc(64 * MB, 'x')))
    },
  },
  'beginnings of secrets without end': {
    due: 'either',
    way: says(({ text }) => text('eyJ.'.repeat(4000)) + text(' ')),
  },
}
