/**
 * OpenCode, a third-party coding agent, end to end and with no network except the broker: `npm run
 * interop:opencode`. It is fetched from npm (185 MB), so it is not part of `npm test`. Prints each check and
 * its duration; exit code 1 if a check fails.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createClient } from '@cairn/client'
import { decodeEvent, type SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'

const MAIN = fileURLToPath(new URL('../../agent/app/src/cli/main.ts', import.meta.url))
const LIMIT_MS = 120_000

const dir = mkdtempSync(join(tmpdir(), 'cairn-opencode-'))
const dataDir = process.env['CAIRN_OPENCODE_DATA'] ?? join(dir, 'data')
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? dir,
  CAIRN_DATA: dataDir,
  CAIRN_WORKSPACES: join(dir, 'workspaces'),
  CAIRN_CONFIG: join(dir, 'cairn.yaml'),
  PORT: '0',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
}
const bash = (command: string) => ({ name: 'bash', arguments: { command, description: 'a step' } })
const scenario = {
  name: 'opencode',
  rules: [
    {
      when: { offers: ['bash'], user: 'make the file' },
      steps: [
        { text: 'I make it. ', tool_calls: [bash('echo made by opencode > made.txt')] },
        { tool_calls: [bash('curl -s -m 5 http://169.254.169.254/ > metadata.txt; echo $? > reached.txt')] },
        { text: 'The file is made.' },
      ],
    },
    { answer: { text: 'A title' } },
  ],
}
writeFileSync(join(dir, 'scenario.yaml'), stringify(scenario))
writeFileSync(
  join(dir, 'cairn.yaml'),
  stringify({
    models: {
      default: 'test/scripted',
      providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
      catalog: { 'test/scripted': { input: 1, output: 2 } },
    },
    agents: { assistant: { governance: { require_approval: ['code.execute'] } } },
  }),
)

const cairn = (more: NodeJS.ProcessEnv, ...args: string[]) =>
  spawn(process.execPath, [MAIN, ...args], {
    cwd: dir,
    env: { ...more, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })

async function play(url: string): Promise<{ events: SessionEvent[]; session: string; asked: number }> {
  const client = createClient({ baseUrl: url, token: () => localToken(dataDir) })
  const { id } = await client.call('createSession', { body: {} })
  await client.call('sendMessage', { params: { id }, body: { content: '/code opencode make the file' } })
  const events: SessionEvent[] = []
  let asked = 0
  for await (const batch of client.events(id, { signal: AbortSignal.timeout(LIMIT_MS) })) {
    events.push(...batch.map(event => decodeEvent(JSON.stringify(event))))
    for (const event of batch) {
      if (event.type !== 'inbox.governance_gate') continue
      asked += 1
      const { items } = await client.call('listInbox', { query: { session_id: id } as never })
      const item = items.find(({ source_event_id }) => source_event_id === event.id)
      await client.call('respondInbox', {
        params: { item_id: item?.id ?? '' },
        body: { decision: 'approve', shown_hash: event.data.shown_hash },
      })
    }
    if (events.some(({ type }) => type === 'session.complete')) break
  }
  return { events, session: id, asked }
}

// npm reads its certificates and its proxy from the environment.
const install = cairn(process.env, 'code', 'install', 'opencode')
const began = performance.now()
if (process.env['CAIRN_OPENCODE_DATA'] === undefined) {
  const [code] = (await once(install, 'exit')) as [number]
  if (code !== 0) process.exit(1)
  process.stdout.write(`installed in ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
} else install.kill()
const server = cairn({}, 'serve', '--json')
try {
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const { events, session, asked } = await play((JSON.parse(line) as { url: string }).url)
  const at = (type: string): number =>
    Date.parse(events.find(event => event.type === type)?.created_at ?? '') || Number.NaN
  const result = events.find(event => event.type === 'code.run_result')
  const file = (name: string): string => {
    try {
      return readFileSync(join(dir, 'workspaces', session, name), 'utf8').trim()
    } catch {
      return '(not there)'
    }
  }
  const facts = {
    started_to_first_progress_s: (at('code.run_progress') - at('code.run_started')) / 1000,
    whole_run_s: (at('code.run_result') - at('code.run_started')) / 1000,
    approvals: asked,
    made: file('made.txt'),
    metadata: file('metadata.txt'),
    curl_exit: file('reached.txt'),
    history: checkHistory(events, { settled: true }),
    result: result?.data,
  }
  process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`)
  const good =
    facts.made === 'made by opencode' &&
    facts.history.length === 0 &&
    asked > 0 &&
    result?.type === 'code.run_result' &&
    result.data.error === null &&
    result.data.input_tokens > 0
  if (!good) process.exitCode = 1
} finally {
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
