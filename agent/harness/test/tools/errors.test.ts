/** Spec, section Errors, rules 1 to 3; section Tools, rules 1 and 2. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callTool } from '../../src/tools/call-tool.ts'
import { type Bench, call, makeBench, makeTool, policyOf, typesOf } from './bench.ts'
import { makeFolder } from './tool-context.ts'

const FAILED = /^Tool execution failed: /

async function runOne(bench: Bench, one: ReturnType<typeof call>, ...how: Parameters<Bench['deps']>) {
  const outcome = await callTool(bench.deps(...how), one)
  return { outcome, result: await bench.resultOf(one) }
}

/** Promise 13.1: A failed tool writes a `tool.result` with an error and no other event. */
test('a tool that throws writes a tool.result with an error and no other event', async () => {
  await using bench = await makeBench()
  const { outcome, result } = await runOne(bench, call('breaks'), {}, [
    makeTool('breaks', () => {
      throw new Error('no disk')
    }),
  ])
  expect(outcome.status).toBe('failed')
  expect(result?.content).toEqual({ error: 'Tool execution failed: no disk' })
  expect(result?.elapsed_ms).toBeGreaterThan(0)
  expect(typesOf(await bench.events())).toEqual(['tool.call', 'tool.result'])
})

test('a tool that throws a value that is not an Error fails like any other', async () => {
  await using bench = await makeBench()
  const odd = makeTool('odd', () => {
    throw 'just text'
  })
  expect((await runOne(bench, call('odd'), {}, [odd])).result?.content).toEqual({
    error: 'Tool execution failed: just text',
  })
})

test('a failure that a tool returns keeps its keys, and its error gets the prefix of the spec', async () => {
  await using bench = await makeBench()
  const tools = [
    makeTool('plain', () => ({ content: { error: 'quota exceeded', code: 7 } })),
    makeTool('proper', () => ({ content: { error: 'Tool execution failed: by itself', exit_code: 1 } })),
  ]
  const plain = await runOne(bench, call('plain'), {}, tools)
  expect(plain.outcome.status).toBe('failed')
  expect(plain.result?.content).toEqual({ error: 'Tool execution failed: quota exceeded', code: 7 })
  expect((await runOne(bench, call('proper'), {}, tools)).result?.content).toEqual({
    error: 'Tool execution failed: by itself',
    exit_code: 1,
  })
})

test('a tool that takes too long is aborted, and its result contains the timeout', async () => {
  await using bench = await makeBench()
  let told = false
  const slow = makeTool(
    'slow',
    (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          told = true
          reject(new Error('I was interrupted'))
        }),
      ),
  )
  const { result } = await runOne(bench, call('slow'), { timeoutMs: 50 }, [slow])
  expect(result?.content).toEqual({ error: 'Tool execution failed: timed out after 0.05 s' })
  expect(told).toBe(true)
})

test('a tool that ignores the abort is abandoned after a grace period', async () => {
  await using bench = await makeBench()
  const timers: { ms: number; run: () => void }[] = []
  const clock = {
    now: () => 1000,
    monotonic: () => 1000,
    after: (ms: number, run: () => void) => {
      timers.push({ ms, run })
      return () => {}
    },
  }
  const running = runOne(bench, call('deaf'), { clock, timeoutMs: 60_000 }, [
    makeTool('deaf', () => new Promise(() => {})),
  ])
  await expect.poll(() => timers.length).toBe(1)
  timers[0]?.run()
  await expect.poll(() => timers.length).toBe(2)
  timers[1]?.run()
  expect((await running).result?.content).toEqual({ error: 'Tool execution failed: timed out after 60 s' })
})

test("a tool's own timeout applies, even an infinite one", async () => {
  await using bench = await makeBench()
  const limits: number[] = []
  const measure = (change: object) =>
    makeTool(
      'measure',
      (_, { timeoutMs }) => {
        limits.push(timeoutMs)
        return { content: 'ok' }
      },
      change,
    )
  await callTool(bench.deps({}, [measure({})]), call('measure'))
  await callTool(bench.deps({}, [measure({ timeoutMs: () => 5 })]), call('measure'))
  await callTool(bench.deps({}, [measure({ timeoutMs: () => Number.POSITIVE_INFINITY })]), call('measure'))
  expect(limits).toEqual([20_000, 5, Number.POSITIVE_INFINITY])
})

