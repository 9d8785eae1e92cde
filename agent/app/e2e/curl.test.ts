/** The event stream as a curl user sees it (contract 3). */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { cairn, makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS, endsTurn, isType, newSession, readLog, say, waitFor } from './session.ts'

const SCENARIO = {
  pace_ms: 30,
  chunk_chars: 6,
  rules: [
    { answer: { text: 'One stone upon another, and the way is marked for whoever comes after. '.repeat(4) } },
  ],
}

type Frame = { id: number; event: string; data: { id: number; type: string } }
const framesOf = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter(block => block.includes('data: '))
    .map(block => {
      const lines = block.split('\n').filter(line => !/^(?::|retry:)/.test(line))
      const [id, event, data, ...rest] = lines
      expect(rest).toEqual([])
      return {
        id: Number(id?.slice(4)),
        event: event?.slice(7) ?? '',
        data: JSON.parse(data?.slice(6) ?? '') as Frame['data'],
      }
    })

/** Does what `curl -i -N` does, for machines without curl. */
const NO_CURL =
  '\n' +
  'const [url, token] = process.argv.slice(1)\n' +
  "require('node:http').get(url, { headers: { authorization: 'Bearer ' + token } }, response => {\n" +
  `  process.stdout.write('HTTP/1.1 ' + response.statusCode + ' ' + response.statusMessage + '\\r\\n')\n` +
  "  for (const [name, value] of Object.entries(response.headers)) process.stdout.write(name + ': ' + " +
  `value + '\\r\\n')\n` +
  `  process.stdout.write('\\r\\n')\n` +
  '  response.pipe(process.stdout)\n' +
  '})'
const curl = (url: string, token: string): readonly [string, string[]] =>
  spawnSync('curl', ['--version']).status === 0
    ? ['curl', ['-sSN', '-i', '-H', `authorization: Bearer ${token}`, url]]
    : [process.execPath, ['-e', NO_CURL, url, token]]

function follow(
  url: string,
  token: string,
): {
  child: ChildProcess
  until: (done: (frames: Frame[]) => boolean) => Promise<Frame[]>
  text: () => string
} {
  const child = spawn(...curl(url, token), { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  return {
    child,
    text: () => text,
    async until(done) {
      const patience = AbortSignal.timeout(PATIENCE_MS)
      for (;;) {
        const frames = framesOf(text.slice(0, text.lastIndexOf('\n\n') + 2).replaceAll('\r\n', '\n'))
        if (done(frames)) return frames
        await once(child.stdout, 'data', { signal: patience })
      }
    },
  }
}

/** Promise 3.4: A reader whose connection breaks during an answer continues exactly there. */
test('after a connection breaks during an answer, curl with its cursor gets exactly the rest', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const { client, url } = await startService(place)
  const id = await newSession(client)
  const token = await localToken(place.dataDir)
  const first = follow(`${url}/v1/sessions/${id}/events?after=0&type=tool.call`, token)
  await say(client, id, 'go')
  const seen = await first.until(frames => frames.filter(({ event }) => event === 'llm.delta').length >= 3)
  first.child.kill('SIGKILL')
  expect(first.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(first.text().toLowerCase()).toContain('content-type: text/event-stream')
  expect(first.text().toLowerCase()).toContain('cache-control: no-cache, no-transform')
  expect(first.text()).toContain('retry: 2000\n')
  expect(first.text()).toContain(': connected\n')

  const after = seen.at(-1)!.id
  const rest = await follow(`${url}/v1/sessions/${id}/events?after=${after}`, token).until(frames =>
    frames.some(({ event }) => event === 'session.complete'),
  )
  const log = await readLog(client, id)
  const end = log.find(isType('session.complete'))!.id
  expect([...seen, ...rest].map(({ id }) => id).filter(id => id <= end)).toEqual(
    Array.from({ length: end }, (_, at) => at + 1),
  )
  expect([...seen, ...rest].map(({ data }) => data)).toEqual(log.slice(0, seen.length + rest.length))
  expect([...seen, ...rest].every(({ id, event, data }) => data.id === id && data.type === event)).toBe(true)
})

test('Last-Event-ID is the cursor if after is absent; after takes precedence', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const { client, url } = await startService(place)
  const id = await newSession(client)
  await waitFor(client, id, await say(client, id, 'go'), endsTurn)
  const token = await localToken(place.dataDir)
  const firstIds = await Promise.all(
    ['', '?after=0'].map(async query => {
      const stop = new AbortController()
      const response = await fetch(`${url}/v1/sessions/${id}/events${query}`, {
        headers: { authorization: `Bearer ${token}`, 'last-event-id': '3' },
        signal: stop.signal,
      })
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk, { stream: true })
        if (/^id: \d+\n/m.test(text)) break
      }
      stop.abort()
      return /^id: (\d+)\n/m.exec(text)?.[1]
    }),
  )
  expect(firstIds).toEqual(['4', '1'])
})

test('a service account reads the stream below /v1/api only, and cannot poll', async () => {
  const place = makePlace({ scenario: { rules: [{ answer: { text: 'Fine.' } }] } })
  const { client, url } = await startService(place)
  const made = await cairn(place, ['token', 'service-account', 'reader', '--scope', 'org', '--json'])
  const { token } = JSON.parse(made.stdout) as { token: string }
  const id = await newSession(client)
  await waitFor(client, id, await say(client, id, 'go'), endsTurn)
  const frames = await follow(`${url}/v1/api/sessions/${id}/events?after=0`, token).until(frames =>
    frames.some(({ event }) => event === 'session.complete'),
  )
  expect(frames.map(({ id }) => id)).toEqual(frames.map((_, at) => at + 1))
  const refused = await Promise.all(
    [`/v1/sessions/${id}/events/poll`, `/v1/sessions/${id}/events`, `/v1/api/sessions/${id}/events/poll`].map(
      async path => {
        const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
        return [response.status, ((await response.json()) as { code: string }).code]
      },
    ),
  )
  expect(refused).toEqual([
    [403, 'user_token_required'],
    [403, 'service_account_route'],
    [404, 'not_found'],
  ])
})

test('a draining server notifies readers and ends their streams; they reconnect with their cursor', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startServer(place)
  const id = await newSession(server.client)
  const reader = follow(`${server.url}/v1/sessions/${id}/events?after=0`, await localToken(place.dataDir))
  const after = await say(server.client, id, 'go')
  await reader.until(frames => frames.some(({ event }) => event === 'llm.delta'))
  const closed = once(reader.child, 'close')
  expect(await server.stop()).toBe(0)
  const [code] = (await closed) as [number | null]
  expect(code, 'curl sees a clean end').toBe(0)
  expect(reader.text()).toMatch(/: draining\n$/)
  const seen = framesOf(reader.text().replaceAll('\r\n', '\n'))

  const again = await startServer(place)
  await waitFor(again.client, id, after, endsTurn)
  expect(seen.map(({ data }) => data)).toEqual((await readLog(again.client, id)).slice(0, seen.length))
})
