/**
 * A completions server that replies by script and keeps what it was asked. As a program, to record the
 * harness:
 *
 *   node tune/bench/test/reference/scripted-server.ts <port> <recording.json>      (interrupt it to write
 * the recording)
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export type ScriptedRequest = { path: string; body: Record<string, unknown> }
/** Status and body to answer with in place of the script; undefined is the script. */
export type FailureScript = (
  asked: ScriptedRequest,
  count: number,
) => { status: number; body: string } | undefined

export const readReplies = () =>
  JSON.parse(readFileSync(new URL('replies.json', import.meta.url), 'utf8')) as Record<string, string>

export async function startScriptedServer({
  port = 0,
  replies = readReplies(),
  trouble = () => undefined,
}: { port?: number; replies?: Record<string, string>; trouble?: FailureScript } = {}) {
  const asked: ScriptedRequest[] = []
  let running = 0
  let maxConcurrent = 0
  const server = createServer(async (request, response) => {
    running++
    maxConcurrent = Math.max(maxConcurrent, running)
    const body = await readBody(request)
    running--
    if (request.method !== 'POST' || request.url !== '/v1/completions')
      return response.writeHead(404).end('{"error":{"message":"not found","code":404}}')
    const entry = { path: request.url, body: JSON.parse(body) as Record<string, unknown> }
    asked.push(entry)
    const text = replies[String(entry.body['prompt'])]
    const answer =
      trouble(entry, asked.length) ??
      (text === undefined
        ? {
            status: 400,
            body:
              '{"error":{"message":"no reply in the script for this ' +
              'prompt","type":"BadRequestError","param":null,"code":400}}',
          }
        : {
            status: 200,
            body: JSON.stringify({
              id: `cmpl-${asked.length}`,
              object: 'text_completion',
              created: 0,
              model: entry.body['model'],
              choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop' }],
              usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
            }),
          })
    return response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    mostAtOnce: () => maxConcurrent,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

if (import.meta.main) {
  const [port, recording] = process.argv.slice(2)
  if (!port || !recording) throw new Error('usage: scripted-server.ts <port> <recording.json>')
  const server = await startScriptedServer({ port: Number(port) })
  console.log(server.url)
  process.once('SIGINT', () => {
    writeFileSync(recording, `${JSON.stringify(server.asked, null, 1)}\n`)
    void server.close()
  })
}
