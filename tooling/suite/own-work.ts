/**
 * Processor time of this process and its descendants. Tests leave processes behind whose parent was killed;
 * the system attaches those to process 1, so each process that was once a descendant is followed by its
 * start time.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Times are hundredths of a second; `reaped` is the time of children that ended and were waited for. */
export type ProcessTimes = { pid: number; parent: number; startedAt: number; own: number; reaped: number }

export type OwnWork = {
  /** By pid and start time. `isReaped`: its parent is one of ours and receives its time. */
  followed: ReadonlyMap<string, ProcessTimes & { isReaped: boolean }>
  /** Time of ended processes that no process of ours waited for. */
  orphaned: number
}

export const NO_WORK: OwnWork = { followed: new Map(), orphaned: 0 }

const keyOf = ({ pid, startedAt }: ProcessTimes): string => `${pid}:${startedAt}`

/** The next state, from the processes that exist now. */
export function followProcesses(before: OwnWork, root: number, now: readonly ProcessTimes[]): OwnWork {
  const childrenOf = Map.groupBy(now, ({ parent }) => parent)
  const ours = new Map<number, ProcessTimes>()
  const add = (one: ProcessTimes): void => {
    if (ours.has(one.pid)) return
    ours.set(one.pid, one)
    childrenOf.get(one.pid)?.forEach(add)
  }
  now.filter(one => one.pid === root || before.followed.has(keyOf(one))).forEach(add)
  const followed = new Map(
    [...ours.values()].map(one => [keyOf(one), { ...one, isReaped: ours.has(one.parent) }]),
  )
  const orphaned = [...before.followed]
    .filter(([key, { isReaped }]) => !followed.has(key) && !isReaped)
    .reduce((sum, [, { own, reaped }]) => sum + own + reaped, before.orphaned)
  return { followed, orphaned }
}

export const ticksOf = ({ followed, orphaned }: OwnWork): number =>
  [...followed.values()].reduce((sum, { own, reaped }) => sum + own + reaped, orphaned)

/** All processes, from /proc; none on a system without it. */
export function listProcesses(): ProcessTimes[] {
  let names: string[]
  try {
    names = readdirSync('/proc').filter(each => /^\d+$/.test(each))
  } catch {
    return []
  }
  return names.flatMap(name => {
    try {
      // The name in field 2 may contain spaces. Field 4 is the parent, 14 to 17 are utime, stime, cutime and
      // cstime, 22 is the start time.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number)
      const [user, system, childUser, childSystem] = fields.slice(11, 15) as [number, number, number, number]
      const [parent, startedAt] = [fields[1] ?? 0, fields[19] ?? 0]
      return [{ pid: Number(name), parent, startedAt, own: user + system, reaped: childUser + childSystem }]
    } catch {
      return [] // It ended meanwhile.
    }
  })
}
