import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const CHILD = fileURLToPath(new URL('search-when-nice.ts', import.meta.url))

// Only Linux has priorities of threads.
test.each(process.platform === 'linux' ? [1] : [])(
  'a service that was started with a nice value of %d indexes at a lower priority than its turns',
  nice => {
    const dir = mkdtempSync(join(tmpdir(), 'cairn-search-nice-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const text = execFileSync('nice', ['-n', String(nice), process.execPath, CHILD, dir], {
      encoding: 'utf8',
    })
    const { found, threads } = JSON.parse(text) as { found: number; threads: number[] }
    expect(found).toBe(1)
    const own = Math.min(19, getPriority() + nice)
    expect([Math.min(...threads), Math.max(...threads)]).toEqual([own, Math.min(19, own + 5)])
  },
)
