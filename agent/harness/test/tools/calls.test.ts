/** Contract 7: order, side effects, suspension, and what a dead runner left. */
import { CommitRefused } from '@cairn/log'
import { expect, test } from 'vitest'
import { callTool } from '../../src/tools/call-tool.ts'
import { closeCalls, groupCalls, runCalls } from '../../src/tools/run-calls.ts'
import { call, makeBench, makeTool, policyOf, typesOf } from './bench.ts'

/** Promise 7.9: A `tool.call` is on disk before its tool starts. */
test('the tool.call is on disk before the tool starts', async () => {
  await using bench = await makeBench()
  let seen: string[] = []
  await callTool(
    bench.deps({}, [
      makeTool('look', async () => {
        seen = typesOf(await bench.events())
        return { content: 'ok' }
      }),
    ]),
    call('look'),
  )
  expect(seen).toEqual(['tool.call'])
})

test('without its lease a runner starts no tool, and the refusal reaches the caller', async () => {
  await using bench = await makeBench()
  await bench.store.commit({ session_id: bench.session_id, events: [], revoke_lease: true })
  let ran = false
  await expect(
    callTool(
      bench.deps({}, [
        makeTool('act', () => {
          ran = true
          return { content: '' }
        }),
      ]),
      call('act'),
    ),
  ).rejects.toThrow(CommitRefused)
  expect(ran).toBe(false)
  expect(await bench.events()).toEqual([])
})

test('a call after a stop of the turn starts nothing', async () => {
  await using bench = await makeBench()
  await expect(
    callTool(
      bench.deps({ signal: AbortSignal.abort(new Error('stopped')) }),
      call('terminal', { command: 'true' }),
    ),
  ).rejects.toThrow('stopped')
  expect(await bench.events()).toEqual([])
})

test('a stop while a tool runs ends the tool and records no result', async () => {
  await using bench = await makeBench()
  const controller = new AbortController()
  const started = Promise.withResolvers<void>()
  let ended = false
  const long = makeTool(
    'long',
    (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          ended = true
          reject(new Error('killed'))
        })
        started.resolve()
      }),
  )
  const running = callTool(bench.deps({ signal: controller.signal }, [long]), call('long'))
  await started.promise
  controller.abort(new Error('the session was stopped'))
  await expect(running).rejects.toThrow('the session was stopped')
  expect(ended).toBe(true)
  expect(typesOf(await bench.events())).toEqual(['tool.call'])
})

test('a result that is complete when the stop arrives is recorded', async () => {
  await using bench = await makeBench()
  const controller = new AbortController()
  const quick = makeTool('quick', () => {
    controller.abort(new Error('stopped'))
    return { content: 'done' }
  })
  expect(await callTool(bench.deps({ signal: controller.signal }, [quick]), call('quick'))).toMatchObject({
    status: 'ok',
    content: 'done',
  })
})

test('adjacent read-only calls form a group, and every other call is its own group, in order', () => {
  const calls = ['r1', 'r2', 'w1', 'r3', 'w2', 'w3', 'r4', 'r5'].map(id => ({
    tool_call_id: id,
    name: id,
    arguments: '{}',
  }))
  expect(
    groupCalls(calls, ({ name }) => name.startsWith('r')).map(group => group.map(({ name }) => name)),
  ).toEqual([['r1', 'r2'], ['w1'], ['r3'], ['w2'], ['w3'], ['r4', 'r5']])
})

test('read-only calls of one answer run in parallel, and others one after the other', async () => {
  await using bench = await makeBench()
  let running = 0
  const most: Record<string, number> = {}
  const both = Promise.withResolvers<void>()
  const track = (kind: string, readOnly: boolean) =>
    makeTool(
      kind,
      async () => {
        running += 1
        most[kind] = Math.max(most[kind] ?? 0, running)
        if (readOnly && running === 2) both.resolve()
        await (readOnly ? both.promise : Promise.resolve())
        running -= 1
        return { content: kind }
      },
      { readOnly },
    )
  const calls = [call('look'), call('look'), call('act'), call('act')]
  const outcomes = await runCalls(bench.deps({}, [track('look', true), track('act', false)]), calls)
  expect(most).toEqual({ look: 2, act: 1 })
  expect(outcomes.map(outcome => outcome.tool_call_id)).toEqual(calls.map(one => one.tool_call_id))
  expect(bench.commits.slice(-4)).toEqual([['tool.call'], ['tool.result'], ['tool.call'], ['tool.result']])
})

test('when a result of a group cannot be recorded, its other calls are aborted and no later call starts', async () => {
  await using bench = await makeBench()
  const deps = bench.deps()
  const stopped = Promise.withResolvers<string>()
  const started = Promise.withResolvers<void>()
  const waits = makeTool(
    'waits',
    (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve('told')
          reject(new Error('told'))
        })
        started.resolve()
      }),
    { readOnly: true },
  )
  const finishes = makeTool(
    'finishes',
    async () => {
      await started.promise
      return { content: 'x' }
    },
    { readOnly: true },
  )
  let later = false
  const after = makeTool('after', () => {
    later = true
    return { content: '' }
  })
  const refuseResults: typeof deps.commit = events =>
    events.some(event => event.type === 'tool.result')
      ? Promise.reject(new CommitRefused('stale_lease', 'the lease is gone'))
      : deps.commit(events)
  const all = bench.deps({ commit: refuseResults }, [waits, finishes, after])
  await expect(runCalls(all, [call('waits'), call('finishes'), call('after')])).rejects.toThrow(
    'the lease is gone',
  )
  expect(await stopped.promise).toBe('told')
  expect(later).toBe(false)
})

