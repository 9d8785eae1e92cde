/**
 * A runner whose event loop is busy: turns start a few at a time, and titles are generated when it is free.
 */
import { mkdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { addMessage, createSession } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import { expect, test } from 'vitest'
import { alice, readLog, say, setStage, typesOf } from './stage.ts'

/**
 * Folders that are created when a test says so. `reach` resolves when `count` sessions have requested one.
 */
function heldFolders() {
  const asked = new Map<string, PromiseWithResolvers<void>>()
  let isOpen = false
  let onAsked = (): void => undefined
  return {
    asked: () => [...asked.keys()],
    open: (id: string) => asked.get(id)?.resolve(),
    openAll() {
      isOpen = true
      for (const { resolve } of asked.values()) resolve()
    },
    reach: (count: number) =>
      new Promise<void>(resolve => {
        onAsked = () => {
          if (asked.size >= count) resolve()
        }
        onAsked()
      }),
    async make(root: string, id: string): Promise<string> {
      const held = asked.get(id) ?? Promise.withResolvers<void>()
      asked.set(id, held)
      onAsked()
      if (!isOpen) await held.promise
      await mkdir(sessionFolder(root, id), { recursive: true })
      return sessionFolder(root, id)
    },
  }
}

test('eight turns start at once, and one more when one of them has called its model', async () => {
  const folders = heldFolders()
  await using stage = await setStage({
    scenario: { rules: [{ answer: say('hi') }] },
    limits: { concurrent_turns: 100 },
    isBusy: () => true,
    makeFolder: folders.make,
  })
  // With this clock no start times out.
  const clock = { now: Date.now, monotonic: () => performance.now(), after: () => () => undefined }
  const harness = stage.start({ clock })
  try {
    const ids: string[] = []
    for (let left = 10; left > 0; left--) {
      const { id } = await createSession(stage.deps, ['assistant'], { principal: alice, title: 'Titled' })
      await addMessage(stage.deps, { session_id: id, content: 'go', principal: alice })
      ids.push(id)
    }
    while (harness.active() < 10) await setImmediate()
    await folders.reach(8)
    await setImmediate()
    expect(folders.asked()).toHaveLength(8)
    const [first = ''] = folders.asked()
    folders.open(first)
    await folders.reach(9)
    expect(folders.asked()).toHaveLength(9)
    expect(typesOf(await readLog(stage.store, first))).toContain('llm.request')
    folders.openAll()
    await harness.idle()
    for (const id of ids) expect(typesOf(await readLog(stage.store, id)).at(-1)).toBe('session.complete')
  } finally {
    folders.openAll()
  }
})

test('requests a title only when the event loop is free', async () => {
  let looks = 0
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { system: 'You name conversations' }, answer: say('A border') },
        { answer: say('Yes.') },
      ],
    },
    isBusy: () => ++looks < 3,
  })
  const harness = stage.start()
  const { id } = await createSession(stage.deps, ['assistant'], { principal: alice })
  await addMessage(stage.deps, { session_id: id, content: 'Is it?', principal: alice })
  await harness.idle()
  expect(looks).toBe(3)
  expect((await stage.store.sessions.get(id))?.title).toBe('A border')
})
