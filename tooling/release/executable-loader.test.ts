/** The loader of the executable, run by Node with assets from a variable instead of an executable. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const LOADER = fileURLToPath(new URL('executable-loader.cjs', import.meta.url))
const HASH = '0123456789abcdef0123'
const FILES: Record<string, string> = {
  'agent/main.mjs': "process.stdout.write(`agent ${process.argv.slice(2).join(' ')}`)",
  'agent/start.mjs': "process.stdout.write('acp')",
  'agent/text.sql': 'SELECT 1',
  'tune/main.mjs': "process.stdout.write(`tune ${process.argv.slice(2).join(' ')}`)",
}

/**
 * Replaces node:sea. KILL_AT names a file at which the process kills itself, SECOND_AT one at which a second
 * process starts and ends.
 */
const STUB = `
const { spawnSync } = require('node:child_process')
const Module = require('node:module')
const files = ${JSON.stringify(FILES)}
const list = Object.entries(files).map(([path, text]) => [path, text.length])
const sea = {
  getAsset: () => JSON.stringify({ hash: '${HASH}', files: list }),
  getRawAsset(path) {
    if (process.env.KILL_AT === path) process.kill(process.pid, 'SIGKILL')
    if (process.env.SECOND_AT === path) {
      const { SECOND_AT, ...env } = process.env
      const { stdout } = spawnSync(process.execPath, [...process.execArgv, process.argv[1], 'second'], { env })
      process.stdout.write(stdout + ', ')
    }
    return new TextEncoder().encode(files[path]).buffer
  },
}
const load = Module._load
Module._load = function (request, ...rest) {
  return request === 'node:sea' ? sea : load.call(this, request, ...rest)
}
`

let caches = ''
beforeEach(() => {
  caches = mkdtempSync(join(tmpdir(), 'cairn-loader-'))
  writeFileSync(join(caches, 'stub.cjs'), STUB)
})
afterEach(() => rmSync(caches, { recursive: true }))

const start = (args: string[] = [], env: Record<string, string> = {}, argv0 = 'cairn') =>
  spawnSync(process.execPath, ['-r', join(caches, 'stub.cjs'), LOADER, ...args], {
    argv0,
    env: { XDG_CACHE_HOME: caches, ...env },
    encoding: 'utf8',
    timeout: 60_000,
  })
const unpacked = (): string[] => readdirSync(join(caches, 'cairn')).filter(name => name !== 'compiled')

test('unpacks once and runs the command of the name or of the first argument', () => {
  expect(start(['serve', '--json']).stdout).toBe('agent serve --json')
  expect(unpacked()).toEqual([HASH])
  // A second unpacking would kill the process.
  const env = { KILL_AT: 'agent/main.mjs' }
  expect(start(['tune', 'train'], env).stdout).toBe('tune train')
  expect(start(['train'], env, 'cairn-tune').stdout).toBe('tune train')
  expect(start(['acp'], env).stdout).toBe('acp')
})

test('a process that is killed while it unpacks leaves no half folder, and the next start cleans up', () => {
  expect(start([], { KILL_AT: 'agent/text.sql' }).signal).toBe('SIGKILL')
  expect(unpacked()).toEqual([expect.stringMatching(new RegExp(`^${HASH}\\.unpacking-\\d+$`))])
  expect(start(['help']).stdout).toBe('agent help')
  expect(unpacked()).toEqual([HASH])
})

test('two processes that unpack at the same time both run, and leave one folder', () => {
  expect(start(['first'], { SECOND_AT: 'agent/text.sql' }).stdout).toBe('agent second, agent first')
  expect(unpacked()).toEqual([HASH])
})

test('unpacks again what a crash of the system has emptied', () => {
  start()
  writeFileSync(join(caches, 'cairn', HASH, 'agent/text.sql'), '')
  expect(start(['help']).stdout).toBe('agent help')
  expect(readFileSync(join(caches, 'cairn', HASH, 'agent/text.sql'), 'utf8')).toBe('SELECT 1')
})

test('runs its own module for a child process that has no variables', () => {
  start()
  const main = join(caches, 'cairn', HASH, 'agent/main.mjs')
  const child = start([main, 'job'], { XDG_CACHE_HOME: '/proc/none', KILL_AT: 'agent/main.mjs' })
  expect(child.stdout).toBe('agent job')
})

test('names the variable to set where the cache is not writable', () => {
  const { status, stderr } = start([], { XDG_CACHE_HOME: '/proc/none' })
  expect(status).toBe(1)
  expect(stderr).toMatch(/^cairn: cannot unpack the program to .+ \(ENOENT\): set XDG_CACHE_HOME/)
})
