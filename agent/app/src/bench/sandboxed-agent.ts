/** Startup time of the built-in coding agent, from creating the sandbox to the answer to `initialize`. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { sandboxedAgents } from '@cairn/harness'
import { chooseSandbox } from '@cairn/sandbox'
import { Config, GovernanceConfig } from '@cairn/protocol'
import { ownProgram } from '../serve/start-worker.ts'
import type { Reading } from './table.ts'

const RUNS = 7
/** The provider is never called: the agent only answers `initialize`. */
const provider = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key_env: 'BENCH_KEY' }

/** Throws if this machine has no sandbox. */
export async function benchSandboxedAgent(parent: string = tmpdir()): Promise<Reading[]> {
  const dir = mkdtempSync(join(parent, 'cairn-bench-'))
  const config = Config.parse({ models: { default: 'bench/model', providers: { bench: provider } } })
  const sandbox = await chooseSandbox({ config: config.sandbox, path: process.env['PATH'] })
  const agents = sandboxedAgents({
    config,
    env: { BENCH_KEY: 'none' },
    dataDir: dir,
    sandbox,
    scriptedUrls: {},
    program: ownProgram(),
  })
  const times: number[] = []
  try {
    for (let run = 0; run < RUNS; run += 1) {
      const workspace = join(dir, `workspace-${run}`)
      mkdirSync(workspace)
      const began = performance.now()
      const started = await agents.start({
        run_id: `bench-${run}`,
        session_id: `bench-${run}`,
        agent: 'cairn',
        model: 'bench/model',
        workspace,
        ask: [],
        egress: GovernanceConfig.parse({}).egress,
        repo: null,
        onReady: () => Promise.resolve(),
        onPush: () => Promise.resolve('cancelled'),
        signal: new AbortController().signal,
      })
      const connection = client({ name: 'bench' }).connect(
        ndJsonStream(
          Writable.toWeb(started.stdin) as WritableStream<Uint8Array>,
          Readable.toWeb(started.stdout) as ReadableStream<Uint8Array>,
        ),
      )
      await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
      times.push(performance.now() - began)
      await started.close()
      connection.close()
    }
  } finally {
    await agents.close()
    await sandbox.close()
    rmSync(dir, { recursive: true, force: true })
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0
  return [
    {
      name: 'the built-in coding agent, to initialize answered, p50',
      value: Math.round(median),
      unit: 'ms',
      aim: '≤ 500',
    },
  ]
}
