import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GovernanceConfig } from '@cairn/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sandboxed, CONTAINERS, ofTheRun, unsandboxed } from '@cairn/sandbox/test/providers'
import { makeContext, makeFolder, runParsed } from '../../test/tools/tool-context.ts'
import { boundedOutput } from './bounded-output.ts'
import { tagContainer } from '@cairn/sandbox/internal/process-tags'
import { terminalTool } from './terminal.ts'
import type { Tool } from './tool.ts'

type Result = {
  exit_code: number | null
  output: string
  error?: string
  sandbox?: string
  signal?: string
  leftovers?: string
}
const box = await sandboxed()
const run = async (tool: Tool, command: string, context = makeContext()): Promise<Result> =>
  (await runParsed(tool, { command }, context)).content as Result
/**
 * Runs a command until its timeout, with a longer one where this machine was too slow for the first output of
 * the command.
 */
async function runOut(tool: Tool, command: string, first: string): Promise<{ result: Result; said: string }> {
  for (const timeoutMs of [300, 3000, 30_000]) {
    const result = await run(tool, command, makeContext({ timeoutMs }))
    if (result.output.startsWith(first))
      return { result, said: `Tool execution failed: timed out after ${timeoutMs / 1000} s` }
  }
  throw new Error(`in half a minute the command did not even say ${first}`)
}
/** The system may list a killed process for a moment. */
const untilNone = (names: readonly string[]) => expect.poll(() => names.filter(isRunning)).toEqual([])
const isRunning = (name: string) => spawnSync('pgrep', ['-f', name]).status === 0
/** A sleep that no other process of the machine runs: its seconds identify it. */
let unique = process.pid * 1000
const aSleep = () => `sleep 1${(unique += 1)}`

// Every rule that does not need the sandbox applies with and without it, whichever process container the
// command has.
const holders = await Promise.all(
  Object.entries(CONTAINERS).map(
    async ([kind, find]) => [`without a box, held by ${kind}`, await find()] as const,
  ),
)
const kinds = [
  ['in the box', box] as const,
  ...holders.flatMap(([name, holder]) => (holder === null ? [] : [[name, unsandboxed(holder)] as const])),
]

describe.each(kinds)('%s', (_, sandbox) => {
  /** One kills soon after SIGTERM; the other waits for the command to end. */
  const [tool, patient] = [
    terminalTool({ sandbox, graceMs: 300 }),
    terminalTool({ sandbox, graceMs: 60_000 }),
  ]

  test('runs bash in the workspace and reports both streams and the exit code', async () => {
    const context = makeContext()
    const result = await run(tool, 'pwd; echo err >&2; echo x > made.txt; shopt -s extglob; exit 3', context)
    expect(result).toMatchObject({ exit_code: 3, output: `${context.workspace}\nerr\n` })
    expect(readFileSync(join(context.workspace, 'made.txt'), 'utf8')).toBe('x\n')
  })

  test("passes nothing of the service's environment to the command", async () => {
    vi.stubEnv('CAIRN_TEST_SECRET', 'do not show')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { output } = await run(tool, 'env')
    expect(
      output
        .split('\n')
        .map(line => line.split('=')[0])
        .filter(Boolean)
        .toSorted(),
    ).toEqual(expect.arrayContaining(['HOME', 'LANG', 'PATH', 'TERM']) as string[])
    expect(output).not.toMatch(/SECRET|NODE|npm_/)
  })

  test('gives the command no input', async () => {
    expect(await run(tool, 'cat; echo end')).toMatchObject({ output: 'end\n' })
  })

  test('a timeout ends everything and keeps the output so far', async () => {
    const sleep = aSleep()
    const { result, said } = await runOut(tool, `echo begun; ${sleep}`, 'begun')
    expect(result).toMatchObject({ error: said, output: 'begun\n' })
    await untilNone([sleep])
  })

  test('sends a command SIGTERM before SIGKILL', async () => {
    const { result } = await runOut(
      patient,
      `trap 'echo tidied; exit 9' TERM; echo begun; while :; do sleep 0.05; done`,
      'begun',
    )
    expect(result).toMatchObject({
      exit_code: 9,
      // podman carries stderr, with bash's message about the ended sleep, separately from stdout.
      output: expect.stringMatching(
        ofTheRun.provider === 'container' ? /^begun\n[^]*tidied\n/ : /^begun\n[^]*tidied\n$/,
      ) as string,
    })
  })

  test('kills a command that ignores SIGTERM', async () => {
    const { result, said } = await runOut(
      tool,
      `trap '' TERM; echo stubborn; while :; do sleep 0.05; done`,
      'stubborn',
    )
    expect(result).toMatchObject({ error: said, output: 'stubborn\n' })
  })

  test('leaves no process behind: in the background, detached, or in another process group', async () => {
    const sleeps = [aSleep(), aSleep(), aSleep(), aSleep()] as const
    const command =
      `${sleeps[0]} & nohup ${sleeps[1]} >/dev/null 2>&1 & setsid ${sleeps[2]} & (setsid bash -c ` +
      `'${sleeps[3]} & disown; wait' >/dev/null 2>&1 &) ; echo started`
    // It ends with the command: the sleeps last for years.
    expect(await run(tool, command)).toMatchObject({ exit_code: 0, output: 'started\n' })
    await untilNone(sleeps)
  })

  test('an abort ends everything at once', async () => {
    const controller = new AbortController()
    const sleep = aSleep()
    const context = makeContext({ signal: controller.signal })
    const running = run(tool, `touch started; setsid ${sleep} & ${sleep}`, context)
    await expect.poll(() => existsSync(join(context.workspace, 'started'))).toBe(true)
    controller.abort(new Error('the session was stopped'))
    await expect(running).rejects.toThrow('the session was stopped')
    await untilNone([sleep])
  })

  test('keeps both ends of endless output, in bounded memory', async () => {
    const { output } = await run(tool, 'echo first; head -c 9000000 /dev/zero | tr "\\0" x; echo; echo last')
    expect(output.length).toBeLessThan(4_300_000 + 2_100_000)
    // Lines of megabytes: an expression that repeats over them overflows the stack.
    const [first, start, dropped, end, last, ...rest] = output.split('\n')
    expect([first, dropped, last, rest]).toEqual([
      'first',
      expect.stringMatching(/^\[… \d+ bytes of output were dropped …\]$/),
      'last',
      [''],
    ])
    for (const line of [start, end]) {
      expect(line?.length).toBeGreaterThan(0)
      expect(line?.replaceAll('x', '')).toBe('')
    }
  })
})

