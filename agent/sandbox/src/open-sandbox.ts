/** Assembles a sandbox from a process container, limits, a control group if available, and the watchdog. */
import { spawn } from 'node:child_process'
import type {
  Sandbox,
  SandboxLimits,
  SandboxProcess,
  SandboxSpec,
  Exit,
  SpawnOptions,
  Watch,
} from './sandbox.ts'
import { type CgroupHome, makeCgroup } from './cgroup.ts'
import { surviveBrokenPipes } from './broken-pipes.ts'
import { behindForwarder, PROXY_VARIABLES } from './forwarder.ts'
import type { Cgroup, ContainedProcesses, Leader, ProcessContainer } from './process-container.ts'
import { limited } from './limits.ts'
import { signalProcess } from './processes.ts'
import { SERVICE_VARIABLE } from './service-folder.ts'
import { type Watchdog, watchUsage } from './watchdog.ts'

export type SandboxParts = {
  holder: ProcessContainer
  limits: SandboxLimits
  /** Null: nothing is delegated, and the watchdog enforces the limits. */
  home: CgroupHome | null
  watchdog: Watchdog
  /** The service folder that identifies the remains of the sandbox; null: none. */
  service?: string | null
  /** Called once, when nothing in the sandbox runs any more. */
  onClosed?: () => void
}

export const openSandbox = (spec: SandboxSpec, parts: SandboxParts): Sandbox => new HeldBox(spec, parts)

class HeldBox implements Sandbox {
  readonly #spec: SandboxSpec
  readonly #parts: SandboxParts
  readonly #limits: SandboxLimits
  readonly #unwatch: (() => void)[] = []
  #held: ContainedProcesses | null = null
  #group: Cgroup | null = null
  #isTaken = false
  #overran: string | null = null
  #closing: Promise<void> | null = null

  constructor(spec: SandboxSpec, parts: SandboxParts) {
    this.#spec = spec
    this.#parts = parts
    this.#limits = { ...parts.limits, ...spec.limits }
  }

  /** The complete command line, from the control group (outermost) to the limits (innermost). */
  #wrap(argv: readonly string[], mayReport: boolean) {
    if (this.#isTaken) throw new Error('[sandbox] a process is already running')
    this.#isTaken = true
    const { holder, home, service = null } = this.#parts
    const { network, mayGrowFiles, env } = this.#spec
    const hasProxy = typeof network === 'object'
    this.#group = home === null ? null : makeCgroup(home, this.#limits)
    const bounded = limited(argv, this.#limits, { countsApart: holder.countsApart, mayGrowFiles })
    const wrapped = holder.wrap(hasProxy ? behindForwarder(bounded) : bounded, this.#group, mayReport)
    return {
      ...wrapped,
      argv: this.#group?.join(wrapped.argv) ?? wrapped.argv,
      env: {
        ...(hasProxy ? PROXY_VARIABLES : {}),
        ...env,
        ...wrapped.env,
        ...(service === null ? {} : { [SERVICE_VARIABLE]: service }),
      },
    }
  }

  #watch(look: Watch): void {
    const end = (reason: string): void => {
      this.#overran ??= reason
      this.#held?.kill()
    }
    this.#unwatch.push(this.#parts.watchdog.add(look, end))
  }

  #hold(held: ContainedProcesses, look?: Watch): void {
    const { home } = this.#parts
    this.#held = held
    const isLimited = home !== null && home.controllers.has('memory') && home.controllers.has('pids')
    if (!isLimited) this.#watch(watchUsage(held, this.#limits))
    if (look !== undefined) this.#watch(look)
  }

  spawn(argv: readonly string[], { watch, stdin }: SpawnOptions = {}): SandboxProcess {
    const wrapped = this.#wrap(argv, true)
    const [file, ...args] = wrapped.argv as [string, ...string[]]
    const child = spawn(file, args, {
      cwd: this.#spec.workspace,
      env: wrapped.env,
      stdio: [stdin ?? 'ignore', 'pipe', 'pipe', ...(wrapped.reports ? ['pipe' as const] : [])],
      detached: true,
    })
    surviveBrokenPipes(child)
    const exited = new Promise<Exit>((resolve, reject) => {
      child.on('error', reject)
      child.once('exit', (exitCode, signal) => {
        if (this.#group?.outOfMemory())
          this.#overran ??= `the command used more than ${this.#limits.memory_mb} MB of memory and was killed`
        resolve({ exitCode, signal, overran: this.#overran })
      })
    })
    if (child.pid !== undefined) this.#hold(wrapped.hold(child as Leader), watch)
    return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exited } as SandboxProcess
  }

  commandLine(argv: readonly string[]) {
    const { argv: line, env, hold } = this.#wrap(argv, false)
    return { argv: line, env, adopt: (pid: number) => this.#hold(hold({ pid })) }
  }

  terminate(): void {
    const members = this.#held?.members() ?? []
    if (members.length === 0) this.#held?.kill()
    for (const pid of members) signalProcess(pid, 'SIGTERM')
  }

  kill(): void {
    this.#held?.kill()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    for (const stop of this.#unwatch) stop()
    this.#held?.kill()
    await this.#held?.gone()
    await this.#group?.gone()
    this.#parts.onClosed?.()
  }
}
