/** Scripted families, each deterministic in what comes of it: how their models answer, and what people do. */
import type { InboxItem } from '@cairn/protocol'
import { answerQuestion } from '@cairn/sessions'
import type { ScenarioInput } from '@cairn/scripted-model'
import { CONTINUED, define, grading, verdict } from '../missions/mission-stage.ts'
import type { Tool } from '../../src/tools/tool.ts'
import {
  branchCall,
  cite,
  defineResearch,
  fetchPage,
  fetchTool,
  FUNDY,
  HARVESTED,
  report,
  scoring,
} from '../research/research-stage.ts'
import { alice, call, say, type Stage } from '../turn/stage.ts'
import { block, BLOCKED, finishWork, goal, OUTCOME, spawn, task, taskId, wait } from './tree-stage.ts'

type Rules = ScenarioInput['rules']
export type TreeScene = {
  tools?: readonly Tool[]
  rules: Rules
  /** What people do; by default they say `go` and wait. */
  play?: (stage: Stage) => Promise<void>
}

const asks = {
  tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which one?' }] } }],
}

const shares = (type: string, content: string) => ({
  tool_calls: [{ name: 'share_note', arguments: { notes: [{ type, content }] } }],
})

export const WORKERS: Rules = [
  { when: goal('count'), steps: [call('note', 'counted'), finishWork('There are 12.')] },
  { when: goal('weigh'), steps: [call('look', 'at it'), say('It weighs 3 kg.')] },
  { when: goal('fail'), answer: { error: { status: 400, message: 'no such thing' } } },
  {
    when: goal('lay'),
    steps: [block('How deep?'), finishWork('The ground is laid, {{result.answer}} deep.')],
  },
  { when: { user: 'Goal:\\s+raise[^]*Attempt 1 failed' }, answer: finishWork('The walls stand.') },
  { when: goal('raise'), answer: { error: { status: 400, message: 'it rains' } } },
  { when: goal('dig'), steps: [call('note', 'dug'), finishWork('There is a well.')] },
  {
    when: { user: 'Goal:\\s+roof[^]*The walls stand[^]*There is a well' },
    answer: finishWork('There is a roof.'),
  },
  { when: goal('scout'), steps: [shares('FACT', 'The ford is shallow.'), finishWork('I scouted.')] },
  { when: goal('ask'), steps: [asks, finishWork('I asked.')] },
  { when: goal('lead'), steps: [{ tool_calls: [spawn('ask somebody'), wait] }] },
]

const GOALS = ['count the eggs', 'weigh the basket', 'fail at it']
const delegate = (goals: readonly object[], more: object = {}) => ({
  tool_calls: [{ name: 'delegate_task', arguments: { goals: [...goals], ...more } }],
})
const roof = { ...wait, arguments: { ids: [taskId('roof')] } }

const completions = (stage: Stage, many: number) =>
  stage.until(
    events =>
      events.at(-1)?.type === 'session.complete' &&
      events.filter(({ type }) => type === 'session.complete').length === many,
  )

/** The first item of the inbox that waits for a person. */
async function firstAsked({ store }: Stage): Promise<InboxItem> {
  const found = Promise.withResolvers<InboxItem>()
  const look = (): void => {
    store.inbox.list({ org_id: 'org', status: ['pending'], limit: 1 }).then(({ items: [item] }) => {
      if (item !== undefined) found.resolve(item)
    }, found.reject)
  }
  const unwatch = store.inbox.watch('org', look)
  look()
  try {
    return await found.promise
  } finally {
    unwatch()
  }
}

/** The user speaks while a worker of the delegation waits for its answer, which comes afterwards. */
async function interrupt(stage: Stage): Promise<void> {
  await stage.send('go')
  const { session_id, payload } = await firstAsked(stage)
  await stage.send('how is it going?')
  await completions(stage, 1)
  await answerQuestion(stage.deps, {
    session_id,
    tool_call_id: String(payload['tool_call_id']),
    responses: [{ question: 'Which one?', answer: 'this one' }],
    principal: alice,
  })
  await completions(stage, 2)
}

