/**
 * A workspace with a trap in it: names that change places with links to a folder outside, where files of the
 * same names lie. Whatever of the outside is read, listed or changed shows.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SwapperOptions } from './swapper.ts'

export type Trap = {
  /** Holds the workspace and the outside. */
  base: string
  workspace: string
  pairs: SwapperOptions['pairs']
  /** Whether an answer tells of the outside: a content, a name or a size that only it has. */
  leaks(answer: unknown): boolean
  /** What is no longer as it was outside; null: nothing. */
  damage(): string | null
  [Symbol.dispose](): void
}

/** The size of a file outside; no file inside has it. */
const CANARY_BYTES = 98_765
/** As a number of its own: the digits alone stand in some random id, once in tens of thousands. */
const SIZE = /\b98765\b/
const INSIDE = 'needle: harmless\n'

/** `workspace` is where it shall lie below `base`; it may hold files already. */
export function setTrap(base?: string, workspace?: string): Trap {
  const at = realpathSync(base ?? mkdtempSync(join(tmpdir(), 'cairn-trap-')))
  const inside = workspace ?? join(at, 'workspaces', 'victim')
  const outside = join(at, 'outside')
  const canary = `canary-${randomUUID()}`
  const content = `needle: ${canary}\n`.padEnd(CANARY_BYTES, '.')
  for (const folder of ['d/sub', 'deep/a/b/sub', '.cairn/results', '.cairn/skills/tool'])
    mkdirSync(join(inside, folder), { recursive: true })
  for (const name of ['d/key.txt', 'd/sub/x.txt', 'deep/a/b/key.txt', 'deep/a/b/sub/x.txt', 'f.txt'])
    writeFileSync(join(inside, name), INSIDE)
  for (const folder of ['sub', 'b/sub']) mkdirSync(join(outside, folder), { recursive: true })
  for (const name of ['key.txt', 'sub/x.txt', 'b/key.txt', `${canary}.txt`, 'only-outside.png', 'doomed.txt'])
    writeFileSync(join(outside, name), content)
  symlinkSync('../../outside', join(inside, 'd-link'))
  symlinkSync(outside, join(inside, 'deep/a/b-link'))
  symlinkSync('../../outside/key.txt', join(inside, 'f-link'))
  symlinkSync(outside, join(inside, 'results-link'))
  symlinkSync(outside, join(inside, 'skill-link'))
  const fingerprint = (): string =>
    readdirSync(outside, { recursive: true, withFileTypes: true })
      .map(entry => {
        const path = join(entry.parentPath, entry.name)
        return (
          `${path} ` +
          `${entry.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''}`
        )
      })
      .toSorted()
      .join('\n')
  const before = fingerprint()
  return {
    base: at,
    workspace: inside,
    pairs: [
      ['d', 'd-link'],
      ['deep/a/b', 'deep/a/b-link'],
      ['f.txt', 'f-link'],
      ['.cairn/results', 'results-link'],
      ['.cairn/skills/tool', 'skill-link'],
    ],
    leaks(answer) {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
      return text.includes(canary) || SIZE.test(text)
    },
    damage() {
      const now = fingerprint()
      return now === before ? null : `before:\n${before}\nnow:\n${now}`
    },
    [Symbol.dispose]: () => rmSync(at, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/**
 * Does each of `acts` over and over, all at the same time, until the time is over and there were enough
 * tries. An act that is refused was tried; what it says is judged too.
 */
export async function keepTrying(
  trap: Trap,
  acts: Readonly<Record<string, (nth: number) => Promise<unknown>>>,
  { ms, tries }: { ms: number; tries: number },
): Promise<{ tried: number; refused: number; leaks: string[] }> {
  const leaks: string[] = []
  let tried = 0
  let refused = 0
  const end = performance.now() + ms
  await Promise.all(
    Object.entries(acts).map(async ([name, act]) => {
      for (let nth = 0; performance.now() < end || tried < tries; nth += 1) {
        tried += 1
        const answer = await act(nth).catch((error: unknown) => {
          refused += 1
          return error instanceof Error ? error.message : String(error)
        })
        if (trap.leaks(answer ?? '')) leaks.push(`${name} #${nth}: ${JSON.stringify(answer).slice(0, 300)}`)
      }
    }),
  )
  return { tried, leaks, refused }
}
