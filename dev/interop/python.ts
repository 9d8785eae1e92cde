/**
 * The Python client, its tests and the notebook of examples/ against Cairn: `npm run dev -- interop:python`.
 * Builds the wheel and installs it into an empty virtual environment. Needs python3 with venv and a network;
 * `-- python3.13` names another one. Exit code 1 if a check fails.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import { fileURLToPath } from 'node:url'
import { buildWheel } from '@cairn/tooling/python'
import { stringify } from 'yaml'
import { CONFIG, SCENARIO } from '../../agent/app/e2e/compat-scenario.ts'
import { localToken } from '../../agent/app/src/local/local-admin.ts'

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const MIN_EVENTS_PER_S = 10_000
const EXPECTED: Record<string, unknown> = {
  hello: ['completed', 'Hello there.'],
  approved: ['completed', 1, 'completed', 'It said what it said.'],
  asked: 'waiting',
  missing: 'not_found',
  ordered: true,
  titles: ['Python'],
  parallel: Array.from({ length: 8 }, () => ['completed', true]),
  cells: 5,
}

const [system = 'python3'] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'cairn-python-'))
const dataDir = join(dir, 'data')
const providers = { test: { kind: 'scripted', scenario: './scenario.yaml' } }
writeFileSync(join(dir, 'scenario.yaml'), stringify(SCENARIO))
writeFileSync(
  join(dir, 'cairn.yaml'),
  stringify({ models: { default: 'test/scripted', providers }, ...CONFIG }),
)
const server = spawn(process.execPath, [path('agent/app/src/cli/main.ts'), 'serve', '--json'], {
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
function check(what: string, holds: boolean, seen: unknown): void {
  process.stdout.write(`${holds ? 'ok  ' : 'FAIL'} ${what}${holds ? '' : `: ${JSON.stringify(seen)}`}\n`)
  if (!holds) process.exitCode = 1
}
try {
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const wheel = buildWheel(system, dir)
  run(system, '-m', 'venv', join(dir, 'venv'))
  const python = join(dir, 'venv/bin/python')
  run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', wheel)
  process.stdout.write(run(python, '--version'))
  run(python, '-m', 'unittest', 'discover', '--start-directory', path('clients/python/tests'))
  check('unit tests, and 200 logs over connections that break', true, null)
  const token = await localToken(dataDir)
  const files = [path('clients/python/README.md'), path('examples/sessions.ipynb')]
  const seen = JSON.parse(
    run(python, path('clients/python/tests/judge_server.py'), url, token, ...files),
  ) as Record<string, unknown>
  for (const [what, expected] of Object.entries(EXPECTED))
    check(what, isDeepStrictEqual(seen[what], expected), seen[what])
  const speed = Number(seen['events_per_s'])
  check(`${speed} events a second decoded`, speed >= MIN_EVENTS_PER_S, speed)
} finally {
  server.kill('SIGKILL')
  await once(server, 'exit')
  rmSync(dir, { recursive: true, force: true })
}
