/**
 * The commands as a person uses them in a shell. Streams, exit codes and interrupts are tested with real
 * processes, the rest in the shared process.
 */
import { existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDb } from '@cairn/log/internal/sqlite-adapter'
import type { SessionEvent } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import {
  type ServerDirs,
  type RunningService,
  cairn,
  cairnProcess,
  makePlace,
  refusedStart,
  start,
  startService,
} from './server.ts'
import { PATIENCE_MS, newSession, readLog, runTurn, say } from './session.ts'

const SCENARIO = {
  pace_ms: 5,
  rules: [
    { when: { user: 'person approved', step: 0 }, answer: { tool_calls: [{ repeat: 'terminal' }] } },
    {
      when: { user: '^run$', step: 0 },
      answer: {
        text: 'I try.',
        tool_calls: [{ name: 'terminal', arguments: { command: 'echo ran >> done.txt' } }],
      },
    },
    {
      when: { user: '^ask$', step: 0 },
      answer: {
        tool_calls: [
          {
            name: 'ask_user_question',
            arguments: {
              questions: [{ prompt: 'Which one?', choices: [{ label: 'left' }, { label: 'right' }] }],
            },
          },
        ],
      },
    },
    {
      when: { user: '^share it out$', step: 0 },
      answer: {
        tool_calls: [
          { name: 'spawn_worker', arguments: { goal: 'do it \u001B[31mnow' } },
          { name: 'spawn_worker', arguments: { goal: 'lead it', role: 'orchestrator' } },
          { name: 'wait_for_workers', arguments: {} },
        ],
      },
    },
    {
      when: { user: 'Goal:\\s+lead', step: 0 },
      answer: {
        tool_calls: [
          { name: 'spawn_worker', arguments: { goal: 'ask somebody' } },
          { name: 'wait_for_workers', arguments: {} },
        ],
      },
    },
    {
      when: { user: 'Goal:\\s+ask', step: 0 },
      answer: {
        tool_calls: [
          {
            name: 'ask_user_question',
            arguments: { questions: [{ prompt: 'Which?', choices: [{ label: 'a' }, { label: 'b' }] }] },
          },
        ],
      },
    },
    { when: { user: '^fail$' }, answer: { error: { status: 400, message: 'no such thing' } } },
    { when: { user: '^echo ([\\s\\S]*)$' }, answer: { text: 'You said: {{user.1}}' } },
    { answer: { text: 'All right, that is done.' } },
  ],
}
const CONFIG = { agents: { assistant: { governance: { require_approval: ['terminal'] } } } }

async function served(): Promise<{ place: ServerDirs; server: RunningService }> {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  return { place, server: await startService(place) }
}

test('serve prints the login link as its last line, after all other output', async () => {
  const place = makePlace()
  const path = join(place.dir, 'output')
  const output = openSync(path, 'w')
  const { kill } = start(place, ['serve'], ['ignore', output, output])
  onTestFinished(kill)
  const printed = (): string => readFileSync(path, 'utf8')
  const LINK = /^ {2}Log in \(one-time link\): (http:\/\/127\.0\.0\.1:\d+)\/login#token=\S+$/m
  await expect.poll(printed, { timeout: PATIENCE_MS }).toMatch(LINK)
  const [link = '', url = ''] = LINK.exec(printed()) ?? []
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  expect(printed()).toContain('"message":"configuration"')
  expect(printed().endsWith(`${link}\n`)).toBe(true)
  // One line per step: `cairn config` shows the settings.
  expect(printed()).not.toContain('max_iterations')
})

