/**
 * One scripted session for each family of events: how it is set up, what people do in it, and which effects
 * it must have at most once.
 */
import type { LogStore } from '@cairn/log'
import type { EventType, Principal } from '@cairn/protocol'
import {
  answerQuestion,
  confirmDisclosure,
  giveFeedback,
  pauseSession,
  renameSession,
  respondInbox,
  resumeSession,
  retrySession,
  stopSession,
} from '@cairn/sessions'
import { z } from 'zod'
import type { Tool } from '../../src/tools/tool.ts'
import { setSagaStage, WORK } from '../saga/saga-stage.ts'
import { goalScenario, skillScenario, SKILLS_DIR } from '../turn/goal-scenario.ts'
import { alice, call, say, setStage, type Stage, type StageOptions } from '../turn/stage.ts'

export type GoldenScene = {
  stage: Stage
  /** Each may be there once at most. */ effects: () => readonly string[]
}
export type Tree = {
  name: string
  set: (store?: LogStore) => Promise<GoldenScene>
  play: (scene: GoldenScene) => Promise<void>
}

const judge: Principal = { kind: 'service_account', id: 'judge', org_id: 'org', scope: 'org', name: 'judge' }

function plain(options: StageOptions): Tree['set'] {
  return async store => {
    const stage = await setStage({ ...options, ...(store ? { store } : {}) })
    return { stage, effects: () => stage.ran.filter(value => value.startsWith('note:')) }
  }
}
const complete = (stage: Stage, nth = 1) => stage.next('session.complete', nth)
const says =
  (text: string): Tree['play'] =>
  async ({ stage }) => {
    await stage.send(text)
    await stage.until(events => events.at(-1)?.type === 'session.complete')
  }
const todo = (...states: string[]) => ({
  tool_calls: [
    {
      name: 'todo',
      arguments: {
        todos: states.map((status, index) => ({ id: `p${index + 1}`, content: `part ${index + 1}`, status })),
      },
    },
  ],
})
const consult = {
  tool_calls: [{ name: 'consult_expert', arguments: { expert: 'surveyor', task: 'mark the border' } }],
}
const expert: Pick<StageOptions, 'agent' | 'config'> = {
  agent: { experts: ['surveyor'] },
  config: {
    experts: {
      surveyor: { description: 'knows about land', system: 'You are the surveyor', tools: ['note'] },
    },
  },
}
const SURVEYS = { when: { system: 'You are the surveyor' }, steps: [call('note', 'a mark'), say('Marked.')] }

const long = (word: string): string => `${word} `.repeat(240)
const compaction: StageOptions = {
  config: {
    models: {
      default: 'demo/model',
      providers: { demo: { kind: 'scripted' } },
      catalog: { 'demo/model': { context_window: 1500 } },
    },
  },
  scenario: {
    rules: [
      { when: { system: 'keep the memory of an assistant' }, answer: say('What went before.') },
      { when: { result: '^saw one' }, answer: call('look', long('two')) },
      { when: { result: '^saw two' }, answer: call('look', long('three')) },
      { when: { user: '^look', step: 0 }, answer: call('look', long('one')) },
      { answer: say('done') },
    ],
  },
}

const lifecycle: StageOptions = {
  agent: { escalation_model: 'demo/strong' },
  config: { disclosure: { level: 'basic' } },
  scenario: {
    rules: [
      { when: { user: '^think', model: 'strong' }, answer: say('Here it is.') },
      { when: { user: '^think' }, answer: { empty: true } },
      {
        when: { user: '^work' },
        steps: [{ tool_calls: [{ name: 'interrupt', arguments: { by: 'pause' } }] }, say('Done after all.')],
      },
      { when: { user: '^run' }, steps: [{ tool_calls: [{ name: 'interrupt', arguments: { by: 'stop' } }] }] },
      { when: { user: '^break' }, answer: { error: { status: 400, message: 'no such thing' } } },
      { answer: say('Very well.') },
    ],
  },
}

/**
 * A person who pauses or stops while a tool runs, at a moment that every run shares: the tool is that person,
 * once.
 */
async function setLifecycle(store?: LogStore): Promise<GoldenScene> {
  const done = new Set<string>()
  const stages: Stage[] = []
  const interrupt: Tool = {
    name: 'interrupt',
    description: 'waits for a person',
    parameters: z.strictObject({ by: z.enum(['pause', 'stop']) }),
    readOnly: true,
    idempotent: true,
    async run({ by }, { signal }) {
      const [stage] = stages
      if (stage === undefined || done.has(String(by))) return { content: 'nobody minds' }
      done.add(String(by))
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      )
      await Promise.all([
        aborted,
        (by === 'pause' ? pauseSession : stopSession)(stage.deps, stage.session_id),
      ])
      return { content: 'not reached' }
    },
  }
  const stage = await setStage({ ...lifecycle, tools: [interrupt], ...(store ? { store } : {}) })
  stages.push(stage)
  return { stage, effects: () => [...done] }
}

async function live({ stage }: GoldenScene): Promise<void> {
  const { deps, session_id } = stage
  await stage.send('think hard')
  await complete(stage)
  await confirmDisclosure(deps, session_id, 'basic', alice)
  await renameSession(deps, session_id, 'A life')
  await stage.send('work on it')
  await stage.next('session.pause')
  await resumeSession(deps, session_id)
  await complete(stage, 2)
  await stage.send('run')
  await stage.next('session.stopped')
  await stage.send('go on')
  await complete(stage, 3)
  await stage.send('break')
  await stage.next('session.fail')
  await retrySession(deps, session_id)
  await stage.next('session.fail', 2)
  await stage.send('leave it')
  await complete(stage, 4)
}

