/** What a model may ask of the board. Invalid input returns a clear error and writes nothing. */
import { expect, test } from 'vitest'
import { say } from '../turn/stage.ts'
import { finishWork, goal, OUTCOME, ROOT, setTree, spawn, wait } from './tree-stage.ts'

const share = (...notes: readonly unknown[]) => ({ name: 'share_note', arguments: { notes } })
const fact = (content: unknown, more: object = {}) => ({ type: 'FACT', content, ...more })

/** Promise 13.1: An invalid board note returns a clear error and writes nothing. */
test('an invalid note is an error of the tool or is rejected with its reason, and the board stays unchanged', async () => {
  const bad: [object, string][] = [
    [{ name: 'share_note', arguments: {} }, 'notes'],
    [share(), 'notes'],
    [share(...Array.from({ length: 6 }, (_, at) => fact(`note ${at}`))), 'notes'],
    [share({ type: 'RUMOUR', content: 'x' }), 'FACT'],
    [share(fact({ text: 'x' })), 'content'],
    [share(fact('x'.repeat(4001))), 'content'],
    [share(fact('x', { ttl_s: -1 })), 'ttl_s'],
    [share(fact('x', { author: 'me' })), 'author'],
    [share('x'), 'notes'],
    [{ name: 'read_board', arguments: { types: ['RUMOUR'] } }, 'types'],
    // Valid in shape, but rejected, with the index and the reason.
    [share(fact(' '), fact('x'.repeat(201))), '"rejected":[{"index":0,"reason":"empty'],
    [share(fact('x', { ref: 'y'.repeat(301) })), 'too_long: a ref can have at most 300'],
  ]
  await using stage = await setTree([
    { when: goal('scout'), answer: finishWork('I scouted.') },
    {
      when: OUTCOME,
      steps: [
        { tool_calls: bad.map(([each]) => each) as never[] },
        { tool_calls: [share(fact('The ford is shallow.'))] as never[] },
        say('All told.'),
      ],
    },
    {
      steps: [
        { tool_calls: [share(fact('nobody reads this'))] as never[] },
        { tool_calls: [spawn('scout it'), wait] },
      ],
    },
  ])
  await stage.until(events => /^session\.(complete|fail)$/.test(events.at(-1)?.type ?? ''))
  const events = await stage.events()
  const results = events.flatMap(event =>
    event.type === 'tool.result' && /^(share_note|read_board)$/.test(event.data.name)
      ? [event.data.content]
      : [],
  )
  expect(results[0]).toContain('no other session can read the board yet')
  expect(results.slice(1, -1).map((content, at) => [content.includes(bad[at]?.[1] ?? '?'), content])).toEqual(
    results.slice(1, -1).map(content => [true, content]),
  )
  expect(results).toHaveLength(bad.length + 2)
  // The note after all rejected ones is the first that is stored.
  expect(events.filter(({ type }) => type === 'board.note')).toHaveLength(1)
  expect((await stage.store.board.read(ROOT)).notes).toMatchObject([
    { seq: 1, content: 'The ford is shallow.' },
  ])
  expect(await stage.store.check()).toEqual([])
})
