/** The error of a run whose ranks did not all finish, from what became of each. */
import type { StepMetrics } from '../metrics.ts'
import { errorOf, type RankFailure } from './messages.ts'

export type Outcome =
  | { kind: 'finished' }
  /** `wasEnded`: after another rank was lost. */
  | { kind: 'failed'; failure: RankFailure; wasEnded: boolean }
  | { kind: 'lost'; reason: string; wasEnded: boolean }

type Progress = { last: StepMetrics | undefined; saved: number | undefined }

/**
 * Errors that a person can correct. Before the first step, all ranks have the same one, so the first that
 * reports it speaks for all; so do errors of the same class later.
 */
const EXPECTED = ['InputError', 'UnsupportedError', 'OutOfMemoryError', 'DivergedError', 'WriteError']

export function lossOf(outcomes: readonly Outcome[], { last, saved }: Progress): Error {
  const causes = outcomes.flatMap(outcome =>
    outcome.kind === 'failed' && !outcome.wasEnded ? outcome.failure : [],
  )
  const [first] = causes
  const isExpected = first !== undefined && EXPECTED.includes(first.name)
  const isShared = causes.length === outcomes.length && causes.every(({ name }) => name === first?.name)
  if (isExpected && (isShared || last === undefined)) return errorOf(first, first.message)
  const after =
    last === undefined ? 'before the first step' : `after step ${last.step} of ${last.total_steps}`
  const advice =
    saved === undefined
      ? 'no checkpoint has been saved'
      : `the state after step ${saved} is saved: continue with --resume`
  const message = `the run stopped ${after}: ${reasonsOf(outcomes)}; ${advice}`
  if (isExpected) return errorOf(first, message)
  const stacks = [...new Set(causes.flatMap(({ stack }) => stack ?? []))]
  return errorOf({ name: 'RanksError', message, stack: undefined }, [message, ...stacks].join('\n'))
}

/** `rank 1 was killed by SIGKILL; ranks 0 and 2 ended while waiting for rank 1 (all-gather)`. */
function reasonsOf(outcomes: readonly Outcome[]): string {
  const ranksOf = new Map<string, number[]>()
  const isCause = ({ kind, ...rest }: Outcome) => kind !== 'finished' && 'wasEnded' in rest && !rest.wasEnded
  const order = [...outcomes.keys()].toSorted(
    (a, b) => Number(isCause(outcomes[b] ?? FINISHED)) - Number(isCause(outcomes[a] ?? FINISHED)),
  )
  for (const rank of order) {
    const text = textOf(outcomes[rank] ?? FINISHED)
    ranksOf.set(text, [...(ranksOf.get(text) ?? []), rank])
  }
  return [...ranksOf]
    .map(([text, ranks]) =>
      ranks.length === 1
        ? `rank ${joinWords(ranks)} ${text}`
        : `ranks ${joinWords(ranks)} ${text.replace(/^was /, 'were ')}`,
    )
    .join('; ')
}

const FINISHED: Outcome = { kind: 'finished' }

function textOf(outcome: Outcome): string {
  if (outcome.kind === 'finished') return 'finished'
  if (outcome.kind === 'lost') return outcome.reason
  const { message } = outcome.failure
  return outcome.wasEnded && message.startsWith('ended ') ? message : `failed (${message})`
}

/** `0, 1 and 3`. */
export const joinWords = (words: readonly (string | number)[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
