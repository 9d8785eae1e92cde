/** The style sheets keep to the tokens, and no grid grows with the longest word in it. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const SOURCE = fileURLToPath(new URL('../agent/web/src', import.meta.url))
const SHEETS = globSync('**/*.css', { cwd: SOURCE })
  .filter(path => path !== join('styles', 'tokens.css'))
  .map(path => ({ path, text: readFileSync(join(SOURCE, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '') }))

/** The declarations of all style sheets that match, each with its file. */
const found = (pattern: RegExp): string[] =>
  SHEETS.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([match]) => `${path}: ${match}`))

test('only the tokens name colors, text sizes, radii, shadows and durations', () => {
  expect(SHEETS.length).toBeGreaterThan(20)
  expect(found(/#[\da-f]{3,8}\b|\b(?:rgb|oklch|hsl)\([^)]*\)/gi)).toEqual([])
  // An em is relative to a token; 16 px keeps iOS from zooming into fields.
  expect(found(/font-size: (?!var\(|inherit|100%|[\d.]+em|1rem)[^;]+/g)).toEqual([])
  expect(found(/border-radius: (?!(?:var\(--r-[a-z]+\)(?: |;|$))|50%|0|[12](?:\.5)?px)[^;]+/g)).toEqual([])
  expect(found(/transition:[^;]*\d(?:ms|s)\b/g)).toEqual([])
})

test('every grid gives its columns a minimum width of 0', () => {
  const grids = SHEETS.flatMap(({ path, text }) =>
    [...text.matchAll(/([^{}]+)\{([^{}]*display: grid;[^{}]*)\}/g)].map(([, selector = '', body = '']) => ({
      name: `${path}: ${selector.trim()}`,
      body,
    })),
  )
  expect(grids.length).toBeGreaterThan(20)
  const open = grids.filter(({ body }) => !/grid-template|place-content|place-items/.test(body))
  expect(open.map(({ name }) => name)).toEqual([])
  // A bare 1fr is as wide as its longest word.
  expect(found(/grid-template[^;]*(?<!minmax\((?:0|[\d.]+rem), )\b1fr[^;]*/g)).toEqual([])
})

test('a class gets its look from one style sheet', () => {
  // Sheets load with their pages and stay: a second rule would change a page that was open before.
  const sheetsOf = new Map<string, Set<string>>()
  for (const { path, text } of SHEETS) {
    const always = text.replaceAll(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '')
    for (const [, selectors = ''] of always.matchAll(/([^{}]+)\{/g))
      for (const name of selectors
        .replaceAll(/\([^()]*\)/g, '()')
        .split(',')
        .map(each => each.trim()))
        if (/^\.[a-z-]+$/.test(name)) sheetsOf.set(name, (sheetsOf.get(name) ?? new Set()).add(path))
  }
  expect(sheetsOf.size).toBeGreaterThan(200)
  expect([...sheetsOf].filter(([, { size }]) => size > 1).map(([name, in_]) => [name, ...in_])).toEqual([])
})
