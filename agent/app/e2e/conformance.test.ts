/**
 * `cairn conformance` passes against the real server and reports the failed checks of a server that breaks a
 * promise.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { cairn, makePlace, startService } from './server.ts'

/** Promise 4: `npm run conformance` can check any running server over HTTP. */
test('a fresh server passes every check, reported as JSON', async () => {
  const place = makePlace()
  const server = await startService(place)
  const { code, stdout } = await cairn(place, ['conformance', server.url, '--json'])
  const found = JSON.parse(stdout) as {
    passed: number
    failed: number
    checks: { check: string; verdict: string; detail: string }[]
  }
  expect(found.checks.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  expect([code, found.failed, found.passed]).toEqual([0, 0, found.checks.length])
  expect(found.passed).toBeGreaterThan(13)
})

/** A proxy in front of the server. `change` modifies each answer. */
async function startLiar(target: string, change: (path: string, text: string) => string): Promise<string> {
  const liar = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const {
        host: _host,
        connection: _connection,
        'transfer-encoding': _encoding,
        'content-length': _length,
        ...headers
      } = req.headers
      void fetch(target + (req.url ?? '/'), {
        method: req.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
      }).then(
        async answer => {
          const text = change(req.url ?? '/', await answer.text())
          const {
            'content-length': _old,
            'content-encoding': _coding,
            'transfer-encoding': _chunked,
            ...kept
          } = Object.fromEntries(answer.headers)
          res.writeHead(answer.status, { ...kept, 'content-length': Buffer.byteLength(text) }).end(text)
        },
        () => res.destroy(),
      )
    })
  })
  await new Promise<void>(resolve => liar.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    liar.closeAllConnections()
    liar.close()
  })
  return `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
}

const LIES: readonly [check: string, change: (path: string, text: string) => string][] = [
  ['poll pages', (path, text) => (path.includes('limit=7') ? text.replace(/\{"id":9,.*?\}\},/, '') : text)],
  [
    'Idempotency-Key',
    (path, text) => (path.endsWith('/messages') ? text.replace('}', `,"n":${Math.random()}}`) : text),
  ],
  ['error responses', (_, text) => text.replace('"code":"not_found"', '"code":"gone"')],
]

test('reports a server that loses an event, repeats an effect or changes an answer, with a failing exit code', async () => {
  const place = makePlace()
  const server = await startService(place)
  await Promise.all(
    LIES.map(async ([check, change]) => {
      const { code, stdout } = await cairn(place, [
        'conformance',
        await startLiar(server.url, change),
        '--only',
        check,
      ])
      expect([check, code, stdout]).toEqual([check, 1, expect.stringContaining('✗')])
    }),
  )
  expect((await cairn(place, ['conformance', 'http://127.0.0.1:9'])).code).toBe(3)
  expect((await cairn(place, ['conformance', '--only', 'nothing of the kind'])).code).toBe(2)
})
