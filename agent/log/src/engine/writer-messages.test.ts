import { expect, test } from 'vitest'
import {
  type CommitRequest,
  joinRequests,
  readRequests,
  type Request,
  writeRequest,
} from './writer-messages.ts'

test('requests are transferred unchanged, whatever their payloads contain', () => {
  const commit: CommitRequest = {
    do: 'commit',
    at: 1,
    session_id: 'own',
    events: [
      ['user.message', '{"content":"12:[\\"a\\"]"}', { messages: 1, wakes: true }],
      ['user.message', '{"content":"ţară 🙂 \\ud800"}', null],
    ],
    reopen: ['session.resume', '{}', { status: 'active' }],
    without_session: true,
    also: [
      { session_id: 'one', events: [], reopen: ['session.resume', '{"nth":1}', null] },
      { session_id: 'other', events: [['session.complete', '{"nth":2}', { status: 'completed' }]] },
    ],
  }
  const asked: Request[] = [
    { do: 'call', resource: 'inbox', method: 'markRead', at: 2, args: ['first: [1]'] },
    commit,
    { do: 'commit', at: 3, session_id: 'empty', events: [] },
    { ...commit, session_id: 'again' },
    { do: 'probe' },
  ]
  expect(readRequests(joinRequests(asked.map(writeRequest)))).toEqual(asked)
})
