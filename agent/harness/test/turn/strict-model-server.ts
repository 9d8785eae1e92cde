/** A model server over HTTP that answers with the given messages, and rejects requests that its rules forbid. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Json = Record<string, unknown>
export type SentMessage = Json & { role: string; content: unknown; tool_calls?: SentCall[] }
export type SentCall = Json & { id: string; function: { name: string; arguments: string } }
export type SentBody = Json & { messages: SentMessage[]; tools?: { function: Json & { name: string } }[] }
type Rejection = { status: number; body: unknown }

export type StrictModelServer = AsyncDisposable & {
  url: string
  sent: SentBody[]
  rejected: SentBody[]
}

/** The text of a refusal in OpenAI's form. */
export const rejection = (message: string, more: Json = {}, status = 400): Rejection => ({
  status,
  body: { error: { message, type: 'invalid_request_error', ...more } },
})

/** Answers are deltas of one message each; after the last one the server answers "ok". */
export async function startStrictServer(
  answers: readonly Json[],
  check: (body: SentBody) => Rejection | null,
  onRequest: (accepted: number) => Promise<void> = () => Promise.resolve(),
): Promise<StrictModelServer> {
  const sent: SentBody[] = []
  const rejected: SentBody[] = []
  let accepted = 0
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as SentBody
      sent.push(body)
      const refused = check(body)
      if (refused !== null) {
        rejected.push(body)
        response.writeHead(refused.status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(refused.body))
        return
      }
      const delta = answers[accepted++] ?? { content: 'ok' }
      void onRequest(accepted).then(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const chunk = {
          choices: [{ index: 0, delta, finish_reason: delta['tool_calls'] ? 'tool_calls' : 'stop' }],
        }
        response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    rejected,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
