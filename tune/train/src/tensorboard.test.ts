import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { crc32c, openEventFile } from './tensorboard.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-events-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('checksums are CRC-32C', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
})

/** Lengths and checksums of records, checked as by TensorFlow's reader. */
function readRecords(bytes: Buffer): Buffer[] {
  const records: Buffer[] = []
  const unmask = (at: number) => {
    const sum = (bytes.readUInt32LE(at) - 0xa282ead8) >>> 0
    return ((sum >>> 17) | (sum << 15)) >>> 0
  }
  for (let at = 0; at < bytes.byteLength;) {
    const length = Number(bytes.readBigUInt64LE(at))
    expect(unmask(at + 8)).toBe(crc32c(bytes.subarray(at, at + 8)))
    const data = bytes.subarray(at + 12, at + 12 + length)
    expect(unmask(at + 12 + length)).toBe(crc32c(data))
    records.push(data)
    at += 16 + length
  }
  return records
}

test('an event file has a version, a start mark at the resumed step, and scalars by step', async () => {
  const file = await openEventFile(directory, 300)
  await file.write(301, { 'train/loss': 1.5, 'train/learning_rate': 2e-4 })
  const [name = ''] = readdirSync(join(directory, 'runs'))
  expect(name).toMatch(/^events\.out\.tfevents\.\d+\./)
  const [version, mark, scalars] = readRecords(readFileSync(join(directory, 'runs', name)))
  expect(version?.toString('latin1')).toContain('brain.Event:2')
  // After the time: step 301 (two bytes), then session_log { status: START }.
  expect([...(mark?.subarray(9) ?? [])]).toEqual([0x10, 0xad, 0x02, 0x3a, 0x02, 0x08, 0x01])
  const loss = Buffer.concat([
    Buffer.from([0x0a, 10]),
    Buffer.from('train/loss'),
    Buffer.from([0x15, 0, 0, 0xc0, 0x3f]),
  ])
  expect(scalars?.includes(loss)).toBe(true)
  expect(scalars?.subarray(9, 12)).toEqual(Buffer.from([0x10, 0xad, 0x02]))
})
