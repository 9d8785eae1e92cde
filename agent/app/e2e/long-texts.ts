/** Sessions, missions and schedules whose texts are as long as a model or a person can make them. */
import type { CairnClient } from '@cairn/client'
import { makePlace, type ServerDirs } from './server.ts'
import { isType, newSession, runTurn, say, waitFor } from './session.ts'

export const LONG = {
  word: `incomprehensibilities${'abcdefghij'.repeat(20)}`,
  code: `const value = ${'configuration.readSomething(withArguments, andMore) + '.repeat(12)}0`,
  sentence: 'A sentence that goes over several lines on a phone and over one on a wide screen. '.repeat(6),
  url: `https://registry.example.org/${'a-part-of-a-long-path/'.repeat(14)}login`,
}
const COLUMNS = Array.from({ length: 12 }, (_, n) => `Column number ${n}`)
export const WIDE_TABLE = [
  `| ${COLUMNS.join(' | ')} |`,
  `|${'---|'.repeat(COLUMNS.length)}`,
  `| Validate | ${COLUMNS.slice(1)
    .map((_, n) => `${n}20,000`)
    .join(' | ')} |`,
  `| bound by the disk | ${COLUMNS.slice(1)
    .map(() => 'runs twice')
    .join(' | ')} |`,
].join('\n')
/** Code at the beginning, as an answer that is announced in the inbox may have. */
export const ANSWER = [
  `\`\`\`ts\n${LONG.code}\n\`\`\``,
  WIDE_TABLE,
  `\`${LONG.word}\` and ${LONG.word}`,
  `- ${LONG.sentence}\n- [${LONG.url}](${LONG.url})`,
].join('\n\n')

const call = (name: string, args: object) => ({ name, arguments: args })
const steps = (...calls: object[]) => ({ tool_calls: calls })
const question = call('ask_user_question', {
  questions: [
    {
      prompt: `${LONG.sentence}${LONG.word}?`,
      choices: [
        { label: LONG.word, description: LONG.sentence },
        { label: 'B', description: LONG.word },
      ],
    },
  ],
  context: LONG.word,
})
const action = call('request_user_action', {
  title: 'Log in to the package registry with the account of the release bot and leave the tab open for it',
  instructions: `1. Log in as ${LONG.word}. 2. Leave the tab open. ${LONG.sentence}3. Come back.`,
  reason: 'Publishing needs a code that only you have.',
  context: LONG.sentence,
  action_type: 'login',
  target: LONG.url,
})
const work = [
  steps(
    call('todo', {
      todos: [
        { id: 'a', content: LONG.sentence, status: 'in_progress' },
        { id: 'b', content: LONG.word, status: 'pending' },
      ],
    }),
  ),
  steps(...Array.from({ length: 24 }, (_, n) => call('read_file', { path: `docs/${n}/${LONG.word}.md` }))),
  steps(call('write_file', { path: 'src/a.ts', content: `${LONG.code}\n` })),
  steps(call('edit_file', { path: 'src/a.ts', old_string: '+ 0', new_string: `+ 1\n${LONG.code}` })),
  steps(call('terminal', { command: `echo ${LONG.word}; exit 3` })),
  steps(
    call('create_artifact', {
      name: LONG.word.slice(0, 100),
      spec: { kind: 'table', columns: COLUMNS, rows: [COLUMNS.map((_, n) => `${n}0,000`)] },
    }),
  ),
  steps(call('share_note', { notes: [{ type: 'FACT', content: LONG.word }] })),
]

export const placeOfLongTexts = (): ServerDirs =>
  makePlace({
    scenario: {
      pace_ms: 0,
      rules: [
        {
          when: { schema: 'outcome_verdict' },
          answer: { json: { result: 'needs_revision', explanation: LONG.word, feedback: LONG.sentence } },
        },
        { when: { system: 'You name conversations' }, answer: { text: 'Release notes' } },
        { when: { user: 'Goal:\\s+' }, answer: { tool_calls: [question] } },
        { when: { user: '^ask' }, answer: steps(question) },
        { when: { user: '^act' }, answer: steps(action) },
        {
          when: { user: '^push' },
          steps: [steps(call('list_files', { path: LONG.word })), { text: 'Waiting for your approval.' }],
        },
        {
          when: { user: '^work' },
          steps: [
            ...work,
            steps(call('spawn_worker', { goal: `${LONG.word} ${LONG.sentence}` })),
            { text: ANSWER },
          ],
        },
        { answer: { text: ANSWER } },
      ],
    },
    config: {
      agents: {
        assistant: {
          governance: { require_approval: ['list_files'] },
          inbox: { task_complete_minutes: 0 },
        },
      },
    },
  })

export type LongTexts = { working: string; asking: string; acting: string; gated: string; mission: string }

/** Creates everything that a page can show, and waits until it is there. */
export async function writeLongTexts(client: CairnClient): Promise<LongTexts> {
  const until = async (
    text: string,
    type: 'inbox.input_required' | 'inbox.action_required' | 'inbox.governance_gate',
  ) => {
    const id = await newSession(client)
    const after = await say(client, id, text)
    await waitFor(client, id, after, isType(type))
    return id
  }
  const { id: working } = await client.call('createSession', {
    body: { title: `${LONG.word} ${LONG.sentence}`.slice(0, 200) },
  })
  await runTurn(client, working, `work on ${LONG.sentence}${LONG.word}`)
  const asking = await until('ask me', 'inbox.input_required')
  const acting = await until('act on it', 'inbox.action_required')
  const gated = await until('push it', 'inbox.governance_gate')
  const { mission_id: mission } = await client.call('createMission', {
    body: {
      description: `${LONG.sentence}${LONG.word}`,
      rubric: { type: 'text', content: LONG.word },
      max_iterations: 1,
    },
  })
  await client.call('createSchedule', {
    body: {
      session_id: working,
      name: LONG.word.slice(0, 100),
      prompt: LONG.sentence,
      cron: '0 9 * * 1',
      timezone: 'UTC',
    },
  })
  return { working, asking, acting, gated, mission }
}

/** An agent, a server and a skill whose texts are as long. */
export async function writeLongSettings(client: CairnClient): Promise<void> {
  const name = { name: 'long' }
  const base_version = 0
  const note = LONG.sentence.slice(0, 400)
  const agent = { system: `${LONG.sentence}\n${LONG.code}\n${LONG.word}`, description: LONG.word }
  await client.call('publishAgent', { params: name, body: { base_version, note, settings: agent } })
  const server = { url: LONG.url, headers: [LONG.word.slice(0, 60)] }
  await client.call('publishMcpServer', { params: name, body: { base_version, note, settings: server } })
  const skill = { description: LONG.word, instructions: LONG.code }
  await client.call('publishSkill', { params: name, body: { base_version, note, settings: skill } })
  const expert = { description: LONG.word, system: LONG.sentence }
  await client.call('publishExpert', { params: name, body: { base_version, note, settings: expert } })
}
