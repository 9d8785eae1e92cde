/** The first commands of a new user, and their output before there is any data. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cairn, makePlace, startServer, startService } from './server.ts'
import { newSession } from './session.ts'

test('without a server, a command reports how to start one; with --url, it reports the missing token', async () => {
  const place = makePlace()
  const alone = await cairn(place, ['sessions'])
  expect([alone.code, alone.stdout]).toEqual([3, ''])
  expect(alone.stderr).toContain(`No server has used the data directory ${place.dataDir}`)
  expect(alone.stderr).toContain('Start one with cairn serve')
  const named = await cairn(place, ['sessions', '--url', 'http://127.0.0.1:9'])
  expect([named.code, named.stderr]).toEqual([3, expect.stringContaining('No token for http://127.0.0.1:9')])
})

test('prints the version; init writes a commented cairn.yaml once, and the server reads it', async () => {
  const place = makePlace()
  for (const flag of ['--version', '-v'])
    expect(await cairn(place, [flag])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  const file = join(place.dir, 'new.yaml')
  const env = { CAIRN_CONFIG: file }
  expect(await cairn(place, ['init'], { env })).toMatchObject({ code: 0, stdout: `${file}\n` })
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^#/m)
  const again = await cairn(place, ['init'], { env })
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`${file} already exists`)])
  expect((await cairn(place, ['init', '--stdout'], { env })).stdout).toBe(text)
  await startService({ ...place, env: { ...place.env, ...env } })
})

test('an export to an existing file fails with one sentence and leaves the file unchanged', async () => {
  const place = makePlace({ scenario: { rules: [{ answer: { text: 'ok' } }] } })
  const { client } = await startService(place)
  const file = join(place.dir, 'log.jsonl')
  writeFileSync(file, 'mine')
  const { code, stderr } = await cairn(place, ['export', await newSession(client), '--out', file])
  expect([code, stderr]).toEqual([2, `cairn: ${file} already exists: choose a new file name\n`])
  expect(readFileSync(file, 'utf8')).toBe('mine')
  const fresh = join(place.dir, 'fresh.jsonl')
  expect((await cairn(place, ['export', await newSession(client), '--out', fresh])).code).toBe(0)
  expect(existsSync(fresh)).toBe(true)
})

test('a login link has the public address if one is configured', async () => {
  const place = makePlace({ config: { public_url: 'https://cairn.example.org/' } })
  const link = /^https:\/\/cairn\.example\.org\/login#\S+$/
  expect((await cairn(place, ['login'])).stdout.trim()).toMatch(link)
  const server = await startServer(place)
  expect(server.loginUrl).toMatch(link)
  expect((await cairn(place, ['login'])).stdout.trim()).toMatch(link)
  // A named server is reached at the address that was named.
  const named = await cairn(place, ['login', '--url', server.url])
  expect(named.stdout.trim()).toContain(`${server.url}/login#`)
})

test('reports an unusable temporary folder in one sentence', async () => {
  const place = makePlace()
  const missing = join(place.dir, 'missing')
  const { code, stderr } = await cairn({ ...place, env: { ...place.env, TMPDIR: missing } }, ['serve'])
  expect(code).toBe(4)
  expect(stderr).toContain(`TMPDIR: Cannot create files in the temporary folder ${missing}: ENOENT`)
  expect(stderr).not.toMatch(/^ +at /m)
})
