/**
 * Families killed just before and after each commit of their worker, on both stores: the same ending, one
 * outcome a worker, and nothing twice. A fifth of the deaths, on Postgres a fifteenth; all where KILLS=all.
 */
import { type LogStore, openPostgresStore } from '@cairn/log'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import type { SessionEvent } from '@cairn/protocol'
import { checkFamily, checkHistory } from '@cairn/state'
import { describe, expect, test } from 'vitest'
import { essence, sorted } from '../golden/essence.ts'
import { call, say, setStage, type Stage } from '../turn/stage.ts'
import { type Death, deathsOf, type OpenStore, withDeath } from '../turn/with-death.ts'
import {
  block,
  BLOCKED,
  familyLogs,
  finishWork,
  goal,
  OUTCOME,
  ROOT,
  spawn,
  task,
  taskId,
  wait,
} from './family-stage.ts'

const WORKERS = [
  { when: goal('count'), steps: [call('note', 'counted'), finishWork('There are 12.')] },
  { when: goal('weigh'), steps: [call('look', 'at it'), say('It weighs 3 kg.')] },
  { when: goal('fail'), answer: { error: { status: 400, message: 'no such thing' } } },
  {
    when: goal('lay'),
    steps: [block('How deep?'), finishWork('The ground is laid, {{result.answer}} deep.')],
  },
  { when: { user: 'Goal:\\s+raise[^]*Attempt 1 at this' }, answer: finishWork('The walls stand.') },
  { when: goal('raise'), answer: { error: { status: 400, message: 'it rains' } } },
  { when: goal('dig'), steps: [call('note', 'dug'), finishWork('There is a well.')] },
  {
    when: { user: 'Goal:\\s+roof[^]*The walls stand[^]*There is a well' },
    answer: finishWork('There is a roof.'),
  },
]
const GOALS = ['count the eggs', 'weigh the basket', 'fail at it']
const delegate = { name: 'delegate_task', arguments: { goals: GOALS.map(each => ({ goal: each })) } }
const SCENES = {
  'three workers and a wait': [
    { when: OUTCOME, answer: say('All told.') },
    { steps: [{ tool_calls: [...GOALS.map(each => spawn(each)), wait] }] },
  ],
  'a diamond of tasks with a retry and a block': [
    {
      when: BLOCKED,
      steps: [
        {
          tool_calls: [
            { name: 'unblock_task', arguments: { task_id: '{{user.1}}', answer: '9 m' } },
            { ...wait, arguments: { ids: [taskId('roof')] } },
          ],
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
            { ...wait, arguments: { ids: [taskId('roof')] } },
          ],
        },
      ],
    },
  ],
  'a delegation of three goals': [{ steps: [{ tool_calls: [delegate] }, say('All told.')] }],
}

const onPostgres: OpenStore = async now => {
  const { place, remove } = await makePostgresPlace()
  return { store: await openPostgresStore({ url: place, now }), remove }
}

type Scene = { stage: Stage }
const play = (scene: keyof typeof SCENES, death: Death, open?: OpenStore) =>
  withDeath<Scene, { logs: Map<string, SessionEvent[]>; ran: string[] }>(
    {
      set: async (store: LogStore) => ({
        stage: await setStage({
          session_id: ROOT,
          scenario: { rules: [...WORKERS, ...SCENES[scene]] },
          store,
        }),
      }),
      play: async ({ stage }) => {
        await stage.send('go')
        await stage.until(events => events.at(-1)?.type === 'session.complete')
      },
      look: async ({ stage }) => ({
        logs: await familyLogs(stage.store, stage.session_id),
        ran: stage.ran,
      }),
    },
    death,
    open,
  )
const endings = (logs: ReadonlyMap<string, readonly SessionEvent[]>): string[] =>
  [...logs.values()].map(log => sorted(essence(log)).join('\n')).toSorted()

for (const scene of Object.keys(SCENES) as (keyof typeof SCENES)[]) {
  const undisturbed = await play(scene, null)
  const deaths = deathsOf(undisturbed.commits)
  const oneOf = (many: number) =>
    deaths.filter(({ nth }) => process.env['KILLS'] === 'all' || nth % many === many - 1)

  async function judge(death: Death, open?: OpenStore): Promise<void> {
    const { seen, problems } = await play(scene, death, open)
    expect(problems).toEqual([])
    for (const log of seen.logs.values()) expect(checkHistory(log, { settled: true })).toEqual([])
    expect(checkFamily(seen.logs)).toEqual([])
    expect(endings(seen.logs)).toEqual(endings(undisturbed.seen.logs))
    const notes = seen.ran.filter(value => value.startsWith('note:'))
    expect(notes.length).toBeLessThanOrEqual(1)
  }

  describe(scene, () => {
    test.each(oneOf(5))('killed just $when commit $nth, ends the same way and does nothing twice', death =>
      judge(death),
    )
    test.each(oneOf(15))('on Postgres, killed just $when commit $nth, ends the same way', death =>
      judge(death, onPostgres),
    )
  })
}
