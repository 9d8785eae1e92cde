/** The receiver of a webhook: verifies and stores requests, and answers as the test configures it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export type Arrived = {
  key: string
  type: string
  conversation_id: string
  part: number
  text: string
  event_id?: number
  prompt?: { id: string; choices: { value: string; label: string }[] }
}
/** A status; `drop`: accept the request and close the connection without an answer; `hang`: keep it open. */
export type Reply = number | 'drop' | 'hang' | { status: number; headers: Record<string, string> }

export async function startCallback(secret: string) {
  const webhook = new Webhook(secret)
  /** Every accepted request, in order; a key may occur more than once. */
  const taken: Arrived[] = []
  const refused: Arrived[] = []
  const replies: Reply[] = []
  let always: Reply = 200
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks)
      const headers = req.headers as Record<string, string>
      const message = webhook.verify(body, headers) as Omit<Arrived, 'key'>
      const arrived = { key: String(headers['webhook-id']), ...message }
      const reply = replies.shift() ?? always
      const { status, headers: more = {} } =
        typeof reply === 'object' ? reply : { status: reply === 'drop' ? 200 : reply === 'hang' ? 0 : reply }
      ;(status === 200 ? taken : refused).push(arrived)
      if (reply === 'hang') return
      if (reply === 'drop') return void res.destroy()
      res.writeHead(status, more).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cairn`,
    taken,
    refused,
    /** Requests deduplicated by `webhook-id`: each key once. */
    seen: (): Arrived[] => taken.filter(({ key }, at) => taken.findIndex(one => one.key === key) === at),
    reply: (...next: Reply[]) => void replies.push(...next),
    replyAlways: (next: Reply) => void (always = next),
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
export type Callback = Awaited<ReturnType<typeof startCallback>>
