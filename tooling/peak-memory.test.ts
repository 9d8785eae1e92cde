import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const child = `
  const { peakMemory } = await import('./peak-memory.ts')
  const before = peakMemory()
  const block = Buffer.alloc(200e6, 1)
  console.log(JSON.stringify({ before, after: peakMemory() - block.length }))
`
/** Runs the child from a process that has touched 600 MB. */
const parent = `
  import { spawnSync } from 'node:child_process'
  const block = Buffer.alloc(600e6, 1)
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', process.argv[1]])
  if (block.length > 0) process.stdout.write(stdout + stderr)
`

const status = '/proc/self/status'
const isKnown = existsSync(status) && readFileSync(status, 'utf8').includes('VmHWM')

test.runIf(isKnown)('the peak of a process does not contain that of the process that started it', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', parent, child], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  const { before, after } = JSON.parse(stdout) as { before: number; after: number }
  expect(before).toBeLessThan(300e6)
  expect(after).toBeGreaterThan(before - 50e6)
})
