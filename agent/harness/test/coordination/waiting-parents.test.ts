/** Parents that wait for workers hold no lease and no turn of a process. */
import { addMessage, createSession } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, call, readLog, say, setStage } from '../turn/stage.ts'
import { goal } from './tree-stage.ts'

const PARENTS = 200
const PLACES = 24
/** The turns that sessions without a parent leave to children. */
const CHILDREN = PLACES * 0.75

/** Promise 14.4: 200 waiting parents hold no lease and no turn of a process. */
test("200 waiting parents hold no lease and no turn, and another session's turn runs beside them", async () => {
  await using stage = await setStage({
    limits: { drain_s: 0, concurrent_turns: PLACES },
    scenario: {
      rules: [
        { when: goal('hold'), answer: call('hang', 'on') },
        { when: { user: 'quick' }, answer: say('Here you are.') },
        { answer: { tool_calls: [{ name: 'delegate_task', arguments: { goal: 'hold on' } }] } },
      ],
    },
  })
  const { deps, store } = stage
  const begin = async (content: string): Promise<string> => {
    const { id } = await createSession(deps, ['assistant'], { principal: alice, title: 'Titled' })
    await addMessage(deps, { session_id: id, content, principal: alice })
    return id
  }
  const parents = await Promise.all(Array.from({ length: PARENTS }, () => begin('share it out')))
  const harness = stage.start()
  const standing = async (): Promise<{ waiting: number; held: number }> => {
    const rows = await Promise.all(parents.map(id => store.sessions.get(id)))
    const isWaiting = rows.map(row => row !== null && row.cursor > 0 && row.cursor >= row.wake_id)
    return {
      waiting: isWaiting.filter(Boolean).length,
      held: rows.filter((row, at) => isWaiting[at] === true && row?.lease !== null).length,
    }
  }
  await expect.poll(standing, { interval: 100 }).toEqual({ waiting: PARENTS, held: 0 })
  // Their workers use the turns for children, up to the limit; the other workers are in the queue.
  await expect.poll(harness.active).toBe(CHILDREN)
  const open = await Promise.all(parents.map(id => store.links.children(id, { open: true })))
  expect(open.flat()).toHaveLength(PARENTS)
  await expect.poll(() => stage.ran.length).toBe(CHILDREN)

  const other = await begin('something quick')
  await expect.poll(async () => (await store.sessions.get(other))?.status).toBe('completed')
  expect((await readLog(store, other)).filter(event => event.type === 'harness.wake')).toHaveLength(1)
  expect(await standing()).toEqual({ waiting: PARENTS, held: 0 })
  await expect.poll(harness.active).toBe(CHILDREN)
})
