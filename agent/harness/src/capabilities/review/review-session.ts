/**
 * The background review (contract 14.13; docs/review.md): after a number of turns a model looks back over the
 * session. It holds no lease, so the session stays usable. Three steps: harness.wake with its
 * flags, refused when the session has moved on; the memory file, replaced as a whole; one commit with the
 * proposals and the end. A crash in between leaves a wake without an end, and the review is repeated: the
 * file already has its findings, and proposals are only written in the last step.
 */
import { CommitRefused, type LogStore, type Redact, type SessionRow } from '@cairn/log'
import { asError, type EventDraft, type ReviewConfig, clip } from '@cairn/protocol'
import {
  listProposals,
  createReviewEndItem,
  createSkillProposalItem,
  recordReviewEnd,
  TAKES_INPUT,
} from '@cairn/sessions'
import type { Conversation } from '@cairn/state'
import { callWatched, type WatchedDeps, costOf, type Models } from '@cairn/models'
import { type Findings, composeReview, readFindings } from './ask.ts'
import { memoryFile, readMemory, writeMemory } from './memory-file.ts'

export type ReviewDeps = WatchedDeps & {
  store: LogStore
  models: Models
  redact: Redact
  dataDir: string
  newId: () => string
  /** Names of existing skills. */
  skills: ReadonlySet<string>
}
export type ReviewRequest = {
  session: SessionRow
  conversation: Conversation
  /** The end of the log when the review started. */
  last_id: number
  settings: ReviewConfig
  model: string
  wake: EventDraft<'harness.wake'>
}

type Spent = {
  input_tokens?: number
  output_tokens?: number
  cost_usd?: number
  cost_unpriced_model?: string
}
const ERROR_CHARS = 500

/** Rejects only if the signal aborts or the store fails; any failure of the model ends the review. */
export async function reviewSession(deps: ReviewDeps, request: ReviewRequest): Promise<void> {
  const { session } = request
  const wake_id = await begin(deps, request)
  if (wake_id === null) return
  const startedAt = deps.clock.monotonic()
  const { findings, spent, error } = await lookBack(deps, request)
  if (findings.memory !== null)
    await writeMemory(
      memoryFile(deps.dataDir, session.created_by, session.agent),
      redacted(deps.redact, findings.memory),
    )
  const end = {
    outcome: error === null ? 'success' : 'failed',
    summary: error ?? describe(findings),
    duration_seconds: Math.round(deps.clock.monotonic() - startedAt) / 1000,
    session_title: session.title,
    review_wake_id: wake_id,
    ...spent,
  } as const
  await deps.store.commit({
    session_id: session.id,
    expect_status: TAKES_INPUT,
    events: [
      ...findings.skills.map(skill => createSkillProposalItem(deps, skill).event),
      findings.memory === null ? recordReviewEnd(end) : createReviewEndItem(deps, end).event,
    ],
  })
  deps.report('info', 'session reviewed', {
    remembered: findings.memory !== null,
    proposed: findings.skills.length,
    failed: error !== null,
  })
}

/** The id of the wake; null if the session has moved on: then the end of its next turn starts the review. */
async function begin(
  { store }: ReviewDeps,
  { session, last_id, wake }: ReviewRequest,
): Promise<number | null> {
  try {
    return (
      await store.commit({
        session_id: session.id,
        expect_status: ['completed'],
        expect_no_work_after: last_id,
        events: [wake],
      })
    ).last_id
  } catch (error) {
    if (error instanceof CommitRefused) return null
    throw error
  }
}

type ReviewOutcome = { findings: Findings; spent: Spent; error: string | null }

async function lookBack(
  deps: ReviewDeps,
  { session, conversation, settings, model }: ReviewRequest,
): Promise<ReviewOutcome> {
  const nothing: Findings = { memory: null, skills: [] }
  const late = new AbortController()
  const stopClock = deps.clock.after(settings.timeout_s * 1000, () =>
    late.abort(new Error(`no answer within ${settings.timeout_s} s`)),
  )
  let spent: Spent = {}
  try {
    const known = settings.memory
      ? await readMemory(memoryFile(deps.dataDir, session.created_by, session.agent))
      : []
    const taken = new Set([
      ...deps.skills,
      ...(settings.skills ? await listProposals(deps.store, session) : []).map(proposal => proposal.name),
    ])
    const served = deps.models.resolve(model)
    const answer = await callWatched(
      { ...deps, signal: AbortSignal.any([deps.signal, late.signal]) },
      served,
      composeReview(served, settings, conversation, known),
    )
    spent = {
      input_tokens: answer.usage.input_tokens,
      output_tokens: answer.usage.output_tokens,
      ...costOf(answer.usage, served.name, served.rates),
    }
    return { findings: readFindings(answer.message.content, settings, known, taken), spent, error: null }
  } catch (error) {
    deps.signal.throwIfAborted()
    deps.report('warn', 'session review failed', { error: asError(error).message })
    return { findings: nothing, spent, error: clip(asError(error).message, ERROR_CHARS) }
  } finally {
    stopClock()
  }
}

/** Removes secrets, which must not reach the file either. */
const redacted = (redact: Redact, entries: readonly string[]): string[] =>
  JSON.parse(redact(JSON.stringify(entries))) as string[]

function describe({ memory, skills }: Findings): string {
  const lines = [
    ...(memory === null ? [] : [`Remembered:\n${memory.map(entry => `- ${entry}`).join('\n')}`]),
    ...skills.map(skill => `Proposed the skill ${skill.name}.`),
  ]
  return lines.join('\n') || 'Nothing new.'
}
