/** One type, one writer: exactly one module uses each producer's writer, and no other code creates events. */
import { expect, test } from 'vitest'
import { EVENTS, EVENT_TYPES, isWritten, NOT_BUILT, PRODUCERS } from '@cairn/protocol'
import { listPackages, readSources } from './workspace.ts'

const writers = new Map<string, string[]>()
const textOf = new Map<string, string>()
for (const { path, text } of listPackages()
  .flatMap(readSources)
  .filter(source => !source.isTest)) {
  textOf.set(path, text)
  for (const [, producer] of text.matchAll(/\bwriter\('(\w+)'\)/g))
    writers.set(producer!, [...(writers.get(producer!) ?? []), path])
}

test.each(PRODUCERS.filter(producer => producer !== 'none'))(
  'exactly one module uses the writer of %s, unless its module is not built yet',
  producer => {
    expect(writers.get(producer) ?? []).toHaveLength(NOT_BUILT.includes(producer) ? 0 : 1)
  },
)

test('no module uses the writer of the reserved types or of an unknown producer', () => {
  expect(
    [...writers.keys()].filter(
      producer => producer === 'none' || !(PRODUCERS as readonly string[]).includes(producer),
    ),
  ).toEqual([])
})

/** Promise 10.2: The reference marks exactly the event types that no module writes yet. */
test('docs and OpenAPI mark exactly the types that no module writes', () => {
  const named = EVENT_TYPES.filter(type =>
    (writers.get(EVENTS[type].producer) ?? []).some(path =>
      // Matches an argument, not EventData<'…'> or EventDraft<'…'>.
      new RegExp(`(?<!<)'${type.replaceAll('.', '\\.')}'`).test(textOf.get(path) ?? ''),
    ),
  )
  expect(named).toEqual(EVENT_TYPES.filter(isWritten))
})
