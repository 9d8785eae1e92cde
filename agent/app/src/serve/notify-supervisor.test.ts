import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { notifySupervisor } from './notify-supervisor.ts'

/** A folder with a program `systemd-notify` that writes its socket and arguments to a file. */
function makeProgram(exitCode = 0): { folder: string; reported: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-notify-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [program, file] = [join(folder, 'systemd-notify'), join(folder, 'reported')]
  writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET: $*" >>'${file}'\nexit ${exitCode}\n`)
  chmodSync(program, 0o755)
  return {
    folder,
    reported: () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []),
  }
}

const warnings: unknown[] = []
const log = { warn: (...line: unknown[]) => void warnings.push(line) }

test('reports the start and the drain to systemd, and nothing without a socket', async () => {
  const { folder, reported } = makeProgram()
  const env = { PATH: `${folder}:${process.env['PATH']}` }
  await notifySupervisor(env, 'ready', log)
  expect(reported()).toEqual([])
  for (const state of ['ready', 'stopping'] as const)
    await notifySupervisor({ ...env, NOTIFY_SOCKET: '/run/notify' }, state, log)
  expect(reported()).toEqual(['/run/notify: READY=1 STATUS=Ready', '/run/notify: STOPPING=1 STATUS=Draining'])
  expect(warnings).toEqual([])
})

test.each([
  ['is missing', () => '/nowhere', 'spawn systemd-notify ENOENT'],
  ['fails', () => `${makeProgram(1).folder}:${process.env['PATH']}`, 'Command failed: systemd-notify'],
])('warns if the program systemd-notify %s, and the service continues', async (_, path, error) => {
  warnings.length = 0
  await notifySupervisor({ PATH: path(), NOTIFY_SOCKET: '/run/notify' }, 'ready', log)
  expect(warnings).toEqual([
    [
      expect.stringContaining('needs the program systemd-notify in its PATH'),
      { state: 'ready', error: expect.stringContaining(error) as string },
    ],
  ])
})
