import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../test/make-folder.ts'
import { TAG_VARIABLE, findTagged } from './process-tags.ts'
import { readStat } from './processes.ts'

/** A folder like /proc. `start` is in ticks. A name may contain brackets and spaces. */
function makeProc(
  processes: Record<
    number,
    { environment: string; start: number; program?: string; cwd?: string; parent?: number }
  >,
): string {
  const proc = makeFolder('proc')
  for (const [pid, { environment, start, program, cwd, parent = 1 }] of Object.entries(processes)) {
    mkdirSync(join(proc, pid))
    writeFileSync(join(proc, pid, 'environ'), environment)
    writeFileSync(
      join(proc, pid, 'stat'),
      `${pid} (a) name) S ${parent} ${pid} ${pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${start} 0 0\n`,
    )
    if (program !== undefined) symlinkSync(program, join(proc, pid, 'exe'))
    if (cwd !== undefined) symlinkSync(cwd, join(proc, pid, 'cwd'))
    writeFileSync(join(proc, pid, 'comm'), 'name\n')
  }
  return proc
}

const mark = `${TAG_VARIABLE}=call/1`

test('classifies a process without an environment as in exec, ended, or older than the command', async () => {
  const proc = makeProc({
    2: { environment: '', start: 0 },
    800: { environment: `PATH=/bin\0${mark}\0`, start: 500, program: '/bin/sleep' },
    801: { environment: '', start: 501, program: '/bin/sleep' },
    802: { environment: '', start: 499, program: '/sbin/init' },
    803: { environment: '', start: 501 },
    804: { environment: 'PATH=/bin\0', start: 501, program: '/bin/sleep' },
    805: { environment: `${mark}0\0`, start: 501, program: '/bin/sleep' },
  })
  // Listed, but ended before anything of it could be read.
  mkdirSync(join(proc, '806'))
  expect(readStat(801, proc)?.start).toBe(501)
  expect(await findTagged({ mark: 'call/1', workspace: '/ws', since: 500 }, proc)).toEqual({
    marked: [800],
    undecided: [801],
    gone: expect.toSatisfy((gone: number[]) => gone.toSorted().join() === '803,806') as unknown,
  })
})

test("finds an orphan that works in the workspace, but not a user's shell there", async () => {
  const proc = makeProc({
    1: { environment: '', start: 0, program: '/sbin/init' },
    700: { environment: 'PATH=/bin\0', start: 1, program: '/bin/login' },
    800: { environment: 'A=1\0', start: 501, program: '/bin/sleep', cwd: '/ws/sub', parent: 1 },
    801: { environment: 'A=1\0', start: 501, program: '/bin/bash', cwd: '/ws', parent: 700 },
    802: { environment: 'A=1\0', start: 499, program: '/bin/sleep', cwd: '/ws', parent: 1 },
    803: { environment: 'A=1\0', start: 501, program: '/bin/sleep', cwd: '/wsx', parent: 1 },
  })
  expect(await findTagged({ mark: 'call/1', workspace: '/ws', since: 500 }, proc)).toMatchObject({
    marked: [800],
  })
})
