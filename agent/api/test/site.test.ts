/** Routes outside /v1: probes, metrics, the web UI and its security headers. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { codeRunResult } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { createRegistry, meterStore } from '../src/index.ts'
import { startService } from './service.ts'

async function builtUi(): Promise<{ dir: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-ui-'))
  await mkdir(join(dir, 'assets'))
  await writeFile(join(dir, 'index.html'), '<!doctype html><title>UI</title>')
  await writeFile(join(dir, 'assets', 'app-1a2b.js'), 'let x')
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) }
}

test('the UI is served for every path that it routes itself, and its assets are cached forever', async () => {
  await using ui = await builtUi()
  await using service = await startService({ webRoot: ui.dir })
  for (const path of ['/', '/sessions/abc', '/login']) {
    const { status, text, headers } = await service.call(path, { token: null })
    expect([path, status, text]).toEqual([path, 200, '<!doctype html><title>UI</title>'])
    expect(headers.get('content-security-policy')).toContain(
      "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; frame-src " +
        "'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; connect-src 'self'",
    )
    expect([
      headers.get('x-content-type-options'),
      headers.get('referrer-policy'),
      headers.get('cache-control'),
    ]).toEqual(['nosniff', 'no-referrer', 'no-cache'])
  }
  const asset = await service.call('/assets/app-1a2b.js', { token: null })
  expect([asset.text, asset.headers.get('content-type'), asset.headers.get('cache-control')]).toEqual([
    'let x',
    'text/javascript; charset=utf-8',
    'public, max-age=31536000, immutable',
  ])
  expect(
    (
      await service.call('/assets/app-1a2b.js', {
        headers: { 'if-none-match': asset.headers.get('etag') ?? '' },
      })
    ).status,
  ).toBe(304)
  expect((await service.call('/assets/gone.js')).status).toBe(404)
  expect((await service.call('/', { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD')
  const head = await service.call('/', { method: 'HEAD' })
  expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', '32'])
})

test('text is compressed if the client accepts it, with a Vary header for caches', async () => {
  await using service = await startService()
  const plain = await service.call('/docs', { token: null, headers: { 'accept-encoding': 'identity' } })
  const small = await service.call('/docs', { token: null, headers: { 'accept-encoding': 'br, gzip' } })
  expect([
    plain.headers.get('content-encoding'),
    small.headers.get('content-encoding'),
    small.headers.get('vary'),
  ]).toEqual([null, 'gzip', 'accept-encoding'])
  expect(small.text).toBe(plain.text)
})

test('without a built UI a page reports that', async () => {
  await using service = await startService()
  const { status, text } = await service.call('/', { token: null })
  expect([status, text.includes('The web UI is not built')]).toEqual([503, true])
})

test('the probes distinguish liveness from readiness', async () => {
  await using service = await startService()
  expect((await service.call('/readyz', { token: null })).status).toBe(200)
  const list = service.store.sessions.list
  service.store.sessions.list = async () => {
    throw new Error('disk is gone')
  }
  expect((await service.call('/readyz', { token: null })).status).toBe(503)
  expect((await service.call('/healthz', { token: null })).json).toEqual({
    status: 'ok',
    version: '0.0.0-test',
  })
  service.store.sessions.list = list
})

/** Promise 4.11: A server that cannot write is not ready and becomes ready again by itself. */
test('readyz returns 503 while writes fail, and recovers by itself with the first success', async () => {
  await using service = await startService()
  const ready = async () => (await service.call('/readyz', { token: null })).status
  const { probe } = service.store
  let probes = 0
  service.store.probe = () => {
    probes++
    return Promise.reject(new AppError('storage', 'no space left on device'))
  }
  await expect.poll(ready).toBe(503)
  // Frequent probes cause few disk writes.
  for (let n = 0; n < 20; n++) expect(await ready()).toBe(503)
  expect(probes).toBeLessThan(20)
  service.store.probe = probe
  await expect.poll(ready).toBe(200)
})

