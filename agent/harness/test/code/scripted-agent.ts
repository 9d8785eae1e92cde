/**
 * A coding agent that does what its prompt says, line by line, made with the protocol's SDK. It lives in this
 * process and speaks through pipes, as a process would; what it keeps of its sessions outlives a process of
 * it, as a disk would.
 *
 *   say <text>             a chunk of its answer
 *   think <text>           a thought
 *   tool <title>           a call of a tool, begun and done
 *   plan <a>|<b>           its plan
 *   ask <kind> <input>     asks for a permission, and does it (`did <input>`) or not (`left <input>`)
 *   write <path>           a file of the workspace
 *   remove <path>          takes it away
 *   hang                   until it is cancelled
 *   deaf                   until its process is ended
 *   die                    its process ends
 *   fail <message>         its answer to the prompt is an error; it lives on
 *   mumble <text>          a line that is no message, and no answer
 *   end <stop reason>
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import {
  agent,
  type AgentContext,
  methods,
  ndJsonStream,
  RequestError,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk'
import type {
  AgentStart,
  CodingAgents,
  StartedAgent,
  Used,
} from '../../src/capabilities/code/agent-process.ts'
import { judgeFrames } from './frame-judge.ts'

type Kept = { lines: string[]; at: number }

export type ScriptedAgent = CodingAgents & {
  /** Processes that live now, and were ever started. */
  live(): number
  started(): number
  /** What it was told, prompt by prompt. */
  prompts: string[]
  /** What it did, each thing as often as it was done. */
  did: string[]
  /** Frames that do not fit the protocol, both ways. */
  violations(): readonly string[]
  frames(): number
}

export type ScriptedOptions = {
  used?: Used
  resumes?: boolean
  names?: readonly string[]
  repos?: readonly string[]
  /** What it writes before it speaks the protocol. */
  greeting?: string
}

