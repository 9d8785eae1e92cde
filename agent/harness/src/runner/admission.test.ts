import { expect, test } from 'vitest'
import { createTurnAdmission } from './claims.ts'

/** `ask` requests entries; `entered` lists those admitted, each with the function that reports its start. */
function setUp(busy: boolean) {
  const timers = new Map<object, { ms: number; run: () => void }>()
  const state = { busy }
  const beginnings = createTurnAdmission({
    isBusy: () => state.busy,
    clock: {
      after(ms, run) {
        const timer = {}
        timers.set(timer, { ms, run })
        return () => void timers.delete(timer)
      },
    },
  })
  const entered: (() => void)[] = []
  return {
    state,
    entered,
    /** The callbacks of running timers with a duration. */
    timers: (ms: number) => [...timers.values()].filter(timer => timer.ms === ms).map(({ run }) => run),
    ask(count: number) {
      for (let left = count; left > 0; left--) void beginnings.enter().then(begun => entered.push(begun))
    },
  }
}
const settled = () => new Promise(resolve => setImmediate(resolve))

test('admits every turn at once while the event loop is free', async () => {
  const { ask, entered } = setUp(false)
  ask(100)
  await settled()
  expect(entered).toHaveLength(100)
})

test('a busy loop admits eight, and one more for each that has started, counted once', async () => {
  const { ask, entered, timers } = setUp(true)
  ask(11)
  await settled()
  expect(entered).toHaveLength(8)
  entered[0]?.()
  entered[0]?.()
  await settled()
  expect(entered).toHaveLength(9)
  expect(timers(250), 'one that has begun is not waited for').toHaveLength(8)
  entered[1]?.()
  entered[2]?.()
  await settled()
  expect(entered).toHaveLength(11)
})

test('does not wait for a turn that takes long to start', async () => {
  const { ask, entered, timers } = setUp(true)
  ask(9)
  await settled()
  timers(250)[0]?.()
  await settled()
  expect(entered).toHaveLength(9)
  expect(timers(800), 'it waits no more').toEqual([])
})

test('admits a turn that has waited for the maximum time', async () => {
  const { ask, entered, timers } = setUp(true)
  ask(10)
  await settled()
  timers(800)[0]?.()
  await settled()
  expect(entered).toHaveLength(9)
  entered[0]?.()
  entered[1]?.()
  await settled()
  expect(entered, 'each enters once').toHaveLength(10)
})

test('admits waiting turns before new ones, and all of them once the loop is free', async () => {
  const { ask, entered, state } = setUp(true)
  ask(20)
  await settled()
  state.busy = false
  ask(1)
  await settled()
  expect(entered, 'nobody overtakes').toHaveLength(8)
  entered[0]?.()
  await settled()
  expect(entered).toHaveLength(21)
})
