/** A mutant whose text or test no longer exists would count as caught for the wrong reason. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { mutate, readMutants } from './mutants.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mutants = readMutants()

test('each mutant changes an existing file at text that occurs once', () => {
  for (const mutant of mutants)
    expect(mutate(mutant, readFileSync(join(root, mutant.path), 'utf8'))).not.toBe('')
})

test('each mutant names existing tests', () => {
  for (const { name, tests } of mutants) {
    expect(tests, name).not.toEqual([])
    expect(
      tests.filter(path => !existsSync(join(root, path))),
      name,
    ).toEqual([])
  }
})

test('no two mutants have the same name', () => {
  const names = mutants.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})
