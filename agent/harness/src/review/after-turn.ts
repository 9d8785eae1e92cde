/**
 * What happens of the review around a turn: what was learned goes into it, and after enough of them the
 * session is looked back over.
 */
import type { SessionRow } from '@cairn/log'
import { asError, type Config, type ReviewConfig } from '@cairn/protocol'
import { setUpAgent } from '../agent.ts'
import type { Log } from '../log.ts'
import type { SkillCatalogue } from '../skills/catalogue.ts'
import { createMutex } from '../mutex.ts'
import type { Capability } from '../turn/capability.ts'
import type { SessionLog } from '../turn/session-log.ts'
import { reviewWake } from '../wake.ts'
import { reviewDue } from './due.ts'
import { withLearnedSkills } from './learned-skills.ts'
import { describeMemory, memoryFile, readMemory } from './memory-file.ts'
import { type ReviewDeps, reviewSession } from './review-session.ts'

export type Reviews = {
  /** The skills of the deployment with those that the user accepted. */
  learned(skills: SkillCatalogue, session: SessionRow): Promise<SkillCatalogue>
  /** A row of the capabilities: the agent with what it remembers of the user in its system prompt. */
  memory(session: SessionRow, report: Log): Capability
  /** Looks back if it is time to; null when it is not. Never rejects. */
  after(log: SessionLog, skills: SkillCatalogue, report: Log): Promise<void> | null
}

export type ReviewsDeps = Omit<ReviewDeps, 'skills' | 'report'> & { config: Config; workerId: string }

export function keepReviews(deps: ReviewsDeps): Reviews {
  const { config, store, dataDir, workerId, signal } = deps
  // One at a time: several sessions may have one memory to write.
  const inTurn = createMutex()
  const settingsOf = (session: SessionRow): ReviewConfig | undefined => config.agents[session.agent]?.review

  return {
    learned: async (skills, session) =>
      settingsOf(session)?.skills === true ? withLearnedSkills(skills, store, session) : skills,
    memory: (session, report) => ({
      name: 'memory',
      async setUp(setup) {
        if (!setup.agent.review.memory) return setup
        const entries = await readMemory(memoryFile(dataDir, session.created_by, session.agent)).catch(
          (thrown: unknown) => {
            report('warn', 'the memory cannot be read; the turn goes on without it', {
              error: asError(thrown).message,
            })
            return []
          },
        )
        const memory = describeMemory(entries)
        return memory === null ? setup : { ...setup, system: `${setup.system}\n\n${memory}` }
      },
    }),
    after(log, { skills }, report) {
      const { review, conversation, last_id } = log.position()
      const session = log.session()
      const settings = settingsOf(session)
      if (
        settings === undefined ||
        session.status !== 'completed' ||
        session.parent_id !== null ||
        !reviewDue(review, settings, deps.clock.now())
      )
        return null
      const wake = reviewWake({
        worker_id: workerId,
        review_memory: settings.memory,
        review_skills: settings.skills,
      })
      return inTurn(async () => {
        signal.throwIfAborted()
        const model = settings.model ?? setUpAgent(config, session).title_model
        await reviewSession(
          { ...deps, report, skills: new Set(skills.keys()) },
          { session, conversation, last_id, settings, model, wake },
        )
      }).catch((thrown: unknown) => {
        // A drain leaves it to be done over.
        if (!signal.aborted)
          report('warn', 'the review did not come to an end', { error: asError(thrown).message })
      })
    },
  }
}
