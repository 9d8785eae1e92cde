/** The engine: it works off the event loop, cancels between ops, and reports errors with names and shapes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { OP_NAMES, floatsOf, intsOf } from '@cairn-tune/ops'
import { createEngine, type FlatProgram } from '@cairn-tune/native'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

const ADD = OP_NAMES.indexOf('add')
const EMBED = OP_NAMES.indexOf('embed')

/** Computes y = a + a over `count` numbers `steps` times, all in bound buffers. */
const adding = (count: number, steps: number): FlatProgram => ({
  code: Int32Array.of(
    1,
    2,
    steps,
    0,
    1,
    count,
    0,
    1,
    count,
    ...Array.from({ length: steps }, () => [ADD, 0, 0, 1]).flat(),
  ),
  attrs: new Float64Array(),
  places: Float64Array.of(-1, -2),
})
const none = engine.allocate(0)
/** Host memory as buffers. */
const lent = (...views: ArrayBufferView[]) => views.map(view => engine.adopt(view))
/** Two buffers of a million numbers. */
const long = () => [engine.allocate(4 << 20), engine.allocate(4 << 20)]
const bad =
  (...code: number[]) =>
  () =>
    engine.compile({
      code: Int32Array.from(code),
      attrs: new Float64Array(),
      places: new Float64Array(Math.max(0, code[1] ?? 0)),
    })

test('runs a program on borrowed buffers', async () => {
  const [a, y] = [Float32Array.of(1, 2, 3), new Float32Array(3)]
  const report = await engine.run(engine.compile(adding(3, 1)), none, lent(a, y))
  expect(Array.from(y)).toEqual([2, 4, 6])
  expect(report.seconds.map(([op]) => op)).toEqual(['add'])
})

test("stores the program's own tensors in the arena at their offsets", async () => {
  const program = engine.compile({
    code: Int32Array.of(1, 3, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, ADD, 0, 0, 1, ADD, 1, 0, 2),
    attrs: new Float64Array(),
    places: Float64Array.of(-1, 64, -2),
  })
  const [a, y] = [Float32Array.of(1, 10), new Float32Array(2)]
  const arena = engine.allocate(128)
  await engine.run(program, arena, lent(a, y))
  expect(Array.from(y)).toEqual([3, 30])
  expect(Array.from(floatsOf(await engine.read(arena, 64, 72)))).toEqual([2, 20])
  await expect(engine.run(program, engine.allocate(64), lent(a, y))).rejects.toThrow(
    'the arena must have 72 bytes, got 64',
  )
})

test('rejects a missing or too small buffer before anything runs', async () => {
  const program = engine.compile(adding(3, 1))
  await expect(engine.run(program, none, lent(new Float32Array(3), new Float32Array(2)))).rejects.toThrow(
    'buffer 1 is f32 (3) and must have 12 bytes, got 8',
  )
  await expect(engine.run(program, none, lent(new Float32Array(3)))).rejects.toThrow(
    'the program takes 2 buffers, got 1',
  )
})

test.each([0, 1, 65, 4 << 20, (8 << 20) + 3])('allocates exactly %i bytes of zeroed memory', async bytes => {
  const buffer = engine.allocate(bytes)
  expect(buffer.byteLength).toBe(bytes)
  const memory = await engine.read(buffer)
  expect(memory).toHaveLength(bytes)
  expect(memory.every(byte => byte === 0)).toBe(true)
  engine.write(buffer, all => all.fill(7))
})

/** Promise T7: Only the engine accesses its memory, which callers read and write through it. */
test('writes, reads and clears parts of a buffer', async () => {
  const buffer = engine.allocate(16)
  engine.write(buffer, Int32Array.of(1, 2), 4)
  engine.write(buffer, memory => memory.set([9]), 12)
  expect(Array.from(intsOf(await engine.read(buffer)))).toEqual([0, 1, 2, 9])
  engine.clear(buffer, 4, 8)
  expect(Array.from(intsOf(await engine.read(buffer, 4, 12)))).toEqual([0, 2])
  engine.clear(buffer)
  expect(Array.from(await engine.read(buffer))).toEqual(Array.from({ length: 16 }, () => 0))
  expect(() => engine.write(buffer, new Uint8Array(9), 8)).toThrow(RangeError)
})

