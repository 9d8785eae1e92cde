/**
 * An ACP client built with the protocol's SDK. It starts a process and checks every frame that the process
 * sends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Transform, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  client,
  type ClientConnection,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
} from '@agentclientprotocol/sdk'
import { type FrameJudge, judgeFrames } from '@cairn/harness/test/frame-judge'
import { onTestFinished } from 'vitest'

const BIN = fileURLToPath(new URL('../bin/cairn.mjs', import.meta.url))

export type AcpClient = {
  connection: ClientConnection
  updates: SessionNotification[]
  judge: FrameJudge
  child: ChildProcess
  stderr: () => string
  /** Closes the process's stdin and resolves with its exit code. */
  end: () => Promise<number | null>
}

export type Answers = {
  permission?: (asked: RequestPermissionRequest) => Promise<RequestPermissionResponse>
  form?: (asked: { requestedSchema?: unknown }) => Promise<Record<string, string> | null>
}

function tapped(judge: FrameJudge, side: 'agent' | 'client'): Transform {
  let rest = ''
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) judge.take(side, line)
      done(null, chunk)
    },
  })
}

export function startAcp(
  env: Record<string, string>,
  { permission, form }: Answers = {},
  args: readonly string[] = [],
): AcpClient {
  const child = spawn(process.execPath, [BIN, 'acp', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const judge = judgeFrames()
  const toAgent = tapped(judge, 'client')
  toAgent.pipe(child.stdin)
  const fromAgent = child.stdout.pipe(tapped(judge, 'agent'))
  const updates: SessionNotification[] = []
  const connection = client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) =>
      permission === undefined ? { outcome: { outcome: 'cancelled' as const } } : permission(params),
    )
    .onRequest(methods.client.elicitation.create, async ({ params }) => {
      const content = (await form?.(params as { requestedSchema?: unknown })) ?? null
      return content === null ? { action: 'decline' as const } : { action: 'accept' as const, content }
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(toAgent) as WritableStream<Uint8Array>,
        Readable.toWeb(fromAgent) as ReadableStream<Uint8Array>,
      ),
    )
  return {
    connection,
    updates,
    judge,
    child,
    stderr: () => stderr,
    async end() {
      toAgent.end()
      const [code] = (await exit) as [number | null]
      return code
    },
  }
}

/** Starts an agent and initializes the connection. */
export async function greeted(
  env: Record<string, string>,
  answers: Answers = {},
  args: readonly string[] = [],
): Promise<AcpClient> {
  const started = startAcp(env, answers, args)
  await started.connection.agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: answers.form === undefined ? {} : { elicitation: { form: {} } },
    clientInfo: { name: 'test', version: '1' },
  })
  return started
}

/** The agent's messages. For each answer, only the text of the last message id counts. */
export const transcript = (updates: readonly SessionNotification[]): string =>
  updates
    .flatMap(({ update }) =>
      update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
        ? [update.content.text]
        : [],
    )
    .join('')
