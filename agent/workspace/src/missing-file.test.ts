import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { unlessMissing } from './missing-file.ts'

const here = fileURLToPath(import.meta.url)

test('returns the result for an existing file, and null for a missing one or a path below a file', async () => {
  expect((await unlessMissing(stat(here)))?.isFile()).toBe(true)
  expect(await unlessMissing(stat(`${here}.none`))).toBeNull()
  expect(await unlessMissing(stat(`${here}/below`))).toBeNull()
})

test('rethrows any other error: it does not mean that the file is missing', async () => {
  await expect(unlessMissing(stat('x'.repeat(5000)))).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
  const broken = Object.assign(new Error('i/o error'), { code: 'EIO' })
  await expect(unlessMissing(Promise.reject(broken))).rejects.toBe(broken)
})
