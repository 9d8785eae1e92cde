/**
 * Snapshots of a runner's fold: whatever they contain, continuing from one gives the state of the whole log.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { decodeEvent, type SessionEvent } from '@cairn/protocol'
import { readSnapshot, writeSnapshot } from '@cairn/state'
import { anyLog } from '@cairn/state/test/any-log'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldPositions, type Position, startPosition } from '../../src/turn/position.ts'
import { makeDataDir } from '../simulation/seeds.ts'
import { simulate } from '../simulation/simulate.ts'

const throughText = (position: Position): Position => {
  const read = readSnapshot<Position>({ last_id: position.last_id, body: writeSnapshot<Position>(position) })
  if (read === null) throw new Error('a snapshot that was just written cannot be read')
  return read
}

/** The state from a snapshot at this cut equals the state from the whole log. */
function expectSameEnd(events: readonly SessionEvent[], cut: number, whole: Position): void {
  const before = foldPositions(startPosition, events.slice(0, cut))
  expect(foldPositions(throughText(before), events.slice(cut)), `cut at ${cut}`).toEqual(whole)
}
function expectSameEverywhere(events: readonly SessionEvent[]): void {
  const whole = foldPositions(startPosition, events)
  for (let cut = 0; cut <= events.length; cut += 1) expectSameEnd(events, cut, whole)
}

const GOLDEN = new URL('../../../state/test/golden/', import.meta.url)
const golden = readdirSync(GOLDEN).flatMap(version =>
  readdirSync(new URL(version, GOLDEN)).map(file => `${version}/${file}`),
)

describe('a snapshot plus later events gives the state of the whole log, wherever it is cut', () => {
  test.each(golden)('for the golden session %s', name => {
    const lines = readFileSync(new URL(name, GOLDEN), 'utf8').trimEnd().split('\n')
    expectSameEverywhere(lines.map(decodeEvent))
  })

  const dir = makeDataDir()
  test('for sessions of the simulation, with crashes, pauses and compactions', async () => {
    let compactions = 0
    for (let seed = 3001; seed <= 3012; seed += 1) {
      const { log, counts } = await simulate(seed, dir)
      compactions += counts['compactions'] ?? 0
      const bySession = Map.groupBy(log.trimEnd().split('\n').map(decodeEvent), event => event.session_id)
      for (const events of bySession.values()) expectSameEverywhere(events)
    }
    expect(compactions).toBeGreaterThan(0)
  })

  /** Promise 8.6: A snapshot plus later events gives the same state as the whole log. */
  test('for any events in any order', () => {
    fc.assert(
      fc.property(anyLog(60), fc.nat(), (events, at) => {
        expectSameEnd(events, at % (events.length + 1), foldPositions(startPosition, events))
      }),
      { numRuns: 500 },
    )
  })
})
