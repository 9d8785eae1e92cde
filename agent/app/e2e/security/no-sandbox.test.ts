/**
 * A machine without a sandbox: commands do not run unless the configuration allows it explicitly, and every
 * interface reports the state.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { CairnClient } from '@cairn/client'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from '../browser.ts'
import { onlyPrograms } from '../programs.ts'
import { cairn, makePlace, type ServerDirs, type RunningService, startService } from '../server.ts'
import { isType, newSession, runTurn } from '../session.ts'

const pathOf = (name: string): string =>
  execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()

/** A bwrap that is installed but fails, as it does where namespaces are disabled. */
function refusingBwrap(place: ServerDirs): ServerDirs {
  const changed = onlyPrograms(place)
  const said = 'bwrap: No permissions to create new namespace'
  writeFileSync(join(place.dir, 'programs/bwrap'), `#!/bin/sh\necho '${said}' >&2\nexit 1\n`, { mode: 0o755 })
  return changed
}

/** Calls the terminal whether or not it is offered, then reports the result. */
const CALLS = {
  rules: [
    {
      when: { user: '^run (.*)$', step: 0 },
      answer: { tool_calls: [{ name: 'terminal', arguments: { command: '{{user.1}}' } }] },
    },
    {
      when: { user: '^consult$', step: 0 },
      answer: { tool_calls: [{ name: 'consult_expert', arguments: { expert: 'hand', task: 'touch it' } }] },
    },
    {
      when: { system: 'You are a hand', step: 0 },
      answer: { tool_calls: [{ name: 'terminal', arguments: { command: 'touch ran' } }] },
    },
    { answer: { text: 'That is all.' } },
  ],
}
const AGENTS = {
  agents: { assistant: { experts: ['hand'] } },
  experts: { hand: { description: 'd', system: 'You are a hand', tools: ['terminal'] } },
}

const ranIn = (place: ServerDirs, id: string): boolean => existsSync(join(place.workspaces, id, 'ran'))
const resultsOf = async (server: RunningService, id: string, text: string): Promise<string[]> =>
  (await runTurn(server.client, id, text)).filter(isType('tool.result')).map(({ data }) => data.content)
const sandboxOf = async (client: CairnClient) => (await client.call('about')).sandbox

/** Promise 11.8: Without a sandbox no command runs, and every interface reports the reason. */
test.each([
  ['bubblewrap is not installed: bwrap is not in PATH', onlyPrograms],
  ['No permissions to create new namespace', refusingBwrap],
])(
  'without a sandbox no command runs, and every interface reports the reason: %s',
  async (reason, change) => {
    const place = change(makePlace({ scenario: CALLS, config: AGENTS }))
    const server = await startService(place)
    const id = await newSession(server.client)
    const [refused] = await resultsOf(server, id, 'run touch ran')
    expect(refused).toMatch(/unknown tool terminal/)
    expect(refused).not.toMatch(/available: .*terminal/)
    await resultsOf(server, id, 'consult')
    expect(ranIn(place, id)).toBe(false)

    const told = await sandboxOf(server.client)
    expect(told).toMatchObject({ terminal: 'not_offered', network: null })
    expect(told.summary).toContain(reason)
    expect(told.summary).toContain('sandbox: {terminal: unboxed, network: open}')
    expect(server.log()).toContain('The terminal is not available')
    const doctor = await cairn(place, ['doctor'])
    expect(doctor.stdout).toMatch(/^! sandbox +The terminal is not available/m)
    expect(doctor.stdout).toContain(reason)
    tally('commands without a box', 2, Number(ranIn(place, id)))
  },
)

test('finds bwrap in any directory of PATH', async () => {
  const place = onlyPrograms(makePlace({ scenario: CALLS }), { bwrap: pathOf('bwrap') })
  const server = await startService(place)
  expect(await sandboxOf(server.client)).toMatchObject({ terminal: 'boxed', network: 'proxy' })
  const id = await newSession(server.client)
  expect(await resultsOf(server, id, 'run touch ran')).toEqual([expect.stringContaining('"exit_code":0')])
  expect(ranIn(place, id)).toBe(true)
})

