import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { unlessMissing } from './missing-file.ts'

const here = fileURLToPath(import.meta.url)

test('a file that is there is found, one that is not is null, below a file too', async () => {
  expect((await unlessMissing(stat(here)))?.isFile()).toBe(true)
  expect(await unlessMissing(stat(`${here}.none`))).toBeNull()
  expect(await unlessMissing(stat(`${here}/below`))).toBeNull()
})

test('any other failure is thrown as it came: it does not mean that the file is gone', async () => {
  await expect(unlessMissing(stat('x'.repeat(5000)))).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
  const broken = Object.assign(new Error('i/o error'), { code: 'EIO' })
  await expect(unlessMissing(Promise.reject(broken))).rejects.toBe(broken)
})
