/** The files of examples/ work as their README says. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { parseConfig } from '../src/config/parse-config.ts'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { openClient } from './mcp-client.ts'
import { cairn, makePlace, startService } from './server.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))

async function runExample(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<[number, string, string]> {
  const child = spawn(process.execPath, [pathOf(name), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'exit') as Promise<[number]>,
    text(child.stdout),
    text(child.stderr),
  ])
  return [code, stdout, stderr]
}

test('watch.ts prints the events of a turn until it ends', async () => {
  const place = makePlace({ scenario: { rules: [{ answer: { text: 'Hello from the script.' } }] } })
  const { url } = await startService(place)
  const { stdout: token } = await cairn(place, ['token', 'service-account', 'examples'])
  const [code, out] = await runExample('watch.ts', ['Say hello'], {
    CAIRN_URL: url,
    CAIRN_TOKEN: token.trim(),
  })
  expect(out).toMatch(/^llm\.response +.*Hello from the script\./m)
  expect(out.trimEnd().split('\n').at(-1)).toMatch(/^session\.complete /)
  expect(code).toBe(0)
})

test('watch.ts without a token prints its usage', async () => {
  expect(await runExample('watch.ts', ['Say hello'], {})).toEqual([2, '', expect.stringContaining('usage: ')])
})

test('openai.ts approves the calls of a turn and prints its answer', async () => {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const { url } = await startService(place)
  const env = { CAIRN_URL: url, CAIRN_TOKEN: await localToken(place.dataDir) }
  const [code, out] = await runExample('openai.ts', ['run it'], env)
  expect(out).toBe('approved: terminal {"command":"echo hi"}\nIt said what it said.\n')
  expect(code).toBe(0)
  expect(await runExample('openai.ts', [], {})).toEqual([2, '', expect.stringContaining('usage: ')])
})

test('cairn.yaml is a valid configuration', () => {
  const file = pathOf('cairn.yaml')
  const { agents } = parseConfig(readFileSync(file, 'utf8'), file)
  expect(Object.keys(agents)).toEqual(['assistant', 'reader'])
})

/** Where each editor has its MCP servers in its configuration. */
const EDITORS = { vscode: 'servers', cursor: 'mcpServers', zed: 'context_servers' }

test.each(Object.entries(EDITORS))('the command in mcp/%s.json is an MCP server', async (editor, key) => {
  const place = makePlace({ scenario: { rules: [{ answer: { text: 'Hello from the editor.' } }] } })
  await startService(place)
  symlinkSync(fileURLToPath(new URL('../bin/cairn.mjs', import.meta.url)), join(place.dir, 'cairn'))
  const config = JSON.parse(readFileSync(pathOf(`mcp/${editor}.json`), 'utf8')) as Record<
    string,
    Record<string, { command: string; args: string[] }>
  >
  const { command = '', args = [] } = config[key]?.['cairn'] ?? {}
  const env = { ...place.env, PATH: [place.dir, process.env['PATH']].join(delimiter) }
  const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe' })
  const { call } = await openClient(transport, '2025-11-25')
  const { data } = await call('start_session', { message: 'hello' })
  expect((await call('wait', { session_id: data['session_id'] })).text).toBe('Hello from the editor.')
})
