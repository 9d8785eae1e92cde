/**
 * The review as a row of the capabilities: what was learned is added to a turn, and after a number of turns
 * the session is reviewed.
 */
import type { SessionRow, LogStore } from '@cairn/log'
import { asError, type ReviewConfig } from '@cairn/protocol'
import { type AgentSetup, setUpAgent } from '../../governance/agent.ts'
import type { Logger } from '@cairn/models/logger'
import type { SkillCatalogue, Skill } from '../skills/catalogue.ts'
import { createMutex } from '../../mutex.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import { reviewStarted } from '../../events.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { describeMemory, memoryFile, readMemory } from './memory-file.ts'
import { reviewSession } from './review-session.ts'
import type { Review } from '@cairn/state'
import { listProposals } from '@cairn/sessions'

export type Reviews = {
  /** The skills of the deployment and those that the user accepted. */
  learned(skills: SkillCatalogue, session: SessionRow): Promise<SkillCatalogue>
  /** The row; `skills` are the existing ones. */
  capability(claimed: Claimed, skills: SkillCatalogue): Capability
}

/**
 * Created once per runner: several sessions may write the same memory, so they are reviewed one at a time.
 */
export function keepReviews(): (runner: RunnerDeps) => Reviews {
  const oneAtATime = createMutex()
  return runner => reviewsOf(runner, oneAtATime)
}

function reviewsOf(runner: RunnerDeps, oneAtATime: ReturnType<typeof createMutex>): Reviews {
  const { config, store } = runner
  const settingsOf = (session: SessionRow): ReviewConfig | undefined => config.agents[session.agent]?.review
  return {
    learned: async (skills, session) =>
      settingsOf(session)?.skills === true ? withLearnedSkills(skills, store, session) : skills,
    capability: ({ session, report }, { skills }) => ({
      name: 'review',
      setUp: setup => remember(runner, session, setup, report),
      afterTurn(claimed) {
        const settings = settingsOf(claimed.log.session())
        return settings === undefined ? null : lookBack(runner, claimed, settings, skills, oneAtATime)
      },
    }),
  }
}

/** The agent with its memory of the user in the system prompt. */
async function remember(
  { dataDir }: RunnerDeps,
  session: SessionRow,
  setup: AgentSetup,
  report: Logger,
): Promise<AgentSetup> {
  if (!setup.agent.review.memory) return setup
  const entries = await readMemory(memoryFile(dataDir, session.created_by, session.agent)).catch(
    (error: unknown) => {
      report('warn', 'failed to read the memory; the turn continues without it', {
        error: asError(error).message,
      })
      return []
    },
  )
  const memory = describeMemory(entries)
  return memory === null ? setup : { ...setup, system: `${setup.system}\n\n${memory}` }
}

/** Reviews the session if that is due; null: it is not. Never rejects. */
function lookBack(
  runner: RunnerDeps,
  { log, report }: Claimed,
  settings: ReviewConfig,
  skills: ReadonlyMap<string, unknown>,
  oneAtATime: ReturnType<typeof createMutex>,
): Promise<void> | null {
  const { review, conversation, last_id } = log.position()
  const session = log.session()
  if (
    session.status !== 'completed' ||
    session.parent_id !== null ||
    !reviewDue(review, settings, runner.clock.now())
  )
    return null
  const { config, id: worker_id, shutdown: signal } = runner
  const { memory: review_memory, skills: review_skills } = settings
  const wake = reviewStarted({ worker_id, review_memory, review_skills })
  return oneAtATime(async () => {
    signal.throwIfAborted()
    const model = settings.model ?? setUpAgent(config, session).title_model
    await reviewSession(
      { ...runner, limits: config.limits, signal, report, skills: new Set(skills.keys()) },
      { session, conversation, last_id, settings, model, wake },
    )
  }).catch((error: unknown) => {
    // A review cut off by a drain is repeated.
    if (!signal.aborted) report('warn', 'the review did not finish', { error: asError(error).message })
  })
}

/** After a number of turns; an unfinished review is repeated once its runner must have crashed. */
function reviewDue(
  { turns, open }: Review,
  { memory, skills, every_turns, timeout_s }: ReviewConfig,
  now: number,
): boolean {
  if (!memory && !skills) return false
  return open === null ? turns >= every_turns : now - Date.parse(open.at) > 2 * timeout_s * 1000
}

/** Skills that the user accepted, in addition to those of the deployment, which come first. */
async function withLearnedSkills(
  catalogue: SkillCatalogue,
  store: LogStore,
  session: SessionRow,
): Promise<SkillCatalogue> {
  const skills = new Map<string, Skill>(catalogue.skills)
  for (const { name, description, body, decision } of await listProposals(store, session)) {
    if (decision === 'approve' && !skills.has(name))
      skills.set(name, { name, description, body, directory: '', files: [] })
  }
  return { ...catalogue, skills }
}