test.each([
  ['that are not JSON', '{"path": ', /they are not JSON/],
  ['that are no object', '[1]', /must be a JSON object, not an array/],
  ['of a wrong type', { path: true }, /path: .*string/],
  ['that are missing', '', /path: /],
  ['that are no numbers', { path: 'a', offset: 'first' }, /offset/],
  ['that nest 65 levels deep', `{"path": ${'['.repeat(64)}${']'.repeat(64)}}`, /deeper than 64 levels/],
  ['that nest 200,000 levels deep', `{"path": ${'['.repeat(2e5)}${']'.repeat(2e5)}}`, /deeper than 64/],
  ['that JSON cannot be compared by', String.raw`{"path": "\ud800"}`, /surrogate/],
])('arguments %s never reach the tool, and the result gives the reason', async (_, args, message) => {
  await using bench = await makeBench()
  const { outcome, result } = await runOne(bench, call('read_file', args))
  expect(outcome.status).toBe('failed')
  expect(result?.elapsed_ms).toBe(0)
  expect(result?.content['error']).toMatch(FAILED)
  expect(result?.content['error']).toMatch(message)
  expect(bench.commits).toEqual([['tool.call', 'tool.result']])
})

test('arguments that are nearly right are recorded and approved as they ran', async () => {
  await using bench = await makeBench()
  const given = { command: 'echo hi', description: 'Say hi', timeout: '5' }
  const { outcome } = await runOne(bench, call('terminal', given))
  expect(outcome.status).toBe('ok')
  expect((await bench.events())[0]?.data).toMatchObject({
    arguments: { command: 'echo hi', timeout: 5 },
    corrections: ['description: unknown, left out', 'timeout: text read as a number'],
  })
  const gated = bench.deps({ policy: policyOf({ require_approval: ['terminal'] }) })
  expect((await callTool(gated, call('terminal', given))).status).toBe('gated')
  await bench.respond('approve')
  // The model may repeat the call with the arguments that the approval showed.
  expect((await callTool(gated, call('terminal', { command: 'echo hi', timeout: 5 }))).status).toBe('ok')
})

test('an unknown tool is rejected by name, with the list of available tools', async () => {
  await using bench = await makeBench()
  const { result } = await runOne(bench, call('delete_everything', { really: true }))
  expect(result).toMatchObject({
    elapsed_ms: 0,
    content: {
      error: expect.stringMatching(
        /^Tool execution failed: unknown tool delete_everything; available: read_file, write_file/,
      ) as string,
    },
  })
  expect((await bench.events())[0]?.data).toMatchObject({ arguments: { really: true } })
})

test.each([
  ['a denied tool', { policy: policyOf({ denied_tools: ['write_file'] }) }, 'denied_tools:write_file'],
  ['a tool that the agent does not have', { agentTools: ['read_file'] }, 'agent_tools'],
  [
    'a tool that is not on the allow-list',
    { policy: policyOf({ allowed_tools: ['read_file'] }) },
    'allowed_tools',
  ],
])(
  '%s is denied before it runs, with policy.denied and its result in one commit',
  async (_, change, policy_id) => {
    await using bench = await makeBench()
    const { outcome, result } = await runOne(
      bench,
      call('write_file', { path: 'a.txt', content: 'x' }),
      change,
    )
    expect(outcome.status).toBe('refused')
    expect(bench.commits).toEqual([['tool.call', 'policy.denied', 'tool.result']])
    const denied = (await bench.events()).find(event => event.type === 'policy.denied')
    expect(denied?.data).toMatchObject({
      tool: 'write_file',
      policy_id,
      reason: expect.any(String) as string,
      timestamp: expect.any(Number) as number,
    })
    expect(result).toEqual({
      elapsed_ms: 0,
      content: { error: `Blocked: ${denied?.type === 'policy.denied' ? denied.data.reason : ''}` },
    })
    expect(existsSync(join(bench.workspace, 'a.txt'))).toBe(false)
  },
)

