/**
 * CPU time of a server, whatever processes it has: what tells why one is faster than another on the same
 * cores. Linux only.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Of the kernel's clock, which is 100 a second wherever Node runs. */
const US_PER_TICK = 10_000

type Stat = { pid: number; parent: number; ticks: number }

function readStats(): Stat[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8')
        // The name of the program stands in parentheses and may hold anything.
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        return [
          { pid: Number(name), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) },
        ]
      } catch {
        // It ended in between.
        return []
      }
    })
}

/** Microseconds that these processes and their children have used; null where /proc does not say. */
export function cpuOf(pids: readonly number[]): number | null {
  if (pids.length === 0 || !existsSync('/proc/self/stat')) return null
  const all = readStats()
  const counted = new Set(pids)
  for (let before = 0; before !== counted.size;) {
    before = counted.size
    for (const { pid, parent } of all) if (counted.has(parent)) counted.add(pid)
  }
  return all.reduce((sum, { pid, ticks }) => sum + (counted.has(pid) ? ticks * US_PER_TICK : 0), 0)
}