test('config shows the settings that serve would use, with secrets masked', async () => {
  const place = makePlace({ config: CONFIG })
  const { code, stdout, stderr } = await cairn(place, ['config'])
  expect([code, stderr]).toEqual([0, expect.stringContaining(`data        ${place.dataDir}`)])
  expect(stdout).toContain('require_approval: [terminal]')
  expect(stdout).toContain('max_iterations: 90')
  const json = await cairn(place, ['config', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({ data: place.dataDir, database: null, config: CONFIG })
  writeFileSync(place.env['CAIRN_CONFIG']!, 'agent: {}')
  expect(await cairn(place, ['config'])).toMatchObject({ code: 4, stdout: '' })
})

test('send streams the answer to stdout and everything else to stderr, and continues the same session', async () => {
  const { place } = await served()
  const first = await cairnProcess(place, ['send', 'hello', 'there'])
  expect([first.code, first.stdout]).toEqual([0, 'All right, that is done.\n'])
  const id = /^session (\S+)$/m.exec(first.stderr)?.[1] ?? ''
  const second = await cairnProcess(place, ['send', '--session', id, '--json'], {
    stdin: 'echo from stdin\n',
  })
  expect(JSON.parse(second.stdout)).toMatchObject({
    session_id: id,
    status: 'completed',
    answer: 'You said: from stdin',
  })
  const piped = await cairnProcess(place, ['send', '--quiet', 'echo x'])
  expect([piped.stdout, piped.stderr]).toEqual(['You said: x\n', ''])
})

test('the exit code of send reports how the turn ended', async () => {
  const { place } = await served()
  const failed = await cairnProcess(place, ['send', 'fail'])
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('failed (provider_error)')])
  const asked = await cairn(place, ['send', 'ask'])
  expect([asked.code, asked.stderr]).toEqual([6, expect.stringContaining('? Which one? (left / right)')])
  const unknown = await cairn(place, ['send', '--agent', 'nobody', 'hi'])
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('nobody')])
  const nowhere = await cairn(place, ['send', '--session', 'nothing', 'hi'])
  expect([nowhere.code, nowhere.stderr]).toEqual([3, 'cairn: Session nothing not found.\n'])
})

test('sessions lists ids, states and titles, and finds old sessions by words of their titles', async () => {
  const { place, server } = await served()
  expect((await cairn(place, ['sessions'])).stderr).toBe('No sessions.\n')
  const old = await server.client.call('createSession', { body: { title: 'Needle alpha' } })
  for (let n = 0; n < 25; n++) await newSession(server.client)
  const asked = await cairn(place, ['send', '--json', 'ask'])
  const { session_id } = JSON.parse(asked.stdout) as { session_id: string }
  const listed = (await cairn(place, ['sessions'])).stdout.trimEnd().split('\n')
  expect(listed).toHaveLength(20)
  expect(listed[0]).toMatch(
    new RegExp(`^${session_id} {2}needs_answer {2,}\\d{1,2} \\w{3,4}, \\d\\d:\\d\\d `),
  )
  expect((await cairn(place, ['sessions', 'ALPHA', 'needle'])).stdout).toMatch(
    new RegExp(`^${old.id} {2}idle .* Needle alpha\n$`),
  )
  const none = await cairn(place, ['sessions', 'beta'])
  expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'No sessions match.\n'])
  const all = JSON.parse((await cairn(place, ['sessions', '--limit', '500', '--json'])).stdout) as unknown[]
  expect(all).toHaveLength(27)
  expect((await cairn(place, ['sessions', '--limit', 'x'])).code).toBe(2)
})

/**
 * Promise 4.13: `cairn workers` lists all workers as a tree and emits none of their terminal control
 * sequences.
 */