type Finding = { check: string; verdict: string; detail: string }
const inSandbox = ({ check }: Finding): boolean => check === 'sandbox' || check === 'coding agents'

test('doctor reports the sandbox of the running server, not what the command itself would find', async () => {
  const doctor = async (place: ServerDirs): Promise<Finding[]> => {
    const { stdout } = await cairn(place, ['doctor', '--json'])
    return (JSON.parse(stdout) as Finding[]).filter(inSandbox)
  }
  const found = makePlace({ scenario: CALLS })
  const withoutPrograms = onlyPrograms(found)
  // The command finds bubblewrap nowhere; the server does.
  const boxed = await startService(found)
  const { summary } = await sandboxOf(boxed.client)
  expect(await doctor(withoutPrograms)).toEqual([
    { check: 'sandbox', verdict: 'ok', detail: summary },
    { check: 'coding agents', verdict: 'ok', detail: 'cairn, sandboxed' },
  ])
  await boxed.stop()
  // Without a server, doctor reports what one started with this PATH would have.
  expect(await doctor(withoutPrograms)).toMatchObject([{ verdict: 'warn' }, { verdict: 'warn' }])
  // The server finds it nowhere; the command does.
  const { client } = await startService(withoutPrograms)
  expect(await doctor(found)).toEqual([
    { check: 'sandbox', verdict: 'warn', detail: (await sandboxOf(client)).summary },
    { check: 'coding agents', verdict: 'warn', detail: expect.stringContaining('has no sandbox') },
  ])
})

test('doctor reports the sandbox of a server whose configuration was edited after its start', async () => {
  const place = makePlace({ scenario: CALLS, config: { sandbox: { terminal: 'unboxed', network: 'open' } } })
  await startService(place)
  const { env } = makePlace({ scenario: CALLS })
  const edited = { ...place, env: { ...place.env, CAIRN_CONFIG: env['CAIRN_CONFIG'] ?? '' } }
  expect((await cairn(edited, ['doctor'])).stdout).toMatch(/^! sandbox +Commands run WITHOUT a sandbox/m)
})

/** Promise 11.8: Commands run without a sandbox only if the configuration explicitly allows it. */
test('the configuration can allow commands without a sandbox, and every interface reports it', async () => {
  const sandbox = { terminal: 'unboxed', network: 'open' }
  const place = makePlace({ scenario: CALLS, config: { sandbox } })
  const server = await startService(place)
  const id = await newSession(server.client)
  const [result] = await resultsOf(server, id, 'run touch ran')
  expect(result).toContain('none (disabled by configuration)')
  expect(ranIn(place, id)).toBe(true)
  expect(await sandboxOf(server.client)).toMatchObject(sandbox)
  expect(server.log()).toContain('Commands run WITHOUT a sandbox')
  expect((await cairn(place, ['doctor'])).stdout).toMatch(/^! sandbox +Commands run WITHOUT a sandbox/m)

  const { page } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page
    .locator('[data-testid="sandbox-notice"]')
    .getByText('No sandbox: commands run on this machine')
    .waitFor()
})

test.each([
  [{ terminal: 'unboxed' }, 'sandbox.network: must be open if sandbox.terminal is `unboxed`'],
  [{ terminal: 'none' }, 'sandbox.terminal: '],
  [{ netwrok: 'open' }, 'unknown key "sandbox.netwrok" (did you mean "network"?)'],
])('rejects an incomplete or misspelled sandbox configuration: %o', async (sandbox, problem) => {
  const { code, stderr } = await cairn(makePlace({ config: { sandbox } }), ['serve'])
  expect(code).not.toBe(0)
  expect(stderr).toContain(problem)
})
