/**
 * The least that can stand between a model and its readers, in a process of its own: a server of node:http
 * with the service's three routes, that knows nobody, stores nothing, and writes each chunk on as it comes.
 * What it takes is what the machine asks of any server of this load.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ownUsage, type RelayStart, type ServiceReport } from '../service-protocol.ts'
import { MODEL } from './protocol.ts'

type Chunk = { choices: { delta?: { content?: string } }[] }

const readers = new Map<string, ServerResponse>()
let sessions = 0
const tell = (report: ServiceReport): void => void process.send?.(report)
const eventOf = (type: string, content?: string): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, data: { content } })}\n\n`

function passOn(answer: IncomingMessage, reader: ServerResponse): void {
  let rest = ''
  answer.setEncoding('utf8').on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.slice('data: '.length)
      if (data === '[DONE]') return void reader.end(eventOf('session.complete'))
      const content = (JSON.parse(data) as Chunk).choices[0]?.delta?.content
      if (content !== undefined) reader.write(eventOf('llm.delta', content))
    }
  })
}

function answerWith(baseUrl: string, given: IncomingMessage, response: ServerResponse): void {
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
      if (reader) passOn(answer, reader)
    })
    const message = { role: 'user', ...(JSON.parse(content) as { content: string }) }
    call.on('error', error => reader?.destroy(error))
    call.end(JSON.stringify({ model: MODEL, stream: true, messages: [message] }))
    response.end('{}')
  })
}

process.on('message', (given: RelayStart | 'usage') => {
  if (given === 'usage') return tell(ownUsage())
  const server = createServer((request, response) => answerWith(given.base_url, request, response))
  server.listen(0, '127.0.0.1', 1024, () =>
    tell({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'none' }),
  )
})
process.on('disconnect', () => process.exit(0))
