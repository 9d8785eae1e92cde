/**
 * What a command leaves running after its end or a stop, with eight escape methods, in the sandbox and with
 * every process container without one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import type { SandboxProvider } from '@cairn/sandbox'
import { tagContainer } from '@cairn/sandbox/internal/process-tags'
import { terminalTool } from '../../src/tools/terminal.ts'
import { sandboxed, CONTAINERS, unsandboxed } from '@cairn/sandbox/test/providers'
import { makeContext, runParsed } from '../tools/tool-context.ts'
import { findSleepers } from './sleepers.ts'

/** Each starts a sleep that the call does not wait for. */
type Getaways = Readonly<Record<string, (sleep: string) => string>>
const GETAWAYS: Getaways = {
  'in the background': sleep => `${sleep} >/dev/null 2>&1 &`,
  'deaf to hangups': sleep => `nohup ${sleep} >/dev/null 2>&1 &`,
  'in a session of its own': sleep => `setsid ${sleep} >/dev/null 2>&1 &`,
  'orphaned twice': sleep => `(setsid bash -c '${sleep} & disown; wait' >/dev/null 2>&1 &)`,
  'with an empty environment': sleep => `env -i setsid ${sleep} >/dev/null 2>&1 &`,
  'with another environment': sleep => `env -i A=1 setsid ${sleep} >/dev/null 2>&1 &`,
  'with the mark of another call': sleep => `CAIRN_TOOL_CALL=other setsid ${sleep} >/dev/null 2>&1 &`,
  'by execve without an environment': sleep => `(exec -c setsid ${sleep} >/dev/null 2>&1) &`,
}

/** A number of seconds that no other process of the machine sleeps: it identifies the sleep. */
let unique = process.pid * 1000
const nextName = (): string => `1${(unique += 1)}`

/**
 * Runs all methods at once, in a call that ends by itself or is stopped once all of them run. Returns the
 * methods that survived.
 */
async function attack(
  [kind, sandbox]: readonly [string, SandboxProvider],
  getaways: Getaways,
  isStopped: boolean,
): Promise<string[]> {
  const ways = Object.entries(getaways).map(([how, start]) => ({ how, name: nextName(), start }))
  const stop = new AbortController()
  const context = makeContext({ signal: stop.signal, timeoutMs: 120_000 })
  const starts = ways.map(({ name, start }) => start(`sleep ${name}`))
  const command = [...starts, 'until [ -e go ]; do sleep 0.02; done'].join('\n')
  const call = runParsed(terminalTool({ sandbox, graceMs: 200 }), { command }, context)
  const find = () => findSleepers(kind)(ways.map(({ name }) => name))
  await expect.poll(async () => new Set((await find()).map(({ name }) => name)).size).toBe(ways.length)
  if (isStopped) stop.abort(new Error('the session was stopped'))
  else writeFileSync(join(context.workspace, 'go'), '')
  await (isStopped ? expect(call).rejects.toThrow('the session was stopped') : call)
  // At once: the call may only end after them.
  const left = await find()
  for (const sleeper of left) await sleeper.end()
  return ways.filter(({ name }) => left.some(sleeper => sleeper.name === name)).map(({ how }) => how)
}

const holders = await Promise.all(
  Object.entries(CONTAINERS).map(async ([kind, find]) => [kind, await find()] as const),
)
const kinds = [
  ['in the box', await sandboxed()] as const,
  ...holders.flatMap(([kind, holder]) =>
    holder === null ? [] : [[`without a box, held by ${kind}`, unsandboxed(holder)] as const],
  ),
]
const counted: Record<string, { tried: number; unexpected: number }> = {}
afterAll(() => {
  for (const [kind, { tried, unexpected }] of Object.entries(counted))
    tally(`leftovers ${kind}`, tried, unexpected)
})

describe.each(kinds)('%s', (kind, sandbox) => {
  /**
   * Promise 11.10: No process that a command starts outlives the command, with any of eight escape methods.
   */
  test.each([
    ['the end of its call', false],
    ['a stop', true],
  ])(
    'no process that a command starts outlives %s, with any of eight escape methods',
    async (_, isStopped) => {
      for (let round = 0; round < rounds(1, 20); round += 1) {
        const survivors = await attack([kind, sandbox], GETAWAYS, isStopped)
        const count = (counted[kind] ??= { tried: 0, unexpected: 0 })
        count.tried += Object.keys(GETAWAYS).length
        count.unexpected += survivors.length
        expect(survivors).toEqual([])
      }
    },
  )
})

test('every process container of a Debian machine was available to be tested', () => {
  expect(holders.flatMap(([kind, holder]) => (holder === null ? [] : [kind]))).toEqual(
    expect.arrayContaining(['pid namespace', 'subreaper', 'marks']),
  )
})

test('marks alone miss a process that also leaves the workspace, so they are the last resort', async () => {
  const elsewhere = { elsewhere: (sleep: string) => `(cd / && env -i setsid ${sleep} >/dev/null 2>&1 &)` }
  expect(await attack(['marks', unsandboxed(tagContainer)], elsewhere, false)).toEqual(['elsewhere'])
  for (const held of kinds.slice(0, -1)) expect(await attack(held, elsewhere, false)).toEqual([])
})