export const SCENES: Record<string, TreeScene> = {
  'three workers in parallel and a wait': {
    rules: [
      { when: OUTCOME, answer: say('All told.') },
      { steps: [{ tool_calls: [...GOALS.map(each => spawn(each)), wait] }] },
    ],
  },
  'a delegation of three goals': {
    rules: [{ steps: [delegate(GOALS.map(each => ({ goal: each }))), say('All told.')] }],
  },
  'a delegation that times out': {
    rules: [
      {
        steps: [delegate([{ goal: 'lead it', role: 'orchestrator' }], { timeout_s: 1 }), say('It was late.')],
      },
    ],
  },
  'a delegation that a message of the user detaches': {
    play: interrupt,
    rules: [
      { when: { user: 'how is it' }, answer: say('Still at work.') },
      { when: OUTCOME, answer: say('All told.') },
      { steps: [delegate([{ goal: 'ask somebody' }])] },
    ],
  },
  'a board with a snapshot and a delta': {
    rules: [
      { when: { user: '\\[n2 ' }, answer: say('All told.') },
      {
        when: { user: '\\[n1 ', called: 'spawn_task' },
        steps: [
          {
            tool_calls: [task('measure', 'measure it'), { ...wait, arguments: { ids: [taskId('measure')] } }],
          },
        ],
      },
      // The last that this one reads is the board.
      {
        when: { user: '\\[n1 ' },
        steps: [shares('RESULT', 'The ford is 9 m wide.'), finishWork('I measured.')],
      },
      {
        steps: [
          { tool_calls: [task('scout', 'scout it'), { ...wait, arguments: { ids: [taskId('scout')] } }] },
        ],
      },
    ],
  },
  'research with two branches and a report': {
    tools: [fetchTool],
    play: async stage => {
      await defineResearch(stage)
      await completions(stage, 1)
    },
    rules: [
      scoring({ '1': 80, '2': 10 }),
      ...grading([verdict('satisfied')]),
      {
        when: goal('Where'),
        steps: [
          fetchPage('tides', 'https://sea.example/tides'),
          cite('fetch-tides', FUNDY),
          finishWork('In the Bay of Fundy [S1].'),
        ],
      },
      { when: goal('Why'), steps: [call('note', 'asked'), finishWork('I do not know.')] },
      { when: HARVESTED, answer: report(`There "${FUNDY}" [S1].`) },
      {
        answer: {
          tool_calls: [branchCall({ question: 'Where do they rise?' }, { question: 'Why is that?' }), wait],
        },
      },
    ],
  },
  'a mission of two rounds': {
    play: async stage => {
      await define(stage)
      await completions(stage, 1)
    },
    rules: [
      ...grading([verdict('needs_revision', 'It is not weighed.'), verdict('satisfied')]),
      { when: { user: '^\\[Worker [^]*3 kg' }, answer: say('It weighs 3 kg.') },
      { when: OUTCOME, answer: say('There are 12.') },
      { when: CONTINUED, answer: { tool_calls: [spawn('weigh the basket'), wait] } },
      { answer: { tool_calls: [spawn('count the eggs'), wait] } },
    ],
  },
  'a diamond of tasks with a retry and a block': {
    rules: [
      {
        when: BLOCKED,
        steps: [
          {
            tool_calls: [{ name: 'unblock_task', arguments: { task_id: '{{user.1}}', answer: '9 m' } }, roof],
          },
        ],
      },
      { when: OUTCOME, answer: say('All told.') },
      {
        steps: [
          {
            tool_calls: [
              task('ground', 'lay the ground'),
              task('walls', 'raise the walls', { after: ['ground'] }),
              task('well', 'dig a well', { after: ['ground'] }),
              task('roof', 'roof it', { after: ['walls', 'well'] }),
              roof,
            ],
          },
        ],
      },
    ],
  },
}

export async function playScene({ play }: TreeScene, stage: Stage): Promise<void> {
  if (play !== undefined) return play(stage)
  await stage.send('go')
  await completions(stage, 1)
}
