/** The mutants: each removes one protection from the code, and the tests that it names must fail then. */
import { readFileSync } from 'node:fs'

/**
 * `suite` is where the tests run: `fast` in `npm test`; the others in the command of that name. With `title`
 * only the tests that contain it run. `feature` is Linux's name of a processor feature that the mutated code
 * needs: it does not run on other processors.
 */
export type Mutant = {
  name: string
  path: string
  /** Text that occurs once in the file. */
  find: string
  replace: string
  tests: string[]
  title?: string
  feature?: string
  suite: 'fast' | 'faults' | 'cuda' | 'tours'
}

export const readMutants = (): Mutant[] =>
  JSON.parse(readFileSync(new URL('mutants.json', import.meta.url), 'utf8'))

/** The arguments of vitest that run the tests of these mutants: by title, when each has one. */
export function testArguments(mutants: readonly Pick<Mutant, 'tests' | 'title'>[]): string[] {
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))]
  const titles = mutants.flatMap(({ title }) => title ?? [])
  if (titles.length < mutants.length) return files
  const escaped = [...new Set(titles)].map(title => title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return [...files, '-t', escaped.join('|')]
}

/** The mutated source. Throws where the text is missing or occurs twice: the code has changed. */
export function mutate({ name, path, find, replace }: Mutant, source: string): string {
  const parts = source.split(find)
  if (parts.length !== 2)
    throw new Error(`[mutants] "${name}": the text to replace occurs ${parts.length - 1} times in ${path}`)
  if (find === replace) throw new Error(`[mutants] "${name}" changes nothing`)
  return parts.join(replace)
}
