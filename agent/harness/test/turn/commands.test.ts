import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EVENTS, type SessionEvent } from '@cairn/protocol'
import { defineOutcomes } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { SKILLS_DIR, skillScenario } from './goal-scenario.ts'
import { call, say, setStage, type Stage, typesOf } from './stage.ts'

const replies = (events: readonly SessionEvent[]): string[] =>
  events.flatMap(event =>
    event.type === 'llm.response' && event.data.finish_reason === 'command'
      ? [event.data.message.content]
      : [],
  )
async function rest(stage: Stage, ends = 1): Promise<SessionEvent[]> {
  const events = await stage.until(
    log => log.filter(event => event.type === 'session.complete').length >= ends,
  )
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
  return events
}
/** The messages of the nth request to the model. */
const heard = (stage: Stage, nth: number): string => JSON.stringify(stage.server.requests.at(nth)?.body)

test('/help lists commands and skills without a model call, and the session rests after it', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ answer: say('never') }] },
    skillsDir: SKILLS_DIR,
  })
  stage.start()
  await stage.send('/help')
  const events = await rest(stage)
  expect(typesOf(events).filter(type => type !== 'session.title_updated')).toEqual([
    'user.message',
    'harness.wake',
    'llm.response',
    'session.complete',
  ])
  expect(replies(events)[0]).toMatch(/^\*\*Commands\*\*\n\n- `\/goal <text>`: set a goal [^]*\n- `\/help`: /)
  expect(replies(events)[0]).toMatch(/\n\n\*\*Skills\*\*\n\n[^]*- `\/review`: Reviews a change\./)
  for (const key of EVENTS['llm.response'].keys.filter(key => !key.startsWith('cost_')))
    expect(events[2]!.data).toHaveProperty(key)
  expect(stage.server.requests).toEqual([])
  expect((await stage.session()).status).toBe('completed')
})

test('/clear removes the earlier conversation, and a later message is answered', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('hello') }] } })
  stage.start()
  await stage.send('my name is Ada')
  await rest(stage)
  await stage.send('/clear')
  const cleared = await rest(stage, 2)
  expect(cleared.find(event => event.type === 'context.compact')?.data).toMatchObject({
    strategy: 'clear',
    compacted_messages: [],
    original_message_count: 2,
    compressed_message_count: 0,
  })
  await stage.send('who am I?')
  await rest(stage, 3)
  expect(heard(stage, -1)).not.toContain('Ada')
  expect(heard(stage, -1)).toContain('who am I?')
})

test('/goal clear clears a goal that is set while the command runs', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('never') }] } })
  let isSet = false
  stage.start({
    store: {
      ...stage.store,
      commit: async commit => {
        if (!isSet && commit.events.some(event => event.type === 'outcome.cleared')) {
          isSet = true
          await defineOutcomes(stage.deps, stage.session_id, [
            { description: 'a poem', rubric: { type: 'text', content: 'it rhymes' } },
          ])
        }
        return stage.store.commit(commit)
      },
    },
  })
  await stage.send('/goal clear')
  const events = await rest(stage)
  const set = events.find(event => event.type === 'user.define_outcome')
  expect(events.filter(event => event.type === 'outcome.cleared').map(event => event.data)).toEqual([
    { outcome_id: set?.data.outcome_id },
  ])
  expect(replies(events)).toEqual(['Goal removed.'])
})

test('/clear during a turn waits for its end, so that no call is separated from its result', async () => {
  await using stage = await setStage({ scenario: { rules: [{ steps: [call('note', 'x'), say('noted')] }] } })
  const harness = stage.start({
    store: {
      ...stage.store,
      commit: async commit => {
        if (commit.events.some(event => event.type === 'tool.result')) await stage.send('/clear')
        return stage.store.commit(commit)
      },
    },
  })
  await stage.send('note it')
  const events = await rest(stage)
  await harness.idle()
  const types = typesOf(events)
  expect(types.indexOf('context.compact')).toBeGreaterThan(types.lastIndexOf('llm.request'))
  expect(stage.server.requests).toHaveLength(2)
})

test('/stop aborts the running turn in the commit of its message, and reports when no turn runs', async () => {
  await using stage = await setStage({ scenario: { rules: [{ steps: [call('hang', 'x')] }] } })
  stage.start()
  await stage.send('go')
  await stage.next('tool.call')
  await stage.send('/stop')
  expect((await stage.next('session.stopped')).data).toEqual({ reason: 'user' })
  expect((await stage.session()).status).toBe('active')
  await stage.send('/stop')
  const events = await stage.until(log => replies(log).length === 1)
  expect(replies(events)).toEqual(['No turn is running.'])
  expect(checkHistory(events)).toEqual([])
  expect(typesOf(events).filter(type => type === 'session.stopped')).toHaveLength(1)
})

test('a command while a question waits does not answer it', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        {
          answer: {
            tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which?' }] } }],
          },
        },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await stage.next('inbox.input_required')
  await stage.send('/goal status')
  await stage.until(log => replies(log).length === 1)
  await harness.idle()
  const events = await stage.events()
  expect(checkHistory(events, { settled: true, current: true })).toEqual([])
  expect(events.some(event => event.type === 'tool.result')).toBe(false)
  expect((await stage.session()).waiting_on).toBe('question')
})

