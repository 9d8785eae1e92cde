/** A run with everything that the Run view draws: groups, workers, a wait, a death of the runner, a failure. */
import { type EventDraft, type Session, writer } from '@cairn/protocol'

const say = writer('messages')
const wake = writer('wake')
const sweep = writer('sweeper')
const turn = writer('turn')
const tool = writer('tools')
const inbox = writer('inbox')
const life = writer('lifecycle')
const coordination = writer('coordination')

type Timed = { draft: EventDraft; at: number }
type Scripted = {
  id: string
  parent: string | null
  title: string
  status: Session['status']
  steps: Timed[]
}

const SECOND = 1000
/** The length of the run until now. */
const LENGTH = 3840 * SECOND

/** Adds events at seconds since the start of the run. */
function script(startedAt: number, model: string) {
  const steps: Timed[] = []
  let iteration = 0
  let calls = 0
  const add = (seconds: number, draft: EventDraft): void =>
    void steps.push({ draft, at: startedAt + seconds * SECOND })
  const position = () => ({ turn_id: `t-${model}`, iteration_index: iteration })
  return {
    steps,
    add,
    ask(seconds: number, content: string) {
      add(seconds, say('user.message', { content }))
      add(seconds, wake('harness.wake', { worker_id: 'vm-224', cursor: 0 }))
    },
    request: (seconds: number) => add(seconds, turn('llm.request', { model, ...position() })),
    model(from: number, to: number, content: string, reasoning = '') {
      add(from, turn('llm.request', { model, ...position() }))
      if (reasoning !== '') add(to, turn('llm.thinking', { reasoning, ...position() }))
      add(
        to,
        turn('llm.response', {
          message: { role: 'assistant', content },
          model,
          input_tokens: 14_200,
          output_tokens: 310,
          reasoning_tokens: 120,
          cache_read_tokens: 9000,
          finish_reason: 'tool_calls',
          context_window: 128_000,
          cost_usd: 0.031,
          first_token_ms: Math.round((to - from) * 0.35 * SECOND),
          latency_ms: (to - from) * SECOND,
          ...position(),
        }),
      )
      iteration += 1
    },
    call(from: number, to: number, name: string, args: Record<string, unknown>, result: unknown): string {
      const id = `call-${model}-${(calls += 1)}`
      add(from, tool('tool.call', { tool_call_id: id, name, arguments: args, ...position() }))
      if (to > from) this.result(to, id, name, result, (to - from) * SECOND)
      return id
    },
    result(at: number, id: string, name: string, result: unknown, elapsed = 1) {
      const content = typeof result === 'string' ? result : JSON.stringify(result)
      add(at, tool('tool.result', { tool_call_id: id, name, content, elapsed_ms: Math.round(elapsed) }))
    },
  }
}

const OUTPUT = [
  ' RUN  v4.0.2  import/',
  ' ✓ reader.test.ts (41)',
  ' ✗ commit.test.ts (12)',
  '   × commits every 10,000 rows',
  '   × keeps the cursor on failure',
  ' Tests  3 failed, 50 passed (53)',
].join('\n')

