/**
 * ACP interop tests in both directions: `npm run dev -- interop:acp`. The Python client and acpx drive `cairn
 * acp`; our client drives an agent in a sandbox that is written with the Python SDK (slow, asking, crashing,
 * flooding, hanging). Needs python3 with venv, npm and a network. Exit code 1 if a check fails.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '@cairn/client'
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'

const PYTHON_SDK = 'agent-client-protocol==0.12.1'
const ACPX = 'acpx@0.19.1'
const LIMIT_MS = 120_000

const run = promisify(execFile)
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const BIN = path('../../agent/app/bin/cairn.mjs')
const dir = mkdtempSync(join(tmpdir(), 'cairn-judge-'))
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? dir,
  CAIRN_DATA: join(dir, 'data'),
  CAIRN_WORKSPACES: join(dir, 'workspaces'),
  CAIRN_CONFIG: join(dir, 'cairn.yaml'),
  PORT: '0',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'error',
}
const write = { name: 'write_file', arguments: { path: 'made.txt', content: 'made here' } }
const scenario = {
  name: 'judge',
  rules: [
    { when: { tools_disabled: true }, answer: { text: 'A title' } },
    {
      when: { user: 'write it' },
      steps: [{ text: 'I write it. ', tool_calls: [write] }, { text: 'It waits. ' }],
    },
    { when: { user: 'approved the call' }, steps: [{ tool_calls: [write] }, { text: 'It is written.' }] },
    { answer: { text: 'Hello.' } },
  ],
}
function settle(): void {
  writeFileSync(join(dir, 'scenario.yaml'), stringify(scenario))
  const agent = {
    command: 'python3',
    // The sandbox starts in the workspace.
    args: ['acp_agent.py'],
    env: { PYTHONPATH: 'site' },
  }
  writeFileSync(
    join(dir, 'cairn.yaml'),
    stringify({
      models: {
        default: 'test/scripted',
        providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
      },
      agents: { assistant: { governance: { require_approval: ['write_file', 'code.edit'] } } },
      code: { agents: { py: agent } },
    }),
  )
}

const problems: string[] = []
function expect(what: string, holds: boolean, seen: unknown): void {
  process.stdout.write(`${holds ? 'ok  ' : 'FAIL'} ${what}${holds ? '' : `: ${JSON.stringify(seen)}`}\n`)
  if (!holds) problems.push(what)
}

async function clients(venv: string): Promise<void> {
  const cwd = join(dir, 'project')
  mkdirSync(cwd)
  const made = (): string => readFileSync(join(cwd, 'made.txt'), 'utf8')
  const command = ['/usr/bin/env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
  const acp = [...command, process.execPath, BIN, 'acp']
  const python = await run(join(venv, 'bin/python'), [
    path('../../agent/app/test/reference/acp_client.py'),
    cwd,
    'write it',
    ...acp,
  ])
  const seen = JSON.parse(python.stdout) as {
    stop_reason: string
    text: string
    permissions: number
    listed: number
  }
  expect(
    `${PYTHON_SDK} drives cairn acp: prompt, permission, list`,
    seen.stop_reason === 'end_turn' &&
      seen.text.endsWith('It is written.') &&
      seen.permissions === 1 &&
      seen.listed === 1 &&
      made() === 'made here',
    seen,
  )
  rmSync(join(cwd, 'made.txt'))
  await run('npm', ['install', '--prefix', join(dir, 'acpx'), '--no-audit', '--no-fund', ACPX])
  const acpx = await run(
    process.execPath,
    [
      join(dir, 'acpx/node_modules/.bin/acpx'),
      '--approve-all',
      '--format',
      'json',
      '--cwd',
      cwd,
      '--agent',
      acp.join(' '),
      'exec',
      'write it',
    ],
    { env: { ...env, HOME: dir } },
  )
  expect(
    `${ACPX} drives cairn acp`,
    acpx.stdout.includes('"stopReason":"end_turn"') && made() === 'made here',
    acpx,
  )
}

async function follow(
  client: ReturnType<typeof createClient>,
  id: string,
  behaviour: string,
): Promise<{ events: SessionEvent[]; seconds: number; stopped: number }> {
  const began = performance.now()
  let stopped = 0
  const last = (await client.call('getSession', { params: { id } })).last_event_id
  await client.call('sendMessage', { params: { id }, body: { content: `/code py ${behaviour}` } })
  const events: SessionEvent[] = []
  for await (const batch of client.events(id, { after: last, signal: AbortSignal.timeout(LIMIT_MS) })) {
    events.push(...batch)
    for (const event of batch) {
      if (event.type === 'inbox.governance_gate') {
        const { items } = await client.call('listInbox', { query: { session_id: id } as never })
        const item = items.find(({ source_event_id }) => source_event_id === event.id)
        await client.call('respondInbox', {
          params: { item_id: item?.id ?? '' },
          body: { decision: 'approve', shown_hash: event.data.shown_hash },
        })
      }
      if (event.type === 'code.run_progress' && behaviour === 'hang' && stopped === 0) {
        stopped = performance.now()
        await client.call('stopSession', { params: { id } })
      }
    }
    if (events.some(({ type }) => type === 'session.complete' || type === 'session.stopped')) break
  }
  return { events, seconds: (performance.now() - began) / 1000, stopped }
}

async function agents(venv: string): Promise<void> {
  const server = spawn(process.execPath, [path('../../agent/app/src/cli/main.ts'), 'serve', '--json'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
    const { url } = JSON.parse(line) as { url: string }
    const client = createClient({ baseUrl: url, token: () => localToken(env.CAIRN_DATA) })
    for (const behaviour of ['slow', 'ask', 'crash', 'flood', 'hang']) {
      const { id } = await client.call('createSession', { body: {} })
      const workspace = join(env.CAIRN_WORKSPACES, id)
      mkdirSync(workspace, { recursive: true })
      cpSync(join(venv, 'site'), join(workspace, 'site'), { recursive: true })
      cpSync(path('../../agent/app/test/reference/acp_agent.py'), join(workspace, 'acp_agent.py'))
      const { events, seconds, stopped } = await follow(client, id, behaviour)
      judge(behaviour, events, seconds, workspace)
      if (behaviour === 'hang') await nothingLives(stopped)
    }
  } finally {
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
}

function judge(behaviour: string, events: SessionEvent[], seconds: number, workspace: string): void {
  const results = events.filter(
    (event): event is EventOf<'code.run_result'> => event.type === 'code.run_result',
  )
  const { error = '(no result)', final_message = null } = results[0]?.data ?? {}
  const content: Record<string, boolean> = {
    slow: error === null && final_message === 'slow: one two three',
    ask: error === null && readOr(join(workspace, 'asked.txt')) === 'asked first',
    crash: /exit code 9/.test(error ?? ''),
    flood: /8 MB within a second|more than 16 MB/.test(error ?? ''),
    hang: error === 'stopped',
  }
  expect(
    `an agent of ${PYTHON_SDK} that is ${behaviour}: one result, ${seconds.toFixed(1)} s`,
    content[behaviour] === true && results.length === 1,
    { error, final_message },
  )
}

/** The agent's child has its own process session and would survive a kill of the process group. */
async function nothingLives(since: number): Promise<void> {
  for (;;) {
    const { stdout } = await run('ps', ['-eo', 'args'])
    const left = stdout.split('\n').filter(line => /acp_agent\.py|^sleep 3600/.test(line))
    const seconds = (performance.now() - since) / 1000
    if (left.length === 0 || seconds > 15)
      return expect(`no process of a stopped run lives ${seconds.toFixed(1)} s later`, seconds <= 10, left)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

try {
  const venv = join(dir, 'venv')
  await run('python3', ['-m', 'venv', venv])
  await run(join(venv, 'bin/pip'), ['install', '-q', PYTHON_SDK])
  await run(join(venv, 'bin/pip'), ['install', '-q', '--target', join(venv, 'site'), PYTHON_SDK])
  settle()
  await clients(venv)
  await agents(venv)
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
process.exitCode = problems.length === 0 ? 0 : 1