test('adopts host memory without a copy', async () => {
  const host = Float32Array.of(1, 2)
  const buffer = engine.adopt(host)
  host[1] = 5
  expect(Array.from(floatsOf(await engine.read(buffer)))).toEqual([1, 5])
})

test('rejects a damaged program', () => {
  expect(bad(2, 0, 0)).toThrow('written for another version')
  expect(bad(1, 0, 1, 999)).toThrow('no op has the number 999')
  expect(bad(1, 0, 1, ADD, 0, 0, 0)).toThrow('a step reads a tensor that does not exist')
  expect(bad(1, 0, 1)).toThrow('ends in the middle of a step')
  expect(bad(1, 1, 0, 77, 1, 1)).toThrow('no dtype has the number 77')
})

test('an error of a kernel names the op and its tensors', async () => {
  const program = engine.compile({
    code: Int32Array.of(1, 3, 1, 0, 2, 4, 2, 2, 1, 3, 0, 2, 3, 2, EMBED, 0, 1, 2),
    attrs: Float64Array.of(0, 0),
    places: Float64Array.of(-1, -2, -3),
  })
  await expect(
    engine.run(program, none, lent(new Float32Array(8), Int32Array.of(0, 1, 9), new Float32Array(6))),
  ).rejects.toThrow('[embed] an id lies outside the table; table: f32 (4, 2), ids: i32 (3)')
})

test('an abort stops a long run early and rejects with the reason', async () => {
  const steps = 20_000
  const program = engine.compile(adding(1 << 20, steps))
  const buffers = long()
  const stop = new AbortController()
  const running = engine.run(program, none, buffers, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
  await expect(engine.run(program, none, buffers, { signal: stop.signal })).rejects.toThrow('enough')
})

test('the event loop keeps turning during a run', async () => {
  const program = engine.compile(adding(1 << 20, 300))
  let turns = 0
  let isDone = false
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await engine.run(program, none, long())
  isDone = true
  expect(turns).toBeGreaterThan(20)
})

test('closing an engine cancels its run and rejects later ones', async () => {
  const other = await createEngine({ threads: 2 })
  const program = other.compile(adding(1 << 20, 20_000))
  const running = other.run(program, none, long())
  other.close()
  await expect(running).rejects.toThrow('The engine was closed during a run')
  await expect(other.run(program, none, long())).rejects.toThrow('the engine is closed')
})

test('rejects an unknown instruction set and an invalid number of threads', async () => {
  await expect(createEngine({ isa: 'mmx' })).rejects.toThrow('this CPU has no kernels for mmx')
  await expect(createEngine({ threads: 0 })).rejects.toThrow('threads must be between 1 and 1024, got 0')
})

test('a process that never closes its engine can exit, even during a run', async () => {
  const index = fileURLToPath(new URL('../src/index.ts', import.meta.url))
  const script = `
    const { createEngine } = await import(${JSON.stringify(index)})
    const engine = await createEngine({ threads: 3 })
    const steps = 20000
    const adds = Array.from({ length: steps }, () => [${ADD}, 0, 0, 1]).flat()
    const code = Int32Array.of(1, 2, steps, 0, 1, 1048576, 0, 1, 1048576, ...adds)
    const program = engine.compile({ code, attrs: new Float64Array(), places: Float64Array.of(-1, -2) })
    const buffers = [engine.allocate(4194304), engine.allocate(4194304)]
    engine.run(program, engine.allocate(0), buffers).catch(() => undefined)
    console.log('ends')
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const hangs = new AbortController()
  const ended = once(child, 'exit').finally(() => hangs.abort())
  // If it hangs, the states of its threads explain more than a timeout.
  const threads = delay(100_000, undefined, { signal: hangs.signal }).then(
    () => threadsOf(child.pid!),
    () => [],
  )
  const said = text(child.stdout)
  expect(await Promise.race([ended, threads])).toEqual([0, null])
  expect(await said).toBe('ends\n')
})

/** Each thread of a process with its state and the kernel function that it waits in. Linux only. */
function threadsOf(pid: number): string[] {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).map(id =>
    ['comm', 'stat', 'wchan', 'syscall']
      .map(name => {
        try {
          return readFileSync(`${tasks}/${id}/${name}`, 'utf8').trim()
        } catch (error) {
          return String(error)
        }
      })
      .join(' | '),
  )
}
