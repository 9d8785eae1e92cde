/**
 * Several concurrent writers of one board, on a real store: the final board follows from the order of their
 * commits alone, and no limit is exceeded on the way, whatever each writer had read.
 */
import { type Board, CommitRefused } from '@cairn/log'
import { admit, BOARD_WINDOW_MS, createSession, type NoteInput, isLive } from '@cairn/sessions'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { alice, type Desk, setUp } from './desk.ts'

const WRITERS = ['one', 'two', 'three'] as const
const SECRET = 'a secret'
/** A small choice of texts, so that notes collide. */
const note = fc.record<NoteInput>({
  type: fc.constantFrom('FACT', 'FAIL', 'CLAIM', 'RESULT'),
  content: fc.constantFrom('The ford', 'the  FORD', 'a well', 'a\nroof', SECRET, 'x'.repeat(201), ' '),
  ref: fc.constantFrom(undefined, 'a.md', 'b.md'),
  ttl_s: fc.constantFrom(undefined, 1, 60, 9999),
})
/** A writer reads the board, or writes on the basis of its last read; and time passes. */
const step = fc.record({
  writer: fc.constantFrom(...WRITERS),
  does: fc.constantFrom('read' as const, 'write' as const, 'write' as const),
  notes: fc.array(note, { minLength: 1, maxLength: 5 }),
  advance_s: fc.constantFrom(0, 1, 2, 29, 31, 61, 300),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
type Read = { board: Board; before: number }
type Commit = { writer: string; notes: readonly NoteInput[]; at: number }

/** A board with times counted from its creation. */
async function openBoard({ store, deps, clock }: Desk) {
  const root_id = (await createSession(deps, ['assistant'], { principal: alice })).id
  const begun = clock.now
  const read = async (writer: string): Promise<Read> => ({
    board: await store.board.read(root_id),
    before: await store.board.countSince(root_id, writer, clock.now - BOARD_WINDOW_MS),
  })
  /** As share_note does; null: another writer has committed since. */
  async function write(writer: string, notes: readonly NoteInput[], known: Read): Promise<Commit | null> {
    const { board, before } = known
    const isSecret = (text: string): boolean => text.includes(SECRET)
    const { change } = admit(board, { writer_id: writer, before }, notes, clock.now, isSecret)
    try {
      await store.commit({
        session_id: root_id,
        events: [],
        rows: [{ do: 'board.add', root_id, last_seq: board.last_seq, writer_id: writer, ...change }],
      })
      return { writer, notes, at: clock.now - begun }
    } catch (error) {
      if (error instanceof CommitRefused && error.refusal === 'tree_moved') return null
      throw error
    }
  }
  const shown = async () => {
    const { last_seq, notes } = await store.board.read(root_id)
    return {
      last_seq,
      notes: notes.map(({ created_at, expires_at, ...rest }) => ({
        ...rest,
        root_id: 'root',
        created_at: created_at - begun,
        expires_at: expires_at === null ? null : expires_at - begun,
      })),
    }
  }
  return { begun, read, write, shown, root_id }
}

/** Each writer acts independently on its last read: returns the commits in order. */
async function race(desk: Desk, steps: readonly Step[]) {
  const board = await openBoard(desk)
  const known = new Map<string, Read>()
  const commits: Commit[] = []
  for (const { writer, does, notes, advance_s } of steps) {
    desk.clock.now += advance_s * 1000
    if (does === 'read') known.set(writer, await board.read(writer))
    else {
      const stale = known.get(writer) ?? (await board.read(writer))
      const done =
        (await board.write(writer, notes, stale)) ??
        (await board.write(writer, notes, await board.read(writer)))
      if (done === null) throw new Error('refused although nobody wrote in between')
      commits.push(done)
      known.delete(writer)
    }
    await expectLimits(desk, board)
  }
  return { shown: await board.shown(), commits }
}

async function replay(desk: Desk, commits: readonly Commit[]) {
  const board = await openBoard(desk)
  for (const { writer, notes, at } of commits) {
    desk.clock.now = board.begun + at
    await board.write(writer, notes, await board.read(writer))
  }
  return board.shown()
}

async function expectLimits({ store, clock }: Desk, { root_id }: { root_id: string }): Promise<void> {
  const { notes } = await store.board.read(root_id)
  const live = notes.filter(each => isLive(each, clock.now))
  const claims = live.filter(({ type }) => type === 'CLAIM')
  for (const writer of WRITERS) {
    expect(claims.filter(each => each.writer_id === writer).length).toBeLessThanOrEqual(2)
    const since = clock.now - BOARD_WINDOW_MS
    expect(await store.board.countSince(root_id, writer, since)).toBeLessThanOrEqual(30)
  }
  const said = live.map(({ type, content }) => `${type} ${content.toLowerCase()}`)
  expect(said.toSorted(), 'nothing is said twice, and no claim has two holders').toEqual(
    [...new Set(said)].toSorted(),
  )
  for (const { content } of notes) {
    expect(content).not.toContain(SECRET)
    expect(content).toMatch(/^\S.{0,200}$/)
  }
}

/**
 * Promise 14.16: The commit order alone determines the board, and its limits hold under concurrent writers.
 */
test('property: the commit order alone determines the board, and no limit is exceeded, for any reads', async () => {
  await using desk = await setUp()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 24 }), async steps => {
      const { shown, commits } = await race(desk, steps)
      expect(await replay(desk, commits)).toEqual(shown)
    }),
    { numRuns: 60 },
  )
  expect(await desk.store.check()).toEqual([])
})

/** Promise 14.16: A renewed claim on the board stays with its holder. */
test('a claim that is renewed while another writer decides stays with its holder', async () => {
  await using desk = await setUp()
  const claim: NoteInput = { type: 'CLAIM', content: 'a well', ttl_s: 30 }
  const steps: Step[] = [
    { writer: 'one', does: 'write', notes: [claim], advance_s: 0 },
    { writer: 'two', does: 'read', notes: [claim], advance_s: 29 },
    { writer: 'one', does: 'write', notes: [claim], advance_s: 0 },
    // By its last read, the claim has expired by now.
    { writer: 'two', does: 'write', notes: [claim], advance_s: 2 },
  ]
  const { shown, commits } = await race(desk, steps)
  expect(shown.notes.map(({ writer_id, expires_at }) => [writer_id, expires_at])).toEqual([['one', 59_000]])
  expect(await replay(desk, commits)).toEqual(shown)
})
