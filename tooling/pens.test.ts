/**
 * One type, one writer: each producer's pen is taken in exactly one module, and nothing else makes an event.
 */
import { expect, test } from 'vitest'
import { PRODUCERS } from '@cairn/protocol'
import { listPackages, readSources } from './workspace.ts'

/** Producers whose rooms are not built yet. A pen that appears takes its name off this list. */
const NOT_BUILT = ['missions', 'coordination', 'rounds', 'research', 'browser', 'code']

const pens = new Map<string, string[]>()
for (const { path, text } of listPackages()
  .flatMap(readSources)
  .filter(source => !source.isTest)) {
  for (const [, producer] of text.matchAll(/\bwriter\('(\w+)'\)/g))
    pens.set(producer!, [...(pens.get(producer!) ?? []), path])
}

test.each(PRODUCERS.filter(producer => producer !== 'none'))(
  'the pen of %s is taken in exactly one module, or its room is not built',
  producer => {
    expect(pens.get(producer) ?? []).toHaveLength(NOT_BUILT.includes(producer) ? 0 : 1)
  },
)

test('nobody takes the pen of the reserved types, nor one that no producer has', () => {
  expect(
    [...pens.keys()].filter(
      producer => producer === 'none' || !(PRODUCERS as readonly string[]).includes(producer),
    ),
  ).toEqual([])
})
