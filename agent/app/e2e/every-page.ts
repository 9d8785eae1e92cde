/** A service with something on each of its pages, and the address of each page. */
import type { CairnClient } from '@cairn/client'
import { makePlace, type ServerDirs } from './server.ts'
import { isType, newSession, runTurn, say, waitFor } from './session.ts'

const call = (name: string, args: object) => ({ name, arguments: args })
const steps = (...calls: object[]) => ({ tool_calls: calls })
const ask = call('ask_user_question', {
  questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
})
const TABLE =
  '| Administrator | Permissions | Configuration |\n|---|---|---|\n| everybody | everything | default |'

const scenario = {
  pace_ms: 0,
  rules: [
    {
      when: { schema: 'outcome_verdict' },
      answer: { json: { result: 'satisfied', explanation: 'Done', feedback: '' } },
    },
    { when: { user: 'Goal:\\s+Wait' }, answer: { text: 'Counting.', hang: true } },
    {
      when: { user: '^work' },
      steps: [
        steps(
          call('todo', {
            todos: [
              { id: 'a', content: 'Write a file', status: 'in_progress' },
              { id: 'b', content: 'Read it', status: 'pending' },
            ],
          }),
          call('write_file', { path: 'notes.md', content: 'one\ntwo\n' }),
          call('share_note', { notes: [{ type: 'FACT', content: 'There are two lines.' }] }),
          call('spawn_worker', { goal: 'Wait for it' }),
        ),
        { text: `${'A paragraph of a long answer.\n\n'.repeat(20)}${TABLE}` },
      ],
    },
    { when: { user: '^ask' }, answer: steps(ask) },
    { answer: { text: 'Very well.' } },
  ],
}

export const placeOfEveryPage = (): ServerDirs => makePlace({ scenario, config: { auth: { share_days: 1 } } })

/** `ready` is a selector of what the page shows once it has its data. */
export type PageAddress = { path: string; ready: string }
/** `framed` are the pages below the common head; `views` are those of the session `working`. */
export type EveryPage = { working: string; framed: PageAddress[]; views: PageAddress[] }

/** `working` has a plan, a table, a note and a worker at work; another session asks a question. */
export async function fillEveryPage(client: CairnClient): Promise<EveryPage> {
  const working = await newSession(client)
  await runTurn(client, working, 'work on it')
  const asking = await newSession(client)
  await say(client, asking, 'ask me')
  await waitFor(client, asking, 0, isType('inbox.input_required'))
  const { mission_id } = await client.call('createMission', {
    body: { description: 'Count the lines', rubric: { type: 'text', content: 'There is a number' } },
  })
  await client.call('createSchedule', {
    body: { session_id: working, name: 'Every morning', prompt: 'go', cron: '0 9 * * 1', timezone: 'UTC' },
  })
  await client.call('createServiceAccount', {
    body: { name: 'continuous-integration-of-the-website', scope: 'org' },
  })
  await client.call('createUser', {
    body: { email: 'somebody.with.a.long.name@department.example.org', name: 'Some Body', admin: true },
  })
  await client.call('createChannel', {
    body: {
      name: 'support',
      settings: { platform: 'webhook', callback_url: 'https://example.org/cairn', access: 'linked' },
      secrets: { secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
    },
  })
  const agents = ['', '/-/models', '/-/mcp-servers', '/-/skills', '/-/experts', '/-/changes']
  return {
    working,
    framed: [
      { path: '/sessions', ready: '[data-testid="session-item"]' },
      { path: '/inbox', ready: '[data-testid="inbox-row"]' },
      { path: '/missions', ready: '[data-testid="mission-entry"]' },
      { path: `/missions/${mission_id}`, ready: '[data-testid="mission"]' },
      { path: '/schedules', ready: '[data-testid="schedule"]' },
      { path: '/notices', ready: '.page-body h2' },
      ...agents.map(path => ({ path: `/agents${path}`, ready: '.agents-scroll :is(h2, .list)' })),
      { path: '/admin/users', ready: '.table td' },
      { path: '/admin/accounts', ready: '.table td' },
      { path: '/admin/channels', ready: '[data-testid="channel"]' },
      { path: '/admin/usage', ready: '.admin-section h2' },
      { path: '/admin/health', ready: '[data-testid="health"]' },
    ],
    views: [
      { path: `/sessions/${working}`, ready: '[data-testid="answer"][data-final] .table' },
      { path: `/sessions/${working}?rail=plan`, ready: '[data-testid="plan-list"]' },
      { path: `/sessions/${working}/events`, ready: '[data-testid="event-grid"] .event-row' },
      { path: `/sessions/${working}/run`, ready: '[data-testid="run"][data-ready]' },
      { path: `/sessions/${working}/workers`, ready: '[data-testid="worker-row"]' },
      { path: `/sessions/${asking}`, ready: '[data-testid="question-card"]' },
    ],
  }
}
