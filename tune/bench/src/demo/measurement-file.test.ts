import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readOrMeasure } from './measurement-file.ts'

const schema = z.object({ right: z.number() })

function measurement() {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-keep-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'row.json')
  let measured = 0
  const run = (madeOf: unknown, { fresh = false, shape = schema } = {}) =>
    readOrMeasure({ path, madeOf, schema: shape, fresh }, async () => ({ right: ++measured }))
  return { path, run }
}

test('reads a measurement of the same inputs and repeats one of other inputs', async () => {
  const { run } = measurement()
  expect(await run({ seed: 1 })).toEqual({ right: 1 })
  expect(await run({ seed: 1 })).toEqual({ right: 1 })
  expect(await run({ seed: 2 })).toEqual({ right: 2 })
  expect(await run({ seed: 2 }, { fresh: true })).toEqual({ right: 3 })
})

test('repeats the measurement if the file is truncated or has another shape', async () => {
  const { path, run } = measurement()
  await run('a')
  truncateSync(path, 20)
  expect(await run('a')).toEqual({ right: 2 })
  const stricter = z.object({ right: z.number().min(3) })
  expect(await run('a', { shape: stricter })).toEqual({ right: 3 })
})

test('a failed measurement keeps the stored one', async () => {
  const { path, run } = measurement()
  await run('a')
  await expect(
    readOrMeasure({ path, madeOf: 'b', schema, fresh: false }, () => Promise.reject(new Error('no server'))),
  ).rejects.toThrow('no server')
  expect(await run('a')).toEqual({ right: 1 })
})