test('reports a missing sandbox in the result, and what may be left behind', async () => {
  const open = terminalTool({
    sandbox: { ...unsandboxed(tagContainer), caveat: 'Some of it may still run.' },
  })
  expect(await run(open, 'true')).toMatchObject({
    sandbox: 'none (disabled by configuration)',
    leftovers: 'Some of it may still run.',
  })
  const held = await run(terminalTool({ sandbox: box }), 'true')
  expect(held).not.toHaveProperty('sandbox')
  expect(held).not.toHaveProperty('leftovers')
})

test('rejects a command under a policy that denies the network when there is no sandbox', async () => {
  const egress = GovernanceConfig.parse({ egress: { default: 'deny' } }).egress
  const open = terminalTool({ sandbox: unsandboxed(tagContainer) })
  await expect(run(open, 'true', makeContext({ egress }))).rejects.toThrow(
    'cannot isolate a command from the network',
  )
})

describe('the sandbox', () => {
  const inside = terminalTool({ sandbox: box })

  test('shows the workspace and, of the machine, only system files', async () => {
    const context = makeContext()
    const neighbour = makeFolder('neighbour')
    writeFileSync(join(neighbour, 'secret.txt'), 'secret')
    mkdirSync(join(context.workspace, 'sub'))
    const { output } = await run(
      inside,
      `ls / /tmp; cat ${neighbour}/secret.txt /etc/shadow ~root/.profile; ls ${process.cwd()}; ps ax | wc -l`,
      context,
    )
    expect(output).not.toMatch(/^secret$|root:|package\.json/m)
    expect(output).toContain('No such file or directory')
    expect(await run(inside, 'ls', context)).toMatchObject({ output: 'sub\n' })
  })

  test('cannot change the system and has its own /tmp', async () => {
    const { output } = await run(
      inside,
      'touch /usr/x /etc/x; echo mine > /tmp/only-here && cat /tmp/only-here',
    )
    expect(output).toMatch(/Read-only file system|Permission denied/)
    // Errors arrive through a separate pipe, before or after.
    expect(output).toMatch(/^mine$/m)
    expect(existsSync('/tmp/only-here')).toBe(false)
  })

  test('can read the saved results but not change or replace them', async () => {
    const context = makeContext()
    mkdirSync(join(context.workspace, '.cairn/results'), { recursive: true })
    writeFileSync(join(context.workspace, '.cairn/results/a.txt'), 'saved')
    const { output } = await run(
      inside,
      'cat .cairn/results/a.txt; echo x > .cairn/results/a.txt; rm -rf .cairn; mv .cairn other; ln ' +
        '-sfn /etc .cairn',
      context,
    )
    expect(output).toMatch(/^saved/)
    expect(readFileSync(join(context.workspace, '.cairn/results/a.txt'), 'utf8')).toBe('saved')
    expect(readdirSync(context.workspace)).toEqual(['.cairn'])
  })

  test('does not follow a link at the folder of saved results out of the workspace', async () => {
    const context = makeContext()
    const outside = makeFolder('outside')
    writeFileSync(join(outside, 'secret.txt'), 'secret')
    symlinkSync(outside, join(context.workspace, '.cairn'))
    expect((await run(inside, 'cat .cairn/secret.txt', context)).output).toContain('No such file')
  })

  test('ends with the service, even when the service is killed', async () => {
    const sleep = aSleep()
    const workspace = makeFolder('ws')
    const script =
      '\n' +
      '      const { terminalTool } = await ' +
      `import(${JSON.stringify(new URL('terminal.ts', import.meta.url).href)})\n` +
      '      const { sandboxed } = await ' +
      `import(${JSON.stringify(import.meta.resolve('@cairn/sandbox/test/providers'))})\n` +
      "      const context = { session_id: 's', tool_call_id: 'c', turn_id: 't', workspace: " +
      `${JSON.stringify(workspace)}, signal: new AbortController().signal, timeoutMs: 60000, egress: { ` +
      "default: 'allow', allow: [], deny: [], internal: [] } }\n" +
      "      await terminalTool({ sandbox: await sandboxed() }).run({ command: 'touch started; setsid " +
      `${sleep} & ${sleep}' }, context)`
    const service = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
    await expect.poll(() => existsSync(join(workspace, 'started'))).toBe(true)
    await expect.poll(() => isRunning(`^${sleep}`)).toBe(true)
    service.kill('SIGKILL')
    await untilNone([`^${sleep}`])
  })
})

test('bounded output returns short output unchanged, with characters that are split between chunks', () => {
  const output = boundedOutput(4)
  for (const byte of Buffer.from('ä€😀')) output.push(Uint8Array.of(byte))
  expect(output.text()).toBe('ä€😀')
  expect(output.dropped()).toBe(0)
  for (const byte of Buffer.from('0123456789')) output.push(Uint8Array.of(byte))
  expect(output.text()).toMatch(/dropped …\]\n[\s\S]*6789$/)
})
