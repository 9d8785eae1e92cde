/**
 * One command that wants all of the machine: processes, memory, disk. The limits are small here for speed.
 */
import { statSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SandboxConfig } from '@cairn/protocol'
import { describe, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { terminalTool } from '../../src/tools/terminal.ts'
import { createQuota, withinQuota } from '../../src/tools/workspace-quota.ts'
import { editFileTool } from '../../src/tools/edit-file.ts'
import { writeFileTool } from '../../src/tools/write-file.ts'
import { sandboxed, CONTAINERS, unsandboxed } from '@cairn/sandbox/test/providers'
import { makeContext, runParsed } from '../tools/tool-context.ts'

const LIMITS = { memory_mb: 128, pids: 60, file_mb: 4, open_files: 100, tmp_mb: 8 }
const namespace = await CONTAINERS['pid namespace']()
const kinds = [
  ['in the box', await sandboxed(LIMITS)] as const,
  ...(namespace === null ? [] : [['without a box', unsandboxed(namespace, LIMITS)] as const]),
]
type Result = { error?: string; exit_code: number | null; output: string; workspace_full?: string }

describe.each(kinds)('%s', (kind, sandbox) => {
  const tool = terminalTool({ sandbox, graceMs: 200 })
  const run = async (command: string, context = makeContext({ timeoutMs: 60_000 })): Promise<Result> =>
    (await runParsed(tool, { command }, context)).content as Result
  /** Counts the attempt and returns whether the limit was enforced. */
  const held = (what: string, isHeld: boolean): boolean => {
    tally(`resources ${kind}: ${what}`, 1, Number(!isHeld))
    return isHeld
  }

  test('does not run 800 processes at once', async () => {
    const { error, output } = await run(
      'for n in $(seq 800); do sleep 30 & done 2>/dev/null; echo "all $(jobs -p | wc -l)"; wait',
    )
    // Ended by the watchdog, or refused by the kernel, which does not count the processes of root.
    expect(
      held('processes', error?.includes('more than 60 processes') === true || !output.includes('all 800')),
    ).toBe(true)
  })

  test('one process cannot use more memory than its command', async () => {
    const { exit_code, output, error } = await run(
      `perl -e '$x = "x" x (600 * 1024 * 1024); print "had it\\n"' 2>&1`,
    )
    expect(held('memory of one process', !/^had it$/m.test(output))).toBe(true)
    expect(error !== undefined || exit_code !== 0).toBe(true)
  })

  /**
   * Promise 11.11: A command that exceeds its limit of processes, memory or file size ends without harming
   * the machine.
   */
  test('many processes together cannot use more memory than their command', async () => {
    const one = `perl -e '$x = "x" x (40 * 1024 * 1024); sleep 30; print "had it\\n"' &`
    const { error, output } = await run(`${one.repeat(8)} wait`)
    expect(error).toContain('the command used more than 128 MB of memory and was killed')
    expect(held('memory of many', !/^had it$/m.test(output))).toBe(true)
  })

  test('a file cannot grow beyond its limit', async () => {
    const context = makeContext()
    const { exit_code } = await run('head -c 30000000 /dev/zero > big', context)
    expect(exit_code).not.toBe(0)
    expect(held('one file', statSync(join(context.workspace, 'big')).size <= 4 * 2 ** 20)).toBe(true)
  })

  test('a process cannot open more files than its limit', async () => {
    const { output } = await run(
      `perl -e 'my @f; while (open(my $f, "<", "/dev/null")) { push @f, $f } print scalar @f'`,
    )
    expect(held('open files', Number(output) > 10 && Number(output) <= 100)).toBe(true)
  })
})

test('Node starts in a sandbox with less memory than Node reserves', async () => {
  const node = process.execPath
  const box = (await sandboxed({ memory_mb: 128 })).open({
    id: 'small',
    workspace: makeContext().workspace,
    binds: [{ from: node, to: node, writable: false }],
    env: {},
    network: 'none',
    mayGrowFiles: true,
  })
  const running = box.spawn([node, '-e', 'console.log("it runs")'])
  const said = Promise.all([text(running.stdout), text(running.stderr)])
  const { exitCode } = await running.exited
  expect([exitCode, ...(await said)]).toEqual([0, 'it runs\n', ''])
  await box.close()
})

test('tmpfs in the sandbox is limited', async () => {
  const tool = terminalTool({ sandbox: await sandboxed({ ...LIMITS, file_mb: 1024 }) })
  const fill = (path: string) => `head -c 200000000 /dev/zero > ${path} 2>/dev/null; stat -c %s ${path}`
  const { content } = await runParsed(
    tool,
    { command: `${fill('/tmp/x')}; ${fill('/dev/shm/x')}` },
    makeContext(),
  )
  const sizes = String((content as Result).output)
    .trim()
    .split('\n')
    .map(Number)
  expect(sizes).toEqual([8 * 2 ** 20, 64 * 2 ** 20])
  tally('resources in the box: memory as a disk', 2, 0)
})

describe('the quota of a workspace', async () => {
  const limits = SandboxConfig.parse({ workspace_mb: 4, workspace_files: 200 })
  const sandbox = await sandboxed()
  const make = () => {
    const quota = createQuota(limits)
    const context = makeContext({ timeoutMs: 60_000 })
    const tool = terminalTool({ sandbox, quota })
    return {
      context,
      path: (name: string) => join(context.workspace, name),
      run: async (command: string) => (await runParsed(tool, { command }, context)).content as Result,
      write: (path: string, content: string) =>
        runParsed(withinQuota(writeFileTool, quota), { path, content }, context),
      edit: (args: Record<string, unknown>) => runParsed(withinQuota(editFileTool, quota), args, context),
    }
  }

  /**
   * Promise 11.11: A command over the workspace quota gets an error, and nothing is written until there is
   * space.
   */
  test('a command over the quota gets an error, and nothing is written until there is space again', async () => {
    const { run, write, edit, path } = make()
    const over = await run('head -c 6000000 /dev/urandom > big')
    expect(over.error).toMatch(/^Tool execution failed: the workspace is over its quota: \d+ MB of 4/)
    await expect(write('more.txt', 'x')).rejects.toThrow('the workspace is over its quota')
    expect(existsSync(path('more.txt'))).toBe(false)

    const { output, workspace_full, error } = await run(
      'echo more > more.txt; cat more.txt; rm -f none; echo read',
    )
    expect(output).not.toContain('more\n')
    expect(workspace_full).toContain('Remove some')
    expect(error === undefined || error.includes('over its quota')).toBe(true)

    expect(await run('rm big more.txt')).not.toHaveProperty('workspace_full')
    await write('more.txt', 'x')
    await edit({ path: 'more.txt', old_string: 'x', new_string: 'yy' })
    expect(await run('cat more.txt')).toMatchObject({ output: 'yy' })
    tally('the quota: bytes', 3, 0)
  })

  test('a command that keeps writing is ended soon after it exceeds the quota', async () => {
    const { run } = make()
    const { error } = await run('n=0; while :; do n=$((n + 1)); head -c 500000 /dev/urandom > f$n; done')
    expect(error).toContain('the workspace is over its quota')
    tally('the quota: a writer without end', 1, 0)
  })

  test('20,000 files cannot be created', async () => {
    const { run, context } = make()
    const { error } = await run('for n in $(seq 20000); do : > f$n; done; sleep 5')
    expect(error).toContain('files and folders of 200')
    tally('the quota: files', 1, Number(readdirSync(context.workspace).length >= 20_000))
  })

  test('the quota counts closed and deep folders, and a file with several links once', async () => {
    const closed = make()
    await closed.run('mkdir d && head -c 3000000 /dev/urandom > d/big && chmod 000 d')
    expect((await closed.run('head -c 3000000 /dev/urandom > big')).error).toContain('over its quota')
    const linked = make()
    expect(
      (await linked.run('head -c 3000000 /dev/urandom > big && ln big again && ln big third')).error,
    ).toBeUndefined()
    const deep = make()
    const nest = `perl -e 'for (1 .. 300) { mkdir "d"; chdir "d" }'`
    expect((await deep.run(nest)).error).toContain('over its quota')
    tally('the quota: hidden', 3, 0)
  })

  test('a file tool rejects a write over the quota and allows one that frees space', async () => {
    const { write, edit, path, context } = make()
    await write('a.txt', 'a'.repeat(3_000_000))
    await expect(write('b.txt', 'b'.repeat(3_000_000))).rejects.toThrow('the workspace is over its quota')
    expect(existsSync(path('b.txt'))).toBe(false)
    writeFileSync(path('beside'), 'c'.repeat(3_000_000))
    await edit({ path: 'a.txt', old_string: 'aa', new_string: '', replace_all: true })
    await write('beside', '')
    await write('b.txt', 'b')
    expect(readdirSync(context.workspace).toSorted()).toEqual(['a.txt', 'b.txt', 'beside'])
    tally('the quota: file tools', 5, 0)
  })
})
