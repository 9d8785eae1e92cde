/**
 * Logs of earlier versions, one session per family: today's folds read them from any prefix to the same end.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { SessionEvent } from '@cairn/protocol'
import {
  emptyConversation,
  emptySessionView,
  emptyTurn,
  foldConversation,
  foldGoal,
  foldSaga,
  foldSessionView,
  foldTurn,
  type GoalState,
} from '@cairn/state'
import { describe, expect, test } from 'vitest'

const read = (name: string): SessionEvent[] =>
  readFileSync(new URL(`golden/${name}.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as SessionEvent)
const goalOf = (events: readonly SessionEvent[], from: GoalState = null): GoalState =>
  events.reduce(foldGoal, from)

const VERSIONS = new URL('golden/', import.meta.url)
const SESSIONS = readdirSync(VERSIONS).flatMap(version =>
  readdirSync(new URL(version, VERSIONS)).map(file => `${version}/${file.replace(/\.jsonl$/, '')}`),
)

describe.each(SESSIONS)('the golden session %s', name => {
  const events = read(name)

  test('folds to the same end from every prefix', () => {
    const ends = {
      conversation: events.reduce(foldConversation, emptyConversation),
      turn: events.reduce(foldTurn, emptyTurn),
      goal: goalOf(events),
      view: foldSessionView(emptySessionView, events),
    }
    for (let cut = 0; cut <= events.length; cut++) {
      const [first, rest] = [events.slice(0, cut), events.slice(cut)]
      expect({
        conversation: rest.reduce(foldConversation, first.reduce(foldConversation, emptyConversation)),
        turn: rest.reduce(foldTurn, first.reduce(foldTurn, emptyTurn)),
        goal: goalOf(rest, goalOf(first)),
        view: foldSessionView(foldSessionView(emptySessionView, first), rest),
      }).toEqual(ends)
    }
  })
})

test('the golden saga was rolled back completely, and the model reads a message about it', () => {
  const saga = read('0.1/saga').reduce(foldSaga, null)
  expect(saga).toMatchObject({ status: 'compensated', owed: 'failed', reported: true })
  expect(saga?.steps.map(step => [step.tool_name, step.state])).toEqual([
    ['write_file', 'compensated'],
    ['write_file', 'compensated'],
    ['book', 'compensated'],
  ])
  // The failed call of the model is still open in the fold, so later messages are deferred to the next one.
  expect(
    read('0.1/saga')
      .reduce(foldConversation, emptyConversation)
      .deferred.map(entry => entry.message.content),
  ).toEqual([expect.stringContaining('[Rolled back]\nThe work failed before it was done')])
})

test('the golden goal was revised once and then satisfied; the model read neither command nor reply', () => {
  const events = read('0.1/goal')
  const goal = goalOf(events)
  expect(goal).toMatchObject({
    status: 'satisfied',
    iteration: 2,
    description: 'ship it',
    rubric: 'it is noted twice',
    open: null,
    owed: null,
  })
  expect(goal?.verdicts.map(verdict => verdict.result)).toEqual(['needs_revision', 'satisfied'])
  const { entries } = events.reduce(foldConversation, emptyConversation)
  expect(entries.map(entry => entry.message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
  expect(entries[0]?.message.content).toBe('ship it')
})

test('the model reads the golden skill instead of the message', () => {
  const { entries } = read('0.1/skill').reduce(foldConversation, emptyConversation)
  expect(entries[0]?.message.content).toBe(
    'Look at the parser closely.\n\nThe files of this skill are in .cairn/skills/review.',
  )
})
