/**
 * terminal: one bash command in the workspace.
 *
 * The command has its own process group and, where bubblewrap works, its own namespaces; when it ends, times
 * out or is aborted, everything it started ends with it. Its environment is made here and holds nothing of
 * the service's.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { asError } from '@cairn/protocol'
import { Directory, RESERVED_DIR } from '@cairn/workspace'
import { z } from 'zod'
import { boundedOutput } from './bounded-output.ts'
import { defineTool } from './parameters.ts'
import { MARK_VARIABLE, killMarked, signalGroup, startOf, terminateMarked } from './process-sweep.ts'
import { type Sandbox, bubblewrapArguments, probeSandbox } from './sandbox.ts'
import type { Tool } from './tool.ts'

const MAX_TIMEOUT_S = 600
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2000

export type TerminalOptions = {
  /** Decides the box; probed once, on the first command. */
  probe?: () => Promise<Sandbox>
  /** Folders that must stay out of sight: the data directory, the home. */
  hidden?: readonly string[]
  graceMs?: number
}

type Ended = { exitCode: number | null; signal: NodeJS.Signals | null; timedOut: boolean; output: string }
type Command = {
  file: string
  args: readonly string[]
  cwd: string
  mark: string
  timeoutMs: number
  graceMs: number
  abort: AbortSignal
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

async function runCommand({ file, args, cwd, mark, timeoutMs, graceMs, abort }: Command): Promise<Ended> {
  abort.throwIfAborted()
  const output = boundedOutput()
  const child = spawn(file, args, {
    cwd,
    env: { PATH, HOME: cwd, LANG: 'C.UTF-8', TERM: 'dumb', [MARK_VARIABLE]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  // 'exit' is the command itself; 'close' also waits for whoever inherited its pipes, and those are killed in
  // between.
  const exited = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>(
    (resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
    },
  )
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const { pid } = child
  if (pid === undefined) {
    await exited
    throw new Error(`the command could not be started: ${file}`)
  }
  // Its end is not taken in before this code gives way, so it can still be read.
  const since = startOf(pid)
  let timedOut = false
  let kill: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    timedOut = true
    terminateMarked(mark, pid).catch(() => signalGroup(pid, 'SIGKILL'))
    kill = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
  }, timeoutMs)
  const killNow = () => signalGroup(pid, 'SIGKILL')
  abort.addEventListener('abort', killNow, { once: true })
  try {
    const end = await exited
    signalGroup(pid, 'SIGKILL')
    await killMarked(mark, since)
    await closed
    abort.throwIfAborted()
    return { ...end, timedOut, output: output.text() }
  } finally {
    clearTimeout(timer)
    clearTimeout(kill)
    abort.removeEventListener('abort', killNow)
  }
}

async function keepPlaceOfResults(workspace: string): Promise<void> {
  try {
    await using folder = await Directory.open(workspace)
    await folder.make(RESERVED_DIR)
  } catch (thrown) {
    // It is there, or a file of that name: nothing is saved then, which the results say; commands run all the
    // same.
    if ((asError(thrown) as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
}

/** The terminal with its box. */
export function terminalTool({
  probe = probeSandbox,
  hidden = [],
  graceMs = GRACE_MS,
}: TerminalOptions = {}): Tool {
  let probed: Promise<Sandbox> | undefined
  return defineTool({
    name: 'terminal',
    description: `Run a bash command in the workspace and wait for it to end. Nothing it starts outlives it, and it gets no input. \`timeout\` is in seconds, at most ${MAX_TIMEOUT_S}.`,
    parameters: z.strictObject({
      command: z.string().min(1).max(100_000),
      timeout: z.number().positive().max(MAX_TIMEOUT_S).optional().describe('seconds'),
    }),
    readOnly: false,
    idempotent: false,
    keepsTime: true,
    timeoutMs: ({ timeout }) => (timeout === undefined ? undefined : timeout * 1000),
    async run({ command }, { workspace, tool_call_id, signal, timeoutMs, egress }) {
      const sandbox = await (probed ??= probe())
      const network = egress.default === 'allow'
      if (!network && (sandbox.kind === 'none' || !sandbox.cutsNetwork)) {
        const why = sandbox.kind === 'none' ? sandbox.reason : 'bubblewrap cannot make a network namespace'
        throw new Error(
          `the policy denies network access by default, and this machine cannot keep a command off the network (${why})`,
        )
      }
      const bash = ['bash', '-c', command]
      // There before the first command runs, so that no command can put a link in its place.
      if (sandbox.kind === 'bubblewrap') await keepPlaceOfResults(workspace)
      const [file, ...args] =
        sandbox.kind === 'bubblewrap'
          ? ['bwrap', ...bubblewrapArguments({ workspace, network, hidden }, bash)]
          : bash
      const ended = await runCommand({
        file: file ?? 'bash',
        args,
        cwd: workspace,
        mark: `${tool_call_id}/${randomUUID()}`,
        timeoutMs,
        graceMs,
        abort: signal,
      })
      return {
        content: {
          ...(ended.timedOut
            ? { error: `Tool execution failed: timed out after ${timeoutMs / 1000} s` }
            : {}),
          exit_code: ended.exitCode,
          ...(ended.signal === null ? {} : { signal: ended.signal }),
          output: ended.output,
          ...(sandbox.kind === 'none' ? { sandbox: `none (${sandbox.reason})` } : {}),
        },
      }
    },
  })
}
