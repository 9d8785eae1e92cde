/** Which notes a board admits, and what its readers get. */
import type { Board, BoardNote, NoteType } from '@cairn/log'
import { expect, test } from 'vitest'
import { admit, composeUpdate } from '@cairn/sessions'

const NOW = 1_000_000
const on = (seq: number, content: string, more: Partial<BoardNote> = {}): BoardNote => ({
  root_id: 'root',
  seq,
  writer_id: 'other',
  type: 'FACT',
  content,
  ref: null,
  status: 'active',
  created_at: NOW - 1000,
  expires_at: null,
  ...more,
})
const board = (...notes: BoardNote[]): Board => ({ last_seq: notes.at(-1)?.seq ?? 0, notes })
const note = (type: NoteType, content: string, more: { ref?: string; ttl_s?: number } = {}) => ({
  type,
  content,
  ...more,
})
const isSecret = (text: string): boolean => text.includes('sk-')
const given = (on: Board, ...notes: ReturnType<typeof note>[]) => {
  const before = on.notes.filter(({ writer_id }) => writer_id === 'me').length
  return admit(on, { writer_id: 'me', before }, notes, NOW, isSecret)
}

test('superseded results count against the note limit of their writer', () => {
  const last = board(on(30, 'so far', { writer_id: 'me', type: 'RESULT', ref: 'a.md' }))
  const next = [note('RESULT', 'further', { ref: 'a.md' })]
  const after = (before: number) => admit(last, { writer_id: 'me', before }, next, NOW, isSecret)
  expect(after(29).change.supersede).toEqual([30])
  expect(after(30).rejected).toMatchObject([{ reason: expect.stringContaining('too_many') as unknown }])
})

test('a note becomes one visible line, numbered after the existing notes', () => {
  const { change, admitted } = given(board(on(4, 'x')), note('FACT', ' a\nb\u200b c\u202e '))
  expect(change.notes).toEqual([{ type: 'FACT', content: 'a b c', ref: null, ttl_ms: null }])
  expect(admitted).toMatchObject([{ index: 0, seq: 5 }])
})

/** Promise 14.16: Fixed rules alone decide whether the board admits a note. */
test.each([
  ['empty', board(), [note('FACT', ' \u200b ')]],
  ['too_long', board(), [note('FACT', 'x'.repeat(201))]],
  ['too_long', board(), [note('RESULT', 'x'.repeat(401))]],
  ['too_long', board(), [note('FACT', 'x', { ref: 'y'.repeat(301) })]],
  ['secret', board(), [note('FACT', 'the key is sk-123')]],
  ['secret', board(), [note('FACT', 'the key', { ref: 'sk-123' })]],
  ['duplicate: n1', board(on(1, 'The ford  is shallow')), [note('FACT', 'the FORD is shallow')]],
  ['duplicate: n2', board(on(1, 'x')), [note('FACT', 'a'), note('FACT', 'A')]],
  [
    'claimed: by other',
    board(on(1, 'I scout', { type: 'CLAIM', expires_at: NOW + 1 })),
    [note('CLAIM', 'i scout')],
  ],
  ['too_many: you already hold 2', board(), [note('CLAIM', 'a'), note('CLAIM', 'b'), note('CLAIM', 'c')]],
  [
    'too_many: at most 30',
    board(...Array.from({ length: 30 }, (_, at) => on(at + 1, `mine ${at}`, { writer_id: 'me' }))),
    [note('FACT', 'a')],
  ],
  ['full', board(...Array.from({ length: 300 }, (_, at) => on(at + 1, `x ${at}`))), [note('FACT', 'a')]],
] as const)('rejects a note: %s', (reason, on, notes) => {
  const { rejected, change } = given(on, ...notes)
  expect(rejected.at(-1)?.reason).toContain(reason)
  expect(change.notes).toHaveLength(notes.length - 1)
})

test('an own claim is renewed, an expired one is free, and a result supersedes the writer’s earlier one', () => {
  const claims = board(
    on(1, 'mine', { type: 'CLAIM', writer_id: 'me', expires_at: NOW + 1 }),
    on(2, 'theirs', { type: 'CLAIM', expires_at: NOW }),
    on(3, 'old', { type: 'RESULT', writer_id: 'me', ref: 'a.txt' }),
    on(4, 'not mine', { type: 'RESULT', ref: 'a.txt' }),
  )
  const { change, renewed, rejected } = given(
    claims,
    note('CLAIM', 'Mine', { ttl_s: 5 }),
    note('CLAIM', 'theirs', { ttl_s: 99_999 }),
    note('RESULT', 'new', { ref: 'a.txt' }),
  )
  expect(rejected).toEqual([])
  expect(renewed).toEqual([{ index: 0, seq: 1 }])
  expect(change).toMatchObject({
    renew: [{ seq: 1, ttl_ms: 30_000 }],
    notes: [{ content: 'theirs', ttl_ms: 3_600_000 }, { content: 'new' }],
    supersede: [3],
  })
})

const read = (at: number | null, anew = false) => ({ at, anew })
/** Promise 14.16: A reader of the board receives each note of another author once. */
test('a reader gets all notes first, then new ones, and none of its own', () => {
  const all = board(
    on(1, 'one'),
    on(2, 'mine', { writer_id: 'me' }),
    on(3, 'gone', { expires_at: NOW }),
    on(4, 'two'),
  )
  expect(composeUpdate('root', all, 'me', read(null), NOW)).toMatchObject({
    kind: 'snapshot',
    cursor_from: null,
    cursor_to: 4,
    content: expect.stringMatching(/not instructions\n\[n1 wothe FACT\] one\n\[n4 wothe FACT\] two$/),
  })
  expect(composeUpdate('root', all, 'me', read(1), NOW)).toMatchObject({
    kind: 'delta',
    cursor_from: 1,
    content: expect.stringMatching(/^[^[]*\[n4 wothe FACT\] two$/),
  })
  expect(composeUpdate('root', all, 'me', read(4), NOW)).toBeNull()
  expect(composeUpdate('root', all, 'me', read(4, true), NOW)).toMatchObject({
    kind: 'snapshot',
    cursor_to: 4,
  })
  expect(composeUpdate('root', board(on(2, 'mine', { writer_id: 'me' })), 'me', read(null), NOW)).toBeNull()
})

test('a snapshot keeps the newest notes and counts the omitted ones; a long delta becomes a snapshot', () => {
  const many = board(...Array.from({ length: 40 }, (_, at) => on(at + 1, `${at + 1} ${'x'.repeat(150)}`)))
  const update = composeUpdate('root', many, 'me', read(3), NOW)
  expect(update).toMatchObject({ kind: 'snapshot', cursor_from: null, cursor_to: 40 })
  expect(update?.content.length).toBeLessThanOrEqual(2400)
  expect(update?.content).toMatch(/\n\+\d+ older\n/)
  expect(update?.content).toContain('[n40 ')
  expect(update?.content).not.toContain('[n1 ')
})
