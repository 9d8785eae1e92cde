/**
 * terminal: one bash command in the workspace.
 *
 * It runs in its own sandbox; when it ends, times out or is aborted, everything that it started ends with it.
 * Its environment is built here and contains nothing of the service's.
 */
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { asError } from '@cairn/protocol'
import { Directory, RESERVED_DIR } from '@cairn/workspace'
import { z } from 'zod'
import {
  type Sandbox,
  sandboxId,
  type SandboxNetwork,
  type Exit,
  type SandboxProvider,
  type SandboxProxy,
  type PolicyProxy,
  COMMAND_PATH,
  type Watch,
} from '@cairn/sandbox'
import { boundedOutput } from './bounded-output.ts'
import { defineTool } from './parameters.ts'
import type { Tool, ToolContext } from './tool.ts'
import type { Quota } from './workspace-quota.ts'

const MAX_TIMEOUT_S = 600
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2000
/** Time to read the rest of the pipes after all writers have exited. */
const REST_MS = 2000

export type TerminalOptions = {
  /** Extra environment of each command. */
  env?: Readonly<Record<string, string>>
  sandbox: SandboxProvider
  /** Provides the proxies of its sandboxes; absent: none. */
  proxy?: PolicyProxy | null
  quota?: Quota
  graceMs?: number
}

type Ended = Exit & { timedOut: boolean; output: string }
type Run = {
  command: string
  watch: Watch | undefined
  timeoutMs: number
  graceMs: number
  abort: AbortSignal
}

async function runCommand(box: Sandbox, { command, watch, timeoutMs, graceMs, abort }: Run): Promise<Ended> {
  abort.throwIfAborted()
  const output = boundedOutput()
  const running = box.spawn(['bash', '-c', command], watch === undefined ? {} : { watch })
  const streams = [running.stdout, running.stderr]
  for (const stream of streams) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const read = Promise.allSettled(streams.map(stream => finished(stream)))
  let timedOut = false
  let kill: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    timedOut = true
    box.terminate()
    kill = setTimeout(() => box.kill(), graceMs)
  }, timeoutMs)
  const killNow = () => box.kill()
  abort.addEventListener('abort', killNow, { once: true })
  try {
    const exit = await running.exited
    await box.close()
    await Promise.race([read, delay(REST_MS, undefined, { ref: false })])
    abort.throwIfAborted()
    return { ...exit, timedOut, output: output.text() }
  } finally {
    clearTimeout(timer)
    clearTimeout(kill)
    abort.removeEventListener('abort', killNow)
    for (const stream of streams) stream.destroy()
  }
}

async function keepPlaceOfResults(workspace: string): Promise<void> {
  try {
    await using folder = await Directory.open(workspace)
    await folder.make(RESERVED_DIR)
  } catch (error) {
    // The folder exists, or a file of that name: then nothing is saved, which results mention; commands run
    // anyway.
    if ((asError(error) as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

type Egress = ToolContext['egress']

/** The network of a command, from the configuration and the agent's policy. */
async function openNetwork(
  { sandbox, proxy = null }: TerminalOptions,
  id: string,
  egress: Egress,
): Promise<{ network: SandboxNetwork; boxProxy: SandboxProxy | null }> {
  if (sandbox.network === 'proxy' && proxy !== null) {
    const boxProxy = await proxy.open({ id, egress })
    return { network: { socket: boxProxy.socket }, boxProxy }
  }
  // An open network cannot enforce lists, so a restricted agent gets none.
  const network = sandbox.network === 'open' && egress.default !== 'deny' ? 'open' : 'none'
  if (network === 'none' && !sandbox.cutsNetwork)
    throw new Error(
      'the policy denies network access by default, and this machine cannot isolate a command from the ' +
        `network (${sandbox.kind})`,
    )
  return { network, boxProxy: null }
}

/** The terminal tool with the sandbox of its commands. */
export function terminalTool(options: TerminalOptions): Tool {
  const { sandbox, quota, graceMs = GRACE_MS } = options
  return defineTool({
    name: 'terminal',
    description:
      'Run a bash command in the workspace and wait for it to end. All processes that it starts end with ' +
      `it, and it gets no input. \`timeout\` is in seconds, at most ${MAX_TIMEOUT_S}.`,
    parameters: z.strictObject({
      command: z.string().min(1).max(100_000),
      timeout: z.number().positive().max(MAX_TIMEOUT_S).optional().describe('seconds'),
    }),
    readOnly: false,
    idempotent: false,
    keepsTime: true,
    caps: ['timeout'],
    timeoutMs: ({ timeout }) => (timeout === undefined ? undefined : timeout * 1000),
    async run({ command }, { session_id, tool_call_id, workspace, signal, timeoutMs, egress }) {
      // Created before the first command runs, so that no command can put a symbolic link in its place.
      if (sandbox.kind !== 'unboxed') await keepPlaceOfResults(workspace)
      const env = { PATH: COMMAND_PATH, HOME: workspace, LANG: 'C.UTF-8', TERM: 'dumb', ...options.env }
      const before = await quota?.measure(workspace)
      const isFull = before !== undefined && quota?.problem(before) !== null
      const watch = before === undefined ? undefined : await quota?.watch(workspace, before)
      const id = sandboxId(session_id, `terminal-${tool_call_id}`)
      const { network, boxProxy } = await openNetwork(options, id, egress)
      const box = sandbox.open({ id, workspace, env, network, mayGrowFiles: !isFull })
      const ended = await runCommand(box, { command, watch, timeoutMs, graceMs, abort: signal }).finally(
        async () => {
          await box.close()
          await boxProxy?.close()
        },
      )
      const refused = boxProxy?.refusals() ?? []
      const after = await quota?.measure(workspace)
      const overFull = after === undefined ? null : (quota?.problem(after) ?? null)
      // A command that frees space has not failed, even if the workspace is still too large.
      const hasGrown =
        before !== undefined &&
        after !== undefined &&
        (after.bytes > before.bytes || after.files > before.files)
      const problem = ended.timedOut
        ? `timed out after ${timeoutMs / 1000} s`
        : (ended.overran ?? (hasGrown ? overFull : null))
      return {
        content: {
          ...(problem === null ? {} : { error: `Tool execution failed: ${problem}` }),
          exit_code: ended.exitCode,
          ...(ended.signal === null ? {} : { signal: ended.signal }),
          output: ended.output,
          ...(refused.length === 0 ? {} : { network_refused: refused }),
          ...(sandbox.kind === 'unboxed' ? { sandbox: 'none (disabled by configuration)' } : {}),
          ...(overFull === null ? {} : { workspace_full: overFull }),
          ...(sandbox.caveat === null ? {} : { leftovers: sandbox.caveat }),
        },
      }
    },
  })
}