export function runOfImporter(now: number): Scripted[] {
  const startedAt = now - LENGTH
  const main = script(startedAt, 'acme/large')
  const worker = script(startedAt, 'acme/small')
  main.ask(0, 'The nightly import stalls. Have a look.')
  main.model(1, 12, 'I will look at the importer first.')
  main.call(12, 16, 'terminal', { command: 'git log -3' }, { exit_code: 0, output: 'a\nb\nc' })
  main.add(34, sweep('harness.recovered', { recovered_by: 'vm-225', stale_seconds: 18 }))
  main.add(34, wake('harness.wake', { worker_id: 'vm-225', cursor: 4 }))
  main.model(35, 50, 'It stalls on files above 1 GB.')
  main.add(50, life('session.complete', { reason: 'completed' }))

  main.ask(60, 'Why does it stall? Fix it.')
  main.model(60, 69, 'First the files.')
  main.call(
    69,
    69.004,
    'todo',
    { todos: [{ id: 'a', content: 'Measure', status: 'in_progress' }] },
    { ok: true },
  )
  for (let file = 0; file < 24; file++) {
    const at = 69.1 + file * 0.13
    const isMissing = file > 7
    const result = isMissing ? { error: `src/import/${file}.ts not found` } : { content: 'const a = 1' }
    main.call(at, at + 0.12, 'read_file', { path: `src/import/${file}.ts` }, result)
  }
  main.model(
    73,
    90,
    'The reader holds one transaction for the whole file. Before I change it I want to see what the tests say today.',
  )
  main.call(91, 122, 'terminal', { command: 'npm test -- import' }, { exit_code: 3, output: OUTPUT })
  main.model(
    122,
    140,
    'Three tests fail, and all three describe the same fault: nothing is committed before the end of the file. I will measure the parsers in parallel while I fix the commit.',
    'Three failures, one cause.',
  )
  const started = [
    'Benchmark the three parsers',
    'Read the history of the importer',
    'Translate the error messages',
  ]
  for (const [at, goal] of started.entries()) {
    const id = main.call(140 + at, 140 + at, 'spawn_worker', { goal }, null)
    main.add(
      140 + at,
      coordination('worker.spawned', {
        worker_id: `run-worker-${at}`,
        goal,
        kind: 'worker',
        agent: 'engineer',
        depth: 1,
        tool_call_id: id,
      }),
    )
    main.result(140.2 + at, id, 'spawn_worker', { worker_id: `run-worker-${at}` })
  }
  const outcome = { iterations: 4, input_tokens: 9000, output_tokens: 900, files_written: [] }
  main.add(
    159,
    coordination('worker.failed', {
      worker_id: 'run-worker-2',
      error: 'HTTP 400: context too long',
      cause: 'error',
      duration_seconds: 17,
      cost_usd: 0.01,
      ...outcome,
    }),
  )
  main.add(
    184,
    coordination('worker.complete', {
      worker_id: 'run-worker-1',
      result: 'The commit moved in 2023.',
      duration_seconds: 43,
      cost_usd: 0.04,
      ...outcome,
    }),
  )
  main.add(
    250,
    coordination('worker.complete', {
      worker_id: 'run-worker-0',
      result: 'The streaming parser is 3 times as fast.',
      duration_seconds: 110,
      cost_usd: 0.11,
      ...outcome,
    }),
  )
  main.model(251, 275, 'The streaming parser it is.')
  main.call(
    275,
    275.002,
    'edit_file',
    { path: 'src/import/reader.ts', old_string: 'a', new_string: 'b' },
    { ok: true },
  )
  const gated = main.call(276, 276, 'terminal', { command: 'npm run migrate' }, null)
  main.add(
    276,
    inbox('inbox.governance_gate', {
      tool_name: 'terminal',
      tool_call_id: gated,
      arguments_excerpt: '{"command":"npm run migrate"}',
      deny_reason: 'needs approval',
      policy_id: 'require_approval:terminal',
      arguments: { command: 'npm run migrate' },
    }),
  )
  main.result(276, gated, 'terminal', { error: 'policy_blocked_overridable' }, 0)
  main.add(277, life('session.complete', { reason: 'completed' }))
  const resumed = LENGTH / SECOND - 148
  main.add(resumed, life('session.resume', { source: 'inbox' }))
  main.add(
    resumed,
    say('user.message', {
      content: '[Decision] A person approved the call.',
      synthetic: 'governance_decision',
      tool_call_id: gated,
      metadata: { decision: 'approve' },
    }),
  )
  main.add(resumed, wake('harness.wake', { worker_id: 'vm-225', cursor: 4 }))
  main.call(
    resumed + 1,
    resumed + 44,
    'terminal',
    { command: 'npm run migrate' },
    { exit_code: 0, output: 'ok' },
  )
  main.model(resumed + 44, resumed + 66, 'Migrated. I will check the status page.')
  main.call(
    resumed + 66,
    resumed + 90,
    'browser_navigate',
    { url: 'https://status.harborlabs.example' },
    { ok: true },
  )
  main.add(
    resumed + 92,
    coordination('worker.spawned', {
      worker_id: 'run-worker-3',
      goal: 'Measure again with 10 GB of rows',
      kind: 'worker',
      agent: 'engineer',
      depth: 1,
    }),
  )
  main.request(resumed + 134)

  worker.ask(140, started[0] ?? '')
  worker.model(140, 151, 'I will write a benchmark.')
  worker.call(
    152,
    228,
    'terminal',
    { command: 'node bench/parse.ts --rows 1e6' },
    { exit_code: 0, output: '3 x' },
  )
  worker.call(228, 228.003, 'write_file', { path: 'bench/results.csv', content: 'a,b' }, { ok: true })
  worker.model(229, 249, 'The streaming parser is 3 times as fast.')
  worker.add(249, life('session.complete', { reason: 'completed' }))
  return [
    {
      id: 'run',
      parent: null,
      title: 'Importer stalls on large CSV files',
      status: 'active',
      steps: main.steps,
    },
    { id: 'run-worker-0', parent: 'run', title: started[0] ?? '', status: 'completed', steps: worker.steps },
  ]
}
