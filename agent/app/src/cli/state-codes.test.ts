import { SESSION_STATES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { EXIT } from '../exit.ts'
import { endingOf } from './send.ts'
import { codeOf } from './show.ts'

test.each(SESSION_STATES)('a command exits with the waiting code exactly if %s needs a person', state => {
  const needs = state.startsWith('needs_')
  expect(codeOf(state)).toBe(needs ? EXIT.waiting.code : EXIT.ok.code)
  const done = { status: 'completed', code: EXIT.ok.code } as const
  expect(endingOf(done, state).code).toBe(needs ? EXIT.waiting.code : EXIT.ok.code)
  const failed = { status: 'failed', code: EXIT.failure.code } as const
  expect(endingOf(failed, state), 'a failure says so, whatever else is open').toEqual(failed)
})
