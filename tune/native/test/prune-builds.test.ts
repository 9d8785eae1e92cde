/** Which earlier builds a new build keeps. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildAddon } from '../src/build.ts'
import { markUsed, pruneBuilds } from '../src/prune-builds.ts'

let cacheDir = ''
beforeEach(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'cairn-prune-'))
})
afterEach(() => rmSync(cacheDir, { recursive: true, force: true }))

const now = Date.now()
const hours = (count: number) => new Date(now - count * 3_600_000)
const nameOf = (i: number) => i.toString(16).padStart(20, '0')

/** A build that was last used `hoursAgo`; without an addon it was interrupted. */
function addBuild(i: number, hoursAgo: number, hasAddon = true): string {
  const folder = join(cacheDir, nameOf(i))
  mkdirSync(folder)
  const addon = join(folder, 'cairn_tune.node')
  if (hasAddon) {
    writeFileSync(addon, '')
    utimesSync(addon, hours(hoursAgo), hours(hoursAgo))
  }
  utimesSync(folder, hours(hoursAgo), hours(hoursAgo))
  return addon
}
const left = () => readdirSync(cacheDir).toSorted()

test('keeps the newest builds and those used within a day, and removes the others', () => {
  for (const [i, hoursAgo] of [1, 23, 25, 26, 27, 500].entries()) addBuild(i, hoursAgo)
  expect(pruneBuilds({ cacheDir, now, keep: 3 })).toEqual([nameOf(3), nameOf(4), nameOf(5)])
  expect(left()).toEqual([0, 1, 2].map(nameOf))
  expect(pruneBuilds({ cacheDir, now, keep: 1 })).toEqual([nameOf(2)])
  expect(left()).toEqual([0, 1].map(nameOf))
})

test('using an old build makes it count as new', () => {
  const used = addBuild(0, 900)
  for (let i = 1; i <= 4; i++) addBuild(i, 100 + i)
  expect(markUsed(used)).toBe(true)
  expect(pruneBuilds({ cacheDir, now, keep: 2 })).toEqual([nameOf(2), nameOf(3), nameOf(4)])
  expect(existsSync(used)).toBe(true)
})

test('removes the remains of killed builds and interrupted removals, and nothing else', () => {
  addBuild(0, 1)
  addBuild(1, 50, false)
  addBuild(2, 1, false)
  mkdirSync(join(cacheDir, `${nameOf(3)}.removed-7`, 'objects'), { recursive: true })
  for (const other of ['tokens', 'demo-base-0123456789ab']) {
    mkdirSync(join(cacheDir, other))
    utimesSync(join(cacheDir, other), hours(900), hours(900))
  }
  pruneBuilds({ cacheDir, now, keep: 0 })
  expect(left()).toEqual([nameOf(0), nameOf(2), 'demo-base-0123456789ab', 'tokens'])
})

test('a new build removes old ones; a cached one is marked as used and removes nothing', async () => {
  const command = join(cacheDir, 'fake-c++')
  writeFileSync(command, '#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done; touch "$2"\n', { mode: 0o755 })
  const compiler = { command, version: 'fake 1.0' }
  for (let i = 0; i < 6; i++) addBuild(i, 100 + i)
  const addon = await buildAddon({ cacheDir, compiler })
  expect(left().filter(name => name.length === 20)).toHaveLength(4)
  addBuild(9, 900)
  utimesSync(addon, hours(900), hours(900))
  expect(await buildAddon({ cacheDir, compiler })).toBe(addon)
  expect(statSync(addon).mtimeMs).toBeGreaterThan(now - 1000)
  expect(left()).toContain(nameOf(9))
})

test('does not mark a missing build as used', () => {
  expect(markUsed(join(cacheDir, nameOf(0), 'cairn_tune.node'))).toBe(false)
})
