/** Building the kernels: the cache, the error messages, and concurrent builds. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildAddon, type AddonParts } from '../src/build.ts'
import { compilerCandidates, findCompiler } from '../src/compiler.ts'
import { isasOf, readFeatures, runnableIsas } from '../src/isas.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-build-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A small addon with every x64 instruction set, on any processor. */
const parts: AddonParts = {
  name: 'small',
  title: 'a small addon',
  folders: ['core', 'generated'],
  files: ['cpu/amax.cc'],
  isas: isasOf('x64'),
}

// Replaces the compiler, so that these tests are fast.
function fakeCompiler(script: string) {
  const command = join(folder, 'fake-c++')
  writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { command, version: 'fake 1.0' }
}
const writesItsOutput = 'while [ "$1" != "-o" ]; do shift; done; echo ran >> "$0.log"; touch "$2"'
const runsOf = ({ command }: { command: string }) => readFileSync(`${command}.log`, 'utf8').length

test('without a compiler the error says what to install', () => {
  expect(() => findCompiler(['no-such-c++', 'no-such-g++'])).toThrow(
    /C\+\+20 compiler such as g\+\+, and none of these runs: no-such-c\+\+, no-such-g\+\+\. Install/,
  )
})

test('uses the compiler in CXX if it is set', () => {
  expect(compilerCandidates({ CXX: 'clang++-19' })).toEqual(['clang++-19'])
  expect(compilerCandidates({})).toEqual(['c++', 'g++', 'clang++'])
})

test('fails at once and names the cache if it cannot be created', async () => {
  await expect(
    buildAddon({ cacheDir: '/proc/cairn/cache', compiler: fakeCompiler('exit 1') }),
  ).rejects.toThrow('cannot create the folder of compiled kernels, /proc/cairn (ENOENT); set XDG_CACHE_HOME')
})

test("a failed compilation shows the compiler's output and leaves no files", async () => {
  const compiler = fakeCompiler('echo "kernel.cc:1: no such thing" >&2; exit 3')
  await expect(buildAddon({ parts, cacheDir: join(folder, 'cache'), compiler })).rejects.toThrow(
    /failed with status 3:[\s\S]*kernel\.cc:1: no such thing/,
  )
  expect(
    readdirSync(join(folder, 'cache'), { recursive: true }).filter(name =>
      /\.node|\.lock|build-/.test(String(name)),
    ),
  ).toEqual([])
})

test('skips an instruction set that the compiler does not support and builds the rest', async () => {
  const refusing = fakeCompiler(`case "$*" in *-mamx-tile*) exit 1;; esac; ${writesItsOutput}`)
  const said: string[] = []
  const addon = await buildAddon({
    parts,
    cacheDir: join(folder, 'cache'),
    compiler: refusing,
    log: line => said.push(line),
  })
  expect(readFileSync(addon, 'utf8')).toBe('')
  expect(said.join()).toMatch(/for portable, avx2, avx512, avx512bf16$/)
})

test('compiles only instruction sets that the processor can run, or all if its features are unknown', () => {
  const names = (features: readonly string[] | undefined) =>
    runnableIsas(isasOf('x64'), features && new Set(features)).map(({ name }) => name)
  const cpuinfo = join(folder, 'cpuinfo')
  writeFileSync(cpuinfo, 'model\t: some\nflags\t\t: fpu avx2 bmi2 fma\n\nflags\t\t: fpu\n')
  expect(names([...readFeatures(cpuinfo)!])).toEqual(['portable', 'avx2'])
  expect(names(['avx2', 'fma', 'bmi2', 'avx512f', 'avx512bw', 'avx512dq', 'avx512vl'])).toEqual([
    'portable',
    'avx2',
    'avx512',
  ])
  expect(names(['avx2', 'fma'])).toEqual(['portable'])
  expect(names(undefined)).toEqual(isasOf('x64').map(({ name }) => name))
  writeFileSync(cpuinfo, 'Features\t: fp asimd\n')
  expect(readFeatures(cpuinfo)).toBeUndefined()
  expect(readFeatures(join(folder, 'none'))).toBeUndefined()
})

test('with two concurrent builds, one compiles, the other logs that it waits, and later calls reuse the result', async () => {
  const compiler = fakeCompiler(`sleep 0.1; ${writesItsOutput}`)
  await buildAddon({ parts, cacheDir: join(folder, 'alone'), compiler })
  const alone = runsOf(compiler)
  const cacheDir = join(folder, 'shared')
  const said: string[] = []
  const log = (line: string) => said.push(line)
  const [first, second] = await Promise.all([
    buildAddon({ parts, cacheDir, compiler, log }),
    buildAddon({ parts, cacheDir, compiler, log }),
  ])
  expect(said.filter(line => line.startsWith('waiting for another process'))).toHaveLength(1)
  expect(second).toBe(first)
  expect(await buildAddon({ parts, cacheDir, compiler })).toBe(first)
  expect(runsOf(compiler)).toBe(2 * alone)
})

test('a lock left by a dead process does not block a build', async () => {
  const compiler = fakeCompiler(writesItsOutput)
  const addon = await buildAddon({ parts, cacheDir: folder, compiler })
  rmSync(addon)
  // No process has this id: it is above the maximum of any system.
  writeFileSync(`${addon}.lock`, '4194305')
  expect(await buildAddon({ parts, cacheDir: folder, compiler })).toBe(addon)
})
