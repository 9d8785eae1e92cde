/** A sandbox that is a podman container: init, one process, and its descendants. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { asError } from '@cairn/protocol'
import type {
  Sandbox,
  SandboxLimits,
  SandboxProcess,
  SandboxSpec,
  Exit,
  SpawnOptions,
  Watch,
} from './sandbox.ts'
import { surviveBrokenPipes } from './broken-pipes.ts'
import { type ContainerKind, containerArguments } from './container-arguments.ts'
import { type Engine, removeContainer } from './container-engine.ts'
import { behindInit } from './container-init.ts'
import { createProcessSupervisor, type ProcessSupervisor } from './container-supervisor.ts'
import { behindForwarder, PROXY_VARIABLES } from './forwarder.ts'
import { limited } from './limits.ts'
import { identify, isRunning, type ProcessId, signalGroup } from './processes.ts'
import type { Watchdog } from './watchdog.ts'

export type ContainerParts = {
  engine: Engine
  kind: ContainerKind
  limits: SandboxLimits
  hidden: readonly string[]
  labels: Readonly<Record<string, string>>
  watchdog: Watchdog
  makeFolder(what: string): string
}

export const openContainer = (spec: SandboxSpec, parts: ContainerParts): Sandbox =>
  new ContainerBox(spec, parts)

/** podman takes a second or two to start, and as long to stop. */
const PATIENCE_MS = 30_000

class ContainerBox implements Sandbox {
  readonly commandLine = null
  readonly #spec: SandboxSpec
  readonly #parts: ContainerParts
  readonly #limits: SandboxLimits
  readonly #name = `cairn-${randomUUID()}`
  readonly #unwatch: (() => void)[] = []
  #leash: ProcessSupervisor | null = null
  /** podman, which waits for the container and removes it. */
  #client: ProcessId | null = null
  #overran: string | null = null
  /** Resolves with the error of the removal; null: removed. */
  #removing: Promise<Error | null> | null = null
  #closing: Promise<void> | null = null

  constructor(spec: SandboxSpec, parts: ContainerParts) {
    this.#spec = spec
    this.#parts = parts
    this.#limits = { ...parts.limits, ...spec.limits }
  }

  spawn(argv: readonly string[], { watch, stdin }: SpawnOptions = {}): SandboxProcess {
    if (this.#leash !== null) throw new Error('[sandbox] a process is already running')
    const { engine, kind, hidden, labels, makeFolder } = this.#parts
    const { network, env, mayGrowFiles } = this.#spec
    const hasProxy = typeof network === 'object'
    const supervisor = createProcessSupervisor(makeFolder('l'), {
      ...(hasProxy ? PROXY_VARIABLES : {}),
      ...env,
    })
    this.#leash = supervisor
    // podman counts the processes.
    const bounded = limited(argv, this.#limits, { countsApart: false, mayGrowFiles })
    const options = containerArguments({
      ...this.#spec,
      kind,
      hidden,
      labels,
      name: this.#name,
      leash: supervisor.socket,
      limits: this.#limits,
      uid: process.getuid?.() ?? 0,
      hasStdin: stdin === 'pipe',
    })
    const command = behindInit(hasProxy ? behindForwarder(bounded) : bounded)
    const child = spawn(engine.program, [...options, ...command], {
      // podman's monitor records an out-of-memory kill there.
      cwd: dirname(kind.seccomp),
      env: engine.env,
      stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#client = child.pid === undefined ? null : identify(child.pid)
    surviveBrokenPipes(child)
    const exited = new Promise<Exit>((resolve, reject) => {
      child.on('error', reject)
      child.once('exit', (code, signal) => resolve(this.#exitOf(supervisor, code, signal)))
    })
    if (watch !== undefined) this.#watch(watch)
    return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exited } as SandboxProcess
  }

  #watch(look: Watch): void {
    const end = (reason: string): void => {
      this.#overran ??= reason
      this.kill()
    }
    this.#unwatch.push(this.#parts.watchdog.add(look, end))
  }

  #exitOf(supervisor: ProcessSupervisor, code: number | null, signal: NodeJS.Signals | null): Exit {
    const outcome = supervisor.outcome()
    const { memory_mb } = this.#limits
    // No report from init, and not ended by us: the kernel killed the whole container, as happens with
    // gVisor.
    const wasTaken = outcome === null && this.#removing === null && code === 137
    if (outcome?.usedTooMuchMemory === true || wasTaken)
      this.#overran ??= `the command used more than ${memory_mb} MB of memory and was killed`
    return { exitCode: outcome?.exitCode ?? code, signal, overran: this.#overran }
  }

  terminate(): void {
    if (this.#leash?.askToEnd() !== true) this.kill()
  }

  /**
   * Init exits as soon as its connection is cut; podman ends a container whose init is blocked, as gVisor's
   * may be.
   */
  kill(): void {
    this.#leash?.cut()
    if (this.#client === null || this.#removing !== null) return
    // `close`, which every caller uses, reports a failure.
    this.#removing = this.#remove(this.#client).then(() => null, asError)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    for (const stop of this.#unwatch) stop()
    const endedByItself =
      this.#removing === null &&
      this.#client !== null &&
      !isRunning(this.#client) &&
      this.#leash?.outcome() !== null
    if (endedByItself) this.#leash?.cut()
    else this.kill()
    const failure = await this.#removing
    if (failure !== null) throw failure
  }

  /**
   * Tries until podman has exited, because it may be about to start the container, and once more after that.
   */
  async #remove(client: ProcessId): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const isOver = !isRunning(client)
      if (!isOver && performance.now() > deadline) signalGroup(client.pid, 'SIGKILL')
      try {
        await removeContainer(this.#parts.engine, this.#name)
      } catch (error) {
        // It cannot be removed while it is starting; the attempt after podman's exit decides.
        if (isOver) throw error
      }
      if (isOver) return
    }
  }
}