test('a command that arrives just before a model call runs first, and the model never sees it', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [{ when: { user: 'Say it plainly' }, answer: say('plainly') }, { answer: say('hello') }],
    },
    skillsDir: SKILLS_DIR,
  })
  let isSent = false
  stage.start({
    store: {
      ...stage.store,
      commit: async commit => {
        if (!isSent && commit.events.some(event => event.type === 'llm.request')) {
          isSent = true
          await stage.send('/plain')
        }
        return stage.store.commit(commit)
      },
    },
  })
  await stage.send('go')
  const events = await rest(stage)
  expect(typesOf(events).indexOf('skill.invoked')).toBeLessThan(typesOf(events).indexOf('llm.request'))
  expect(heard(stage, -1)).toContain('Say it plainly.')
  expect(heard(stage, -1)).not.toContain('/plain')
})

test('a skill is expanded before the model call, with its files staged and every documented key', async () => {
  await using stage = await setStage({ scenario: skillScenario, skillsDir: SKILLS_DIR })
  stage.start()
  const id = await stage.send('/review the parser')
  const events = await rest(stage)
  expect(events.find(event => event.type === 'skill.invoked')?.data).toEqual({
    skill: 'review',
    raw_message: '/review the parser',
    staged_at: '.cairn/skills/review',
    user_message_id: id,
    expanded: 'Look at the parser closely.\n\nThe files of this skill are in .cairn/skills/review.',
  })
  expect(
    await readFile(
      join(stage.dir, 'workspaces', stage.session_id, '.cairn/skills/review/checklist.md'),
      'utf8',
    ),
  ).toBe('Read every line.\n')
  expect(heard(stage, 0)).toContain('- review: Reviews a change.')
})

test('the same skill invoked twice is expanded twice, and one without files stages null', async () => {
  await using stage = await setStage({ scenario: { rules: [{ answer: say('ok') }] }, skillsDir: SKILLS_DIR })
  stage.start()
  for (const [index] of ['first', 'second'].entries()) {
    await stage.send('/plain')
    await rest(stage, index + 1)
  }
  const invoked = (await stage.events()).filter(event => event.type === 'skill.invoked')
  expect(invoked.map(event => event.data.staged_at)).toEqual([null, null])
})

test("a rollout replaces the skill's body by its candidate and is named in the event", async () => {
  await using stage = await setStage({
    scenario: { rules: [{ when: { user: 'Candidate on the parser' }, answer: say('ok') }] },
    skillsDir: SKILLS_DIR,
  })
  stage.start()
  await stage.send('/review the parser', {
    skill_override: {
      source: 'rollout',
      skillopt_run_id: 'run-1',
      candidate_id: 'c-7',
      body: 'Candidate on $ARGUMENTS',
    },
  })
  const events = await rest(stage)
  expect(events.find(event => event.type === 'skill.invoked')?.data).toMatchObject({
    override_source: 'rollout',
    skillopt_run_id: 'run-1',
    candidate_id: 'c-7',
    expanded: expect.stringContaining('Candidate on the parser'),
  })
})

test('the model loads a skill with load_skill, which stages its files', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { steps: [{ tool_calls: [{ name: 'load_skill', arguments: { name: 'review' } }] }, say('read')] },
      ],
    },
    skillsDir: SKILLS_DIR,
  })
  stage.start()
  await stage.send('go')
  const events = await rest(stage)
  const result = events.find(event => event.type === 'tool.result')
  expect(JSON.parse(result?.data.content ?? '')).toEqual({
    name: 'review',
    instructions: 'Look at $ARGUMENTS closely.',
    files: ['checklist.md'],
    staged_at: '.cairn/skills/review',
  })
  expect(typesOf(events)).not.toContain('skill.invoked')
})

/** Promise 6.7: A slash command's reply is distinguishable from a model's answer. */
test("a command's reply differs from an answer: no model, no tokens, and no cost key", async () => {
  for (const catalog of [{}, { 'demo/model': { input: 1, output: 1 } }]) {
    await using stage = await setStage({
      scenario: { rules: [{ answer: say('hi') }] },
      config: { models: { catalog } },
    })
    stage.start()
    const id = await stage.send('/help')
    const [reply] = (await rest(stage)).filter(event => event.type === 'llm.response')
    expect(reply?.data).toEqual({
      message: { role: 'assistant', content: expect.stringContaining('/help') },
      model: 'cairn/command',
      input_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      cache_read_tokens: 0,
      finish_reason: 'command',
      context_window: expect.any(Number),
      command_event_id: id,
    })
  }
})

test('a path and an unknown command are plain text for the model', async () => {
  await using stage = await setStage({
    scenario: { rules: [{ when: { user: '^/(etc|unknown)' }, answer: say('I see') }] },
  })
  stage.start()
  await stage.send('/etc/hosts is what?')
  await rest(stage)
  await stage.send('/unknown thing')
  expect(replies(await rest(stage, 2))).toEqual([])
})
