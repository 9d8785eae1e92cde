/**
 * The minimal server between a model and its readers, in a separate process: node:http with the service's
 * three routes, without authentication; it either forwards each chunk immediately or stores it first
 * (keep-chunks.ts). Its cost is the baseline of any server under this load.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ownUsage, type RelayStart, type ServiceReport } from '../service-protocol.ts'
import { keepChunksIn, type KeptAnswer } from './keep-chunks.ts'
import { MODEL } from './protocol.ts'

type Chunk = { choices: { delta?: { content?: string } }[] }

const readers = new Map<string, ServerResponse>()
let sessions = 0
const tell = (report: ServiceReport): void => void process.send?.(report)
const eventOf = (record: { type: string; data: { content?: string } }): string =>
  frame(record.type, JSON.stringify(record))
const frame = (type: string, record: string): string => `event: ${type}\ndata: ${record}\n\n`
const COMPLETE = eventOf({ type: 'session.complete', data: {} })

const passing = (reader: ServerResponse): KeptAnswer => ({
  add: content => void reader.write(eventOf({ type: 'llm.delta', data: { content } })),
  end: done => done(),
})

function readAnswer(from: IncomingMessage, answer: KeptAnswer, reader: ServerResponse): void {
  let rest = ''
  from.setEncoding('utf8').on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.slice('data: '.length)
      if (data === '[DONE]') return answer.end(() => void reader.end(COMPLETE))
      const content = (JSON.parse(data) as Chunk).choices[0]?.delta?.content
      if (content !== undefined) answer.add(content)
    }
  })
}

type Begin = (reader: ServerResponse) => KeptAnswer

function answerWith(baseUrl: string, begin: Begin, given: IncomingMessage, response: ServerResponse): void {
  const [, , , id, what] = (given.url ?? '').split('?')[0]?.split('/') ?? []
  if (id === undefined) return void response.end(JSON.stringify({ id: `session-${++sessions}` }))
  if (what === 'events') {
    readers.set(id, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return response.flushHeaders()
  }
  const reader = readers.get(id)
  let content = ''
  given.setEncoding('utf8').on('data', (part: string) => (content += part))
  given.on('end', () => {
    const headers = { 'content-type': 'application/json' }
    const call = request(`${baseUrl}/chat/completions`, { method: 'POST', headers }, answer => {
      if (reader) readAnswer(answer, begin(reader), reader)
    })
    const message = { role: 'user', ...(JSON.parse(content) as { content: string }) }
    call.on('error', error => reader?.destroy(error))
    call.end(JSON.stringify({ model: MODEL, stream: true, messages: [message] }))
    response.end('{}')
  })
}

function keepingIn(dir: string): Begin {
  const keep = keepChunksIn(dir)
  return reader => keep(record => void reader.write(frame('llm.delta', record)))
}

process.on('message', (given: RelayStart | 'usage') => {
  if (given === 'usage') return tell(ownUsage())
  const begin = given.keep_in === null ? passing : keepingIn(given.keep_in)
  const server = createServer((request, response) => answerWith(given.base_url, begin, request, response))
  server.listen(0, '127.0.0.1', 1024, () =>
    tell({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'none' }),
  )
})
process.on('disconnect', () => process.exit(0))