test('workers lists all descendants of a session as a tree without their terminal control sequences', async () => {
  const { place, server } = await served()
  const { client } = server
  const id = await newSession(client)
  await say(client, id, 'share it out')
  const workers = async () => (await client.call('sessionWorkers', { params: { id } })).workers
  await expect
    .poll(async () => (await workers()).map(worker => worker.state).toSorted(), { timeout: PATIENCE_MS })
    .toEqual(['done', 'idle', 'needs_answer'])
  const idOf = new Map((await workers()).map(worker => [worker.goal?.split(' ')[0], worker.worker_id]))
  const listed = await cairn(place, ['workers', id])
  expect([listed.code, listed.stderr]).toEqual([0, ''])
  const lines = listed.stdout.trimEnd().split('\n')
  const at = (goal: string): number => lines.findIndex(line => line.startsWith(`${idOf.get(goal)}  `))
  expect(lines).toHaveLength(3)
  expect(lines[at('do')]).toMatch(/ {2}done .* session\.complete .* no price set {2}do it \\u\{1B\}\[31mnow$/)
  expect(lines[at('lead')]).toMatch(/ {2}idle .*\S {2}lead it {2}\(1 worker running\)$/)
  expect(lines[at('lead') + 1]).toMatch(/ {2}needs_answer .*\S {4}ask somebody$/)
  expect(at('ask')).toBe(at('lead') + 1)
  expect(JSON.parse((await cairn(place, ['workers', id, '--open', '--json'])).stdout)).toHaveLength(2)
  expect((await cairn(place, ['sessions'])).stdout.split('\n').filter(line => line !== '')).toEqual([
    expect.stringContaining(id),
  ])
  expect((await cairn(place, ['sessions', '--workers', 'lead'])).stdout).toMatch(
    / {2}idle .* {2}lead it {2}\(1 worker running\)\n$/,
  )
  const none = await cairn(place, ['workers', idOf.get('ask') ?? ''])
  expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'This session has no workers.\n'])
  expect((await cairn(place, ['workers'])).code).toBe(2)
  expect((await cairn(place, ['workers', 'nothing'])).code).toBe(3)
})

test('approve lists open inbox items, and an approval lets the call run', async () => {
  const { place, server } = await served()
  const gated = await cairn(place, ['send', 'run'])
  expect(gated.code, 'an approval waits').toBe(6)
  expect(gated.stderr).toMatch(/terminal needs approval: .*echo ran/)
  const [line = ''] = (await cairn(place, ['approve'])).stdout.split('\n')
  const [, item = '', session = ''] = /^(\S+) {2}\d{1,2} \w+, \d\d:\d\d {2,}session (\S+) /.exec(line) ?? []
  expect(line).toContain('echo ran')
  expect((await cairn(place, ['approve', item])).stdout).toBe(`${item}  approved\n`)
  await server.client.waitFor(
    session,
    event => event.type === 'tool.result' && event.data.content.includes('exit_code'),
    { signal: AbortSignal.timeout(PATIENCE_MS) },
  )
  expect(readFileSync(join(place.workspaces, session, 'done.txt'), 'utf8')).toBe('ran\n')
  const twice = await cairn(place, ['approve', '--reject', item, '--json'])
  expect([twice.code, JSON.parse(twice.stderr)]).toEqual([
    1,
    { error: expect.objectContaining({ code: 'already_answered', status: 409 }) as unknown },
  ])
  const none = await cairn(place, ['approve', '--json'])
  expect(none.stdout).toBe('[]\n')
})

test('rate rates the last answer or the given event, and rejects an event that is not an answer', async () => {
  const { place, server } = await served()
  const id = await newSession(server.client)
  expect((await cairn(place, ['rate', id, 'up'])).code, 'nothing to rate').toBe(3)
  const first = (await runTurn(server.client, id, 'echo one')).find(event => event.type === 'llm.response')!
  const second = (await runTurn(server.client, id, 'echo two')).find(event => event.type === 'llm.response')!
  await runTurn(server.client, id, '/help')
  expect((await cairn(place, ['rate', id, 'up'])).stdout).toBe(`event ${second.id}  up\n`)
  const named = await cairn(place, [
    'rate',
    id,
    'down',
    '--event',
    String(first.id),
    '--reason',
    'too short',
    '--json',
  ])
  expect(JSON.parse(named.stdout)).toMatchObject({
    session_id: id,
    target_event_id: first.id,
    rating: 'down',
    event_type: 'user.feedback',
    source: 'user',
  })
  const given = (await readLog(server.client, id)).flatMap(event =>
    event.type === 'user.feedback' ? [event.data] : [],
  )
  expect(given).toMatchObject([
    { target_event_id: second.id, rating: 'up' },
    { target_event_id: first.id, rating: 'down', reason: 'too short' },
  ])
  const wrong = await Promise.all(
    [
      ['rate', id, 'good'],
      ['rate', id, 'up', '--event', '1'],
      ['rate', 'nothing', 'up'],
    ].map(args => cairn(place, args)),
  )
  expect(wrong.map(({ code }) => code)).toEqual([2, 1, 3])
})

