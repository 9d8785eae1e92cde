import { expect, test } from 'vitest'
import { completed, fitting, wantedAt } from './completion.ts'

test('a slash at the start completes a command, and an @ after a space a file', () => {
  expect(wantedAt('/go', 3)).toEqual({ kind: 'command', query: 'go', from: 0, to: 3 })
  expect(wantedAt('see @src/a', 10)).toEqual({ kind: 'file', query: 'src/a', from: 4, to: 10 })
  for (const [text, caret] of [
    ['see /go', 7],
    ['/goal ship it', 13],
    ['mail a@b', 8],
    ['/etc/hosts', 10],
    ['', 0],
  ] as const)
    expect(wantedAt(text, caret), text).toBeNull()
})

test('lists prefix matches before other matches; the selected one replaces the word', () => {
  const files = ['docs/other.md', 'src/read.ts', 'README.md'].map(path => ({
    insert: `@${path}`,
    label: path,
    help: '',
  }))
  expect(fitting(files, 'read').map(({ label }) => label)).toEqual(['src/read.ts', 'README.md'])
  expect(fitting(files, 'e').map(({ label }) => label)).toHaveLength(3)
  const wanted = wantedAt('see @re and', 7)!
  expect(completed('see @re and', wanted, files[2]!)).toEqual({ text: 'see @README.md and', caret: 14 })
  expect(completed('@re', wantedAt('@re', 3)!, files[2]!)).toEqual({ text: '@README.md ', caret: 11 })
})