export function scriptedAgent({
  used = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cost_usd: 0.01, model: 'demo/model' },
  resumes = true,
  names = ['cairn', 'other'],
  repos = [],
  greeting = '',
}: ScriptedOptions = {}): ScriptedAgent {
  const disk = new Map<string, Kept>()
  const judge = judgeFrames()
  const prompts: string[] = []
  const did: string[] = []
  let live = 0
  let started = 0

  async function start({ workspace, onReady }: AgentStart): Promise<StartedAgent> {
    await onReady()
    live += 1
    started += 1
    const [toAgent, fromAgent] = [new PassThrough(), new PassThrough()]
    const over = Promise.withResolvers<{ exitCode: number | null; signal: null; overran: null }>()
    const ended = new AbortController()
    const end = (exitCode: number | null): void => {
      if (ended.signal.aborted) return
      live -= 1
      ended.abort(new Error('the process ended'))
      fromAgent.end()
      over.resolve({ exitCode, signal: null, overran: null })
    }
    const cancels = new Map<string, () => void>()
    tap(toAgent, line => judge.take('client', line))
    tap(fromAgent, line => isMessage(line) && judge.take('agent', line))
    // A process ends with its input, unless it is deaf.
    let isDeaf = false
    toAgent.on('end', () => isDeaf || end(0))

    fromAgent.write(greeting)
    const app = agent({ name: 'scripted' })
      .onRequest(methods.agent.initialize, () => ({
        protocolVersion: 1,
        agentCapabilities: resumes ? { sessionCapabilities: { resume: {} } } : {},
      }))
      .onRequest(methods.agent.session.new, () => {
        const sessionId = `theirs-${String(disk.size + 1)}`
        disk.set(sessionId, { lines: [], at: 0 })
        return { sessionId }
      })
      .onRequest(methods.agent.session.resume, () => ({}))
      .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
        const [block] = params.prompt
        const text = block?.type === 'text' ? block.text : ''
        prompts.push(text)
        const kept = disk.get(params.sessionId)!
        if (kept.lines.length === 0) kept.lines = text.split('\n')
        const cancelled = new Promise<void>(resolve => cancels.set(params.sessionId, resolve))
        return { stopReason: await follow(params.sessionId, kept, client, cancelled) }
      })
      .onNotification(methods.agent.session.cancel, ({ params }) => cancels.get(params.sessionId)?.())

    async function follow(
      sessionId: string,
      kept: Kept,
      client: AgentContext,
      cancelled: Promise<void>,
    ): Promise<StopReason> {
      const tell = (update: SessionUpdate): Promise<void> =>
        client.notify(methods.client.session.update, { sessionId, update })
      while (kept.at < kept.lines.length) {
        const [, word = '', rest = ''] = /^(\S+) ?(.*)$/.exec(kept.lines[kept.at]!) ?? []
        switch (word) {
          case 'say':
            await tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: rest } })
            break
          case 'think':
            await tell({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: rest } })
            break
          case 'tool':
            await tell({ sessionUpdate: 'tool_call', toolCallId: `t${String(kept.at)}`, title: rest })
            await tell({
              sessionUpdate: 'tool_call_update',
              toolCallId: `t${String(kept.at)}`,
              status: 'completed',
            })
            break
          case 'plan':
            await tell({
              sessionUpdate: 'plan',
              entries: rest
                .split('|')
                .map(content => ({ content, priority: 'medium' as const, status: 'pending' as const })),
            })
            break
          case 'ask': {
            const [kind = '', ...input] = rest.split(' ')
            const { outcome } = await client.request(methods.client.session.requestPermission, {
              sessionId,
              options: [
                { optionId: 'always', name: 'Always', kind: 'allow_always' },
                { optionId: 'yes', name: 'Once', kind: 'allow_once' },
                { optionId: 'no', name: 'No', kind: 'reject_once' },
              ],
              toolCall: {
                toolCallId: `c${String(kept.at)}`,
                title: rest,
                kind: kind as 'execute',
                rawInput: { input: input.join(' ') },
              },
            })
            if (outcome.outcome === 'cancelled') return 'cancelled'
            did.push(`${outcome.optionId === 'no' ? 'left' : 'did'} ${input.join(' ')}`)
            break
          }
          case 'write':
            writeFileSync(join(workspace, rest), 'written')
            break
          case 'remove':
            rmSync(join(workspace, rest))
            break
          case 'hang':
            await cancelled
            return 'cancelled'
          case 'deaf':
            isDeaf = true
            await new Promise(() => undefined)
            break
          case 'die':
            kept.at += 1
            end(1)
            break
          case 'fail':
            kept.at += 1
            throw RequestError.internalError(undefined, rest)
          case 'mumble':
            fromAgent.write(`${rest}\n`)
            await new Promise(() => undefined)
            break
          case 'end':
            return rest as StopReason
          default:
        }
        kept.at += 1
        if (ended.signal.aborted) return 'cancelled'
      }
      return 'end_turn'
    }

    app.connect(
      ndJsonStream(
        Writable.toWeb(fromAgent) as WritableStream<Uint8Array>,
        Readable.toWeb(toAgent) as ReadableStream<Uint8Array>,
      ),
    )
    return {
      stdin: toAgent,
      stdout: fromAgent,
      stderr: new PassThrough(),
      exited: over.promise,
      terminate: () => end(null),
      close: () => {
        end(null)
        return Promise.resolve()
      },
      cwd: workspace,
      used: () => used,
    }
  }

  return {
    names,
    reason: null,
    repos,
    modelOf: (_, fallback) => fallback,
    start,
    forget: () => Promise.resolve(),
    live: () => live,
    started: () => started,
    prompts,
    did,
    violations: () => judge.violations,
    frames: () => judge.counts.agent + judge.counts.client,
  }
}

/** What it mumbles is none, and not for the judge. */
const isMessage = (line: string): boolean => line.startsWith('{"jsonrpc":"2.0"')

function tap(stream: PassThrough, take: (line: string) => void): void {
  let rest = ''
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
  stream.pause()
}
