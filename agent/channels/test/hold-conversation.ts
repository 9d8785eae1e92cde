/**
 * The conversation that every platform must support: the disclosure first, a question, an approval and a
 * stop. The platform's own software shows what arrived.
 */
import { randomUUID } from 'node:crypto'
import { createLinkCode, createGateItem, createQuestionItem } from '@cairn/sessions'
import { expect } from 'vitest'
import { type Bench, logOf, ORG, sessionsOf } from './bench.ts'
import { response } from './worker.ts'

export type Driver = {
  /** Sends a text of the person in their direct conversation. */
  say(text: string): Promise<void>
  /** Clicks a button of the newest message that has it. */
  press(label: string): Promise<void>
  /** Another person clicks it; null: the conversation has no other person. */
  pressAsStranger: ((label: string) => Promise<void>) | null
  /** Every text of ours that the person sees, in order. */
  shown(): Promise<string[]>
}

const CANARY = 'canary-that-nobody-may-see'

export async function holdConversation({ store, users }: Bench, driver: Driver): Promise<void> {
  const { say, press, shown } = driver
  const last = async (): Promise<string> => (await shown()).at(-1) ?? ''
  const sessions = async (): Promise<string[]> => (await sessionsOf(store)).map(({ id }) => id)
  const lastType = async (id: string): Promise<string | undefined> => (await logOf(store, id)).at(-1)?.type
  /** A session that did not exist before. */
  async function sessionAfter(before: readonly string[]): Promise<string> {
    await expect.poll(sessions).toHaveLength(before.length + 1)
    return (await sessions()).find(id => !before.includes(id)) ?? ''
  }

  await say('hello')
  const first = await sessionAfter([])
  await store.commit({ session_id: first, events: [response('hi **there**')] })
  await expect.poll(last).toContain('hi **there**')
  const texts = await shown()
  expect(texts[0]).toContain('an AI system run by Example Ltd')
  expect(texts).toHaveLength(2)

  const question = createQuestionItem(
    { newId: randomUUID },
    {
      tool_call_id: 'call_1',
      questions: [{ prompt: 'Which?', choices: [{ label: 'Red' }, { label: 'Blue' }] }],
    },
  )
  await store.commit({ session_id: first, events: [question.event] })
  await expect.poll(last).toContain('Which?')
  await press('Blue')
  await expect.poll(async () => lastType(first)).toBe('ask_user_question.response')
  expect((await logOf(store, first)).at(-1)?.data).toMatchObject({
    responses: [{ question: 'Which?', answer: 'Blue' }],
  })

  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.ann })
  await say(`/link ${code}`)
  await expect.poll(last).toContain('This account is now linked to ann.')
  await say('run it')
  const second = await sessionAfter([first])
  const gate = createGateItem(
    { newId: randomUUID },
    {
      tool_name: 'terminal',
      tool_call_id: 'call_2',
      arguments: { command: 'ls' },
      arguments_excerpt: '{"command":"ls"}',
      deny_reason: 'needs approval',
      policy_id: CANARY,
      arguments_hash: CANARY,
    },
  )
  await store.commit({ session_id: second, events: [gate.event] })
  await expect.poll(last).toContain('terminal')
  if (driver.pressAsStranger !== null) {
    await driver.pressAsStranger('Approve')
    expect(await store.grants.find(second, 'terminal', CANARY)).toBeNull()
  }
  await press('Approve')
  await expect.poll(() => store.grants.find(second, 'terminal', CANARY)).not.toBeNull()

  await say('go on')
  await expect.poll(() => store.leases.claim('w', 10, 60_000)).not.toEqual([])
  await say('/stop')
  await expect.poll(last).toContain('Stopped.')
  expect((await store.sessions.get(second))?.status).toBe('active')
  expect((await shown()).join('\n')).not.toContain(CANARY)
}
