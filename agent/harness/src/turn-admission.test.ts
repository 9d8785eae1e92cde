import { expect, test } from 'vitest'
import { createTurnAdmission } from './turn-admission.ts'

/** `ask` lets one more enter; `entered` are those that have, each with what it says when it has begun. */
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
    /** Those that run, by how long they take. */
    timers: (ms: number) => [...timers.values()].filter(timer => timer.ms === ms).map(({ run }) => run),
    ask(count: number) {
      for (let left = count; left > 0; left--) void beginnings.enter().then(begun => entered.push(begun))
    },
  }
}
const settled = () => new Promise(resolve => setImmediate(resolve))

test('with time to spare everyone begins at once', async () => {
  const { ask, entered } = setUp(false)
  ask(100)
  await settled()
  expect(entered).toHaveLength(100)
})

test('without, eight begin, and the next when one of them has begun, each once', async () => {
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

test('one that takes long is not waited for', async () => {
  const { ask, entered, timers } = setUp(true)
  ask(9)
  await settled()
  timers(250)[0]?.()
  await settled()
  expect(entered).toHaveLength(9)
  expect(timers(800), 'it waits no more').toEqual([])
})

test('nobody waits for ever', async () => {
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

test('those that wait go before those that come, and all go as soon as there is time', async () => {
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
