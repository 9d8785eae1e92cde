import type { EventType } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createWatchers } from './watchers.ts'
import type { CommitRequest } from '../engine/writer-messages.ts'

test('an index watcher is notified of sessions and indexed events, but not of chunks', () => {
  const watchers = createWatchers()
  const all: string[] = []
  const indexed: string[] = []
  watchers.watchSessions(id => all.push(id))
  const stop = watchers.watchIndexed(id => indexed.push(id))
  const commit = (session_id: string, ...types: EventType[]): void => {
    const request: CommitRequest = {
      do: 'commit',
      at: 0,
      session_id,
      events: types.map(type => [type, '{}', null]),
    }
    watchers.landed(request, { last: types.length, epoch: null, reopened: false, work: false })
  }
  commit('chunk', 'llm.delta')
  commit('heartbeat', 'llm.heartbeat')
  commit('said', 'user.message')
  commit('answered', 'llm.delta', 'llm.response')
  expect(indexed).toEqual(['said', 'answered'])
  expect(all).toEqual(['chunk', 'heartbeat', 'said', 'answered'])
  stop()
  commit('later', 'user.message')
  expect(indexed).toHaveLength(2)
})
