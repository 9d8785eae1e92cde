/** The messages that docs/tune/troubleshooting.md quotes are those of the code, so that a search finds them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPaths, root } from './workspace.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Source text with joined literals, and `…` in place of each value. */
const messages = listPaths('tune')
  .filter(path => /\/src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'))
  .map(read)
  .join('\n')
  .replaceAll(/['"`]\s*\+\s*['"`]/g, '')
  .replaceAll(/\$\{[^{}`]*\}/g, '…')
  .replaceAll(/\\(['"`])/g, '$1')

const quoted = read('docs/tune/troubleshooting.md')
  .split('```')
  .filter((_, index) => index % 2 === 1)
  .filter(block => block.startsWith('\n'))
  .flatMap(block => block.trim().split('\n'))

/** Parts of a quoted line between values and clauses, which code may join. Short ones are in any text. */
const partsOf = (line: string): string[] =>
  line
    .split(/…|[;,] /)
    .map(part => part.replaceAll(/^[\s:;),]+|[\s:;(,]+$/g, ''))
    .filter(part => part.length > 3)

test('every message of the troubleshooting page is in the code', () => {
  expect(quoted.length).toBeGreaterThan(20)
  const missing = quoted.flatMap(line => partsOf(line).filter(part => !messages.includes(part)))
  expect(missing).toEqual([])
})
