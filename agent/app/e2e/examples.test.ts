/** The files of examples/ work as their README says. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseConfig } from '../src/config/parse-config.ts'
import { cairn, makePlace, startService } from './server.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))

async function runExample(
  args: readonly string[],
  env: Record<string, string>,
): Promise<[number, string, string]> {
  const child = spawn(process.execPath, [pathOf('watch.ts'), ...args], {
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
  const [code, out] = await runExample(['Say hello'], { CAIRN_URL: url, CAIRN_TOKEN: token.trim() })
  expect(out).toMatch(/^llm\.response +.*Hello from the script\./m)
  expect(out.trimEnd().split('\n').at(-1)).toMatch(/^session\.complete /)
  expect(code).toBe(0)
})

test('watch.ts without a token prints its usage', async () => {
  expect(await runExample(['Say hello'], {})).toEqual([2, '', expect.stringContaining('usage: ')])
})

test('cairn.yaml is a valid configuration', () => {
  const file = pathOf('cairn.yaml')
  const { agents } = parseConfig(readFileSync(file, 'utf8'), file)
  expect(Object.keys(agents)).toEqual(['assistant', 'reader'])
})