test('tail prints the filtered log from a cursor until interrupted; export writes exactly the log', async () => {
  const { place, server } = await served()
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'echo one')
  const log = await readLog(server.client, id)
  const tailing = cairnProcess(
    place,
    ['tail', id, '--after', '2', '--type', 'llm.', '--type', 'session.complete', '--json'],
    { until: text => text.split('"session.complete"').length > 2 },
  )
  await runTurn(server.client, id, 'echo two')
  const { code, stdout } = await tailing
  const tailed = stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as SessionEvent)
  expect(code).toBe(130)
  expect(
    tailed.every(({ id, type }) => id > 2 && (type.startsWith('llm.') || type === 'session.complete')),
  ).toBe(true)
  expect(tailed.slice(0, 3)).toEqual(
    log.filter(({ id, type }) => id > 2 && type.startsWith('llm.')).slice(0, 3),
  )

  const out = join(place.dir, 'log.jsonl')
  expect((await cairn(place, ['export', '--all', '--out', out])).code).toBe(0)
  const exported = readFileSync(out, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as SessionEvent)
  expect(exported).toEqual(await readLog(server.client, id))
  const again = await cairn(place, ['export', id, '--out', out])
  expect(again.code, 'never over another export').toBe(2)
  expect(again.stderr).toContain(out)
  expect((await cairn(place, ['export', id, '--format', 'xml'])).code).toBe(2)
})

test('token prints only the token, for the admin and a service account, with and without a server', async () => {
  const { place, server } = await served()
  const { url } = server
  const use = async (path: string, token: string): Promise<number> =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status
  const user = (await cairn(place, ['token', 'user'])).stdout.trim()
  const machine = (await cairn(place, ['token', 'service-account', 'bot'])).stdout.trim()
  expect(machine).toMatch(/^cairn_sk_[\w-]{43}$/)
  expect([
    await use('/v1/auth/me', user),
    await use('/v1/api/auth/me', machine),
    await use('/v1/auth/me', machine),
  ]).toEqual([200, 200, 403])
  expect((await cairn(place, ['token', 'service-account'])).code).toBe(2)

  const empty = makePlace()
  const before = await cairn(empty, ['token', 'service-account', 'bot', '--expires-in-days', '1', '--json'])
  expect(JSON.parse(before.stdout)).toMatchObject({
    name: 'bot',
    token: expect.stringMatching(/^cairn_sk_/) as unknown,
    expires_at: expect.any(String) as unknown,
  })
  expect((await cairn(empty, ['token', 'user'])).stdout.trim().split('.')).toHaveLength(3)
})

test('a backup of a running server restores its sessions, tokens and files', async () => {
  const { place, server } = await served()
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'echo one')
  writeFileSync(join(place.workspaces, id, 'kept.txt'), 'from the day of the backup')
  const log = await readLog(server.client, id)
  const copy = join(place.dir, 'copy')
  expect((await cairn(place, ['backup', copy])).code).toBe(0)
  expect(statSync(join(copy, 'auth-key.json')).mode & 0o077).toBe(0)
  expect((await cairn(place, ['backup', copy])).code, 'never into another backup').toBe(2)
  await runTurn(server.client, id, 'echo two')
  const restored = await startService({ ...place, dataDir: copy, env: { ...place.env, CAIRN_DATA: copy } })
  const query = { path: 'kept.txt' }
  expect((await restored.client.call('workspaceFile', { params: { id }, query })).content).toContain(
    'the day',
  )
  expect((await readLog(restored.client, id)).slice(0, log.length)).toEqual(log)
  await runTurn(restored.client, id, 'echo three')
})

