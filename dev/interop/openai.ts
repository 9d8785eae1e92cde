/**
 * The Python client of OpenAI against Cairn: `npm run dev -- interop:openai`. The JavaScript client is judged
 * by the ordinary tests. Needs python3 with venv and a network. Exit code 1 if a check fails.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual, promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { CONFIG, SCENARIO } from '../../agent/app/e2e/compat-scenario.ts'
import { localToken } from '../../agent/app/src/local/local-admin.ts'

const CLIENT = 'openai==3.51.0'
const run = promisify(execFile)
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const PLANNED = 'Planned, in words. '.repeat(20)

const EXPECTED: Record<string, unknown> = {
  stream: ['completed', true, `I plan.${PLANNED}`],
  read_back: true,
  position: true,
  approved: 'It said what it said.',
  rejected: 'Then I leave it.',
  answered: 'Red it is.',
  cancelled: 'cancelled',
  items: ['message', 'reasoning', 'message', 'mcp_call', 'reasoning', 'message'],
  refused: ['unsupported_parameter', 'top_p'],
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-openai-'))
const dataDir = join(dir, 'data')
const providers = { test: { kind: 'scripted', scenario: './scenario.yaml' } }
writeFileSync(join(dir, 'scenario.yaml'), stringify(SCENARIO))
writeFileSync(
  join(dir, 'cairn.yaml'),
  stringify({ models: { default: 'test/scripted', providers }, ...CONFIG }),
)
const server = spawn(process.execPath, [path('../../agent/app/src/cli/main.ts'), 'serve', '--json'], {
  env: {
    PATH: process.env['PATH'] ?? '',
    HOME: dir,
    CAIRN_DATA: dataDir,
    CAIRN_CONFIG: join(dir, 'cairn.yaml'),
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  await run('python3', ['-m', 'venv', join(dir, 'venv')])
  const python = join(dir, 'venv/bin/python')
  await run(python, ['-m', 'pip', 'install', '--quiet', CLIENT])
  const token = await localToken(dataDir)
  const { stdout } = await run(python, [path('openai_client.py'), `${url}/compat/openai/v1`, token])
  const seen = JSON.parse(stdout) as Record<string, unknown>
  for (const [what, expected] of Object.entries(EXPECTED)) {
    const holds = isDeepStrictEqual(seen[what], expected)
    process.stdout.write(
      `${holds ? 'ok  ' : 'FAIL'} ${CLIENT} ${what}${holds ? '' : `: ${JSON.stringify(seen[what])}`}\n`,
    )
    if (!holds) process.exitCode = 1
  }
} finally {
  server.kill('SIGKILL')
  await once(server, 'exit')
  rmSync(dir, { recursive: true, force: true })
}
