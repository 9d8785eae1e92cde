/**
 * TensorBoard event files: records of protocol buffers, of which a scalar needs five fields. A resumed run
 * writes a new file, whose first event makes TensorBoard discard the repeated steps.
 */
import { appendFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { makeDirectory, withPath } from '@cairn-tune/weights'

/** CRC-32C, bit-reflected. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  return crc
})

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffff_ffff) >>> 0
}

/** TensorFlow masks the checksums of records, because records may contain checksums. */
function maskedSum(bytes: Uint8Array): Buffer {
  const crc = crc32c(bytes)
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
  return sum
}

function record(data: Buffer): Buffer {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(data.byteLength))
  return Buffer.concat([length, maskedSum(length), data, maskedSum(data)])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt(value)
  do {
    const more = rest > 127n
    bytes.push(Number(rest & 127n) | (more ? 128 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Buffer.from(bytes)
}

const WIRE = { varint: 0, double: 1, bytes: 2, float: 5 } as const
const field = (number: number, wire: keyof typeof WIRE, data: Buffer) =>
  Buffer.concat([
    varint((number << 3) | WIRE[wire]),
    ...(wire === 'bytes' ? [varint(data.byteLength)] : []),
    data,
  ])
const text = (value: string) => Buffer.from(value)

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

/** Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7. */
const event = (step: number, content: Buffer): Buffer =>
  record(
    Buffer.concat([field(1, 'double', double(Date.now() / 1000)), field(2, 'varint', varint(step)), content]),
  )

/** SessionLog: status = 1, of which 1 is START. */
const START = field(7, 'bytes', field(1, 'varint', varint(1)))

/** Summary: value = 1, with tag = 1 and simple_value = 2. */
function summary(scalars: Readonly<Record<string, number>>): Buffer {
  const values = Object.entries(scalars).map(([tag, value]) =>
    field(1, 'bytes', Buffer.concat([field(1, 'bytes', text(tag)), field(2, 'float', float(value))])),
  )
  return field(5, 'bytes', Buffer.concat(values))
}

export type EventFile = { write(step: number, scalars: Readonly<Record<string, number>>): Promise<void> }

/** Opens the event file of a run that starts or resumes after a step. */
export async function openEventFile(outputDir: string, lastStep: number): Promise<EventFile> {
  const folder = join(outputDir, 'runs')
  await makeDirectory(folder, 'output_dir')
  const path = join(
    folder,
    `events.out.tfevents.${Math.floor(Date.now() / 1000)}.${hostname()}.${process.pid}`,
  )
  const append = (bytes: Buffer) =>
    appendFile(path, bytes).catch((error: unknown) => {
      throw withPath(path, error)
    })
  await append(event(0, field(3, 'bytes', text('brain.Event:2'))))
  if (lastStep > 0) await append(event(lastStep + 1, START))
  return { write: (step, scalars) => append(event(step, summary(scalars))) }
}
