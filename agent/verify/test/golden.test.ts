/** The rules hold for logs of earlier versions. */
import { readdirSync, readFileSync } from 'node:fs'
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'

const VERSIONS = new URL('../../state/test/golden/', import.meta.url)
const SESSIONS = readdirSync(VERSIONS).flatMap(version =>
  readdirSync(new URL(version, VERSIONS)).map(file => `${version}/${file}`),
)

test.each(SESSIONS)('the golden session %s satisfies the rules of every log', name => {
  const events = readFileSync(new URL(name, VERSIONS), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as SessionEvent)
  expect(checkHistory(events, { settled: true })).toEqual([])
})
