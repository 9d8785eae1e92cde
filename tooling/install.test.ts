/** The output of the first `npm start`: the progress of the installation. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
// @ts-expect-error Plain JavaScript, so that an old Node can run it.
import { ensureInstalled, packagePaths } from './install.mjs'

const LOCK = JSON.stringify({
  packages: {
    '': {},
    'node_modules/one': { version: '1.0.0' },
    'node_modules/two': { version: '1.0.0' },
    'node_modules/elsewhere': { version: '1.0.0', optional: true, os: ['plan9'] },
    'node_modules/other-chip': { version: '1.0.0', optional: true, cpu: ['pdp11'] },
    'node_modules/@own/part': { link: true, resolved: 'part' },
    part: {},
  },
})

/** Simulates npm: installs one package, and the rest once the test has seen that progress. */
const NPM = `
const { existsSync, mkdirSync, writeFileSync } = require('node:fs')
const put = name => {
  mkdirSync('node_modules/' + name, { recursive: true })
  writeFileSync('node_modules/' + name + '/package.json', '{}')
}
put('one')
const timer = setInterval(() => {
  if (!existsSync('seen')) return
  clearInterval(timer)
  put('two')
  writeFileSync('node_modules/.package-lock.json', '{"packages":{}}')
}, 10)`

test('counts only the packages for this machine', () => {
  expect(packagePaths(LOCK, { platform: 'linux', arch: 'x64' })).toEqual([
    'node_modules/one',
    'node_modules/two',
  ])
})

test('reports the number of installed packages during an installation, and installs once', async () => {
  const root = mkdtempSync(join(tmpdir(), 'cairn-install-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  writeFileSync(join(root, 'package-lock.json'), LOCK)
  mkdirSync(join(root, 'node_modules'))
  writeFileSync(join(root, 'npm.js'), NPM)
  vi.stubEnv('npm_execpath', join(root, 'npm.js'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const lines: string[] = []
  const log = (line: string): void => {
    lines.push(line)
    if (line.includes('1 of 2 packages')) writeFileSync(join(root, 'seen'), '')
  }
  await ensureInstalled({ root, log, everyMs: 5 })
  expect(lines[0]).toContain('Installing 2 packages')
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}1 of 2 packages, \d+ s$/))
  expect(lines.at(-1)).toMatch(/^ {2}installed in \d+ s$/)

  lines.length = 0
  await ensureInstalled({ root, log, everyMs: 5 })
  expect(lines).toEqual([])
  expect(readFileSync(join(root, 'node_modules/.cairn-lock'), 'utf8')).toMatch(/^[0-9a-f]{64}$/)
})
