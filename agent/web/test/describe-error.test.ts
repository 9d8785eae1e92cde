import { expect, test } from 'vitest'
import { describeError } from '../src/api.ts'

test('describes a part of the page that fails to load in plain words, in every browser', () => {
  for (const message of [
    'Unable to preload CSS for /assets/inbox-page-1a2b.css',
    'Failed to fetch dynamically imported module: http://127.0.0.1/assets/x.js',
    'Importing a module script failed.',
  ])
    expect(describeError(new TypeError(message))).toBe(
      'Part of this page could not be loaded. Check that the server is running, then retry.',
    )
  expect(describeError(new Error('something else'))).toBe('something else')
})
