/** A worker whose process has no time to spare: turns begin a few at a time, titles come when there is time. */
import { sessionFolder } from '@cairn/workspace'
import { mkdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { addMessage, createSession } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, readLog, say, setStage, typesOf } from './stage.ts'

test('eight turns begin at once, and another one when one of them has asked its model', async () => {
  const folders = new Map<string, PromiseWithResolvers<void>>()
  const folderOf = (id: string) => folders.get(id) ?? Promise.withResolvers<void>()
  const grown = Promise.withResolvers<void>()
  let onGrown = grown.resolve
  await using stage = await setStage({
    scenario: { rules: [{ answer: say('hi') }] },
    limits: { concurrent_turns: 100 },
    isBusy: () => true,
    async makeFolder(root, sessionId) {
      const made = folderOf(sessionId)
      if (!folders.has(sessionId)) {
        folders.set(sessionId, made)
        if (folders.size >= 8) onGrown()
      }
      await made.promise
      await mkdir(sessionFolder(root, sessionId), { recursive: true })
      return sessionFolder(root, sessionId)
    },
  })
  const clock = { now: Date.now, monotonic: () => performance.now(), after: () => () => undefined }
  const harness = stage.start({ clock })
  const ids: string[] = []
  for (let left = 10; left > 0; left--) {
    const { id } = await createSession(stage.deps, ['assistant'], { principal: alice, title: 'Titled' })
    await addMessage(stage.deps, { session_id: id, content: 'go', principal: alice })
    ids.push(id)
  }
  await grown.promise
  expect([...folders.keys()]).toHaveLength(8)
  const next = Promise.withResolvers<void>()
  onGrown = next.resolve
  const [first = ''] = folders.keys()
  folderOf(first).resolve()
  await next.promise
  expect([...folders.keys()]).toHaveLength(9)
  expect(typesOf(await readLog(stage.store, first))).toContain('llm.request')
  onGrown = () => undefined
  const free = setInterval(() => {
    for (const id of ids) folderOf(id).resolve()
  }, 1)
  await harness.idle()
  clearInterval(free)
  for (const id of ids) expect(typesOf(await readLog(stage.store, id)).at(-1)).toBe('session.complete')
})

test('a title is asked for when the process has time to spare', async () => {
  let busy = true
  await using stage = await setStage({
    scenario: {
      rules: [
        { when: { system: 'You name conversations' }, answer: say('A border') },
        { answer: say('Yes.') },
      ],
    },
    isBusy: () => busy,
  })
  const harness = stage.start()
  const { id } = await createSession(stage.deps, ['assistant'], { principal: alice })
  await addMessage(stage.deps, { session_id: id, content: 'Is it?', principal: alice })
  while ((await stage.store.getSession(id))?.status !== 'completed') await setImmediate()
  expect(stage.server.requests).toHaveLength(1)
  busy = false
  await harness.idle()
  expect((await stage.store.getSession(id))?.title).toBe('A border')
  expect(stage.server.requests).toHaveLength(2)
})
