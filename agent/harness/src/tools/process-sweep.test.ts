import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../test/tools/tool-context.ts'
import { MARK_VARIABLE, findMarked, startOf } from './process-sweep.ts'

/** A folder like /proc. `start` is in ticks; a name may hold brackets and spaces. */
function makeProc(
  processes: Record<number, { environment: string; start: number; program?: string }>,
): string {
  const proc = makeFolder('proc')
  for (const [pid, { environment, start, program }] of Object.entries(processes)) {
    mkdirSync(join(proc, pid))
    writeFileSync(join(proc, pid, 'environ'), environment)
    writeFileSync(
      join(proc, pid, 'stat'),
      `${pid} (a) name) S 1 ${pid} ${pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${start} 0 0\n`,
    )
    if (program !== undefined) symlinkSync(program, join(proc, pid, 'exe'))
  }
  return proc
}

const mark = `${MARK_VARIABLE}=call/1`

test('what shows no environment is told apart: in the middle of exec, over, too old to be of the command', async () => {
  const proc = makeProc({
    2: { environment: '', start: 0 },
    800: { environment: `PATH=/bin\0${mark}\0`, start: 500, program: '/bin/sleep' },
    801: { environment: '', start: 501, program: '/bin/sleep' },
    802: { environment: '', start: 499, program: '/sbin/init' },
    803: { environment: '', start: 501 },
    804: { environment: 'PATH=/bin\0', start: 501, program: '/bin/sleep' },
    805: { environment: `${mark}0\0`, start: 501, program: '/bin/sleep' },
  })
  // Listed, and over before anything of it could be read.
  mkdirSync(join(proc, '806'))
  expect(startOf(801, proc)).toBe(501)
  expect(await findMarked('call/1', 500, proc)).toEqual({
    marked: [800],
    undecided: [801],
    gone: expect.toSatisfy((gone: number[]) => gone.toSorted().join() === '803,806') as unknown,
  })
})

test('when a process started is known of one that is there', () => {
  expect(startOf(process.pid)).toBeGreaterThan(0)
  expect(startOf(2 ** 30)).toBeUndefined()
})
