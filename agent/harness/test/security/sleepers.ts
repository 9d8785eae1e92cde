/**
 * Who still sleeps, by the seconds it was given, which are its name. Processes in gVisor's kernel are none of
 * this machine's, so there each container that is still there is asked from within.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { allProcesses, readStat } from '@cairn/sandbox/internal/processes'
import { ofTheRun } from '@cairn/sandbox/test/providers'

const run = promisify(execFile)

export type Sleeper = { name: string; end(): Promise<unknown> }
type FindSleepers = (names: readonly string[]) => Promise<Sleeper[]>

function argumentsOf(pid: number): readonly string[] {
  try {
    return 'ZX'.includes(readStat(pid)?.state ?? 'X')
      ? []
      : readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    // It is over.
    return []
  }
}

const onThisMachine: FindSleepers = names =>
  Promise.resolve(
    allProcesses().flatMap(pid => {
      const name = argumentsOf(pid).find(each => names.includes(each))
      const end = () => Promise.resolve(process.kill(pid, 'SIGKILL'))
      return name === undefined ? [] : [{ name, end }]
    }),
  )

const podman = async (...args: string[]): Promise<string> => (await run('podman', args)).stdout
const containersOf = async (): Promise<string[]> =>
  (await podman('ps', '--quiet', '--filter', 'label=cairn.box')).split('\n').filter(id => id !== '')

const inContainers: FindSleepers = async names => {
  const found: Sleeper[] = []
  for (const id of await containersOf()) {
    const look = ['bash', '-c', 'cat /proc/[0-9]*/cmdline 2> /dev/null | tr "\\0" "\\n"']
    const said = await podman('exec', id, ...look).catch(async (error: unknown) => {
      // It ended while it was asked; one that is there and does not answer is no proof of anything.
      if ((await containersOf()).includes(id)) throw error
      return ''
    })
    const args = new Set(said.split('\n'))
    const end = () => podman('rm', '--force', '--time', '0', id)
    found.push(...names.filter(name => args.has(name)).map(name => ({ name, end })))
  }
  return found
}

export const findSleepers = (kind: string): FindSleepers =>
  kind === 'in the box' && basename(ofTheRun.runtime ?? '').startsWith('runsc') ? inContainers : onThisMachine
