/**
 * What was learned from the refusals of model servers, per provider, address and model. It is kept in memory
 * and, with a file, across restarts: `cairn doctor` reads the same file.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { asError, ServerProfile } from '@cairn/protocol'
import { z } from 'zod'
import type { Logger } from '../logger.ts'

/** A learned fact is dropped after this time, so that an updated server is asked again. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000

/** The server of a fact: another address or model starts without it. */
const Scope = { provider: z.string(), base_url: z.string(), model: z.string() }
const Entry = z.object({
  ...Scope,
  fact: ServerProfile.keyof(),
  value: z.unknown(),
  reason: z.string(),
  learned_at: z.iso.datetime(),
})
const Stored = z.object({ facts: z.array(Entry) })

type FactScope = { provider: string; base_url: string; model: string }
export type LearnedFact = {
  fact: keyof ServerProfile
  value: ServerProfile[keyof ServerProfile]
  /** The words of the refusal, cut. */
  reason: string
  /** RFC 3339. */
  learned_at: string
}
type StoredFact = FactScope & LearnedFact

export type LearnedFacts = {
  /** At most one per fact: the newest. */
  of(scope: FactScope): LearnedFact[]
  add(scope: FactScope, facts: readonly Omit<LearnedFact, 'learned_at'>[]): void
}

export type LearnedFactsOptions = {
  /** Absent: nothing outlives the process. */
  file?: string
  now?: () => number
  report?: Logger
}

export function createLearnedFacts({
  file,
  now = Date.now,
  report = () => {},
}: LearnedFactsOptions = {}): LearnedFacts {
  let facts: StoredFact[] = file === undefined ? [] : readFacts(file, report)

  const isSame = (a: StoredFact, b: StoredFact): boolean =>
    a.provider === b.provider && a.base_url === b.base_url && a.model === b.model && a.fact === b.fact

  return {
    of: scope =>
      facts.filter(
        one =>
          one.provider === scope.provider &&
          one.base_url === scope.base_url &&
          one.model === scope.model &&
          now() - Date.parse(one.learned_at) < MAX_AGE_MS,
      ),
    add(scope, lessons) {
      if (lessons.length === 0) return
      const learned_at = new Date(now()).toISOString()
      const stored = lessons.map(lesson => ({ ...scope, ...lesson, learned_at }))
      const merge = (known: readonly StoredFact[]): StoredFact[] => [
        ...known.filter(one => !stored.some(other => isSame(one, other))),
        ...stored,
      ]
      facts = merge(facts)
      // Other processes write the same file: what they added stays.
      if (file !== undefined) writeFacts(file, merge(readFacts(file, report)), report)
    },
  }
}

/** A missing file is empty. A damaged one is reported and ignored: everything in it can be learned again. */
function readFacts(file: string, report: Logger): StoredFact[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      report('warn', 'cannot read what was learned about model servers', {
        file,
        error: asError(error).message,
      })
    return []
  }
  try {
    return Stored.parse(JSON.parse(text)).facts.flatMap(one => {
      const value = ServerProfile.shape[one.fact].safeParse(one.value)
      return value.success ? [{ ...one, value: value.data }] : []
    })
  } catch (error) {
    report('warn', 'ignoring a damaged file of facts about model servers', {
      file,
      error: asError(error).message,
    })
    return []
  }
}

function writeFacts(file: string, facts: readonly StoredFact[], report: Logger): void {
  const next = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(next, `${JSON.stringify({ facts }, null, 2)}\n`, { mode: 0o600 })
    renameSync(next, file)
  } catch (error) {
    report('warn', 'cannot store what was learned about a model server; it holds until a restart', {
      file,
      error: asError(error).message,
    })
  }
}
