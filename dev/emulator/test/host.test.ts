import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildEmulator } from '../src/index.ts'
import { openCard, ptxOf, readPtx, type Card } from './card.ts'

let card: Card
let folder: string
beforeAll(async () => {
  card = await openCard()
  folder = mkdtempSync(join(tmpdir(), 'cairn-host-'))
})
afterAll(() => {
  card[Symbol.dispose]()
  rmSync(folder, { recursive: true, force: true })
})

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The host's arguments for a launch of `kernel` without parameters. */
function words(ptx: string): string[] {
  const module = join(folder, 'module.ptx')
  writeFileSync(module, ptx)
  return [card.host, module, 'kernel', '1,1,1', '32,1,1', '0']
}

test('a program that uses dlopen finds a card only under `npm run dev -- emulated`', () => {
  const [host = '', ...args] = words(ptxOf('ret;', ''))
  const { LD_LIBRARY_PATH: _, ...env } = process.env
  const alone = spawnSync(host, args, { encoding: 'utf8', env: { ...env, LD_LIBRARY_PATH: folder } })
  const emulated = spawnSync(process.execPath, [main, host, ...args], { encoding: 'utf8', env })
  expect({ status: emulated.status, said: emulated.stdout }).toEqual({ status: 0, said: '' })
  // On a machine with a card, the real driver is found.
  expect(alone.stdout.trim() === 'no CUDA driver' || alone.status === 0).toBe(true)
})

test('`npm run dev -- emulated` exits with the status of its command', () => {
  const { status } = spawnSync(process.execPath, [main, 'sh', '-c', 'exit 7'])
  expect(status).toBe(7)
  expect(spawnSync(process.execPath, [main]).status).toBe(2)
})

test('rejects machine code and PTX for another card with an explanation', () => {
  const cubin = card.run({ ptx: '\u007fELF and so on', kernel: 'kernel', args: [] })
  expect(cubin.error).toBe('cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU')
  expect(cubin.message).toMatch(/runs PTX text; this image is a cubin/)
  const later = card.run({ ptx: readPtx('rows.ptx').replace('sm_80', 'sm_90'), kernel: 'rms_norm', args: [] })
  expect(later.message).toMatch(/the PTX is for sm_90, and this card has compute capability 8\.0/)
})

test('writes counts as JSON on request, the same each time', () => {
  const run = () =>
    card.run({
      ptx: readPtx('rows.ptx'),
      kernel: 'rms_norm',
      grid: [3],
      block: [128],
      args: [{ buffer: new Float32Array(768) }, { buffer: new Float32Array(768) }, { u32: 256 }],
    }).counts['rms_norm']
  const counts = run()
  expect(counts).toEqual(run())
  expect(counts).toMatchObject({ launches: 1, mma: 0 })
  // x is read twice and y written once; each row of 1024 bytes is a whole number of sectors.
  expect(counts?.['global_bytes']).toBe(3 * 768 * 4)
  expect(counts?.['global_sectors']).toBe((3 * 768 * 4) / 32)
})

test('writes the counts of each launch as a line on request', () => {
  const launches = join(folder, 'launches.jsonl')
  const run = () =>
    card.run({
      ptx: readPtx('rows.ptx'),
      kernel: 'rms_norm',
      grid: [3],
      block: [128],
      args: [{ buffer: new Float32Array(768) }, { buffer: new Float32Array(768) }, { u32: 256 }],
      env: { CAIRN_EMULATOR_LAUNCHES: launches },
    }).counts['rms_norm']
  const counts = [run(), run()]
  const lines = readFileSync(launches, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as unknown)
  expect(lines).toEqual(counts.map(({ launches: _, ...rest } = {}) => ({ kernel: 'rms_norm', ...rest })))
})

test('builds the library once and names a compiler that does not run', async () => {
  const library = await buildEmulator()
  expect(await buildEmulator()).toBe(library)
  expect(dirname(library)).toMatch(/cairn-tune\/[0-9a-f]{20}$/)
  await expect(buildEmulator({ compiler: 'no-such-compiler' })).rejects.toThrow(
    /no-such-compiler does not run/,
  )
})