async function decide({ stage }: GoldenScene): Promise<void> {
  const answer = async (decision: 'approve' | 'reject') => {
    const [item] = (
      await stage.store.inbox.list({
        org_id: 'org',
        session_id: stage.session_id,
        status: ['pending'],
        limit: 10,
      })
    ).items
    if (item === undefined) throw new Error('nothing waits for a decision')
    await respondInbox(stage.deps, item.id, { decision }, alice)
  }
  await stage.send('write it down')
  await complete(stage)
  await answer('approve')
  await complete(stage, 2)
  await stage.send('and this')
  await complete(stage, 3)
  await answer('reject')
  await complete(stage, 4)
}

async function rate({ stage }: GoldenScene): Promise<void> {
  await stage.send('where is the border?')
  await complete(stage)
  const events = await stage.events()
  const last = (type: EventType): number | null => events.findLast(event => event.type === type)?.id ?? null
  const [answer, result] = [last('llm.response'), last('expert.result')]
  const { deps, session_id } = stage
  await giveFeedback(deps, {
    session_id,
    event_id: answer!,
    rating: 'down',
    principal: alice,
    reason: 'too short',
  })
  await giveFeedback(deps, { session_id, event_id: answer!, rating: 'up', principal: alice })
  await giveFeedback(deps, {
    session_id,
    event_id: answer!,
    rating: 'up',
    principal: judge,
    rationale: 'It names the border.',
    score: 0.9,
    criteria: { clear: 1 },
  })
  if (result === null) return
  await giveFeedback(deps, { session_id, event_id: result, rating: 'up', principal: alice })
  await giveFeedback(deps, { session_id, event_id: result, rating: 'down', principal: judge })
}

export const TREES: readonly Tree[] = [
  {
    name: 'goal',
    set: plain({ scenario: goalScenario, skillsDir: SKILLS_DIR }),
    play: says('/goal ship it\nRubric:\nit is noted twice'),
  },
  {
    name: 'skill',
    set: plain({ scenario: skillScenario, skillsDir: SKILLS_DIR }),
    play: says('/review the parser'),
  },
  {
    name: 'plan',
    set: plain({
      scenario: {
        rules: [
          {
            steps: [
              todo('in_progress', 'pending'),
              call('note', 'part 1'),
              todo('completed', 'in_progress'),
              todo('completed', 'completed'),
              say('All done.'),
            ],
          },
        ],
      },
    }),
    play: says('go'),
  },
  {
    name: 'expert',
    set: plain({ ...expert, scenario: { rules: [SURVEYS, { steps: [consult, say('It is marked.')] }] } }),
    play: says('mark it'),
  },
  {
    name: 'compaction',
    set: plain(compaction),
    play: async ({ stage }) => {
      await stage.send('look around')
      await complete(stage)
      await says('/compress')({ stage, effects: () => [] })
    },
  },
  {
    name: 'feedback',
    set: plain({ ...expert, scenario: { rules: [SURVEYS, { steps: [consult, say('By the brook.')] }] } }),
    play: rate,
  },
  { name: 'lifecycle', set: setLifecycle, play: live },
  {
    name: 'approval',
    play: decide,
    set: plain({
      agent: { governance: { require_approval: ['note'] } },
      scenario: {
        rules: [
          {
            when: { user: 'approved the call' },
            steps: [{ tool_calls: [{ repeat: 'note' }] }, say('It is noted.')],
          },
          { when: { user: 'rejected the call' }, answer: say('Then I leave it.') },
          { when: { user: '^write' }, steps: [call('note', 'this'), say('It waits for you.')] },
          { steps: [call('note', 'that'), say('It waits as well.')] },
        ],
      },
    }),
  },
  {
    name: 'question',
    play: async ({ stage }) => {
      await stage.send('ask me')
      const { data } = await stage.next('inbox.input_required')
      await answerQuestion(stage.deps, {
        session_id: stage.session_id,
        tool_call_id: data.tool_call_id,
        responses: [{ question: 'Which way?', answer: 'left' }],
        principal: alice,
      })
      await complete(stage)
    },
    set: plain({
      scenario: {
        rules: [
          {
            steps: [
              {
                tool_calls: [
                  {
                    name: 'ask_user_question',
                    arguments: {
                      questions: [{ prompt: 'Which way?', choices: [{ label: 'left' }, { label: 'right' }] }],
                    },
                  },
                ],
              },
              call('note', 'left'),
              say('Left it is.'),
            ],
          },
        ],
      },
    }),
  },
  {
    name: 'saga',
    play: async ({ stage }) => {
      await stage.send('go')
      await stage.next('saga.complete')
    },
    set: async store => {
      const { stage, booked } = await setSagaStage(
        { rules: [{ steps: [...WORK, { error: { status: 400, message: 'no more' } }] }] },
        store ? { store } : {},
      )
      return {
        stage,
        effects: () => [
          ...booked.made.map(what => `booked ${what}`),
          ...booked.cancelled.map(undo => `cancelled ${JSON.stringify(undo)}`),
        ],
      }
    },
  },
]