test('the gate denies a path outside the workspace and a host that is not allowed', async () => {
  await using bench = await makeBench()
  for (const [one, policy_id] of [
    [call('read_file', { path: '../../etc/passwd' }), 'workspace_containment'],
    [call('write_file', { path: '.cairn/x', content: '' }), 'workspace_containment'],
    [call('web_fetch', { url: 'http://169.254.169.254/' }), 'egress'],
  ] as const) {
    expect((await runOne(bench, one)).result?.elapsed_ms).toBe(0)
    expect((await bench.events()).findLast(event => event.type === 'policy.denied')?.data).toMatchObject({
      policy_id,
    })
  }
})

/** Promise 10.3: Arguments and results contain no absolute workspace path. */
test('the arguments and the result are recorded with the workspace path as __WORKSPACE__', async () => {
  await using bench = await makeBench()
  const { result } = await runOne(
    bench,
    call('terminal', { command: `cd ${bench.workspace} && echo x > __WORKSPACE__/made.txt && pwd` }),
  )
  expect(result?.content).toMatchObject({ exit_code: 0, output: '__WORKSPACE__\n' })
  expect(readFileSync(join(bench.workspace, 'made.txt'), 'utf8')).toBe('x\n')
  expect(JSON.stringify(await bench.events())).not.toContain(bench.workspace)
  expect((await bench.events())[0]?.data).toMatchObject({
    arguments: { command: 'cd __WORKSPACE__ && echo x > __WORKSPACE__/made.txt && pwd' },
  })
})

test('a tool that changes files records a checkpoint of the earlier content, and others record none', async () => {
  await using bench = await makeBench()
  writeFileSync(join(bench.workspace, 'a.txt'), 'old')
  await callTool(bench.deps(), call('write_file', { path: 'a.txt', content: 'new' }))
  await callTool(bench.deps(), call('read_file', { path: 'a.txt' }))
  const calls = (await bench.events()).filter(event => event.type === 'tool.call')
  expect(calls[0]?.data.checkpoint_hash).toMatch(/^[0-9a-f]{64}$/)
  expect(calls[1]?.data).not.toHaveProperty('checkpoint_hash')
})

test('a long result is cut, and its tool.result names the file with the whole', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps(), call('terminal', { command: 'seq 1 50000' }))
  const result = (await bench.events()).find(event => event.type === 'tool.result')
  expect(result?.data).toMatchObject({
    truncated: true,
    full_result_path: expect.stringMatching(/^\.cairn\/results\/id-\d+\.txt$/) as string,
  })
  expect(result?.type === 'tool.result' ? Buffer.byteLength(result.data.content) : 0).toBeLessThanOrEqual(
    50 * 1024,
  )
})

test('a plan and an artifact are written before their result, in its commit', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps(), call('todo', { todos: [{ id: '1', content: 'x', status: 'pending' }] }))
  await callTool(
    bench.deps(),
    call('create_artifact', { name: 'Notes', spec: { kind: 'markdown', content: '# x' } }),
  )
  expect(bench.commits).toEqual([
    ['tool.call'],
    ['todo.updated', 'tool.result'],
    ['tool.call'],
    ['artifact.created', 'tool.result'],
  ])
  const [meta] = await bench.store.artifacts.list(bench.session_id)
  expect(await bench.store.artifacts.get(bench.session_id, meta?.artifact_id ?? '')).toMatchObject({
    meta: { name: 'Notes', version: 1 },
    spec: { content: '# x' },
  })
})

test('a missing workspace is an error of the service and is thrown', async () => {
  await using bench = await makeBench()
  await expect(
    callTool(bench.deps({ workspace: join(makeFolder('x'), 'gone') }), call('read_file', { path: 'a' })),
  ).rejects.toThrow('ENOENT')
})
