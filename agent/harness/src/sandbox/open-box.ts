/** A box from its parts: a holder, limits, a control group where there is one, and the watchdog. */
import { spawn } from 'node:child_process'
import type { Box, BoxLimits, BoxProcess, BoxSpec, Exit } from './box.ts'
import { type Cgroup, type CgroupHome, makeCgroup } from './cgroup.ts'
import { type Held, type Holder, type Leader } from './holder.ts'
import { limited } from './limits.ts'
import { signalProcess } from './processes.ts'
import { type Watch, type Watchdog, watchUsage } from './watchdog.ts'

export type BoxParts = {
  holder: Holder
  limits: BoxLimits
  /** Null: nothing is delegated, and the watchdog looks after the limits. */
  home: CgroupHome | null
  watchdog: Watchdog
}

export function openBox(spec: BoxSpec, { holder, limits, home, watchdog }: BoxParts): Box {
  let held: Held | null = null
  let group: Cgroup | null = null
  let overran: string | null = null
  let closing: Promise<void> | null = null
  const unwatch: (() => void)[] = []

  function watch(look: Watch): void {
    const end = (reason: string): void => {
      overran ??= reason
      held?.kill()
    }
    unwatch.push(watchdog.add(look, end))
  }

  async function close(): Promise<void> {
    for (const stop of unwatch) stop()
    held?.kill()
    await held?.gone()
    await group?.gone()
  }

  return {
    spawn(argv, look) {
      if (held !== null) throw new Error('[box] has a process already')
      group = home === null ? null : makeCgroup(home, limits)
      const wrapped = holder.wrap(
        limited(argv, limits, { countsApart: holder.countsApart, mayGrowFiles: spec.mayGrowFiles }),
        group,
      )
      const [file, ...args] = (group?.join(wrapped.argv) ?? wrapped.argv) as [string, ...string[]]
      const child = spawn(file, args, {
        cwd: spec.workspace,
        env: { ...spec.env, ...wrapped.env },
        stdio: ['ignore', 'pipe', 'pipe', ...(wrapped.reports ? ['pipe' as const] : [])],
        detached: true,
      })
      const exited = new Promise<Exit>((resolve, reject) => {
        child.once('error', reject)
        child.once('exit', (exitCode, signal) => {
          if (group?.outOfMemory())
            overran ??= `the command used more than ${limits.memory_mb} MB of memory, and was ended`
          resolve({ exitCode, signal, overran })
        })
      })
      if (child.pid !== undefined) held = wrapped.hold(child as Leader)
      if (held !== null) {
        const isLimited = home !== null && home.controllers.has('memory') && home.controllers.has('pids')
        if (!isLimited) watch(watchUsage(held, limits))
        if (look !== undefined) watch(look)
      }
      return { stdout: child.stdout, stderr: child.stderr, exited } as BoxProcess
    },
    terminate() {
      const members = held?.members() ?? []
      if (members.length === 0) held?.kill()
      for (const pid of members) signalProcess(pid, 'SIGTERM')
    },
    kill: () => held?.kill(),
    close: () => (closing ??= close()),
  }
}
