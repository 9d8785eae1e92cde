/** A person's webhook: verifies requests by Standard Webhooks, stores them, and answers as configured. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export type Called = { id: string; body: unknown; status: number }

export async function startHook() {
  const calls: Called[] = []
  const replies: number[] = []
  let always = 204
  let webhook: Webhook | null = null
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const raw = Buffer.concat(chunks)
      const headers = req.headers as Record<string, string>
      const status = replies.shift() ?? always
      const body = webhook?.verify(raw, headers) ?? null
      calls.push({ id: String(headers['webhook-id']), body, status })
      res.writeHead(status, status >= 300 && status < 400 ? { location: '/elsewhere' } : {}).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mine`,
    calls,
    trust: (secret: string) => void (webhook = new Webhook(secret)),
    reply: (...next: number[]) => void replies.push(...next),
    replyAlways: (status: number) => void (always = status),
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
