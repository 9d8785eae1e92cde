import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../test/tools/tool-context.ts'
import { restoreCheckpoint, saveCheckpoint } from './checkpoint.ts'

test('restores files with content and mode, and removes those that did not exist', async () => {
  const [store, workspace] = [makeFolder('checkpoints'), makeFolder('ws')]
  mkdirSync(join(workspace, 'sub'))
  writeFileSync(join(workspace, 'sub/run.sh'), 'old')
  chmodSync(join(workspace, 'sub/run.sh'), 0o755)
  const hash = await saveCheckpoint(store, workspace, ['sub/run.sh', 'new.txt'])
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  rmSync(join(workspace, 'sub'), { recursive: true })
  writeFileSync(join(workspace, 'new.txt'), 'new')
  for (let time = 0; time < 2; time += 1) {
    expect((await restoreCheckpoint(store, workspace, hash)).toSorted()).toEqual(['new.txt', 'sub/run.sh'])
    expect(readFileSync(join(workspace, 'sub/run.sh'), 'utf8')).toBe('old')
    expect(statSync(join(workspace, 'sub/run.sh')).mode & 0o777).toBe(0o755)
    expect(existsSync(join(workspace, 'new.txt'))).toBe(false)
  }
})

test('the same files in the same state have the same hash and are stored once', async () => {
  const [store, workspace] = [makeFolder('checkpoints'), makeFolder('ws')]
  writeFileSync(join(workspace, 'a'), 'x')
  const first = await saveCheckpoint(store, workspace, ['a'])
  const kept = readdirSync(store, { recursive: true }).length
  expect(await saveCheckpoint(store, workspace, ['./a'])).toBe(first)
  expect(readdirSync(store, { recursive: true }).length).toBe(kept)
  writeFileSync(join(workspace, 'a'), 'y')
  expect(await saveCheckpoint(store, workspace, ['a'])).not.toBe(first)
})

test('rejects an invalid hash and a damaged store', async () => {
  const [store, workspace] = [makeFolder('checkpoints'), makeFolder('ws')]
  await expect(restoreCheckpoint(store, workspace, '../../etc/passwd')).rejects.toThrow(
    'not the hash of a checkpoint',
  )
  writeFileSync(join(workspace, 'a'), 'x')
  const hash = await saveCheckpoint(store, workspace, ['a'])
  writeFileSync(join(store, hash.slice(0, 2), hash), '{}')
  await expect(restoreCheckpoint(store, workspace, hash)).rejects.toThrow('is damaged')
})
