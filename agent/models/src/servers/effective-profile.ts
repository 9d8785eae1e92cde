/**
 * The profile that is in force for one model of a provider: the row of its server, then the catalogue, then
 * what was learned from refusals. Each fact knows where it comes from, for `cairn doctor` and the log.
 */
import type { LearnedFact, LearnedFacts } from './learned-facts.ts'
import { type ProfileName, PROFILES, profileOfServer, type ServerProfile } from './profiles.ts'

type FactSource =
  | { source: 'default' }
  | { source: 'host'; profile: ProfileName }
  | { source: 'catalogue' }
  | { source: 'learned'; reason: string; learned_at: string }

/** One fact of a profile, with where it comes from. */
export type ProfileFact = {
  fact: keyof ServerProfile
  value: ServerProfile[keyof ServerProfile]
} & FactSource

export type ServerProfiles = {
  /** The profile that requests to this model must satisfy now. */
  of(model: string): ServerProfile
  /** The same, fact by fact. */
  explain(model: string): ProfileFact[]
  /**
   * Remembers what a refusal showed. Returns all facts of the change, also those that a call beside this one
   * has learned meanwhile.
   */
  learn(model: string, change: Partial<ServerProfile>, reason: string): LearnedFact[]
}

export type ServerProfilesOptions = {
  provider: string
  kind: 'openai' | 'anthropic'
  baseUrl: string
  /** Facts that the operator states for a model. */
  catalogue?: (model: string) => { [F in keyof ServerProfile]?: ServerProfile[F] | undefined } | undefined
  facts: LearnedFacts
}

export function createServerProfiles(options: ServerProfilesOptions): ServerProfiles {
  const { name, host } = profileOfServer(options.kind, options.baseUrl)
  const base: ServerProfile = PROFILES[name]
  const scope = (model: string) => ({ provider: options.provider, base_url: options.baseUrl, model })
  const statedFor = (model: string): Partial<ServerProfile> =>
    Object.fromEntries(
      Object.entries(options.catalogue?.(model) ?? {}).filter(([, value]) => value !== undefined),
    )
  const of = (model: string): ServerProfile => {
    const stated = { ...base, ...statedFor(model) }
    const learned = options.facts
      .of(scope(model))
      .map(({ fact, value }) => [fact, joinLists(stated[fact], value)] as const)
    return { ...stated, ...Object.fromEntries(learned) }
  }
  return {
    of,
    explain(model) {
      const inForce = of(model)
      const stated = statedFor(model)
      const learned = options.facts.of(scope(model))
      return (Object.keys(base) as (keyof ServerProfile)[]).map(fact => {
        const lesson = learned.findLast(one => one.fact === fact)
        if (lesson) {
          const { reason, learned_at } = lesson
          return { fact, value: inForce[fact], source: 'learned', reason, learned_at }
        }
        if (stated[fact] !== undefined) return { fact, value: stated[fact], source: 'catalogue' }
        const value = base[fact]
        const isOwn = host && JSON.stringify(value) !== JSON.stringify(PROFILES.compatible[fact])
        return isOwn ? { fact, value, source: 'host', profile: name } : { fact, value, source: 'default' }
      })
    },
    learn(model, change, reason) {
      const before = of(model)
      const lessons = (Object.entries(change) as [keyof ServerProfile, LearnedFact['value']][]).map(
        ([fact, value]) => ({ fact, value: joinLists(before[fact], value), reason }),
      )
      options.facts.add(
        scope(model),
        lessons.filter(({ fact, value }) => JSON.stringify(before[fact]) !== JSON.stringify(value)),
      )
      const inForce = options.facts.of(scope(model))
      return lessons.flatMap(({ fact }) => inForce.filter(one => one.fact === fact))
    },
  }
}

/** A list only grows: what the catalogue or another call leaves out stays left out. */
const joinLists = (before: LearnedFact['value'], value: LearnedFact['value']): LearnedFact['value'] =>
  Array.isArray(before) && Array.isArray(value) ? [...new Set([...before, ...value])] : value
