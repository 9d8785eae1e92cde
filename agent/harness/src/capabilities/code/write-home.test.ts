import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeHome } from './write-home.ts'

/** Promise 11.8: A coding agent's home directory exposes no file of the service through links. */
test('writes no file outside the home through links that a process left in it', async () => {
  const root = mkdtempSync(join(tmpdir(), 'cairn-home-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const [home, outside] = [join(root, 'home'), join(root, 'outside')]
  for (const folder of [home, outside]) mkdirSync(folder)
  writeFileSync(join(outside, 'kept'), 'of the service')
  symlinkSync(outside, join(home, '.config'))
  symlinkSync(join(outside, 'kept'), join(home, '.gitconfig'))
  execFileSync('mkfifo', [join(home, 'pipe')])
  mkdirSync(join(home, 'folder/of/it'), { recursive: true })
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex/session'), 'its own')
  const files = { '.config/a.json': 'a', '.gitconfig': 'g', pipe: 'p', folder: 'f', '.codex/config': 'c' }
  await writeHome(home, files)
  expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('of the service')
  expect(() => readFileSync(join(outside, 'a.json'))).toThrow('ENOENT')
  expect(Object.keys(files).map(path => readFileSync(join(home, path), 'utf8'))).toEqual(Object.values(files))
  expect(readFileSync(join(home, '.codex/session'), 'utf8')).toBe('its own')
})
