/** `cairn acp` driven by a third-party client. The protocol's own schema validates every frame. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { greeted, transcript } from './acp-client.ts'
import { makePlace } from './server.ts'

const write = { name: 'write_file', arguments: { path: 'made.txt', content: 'made here' } }
const scenario = {
  name: 'editor',
  rules: [
    { when: { tools_disabled: true }, answer: { text: 'A title' } },
    {
      when: { user: 'write it' },
      steps: [{ text: 'I write it. ', tool_calls: [write] }, { text: 'It waits.' }],
    },
    {
      when: { user: 'approved the call' },
      steps: [{ tool_calls: [write] }, { text: 'It is written.' }],
    },
    {
      when: { user: 'ask me' },
      steps: [
        {
          tool_calls: [
            {
              name: 'ask_user_question',
              arguments: {
                questions: [{ prompt: 'Which?', choices: [{ label: 'red' }, { label: 'blue' }] }],
              },
            },
          ],
        },
        { text: 'So be it: {{result.responses.0.answer}}.' },
      ],
    },
    { when: { user: 'take long' }, answer: { text: 'word '.repeat(4000), pace_ms: 50, chunk_chars: 5 } },
    { answer: { text: 'Hello from the service.', reasoning: 'thinking of a greeting' } },
  ],
}

const gated = { agents: { assistant: { governance: { require_approval: ['write_file'] } } } }

function folder(dir: string): string {
  const cwd = join(dir, 'project')
  mkdirSync(cwd)
  return cwd
}

/** Promise 7: An editor can control Cairn over ACP, and every frame matches the protocol's schema. */
test('an editor can prompt, approve, fill in a form, cancel, list, load and resume, and every frame is valid', async () => {
  const place = makePlace({ scenario, config: gated })
  const cwd = folder(place.dir)
  const asked: string[] = []
  const answers = {
    permission: (request: { toolCall: { title?: string | null } }) => {
      asked.push(request.toolCall.title ?? '')
      return Promise.resolve({ outcome: { outcome: 'selected' as const, optionId: 'approve' } })
    },
    form: () => Promise.resolve({ q0: 'blue' }),
  }
  const one = await greeted(place.env, answers)
  const { agent } = one.connection
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const prompt = (text: string) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })

  expect((await prompt('hello')).stopReason).toBe('end_turn')
  expect(transcript(one.updates)).toBe('Hello from the service.')
  expect((await prompt('write it')).stopReason).toBe('end_turn')
  expect(asked).toEqual(['write_file: made.txt'])
  expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('made here')
  expect((await prompt('ask me')).stopReason).toBe('end_turn')
  expect(transcript(one.updates)).toContain('So be it: blue.')
  const long = prompt('take long')
  await expect.poll(() => transcript(one.updates)).toContain('word word')
  await agent.notify(methods.agent.session.cancel, { sessionId })
  expect((await long).stopReason).toBe('cancelled')
  const kinds = new Set(one.updates.map(({ update }) => update.sessionUpdate))
  for (const kind of ['agent_thought_chunk', 'tool_call', 'tool_call_update', 'usage_update'])
    expect([...kinds]).toContain(kind)
  const { sessions } = await agent.request(methods.agent.session.list, { cwd })
  expect(sessions.map(session => session.sessionId)).toEqual([sessionId])
  await agent.request(methods.agent.session.close, { sessionId })
  expect(one.judge.violations).toEqual([])
  expect(await one.end()).toBe(0)

  const two = await greeted(place.env, answers)
  await two.connection.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  const said = (all: typeof one.updates) => transcript(all).split('word')[0]
  expect(said(two.updates)).toBe(said(one.updates))
  await two.connection.agent.request(methods.agent.session.resume, { sessionId, cwd })
  const again = await two.connection.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'hello again' }],
  })
  expect(again.stopReason).toBe('end_turn')
  expect(two.judge.violations).toEqual([])
  expect(two.judge.counts.agent + one.judge.counts.agent).toBeGreaterThan(20)
  expect(await two.end()).toBe(0)
})

test('rejects unknown sessions, client MCP servers and audio; asks as text without forms; replaces a prompt', async () => {
  const place = makePlace({ scenario })
  const cwd = folder(place.dir)
  const one = await greeted(place.env)
  const { agent } = one.connection
  const unknown = { sessionId: 'nobody', prompt: [{ type: 'text' as const, text: 'x' }] }
  await expect(agent.request(methods.agent.session.prompt, unknown)).rejects.toThrow(/not open|not found/i)
  await expect(
    agent.request(methods.agent.session.new, {
      cwd,
      mcpServers: [{ name: 'mine', command: 'x', args: [], env: [] }],
    }),
  ).rejects.toThrow(/mcp_servers/)
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const sound = { type: 'audio' as const, data: 'AAAA', mimeType: 'audio/wav' }
  await expect(agent.request(methods.agent.session.prompt, { sessionId, prompt: [sound] })).rejects.toThrow(
    /expected text/,
  )
  const held = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'ask me' }],
  })
  expect(held.stopReason).toBe('end_turn')
  expect(transcript(one.updates)).toContain('Which? (red / blue)')
  const answered = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'red' }],
  })
  expect(answered.stopReason).toBe('end_turn')
  expect(transcript(one.updates)).toContain('So be it: red.')

  // Two prompts at once: the second replaces the first.
  const prompt = (text: string) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
  const both = await Promise.all([prompt('take long'), prompt('hello')])
  expect(both.map(({ stopReason }) => stopReason)).toEqual(['cancelled', 'end_turn'])
  expect(transcript(one.updates)).toContain('Hello from the service.')
  expect(one.judge.violations).toEqual([])
})