test('upgrade --check reports on a running store, and explains a missing and a newer one', async () => {
  const { place, server } = await served()
  await runTurn(server.client, await newSession(server.client), 'echo one')
  const check = (...args: string[]) => cairn(place, ['upgrade', '--check', ...args])
  const shown = await check()
  expect([shown.code, shown.stderr]).toEqual([0, ''])
  expect(shown.stdout).toMatch(
    /^store +\S+\nschema now +(\d+)\nschema wanted +\1: nothing to migrate\nsize +/,
  )
  const report = JSON.parse((await check('--json')).stdout) as { schema_now: number }
  expect(report).toMatchObject({
    store: place.dataDir,
    schema_wanted: report.schema_now,
    sessions: 1,
    migrations: [],
    rollback_without_restore: true,
  })
  expect(await cairn(place, ['upgrade'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs --check') as unknown,
  })
  const empty = makePlace()
  expect(await cairn(empty, ['upgrade', '--check'])).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^cairn: \[openSqliteStore] no store at .*\n$/) as unknown,
  })
  await server.stop()
  const db = openDb(join(place.dataDir, 'cairn.db'))
  const later = report.schema_now + 2
  db.prepare(`INSERT INTO schema_migrations VALUES (?, 'later.sql', 0, ?)`).run(later, later - 1)
  db.close()
  const refusal = {
    code: 1,
    stderr: expect.stringContaining(
      `[migrate] the store has schema version ${later} and needs a program that knows version ${later - 1} `,
    ) as unknown,
  }
  expect(await check()).toMatchObject(refusal)
  expect(await refusedStart(place)).toMatchObject(refusal)
})

test('doctor passes a healthy installation and reports the problems of a broken one', async () => {
  const { place, server } = await served()
  await runTurn(server.client, await newSession(server.client), 'echo one')
  const sound = await cairn(place, ['doctor', '--logs', '--json'])
  const findings = JSON.parse(sound.stdout) as { check: string; verdict: string; detail: string }[]
  expect(sound.code).toBe(0)
  expect(findings.filter(({ verdict }) => verdict === 'fail')).toEqual([])
  expect(findings.find(({ check }) => check === 'server')?.detail).toContain('is ready')
  expect(findings.find(({ check }) => check === 'store')?.detail).toBe('sound')
  expect(findings.find(({ check }) => check === 'workspaces')?.detail).toBe(place.workspaces)
  expect(findings.find(({ check }) => check === 'logs')?.detail).toMatch(
    /^1 sessions, \d+ events, all valid$/,
  )
  await server.stop()
  writeFileSync(place.env['CAIRN_CONFIG']!, 'agent: {}')
  const database = join(place.dataDir, 'cairn.db')
  expect(existsSync(database)).toBe(true)
  writeFileSync(database, 'this is no database')
  const broken = await cairn(place, ['doctor'])
  expect(broken.code).toBe(1)
  expect(broken.stdout).toMatch(/✗ configuration .*did you mean "agents"/)
  expect(broken.stdout).toMatch(/✗ store /)
})

test('help lists every command, environment variable and exit code; an unknown command gets a suggestion', async () => {
  const place = makePlace()
  const { code, stdout } = await cairn(place, ['help'])
  expect(code).toBe(0)
  for (const name of [
    'serve',
    'send',
    'sessions',
    'workers',
    'tail',
    'approve',
    'rate',
    'token',
    'export',
    'doctor',
    'backup',
    'bench',
    'CAIRN_DATA',
    'Exit codes',
  ])
    expect(stdout).toContain(name)
  const wrong = await cairn(place, ['aprove'])
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    'cairn: Unknown command "aprove"; did you mean "approve"?\n',
  ])
  expect((await cairn(place, ['tail'])).code).toBe(2)
  const alone = await cairn(place, ['send', 'hi'])
  expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining('set CAIRN_TOKEN')])
})
