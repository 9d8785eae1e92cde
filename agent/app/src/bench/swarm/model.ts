/**
 * The model of the swarm, in a separate process: a server with OpenAI's protocol that streams `TOKENS` tokens
 * at 50 per second. A token is its index and the time of writing, so that the reader can compute its latency
 * and detect missing ones.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { epochMs, type ModelReport, TITLE_MODEL, TOKENS, writeToken } from './protocol.ts'

const EVERY_MS = 20
const TITLE = ['A ', 'title ', 'of ', 'six ', 'short ', 'words']

let answered = 0
const tell = (report: ModelReport): void => void process.send?.(report)

const chunk = (choice: object): string =>
  `data: ${JSON.stringify({
    id: 'swarm',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'swarm',
    choices: [{ index: 0, finish_reason: null, ...choice }],
  })}\n\n`

/** Each token is scheduled relative to the first one, so a late timer does not slow down the stream. */
function stream(response: ServerResponse, pieces: number, piece: (index: number) => string): void {
  const startedAt = performance.now()
  let index = 0
  function next(): void {
    if (response.destroyed) return
    for (; index < pieces && performance.now() - startedAt >= index * EVERY_MS; index++)
      response.write(chunk({ delta: { content: piece(index) } }))
    if (index < pieces)
      return void setTimeout(next, Math.max(1, startedAt + index * EVERY_MS - performance.now()))
    const usage = { prompt_tokens: 20, completion_tokens: pieces, total_tokens: 20 + pieces }
    response.end(
      `${chunk({ delta: {}, finish_reason: 'stop' })}data: ` +
        `${JSON.stringify({ id: 'swarm', choices: [], usage })}\n\ndata: [DONE]\n\n`,
    )
    answered++
  }
  next()
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { model } = JSON.parse(Buffer.concat(parts).toString()) as { model: string }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (model === TITLE_MODEL) stream(response, TITLE.length, index => TITLE[index] ?? '')
    else stream(response, TOKENS, index => writeToken(index, epochMs()))
  })
})
server.listen(0, '127.0.0.1', 1024, () => tell({ port: (server.address() as AddressInfo).port }))
process.on('message', () => tell({ answered }))
process.on('disconnect', () => process.exit(0))
