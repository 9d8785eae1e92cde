/** Files and answers of a platform are limited in size, whatever length the platform announced. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { createClient } from '../../src/slack/client.ts'
import { fetchFile } from '../../src/slack/files.ts'
import { createGraph } from '../../src/whatsapp/graph.ts'

const MIB = 1024 * 1024
const MAX_FILE_BYTES = MIB

/** Sends answers with the given beginning and no end, and counts the bytes that were read. */
async function startFlood(answer: (request: IncomingMessage, url: string) => string | object) {
  let sent = 0
  const server = createServer((request, response) => void reply(request, response))
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume()
    const given = answer(request, url)
    if (typeof given === 'object') return void response.end(JSON.stringify(given))
    response.writeHead(200, { 'content-type': 'application/json' }).write(given)
    const gone = once(response, 'close')
    while (sent < 200 * MIB && !response.destroyed) {
      sent += 65_536
      if (!response.write('x'.repeat(65_536))) await Promise.race([once(response, 'drain'), gone])
    }
    response.end()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    url,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
type Flood = Awaited<ReturnType<typeof startFlood>>

const { signal } = new AbortController()
const graph = ({ url }: Flood) => createGraph({ phoneNumberId: '1', token: 't', apiUrl: url, now: Date.now })
const slackFile = ({ url }: Flood) =>
  fetchFile(
    { botToken: 't', apiUrl: url },
    { ref: { url: `${url}f` }, mime_type: 'text/plain', name: 'f', size: 9 } as never,
    MAX_FILE_BYTES,
    signal,
  )

const WAYS: Record<
  string,
  { answer: Parameters<typeof startFlood>[0]; ask(flood: Flood): Promise<unknown> }
> = {
  'a file of WhatsApp that is larger than announced': {
    answer: ({ url }, base) => (url === '/f' ? 'x' : { url: `${base}f`, file_size: 9 }),
    ask: flood => graph(flood).fetchMedia('m', MAX_FILE_BYTES, signal),
  },
  'what WhatsApp says of a file': {
    answer: () => '{"url":"',
    ask: flood => graph(flood).fetchMedia('m', MAX_FILE_BYTES, signal),
  },
  'a file of Slack that is larger than announced': { answer: () => 'x', ask: slackFile },
  'an answer of Slack to a call': {
    answer: () => '{"ok":true,"x":"',
    ask: ({ url }) => createClient('t', { apiUrl: url }, signal).apiCall('auth.test'),
  },
}

test('data of a platform beyond the maximum is not read', async () => {
  const unexpected: string[] = []
  for (const [what, { answer, ask }] of Object.entries(WAYS)) {
    await using flood = await startFlood(answer)
    const outcome = await ask(flood).then(
      () => 'it was taken',
      (error: unknown) => String(error),
    )
    if (outcome === 'it was taken') unexpected.push(`${what}: ${outcome}`)
    // The maximum plus the socket buffers of both sides.
    if (flood.sent() > 24 * MIB) unexpected.push(`${what}: ${flood.sent()} bytes were taken`)
  }
  tally('platforms whose answers do not end', Object.keys(WAYS).length, unexpected.length)
  expect(unexpected).toEqual([])
})