test('two calls with the same id are one call', async () => {
  await using bench = await makeBench()
  let ran = 0
  const one = call('act')
  await runCalls(
    bench.deps({}, [
      makeTool('act', () => {
        ran += 1
        return { content: '' }
      }),
    ]),
    [one, one],
  )
  expect(ran).toBe(1)
})

test('a question suspends with tool.call, then inbox.input_required with its item, and no result', async () => {
  await using bench = await makeBench()
  const one = call('ask_user_question', { questions: [{ prompt: 'Which one?' }], context: 'There are two.' })
  expect(await runCalls(bench.deps(), [one])).toEqual([
    { tool_call_id: one.tool_call_id, name: 'ask_user_question', status: 'suspended', content: null },
  ])
  expect(bench.commits).toEqual([['tool.call'], ['inbox.input_required']])
  expect((await bench.store.inbox.list({ org_id: 'org', limit: 10 })).items).toMatchObject([
    { kind: 'input_required', title: 'Which one?', payload: { tool_call_id: one.tool_call_id } },
  ])
})

test('other calls beside a question run, so that only its answer is missing', async () => {
  await using bench = await makeBench()
  const outcomes = await runCalls(bench.deps(), [
    call('ask_user_question', { questions: [{ prompt: 'x' }] }),
    call('write_file', { path: 'a', content: '' }),
  ])
  expect(outcomes.map(outcome => outcome.status)).toEqual(['suspended', 'ok'])
})

test('after a crash an idempotent tool runs again, under the same tool.call', async () => {
  await using bench = await makeBench()
  let ran = 0
  const tools = [
    makeTool(
      'look',
      () => {
        ran += 1
        return { content: 'seen' }
      },
      { readOnly: true, idempotent: true },
    ),
    makeTool(
      'set',
      () => {
        ran += 1
        return { content: 'set' }
      },
      { idempotent: true },
    ),
  ]
  const outcomes = await runCalls(bench.deps({}, tools), [
    call('look', {}, 'called'),
    call('set', {}, 'called'),
  ])
  expect(outcomes.map(outcome => outcome.content)).toEqual(['seen', 'set'])
  expect(ran).toBe(2)
  expect(typesOf(await bench.events())).toEqual(['tool.result', 'tool.result'])
})

test.each([
  [
    'that may not run again',
    makeTool('act', () => {
      throw new Error('ran twice')
    }),
    {},
  ],
  ['that there is no more', null, {}],
  [
    'that the policy denies by now',
    makeTool(
      'act',
      () => {
        throw new Error('ran although denied')
      },
      { readOnly: true, idempotent: true },
    ),
    { policy: policyOf({ denied_tools: ['act'] }) },
  ],
])(
  'after a crash the outcome of a tool %s is unknown, and its result reports that',
  async (_, tool, change) => {
    await using bench = await makeBench()
    const one = call('act', {}, 'called')
    await runCalls(bench.deps(change, tool === null ? [] : [tool]), [one])
    expect(await bench.resultOf(one)).toEqual({
      elapsed_ms: 1,
      content: {
        error:
          'Tool execution failed: outcome unknown: the runner stopped while this tool was running; it ' +
          'may or may not have taken effect',
        outcome: 'unknown',
      },
    })
  },
)

test('after a crash a call that consumed its approval runs again without another', async () => {
  await using bench = await makeBench()
  const look = makeTool('look', () => ({ content: 'seen' }), { readOnly: true, idempotent: true })
  expect(
    await runCalls(bench.deps({ policy: policyOf({ require_approval: ['look'] }) }, [look]), [
      call('look', {}, 'called'),
    ]),
  ).toMatchObject([{ status: 'ok' }])
})

test('after a crash a read-only call whose arguments lost a secret to redaction does not run again', async () => {
  await using bench = await makeBench()
  let ran = false
  const look = makeTool(
    'look',
    () => {
      ran = true
      return { content: '' }
    },
    { readOnly: true, idempotent: true },
  )
  expect(
    await runCalls(bench.deps({}, [look]), [call('look', { header: 'Bearer [REDACTED]' }, 'called')]),
  ).toMatchObject([{ status: 'failed' }])
  expect(ran).toBe(false)
})

test('a waiting question stays unchanged', async () => {
  await using bench = await makeBench()
  expect(
    await runCalls(bench.deps(), [call('ask_user_question', { questions: [{ prompt: 'x' }] }, 'waiting')]),
  ).toEqual([])
  expect(await bench.events()).toEqual([])
})

test('calls of an ended turn are closed and never started', async () => {
  await using bench = await makeBench()
  const calls = [
    call('terminal', { command: 'true' }),
    call('terminal', { command: 'true' }, 'called'),
    call('ask_user_question', {}, 'waiting'),
  ] as const
  await closeCalls(bench.deps(), calls, 'turn_ended')
  expect(typesOf(await bench.events())).toEqual(['tool.result', 'tool.result', 'tool.result'])
  expect(await bench.resultOf(calls[0])).toEqual({
    elapsed_ms: 0,
    content: { error: 'Tool execution failed: not started: the turn ended before this call' },
  })
  expect(await bench.resultOf(calls[1])).toMatchObject({ content: { outcome: 'unknown' } })
  expect(await bench.resultOf(calls[2])).toMatchObject({ content: { cancelled: true } })
})

test('a question that the user answered with another message is closed as cancelled', async () => {
  await using bench = await makeBench()
  const one = call('ask_user_question', {}, 'waiting')
  await closeCalls(bench.deps(), [one], 'question_passed_over')
  expect(await bench.resultOf(one)).toMatchObject({
    content: { cancelled: true, reason: 'the user sent a message instead of an answer' },
  })
})
