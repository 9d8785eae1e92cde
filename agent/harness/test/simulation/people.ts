/**
 * The people of the simulation: they write, stop, pause, answer and decide at moments of the seed's choosing,
 * and remember what they were told.
 */
import { AppError, type Config } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import {
  addMessage,
  answerQuestion,
  archiveSession,
  cancelTask,
  defineOutcomes,
  pauseSession,
  respondInbox,
  resumeMission,
  resumeSession,
  retrySession,
  stopSession,
  unblockTask,
} from '@cairn/sessions'
import { alice } from '../turn/stage.ts'
import { INJECTED } from './memory-store.ts'
import { missionActs } from './missions.ts'
import { endSchedules, scheduleActs } from './schedules.ts'
import type { World } from './world.ts'

/** Something that a person does, and how likely. */
export type Act = readonly [weight: number, what: readonly [name: string, run: () => Promise<unknown>]]

export type Errand = 'mission' | 'schedule'

export type People = {
  /** Messages that were acknowledged. */
  told: { session_id: string; id: number; content: string }[]
  problems: string[]
  /** Actions that have not been answered. */
  waiting(): number
  /** One action of the seed's choosing; resolves when it is over, however it went. */
  act(sessionId: string): Promise<void>
  /** As `act`, in the middle of a tree: of a worker, or of one that has workers of its own. */
  meddle(sessionId: string): Promise<void>
  /** Answers whatever waits for a person, and resumes what is paused, as far as this seed cares to. */
  settle(sessionId: string): Promise<void>
  /** A mission or a schedule of the session begins. */
  begin(what: Errand, sessionId: string): Promise<void>
  /** And something is done about it. */
  steer(what: Errand, sessionId: string): Promise<void>
  /** Ends the schedules that are left. */
  endSchedules(): Promise<void>
}

export function createPeople(world: World, store: LogStore, config: Config): People {
  const deps = { store, now: world.now, newId: world.newId }
  const told: People['told'] = []
  const problems: string[] = []
  let open = 0

  /** A refusal is an answer, and so is a store that failed; anything else is a bug. */
  async function attempt(what: string, run: () => Promise<unknown>): Promise<void> {
    open += 1
    try {
      await run()
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal')
        problems.push(`${what} threw ${error instanceof Error ? error.stack : String(error)}`)
    } finally {
      open -= 1
    }
  }

  async function say(session_id: string, content: string): Promise<void> {
    const { last_id: id } = await addMessage(deps, {
      session_id,
      content,
      principal: alice,
      on_question: 'pass_over',
    })
    // A /stop is followed by its session.stopped in the same commit.
    if (content !== '/stop') told.push({ session_id, id, content })
  }

  async function answerOne(session_id: string): Promise<void> {
    const { items } = await store.inbox.list({
      org_id: alice.org_id,
      session_id,
      status: ['pending'],
      limit: 10,
    })
    const item = items[Math.floor(world.random() * items.length)]
    if (item === undefined) return
    if (item.kind === 'governance_gate')
      await respondInbox(deps, item.id, { decision: world.chance(0.7) ? 'approve' : 'reject' }, alice)
    else if (item.kind === 'input_required')
      await answerQuestion(deps, {
        session_id,
        tool_call_id: String(item.payload['tool_call_id']),
        responses: [{ question: 'Which one?', answer: 'this one' }],
        principal: alice,
      })
    else if (item.kind === 'action_required')
      await respondInbox(deps, item.id, { completed: true, note: `so be it ${world.newId()}` }, alice)
  }

  /** A task of the session is answered, or given up. */
  async function decideOne(session_id: string): Promise<void> {
    const tasks = await store.tasks.list(session_id)
    const task = tasks[Math.floor(world.random() * tasks.length)]
    if (task === undefined) return
    await (world.chance(0.6)
      ? unblockTask(deps, task, `people say ${world.newId()}`, alice)
      : cancelTask(deps, task, 'enough of it', alice))
  }

  /** The first of them begins one. */
  const errands: Record<Errand, (id: string) => readonly Act[]> = {
    mission: id => missionActs(world, deps, id, text => say(id, text)),
    schedule: id => scheduleActs(world, deps, config, id),
  }
  const archive = async (id: string): Promise<void> => {
    const session = await store.sessions.get(id)
    if (session !== null) await archiveSession(deps, session)
  }

  return {
    told,
    problems,
    waiting: () => open,
    act(id) {
      const [what, run] = world.pick<readonly [string, () => Promise<unknown>]>([
        [9, ['a message', () => say(id, `message ${world.newId()}`)]],
        [5, ['an answer', () => answerOne(id)]],
        [1, ['a task', () => decideOne(id)]],
        [2, ['a stop', () => stopSession(deps, id)]],
        [1, ['/stop', () => say(id, '/stop')]],
        [2, ['a pause', () => pauseSession(deps, id)]],
        [3, ['a resume', () => resumeSession(deps, id)]],
        [2, ['a retry', () => retrySession(deps, id)]],
        [
          1.5,
          [
            'a goal',
            () =>
              defineOutcomes(deps, id, [
                {
                  description: 'all is well',
                  rubric: { type: 'text', content: 'it is' },
                  max_iterations: world.between(1, 4),
                },
              ]),
          ],
        ],
        [0.5, ['/goal pause', () => say(id, '/goal pause')]],
        [0.5, ['/goal clear', () => say(id, '/goal clear')]],
        [0.5, ['/clear', () => say(id, '/clear')]],
        [0.5, ['/compress', () => say(id, '/compress')]],
        [0.3, ['an archive', () => archive(id)]],
      ])
      return attempt(what, run)
    },
    async begin(errand, id) {
      const [first] = errands[errand](id)
      if (first !== undefined) await attempt(...first[1])
    },
    steer: (errand, id) => attempt(...world.pick(errands[errand](id))),
    meddle(id) {
      const [what, run] = world.pick<readonly [string, () => Promise<unknown>]>([
        [3, ['a message', () => say(id, `message ${world.newId()}`)]],
        [3, ['a pause', () => pauseSession(deps, id)]],
        [3, ['a resume', () => resumeSession(deps, id)]],
        [1, ['a retry', () => retrySession(deps, id)]],
        [2, ['a stop', () => stopSession(deps, id)]],
        [0.3, ['an archive', () => archive(id)]],
      ])
      return attempt(what, run)
    },
    async settle(id) {
      for (let n = 0; n < 6; n++) if (world.chance(0.8)) await attempt('an answer', () => answerOne(id))
      if (world.chance(0.6)) await attempt('a resume', () => resumeSession(deps, id))
      const mission = await store.missions.current(id)
      if (mission !== null && world.chance(0.6))
        await attempt('a resume of a mission', () => resumeMission(deps, mission, alice))
    },
    endSchedules: () => attempt('the end of schedules', () => endSchedules(deps)),
  }
}

export const isInjected = (text: string): boolean => text.includes(INJECTED)
