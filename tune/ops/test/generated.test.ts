import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generated } from '../src/generate.ts'

test.each(Object.entries(await generated()))('%s matches the output of `npm run gen`', (path, text) => {
  expect(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')).toBe(text)
})
