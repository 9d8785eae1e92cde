import { expect, test } from 'vitest'
import type { StoredAdapter } from '@cairn-tune/weights'
import { createAdapterSlots, loadedOf } from './adapter-slots.ts'

const stored = { lora_rank: 1 } as StoredAdapter

test('an adapter that cannot be written fails only its own requests, and queued adapters get their slots', async () => {
  const broken = { ...stored }
  const free = [0]
  const slots = createAdapterSlots(
    {
      put: async adapter => {
        if (adapter === broken) throw new Error('cannot be written')
        return free.pop()
      },
      free: slot => void free.push(slot),
    },
    async () => undefined,
  )
  const [bad, good, other] = [broken, stored, stored].map((one, i) =>
    loadedOf(i, `${i}`, '', { stored: one, own: undefined }),
  )
  if (!bad || !good || !other) throw new Error('three adapters are needed')
  const outcomes = Promise.allSettled([bad, good, bad].map(slots.acquire))
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
  slots.release(good)
  await slots.acquire(other)
  expect([good.slot, other.slot]).toEqual([undefined, 0])
})

test('rejects a request for an adapter that was unloaded after its lookup', async () => {
  const slots = createAdapterSlots({ put: async () => 0, free: () => undefined }, async () => undefined)
  const adapter = loadedOf(0, 'guest', '', { stored, own: undefined })
  await slots.fillFreeSlot(adapter)
  await slots.drop(adapter)
  await expect(slots.acquire(adapter)).rejects.toThrow("The lora adapter 'guest' was unloaded")
})
