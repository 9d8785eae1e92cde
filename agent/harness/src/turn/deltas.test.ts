import type { EventDraft } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createStreamRedactor } from '@cairn/log'
import { writeDeltas } from './deltas.ts'

function writing(emit?: (events: readonly EventDraft[]) => Promise<void>) {
  const timers = new Set<() => void>()
  const commits: unknown[][] = []
  const waits: (true | undefined)[] = []
  const failures: unknown[] = []
  const deltas = writeDeltas({
    place: { turn_id: 't', iteration_index: 0 },
    coalesceMs: 40,
    streamRedactor: createStreamRedactor(),
    onFailure: error => failures.push(error),
    clock: {
      now: () => 0,
      monotonic: () => 0,
      after: (_, run) => {
        timers.add(run)
        return () => void timers.delete(run)
      },
    },
    emit: async (events, append) => {
      waits.push(append?.can_wait)
      commits.push(
        events.map(event => {
          const { turn_id: _turn, iteration_index: _index, ...rest } = event.data as Record<string, unknown>
          return rest
        }),
      )
      await emit?.(events)
    },
  })
  const tick = async (): Promise<void> => {
    const due = timers.values().toArray()
    timers.clear()
    for (const run of due) run()
    await new Promise(resolve => setImmediate(resolve))
  }
  return { deltas, commits, waits, failures, tick, timers }
}

/** Promise 2.6: The first delta of an answer is committed without waiting for a batch. */
test('writes the first chunk of an answer at once, and its commit may not wait', async () => {
  const { deltas, commits, waits, tick } = writing()
  deltas.push('content', 'It')
  expect([commits, waits]).toEqual([[[{ content: 'It' }]], [undefined]])
  expect(deltas.shown()).toBe(true)
  await tick()
  deltas.push('content', ' is')
  expect(commits).toHaveLength(1)
  await tick()
  expect([commits[1], waits[1]]).toEqual([[{ content: ' is' }], true])
})

test('merges the chunks of an interval into one event each for reasoning and content', async () => {
  const { deltas, commits, tick } = writing()
  deltas.push('reasoning', 'Well. ')
  await tick()
  for (const text of ['Let ', 'me ', 'see']) deltas.push('reasoning', text)
  for (const text of ['It', ' is']) deltas.push('content', text)
  expect(commits).toHaveLength(1)
  await tick()
  expect(commits[1]).toEqual([{ reasoning: 'Let me see' }, { content: 'It is' }])
})

test('writes a kilobyte without waiting for the interval', async () => {
  const { deltas, commits, tick } = writing()
  deltas.push('content', 'first')
  await tick()
  deltas.push('content', 'x'.repeat(1024))
  expect(commits).toHaveLength(2)
  await deltas.finish()
})

test('collects the next commit while one runs, and never runs two', async () => {
  let running = 0
  let most = 0
  const gates: (() => void)[] = []
  const { deltas, commits, tick } = writing(async () => {
    most = Math.max(most, ++running)
    await new Promise<void>(resolve => gates.push(resolve))
    running--
  })
  deltas.push('content', ','.repeat(2000))
  for (let i = 0; i < 50; i++) deltas.push('content', '.'.repeat(100))
  await tick()
  expect(commits).toHaveLength(1)
  gates.shift()?.()
  await tick()
  expect(commits).toEqual([[{ content: ','.repeat(2000) }], [{ content: '.'.repeat(5000) }]])
  gates.shift()?.()
  await deltas.finish()
  expect(most).toBe(1)
})

test('the end returns the rest for the commit of the response and ignores later chunks', async () => {
  const { deltas, commits, timers } = writing()
  deltas.push('content', 'head, ')
  deltas.push('content', 'tail')
  expect((await deltas.finish()).map(draft => draft.data)).toEqual([
    { content: 'tail', turn_id: 't', iteration_index: 0 },
  ])
  deltas.push('content', 'late')
  expect(await deltas.finish()).toEqual([])
  expect(commits).toEqual([[{ content: 'head, ' }]])
  expect(timers.size).toBe(0)
})

test('a failed commit ends the call', async () => {
  const { deltas, failures, tick } = writing(() => Promise.reject(new Error('disk full')))
  deltas.push('content', 'word')
  await tick()
  expect(failures).toEqual([new Error('disk full')])
  await expect(deltas.finish()).rejects.toThrow('disk full')
})

test('delays a possible start of a secret until what follows, and returns it at the end in any case', async () => {
  const { deltas, commits, tick } = writing()
  for (const text of ['the key is s', 'k-abcdef', 'ghijklmnop', 'qrst and,', ' the rest, sk-']) {
    deltas.push('content', text)
    await tick()
  }
  expect(commits).toEqual([
    [{ content: 'the key is ' }],
    [{ content: 'sk-abcdefghijklmnopqrst and,' }],
    [{ content: ' the rest, ' }],
  ])
  expect((await deltas.finish()).map(({ data }) => data)).toMatchObject([{ content: 'sk-' }])
})