test('readyz returns 503 as soon as a drain is announced, while other routes continue', async () => {
  await using service = await startService()
  expect((await service.call('/readyz', { token: null })).status).toBe(200)
  service.api.announceDrain()
  const { status, json } = await service.call('/readyz', { token: null })
  expect([status, json.code]).toEqual([503, 'draining'])
  expect((await service.call('/healthz', { token: null })).status).toBe(200)
  await service.say(await service.newSession(), 'still served')
})

test('metrics report the due sessions of the store, and NaN while it does not respond', async () => {
  await using service = await startService()
  let counts = 0
  service.store.leases.countDue = async () => {
    counts += 1
    if (counts > 1) throw new Error('no connection')
    return 7
  }
  const due = async () =>
    /^cairn_due_sessions (.+)$/m.exec((await service.call('/metrics', { token: null })).text)?.[1]
  expect([await due(), await due()]).toEqual(['7', '7'])
  expect(counts, 'frequent scrapes cause few queries').toBe(1)
  service.advance(1_000)
  expect(await due()).toBe('Nan')
})

const STATS = { active_turns: 3, code_runs: 1, browsers: 2, proxy_connections: 9, proxy_refusals: 5 }

test('metrics count by route and status, and contain no session, path or token', async () => {
  const registry = createRegistry()
  await using service = await startService({ metrics: registry, harnessStats: () => STATS })
  const store = meterStore(service.store, registry)
  const id = await service.newSession()
  await service.say(id, 'hello')
  await service.call(`/v1/sessions/${id}/nowhere`)
  await store.commit({ session_id: id, events: [] })
  await expect(store.commit({ session_id: 'none', events: [] })).rejects.toThrow()
  const { text } = await service.call('/metrics', { token: null })
  expect(text).toContain('cairn_http_requests_total{route="sendMessage",status="202"} 1')
  expect(text).toContain('cairn_http_requests_total{route="unknown",status="404"} 1')
  expect(text).toContain('cairn_active_turns 3')
  expect(text).toContain('cairn_browsers 2')
  expect(text).toContain('cairn_proxy_refusals 5')
  expect(text).toContain('cairn_commit_seconds_count 1')
  expect(text).toContain('cairn_commits_failed_total 1')
  for (const secret of [id, service.adminToken, service.admin.id, 'nowhere'])
    expect(text).not.toContain(secret)
})

const RESULT = {
  run_id: 'run',
  agent: 'cairn',
  final_message: null,
  error: 'it died',
  input_tokens: 0,
  output_tokens: 0,
}

test('metrics count coding runs by outcome', async () => {
  const registry = createRegistry()
  const committed = { events: [], last_id: 0 }
  const store = meterStore({ commit: () => Promise.resolve(committed) } as unknown as LogStore, registry)
  for (const error of [null, 'stopped', 'it died', 'it died again'])
    await store.commit({ session_id: 'any', events: [codeRunResult({ ...RESULT, error })] })
  const text = await registry.metrics()
  for (const line of ['outcome="done"} 1', 'outcome="stopped"} 1', 'outcome="failed"} 2'])
    expect(text).toContain(`cairn_code_runs_total{${line}`)
})

test('about returns the agents, the demo flag, the disclosure and the sandbox of commands', async () => {
  await using service = await startService({
    demo: true,
    config: { agents: { coder: { model: 'openai/x' } }, disclosure: { level: 'basic' } },
  })
  expect((await service.call('/v1/about')).json).toEqual({
    version: '0.0.0-test',
    demo: true,
    agents: [
      { name: 'assistant', model: 'demo' },
      { name: 'coder', model: 'openai/x' },
    ],
    models: ['openai/x'],
    share_days: 0,
    disclosure: { level: 'basic', text: 'You are talking to assistant, an AI system, not to a person.' },
    sandbox: {
      terminal: 'on_workers',
      network: null,
      summary: expect.stringContaining('run in the runners') as string,
    },
    skills: [],
  })
})
