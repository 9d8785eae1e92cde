/** Which changes affect the version of the fold. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bundleFold, foldVersionModule } from './fold-version.ts'

function bundleOf(sources: Record<string, string>): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-fold-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(dir, name), text)
  return bundleFold(join(dir, 'entry.ts'))
}

const entry = `import { next } from './reached.ts'
export const fold = (sum: number): number => next(sum) * 2
`
const reached = `export const next = (at: number): number => at + 1
export const other = (at: number): number => at - 1
`

test('the recorded version matches the code', async () => {
  const written = new URL('../agent/state/src/fold-version.ts', import.meta.url)
  expect(readFileSync(written, 'utf8')).toBe(await foldVersionModule())
})

/** Promise 8.6: A change of the fold's code changes its version; a comment does not. */
test('the hash input changes with the code of the fold at any depth, and with nothing else', async () => {
  const before = await bundleOf({ 'entry.ts': entry, 'reached.ts': reached })
  const same = [
    reached.replaceAll('at', 'where'),
    `/** Says what it is. */\n${reached}`,
    reached.replace('at - 1', 'at - 2'),
    reached.replace('(at: number): number => at + 1', '(at: 1 | number) => {\n  return at + 1\n}'),
  ]
  for (const text of same)
    expect(await bundleOf({ 'entry.ts': entry, 'reached.ts': text }), text).toBe(before)
  const others = [reached.replace('at + 1', 'at + 2'), reached.replace('at + 1', 'at > 5 ? 5 : at + 1')]
  for (const text of others)
    expect(await bundleOf({ 'entry.ts': entry, 'reached.ts': text }), text).not.toBe(before)
})

test('the hash input includes the folds of capabilities and the event texts for the model', async () => {
  const bundle = await bundleFold()
  for (const part of [
    'saga.step_begin',
    'outcome.continuation',
    'The decision is pending',
    'expert.delegation',
  ])
    expect(bundle).toContain(part)
})
