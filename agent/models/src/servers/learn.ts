/** Turns a refusal that shows something about the server into an error whose retry can succeed. */
import type { ServerProfiles } from './effective-profile.ts'
import { lessonOf } from './lessons.ts'
import type { Refusal } from './refusal.ts'
import type { SentRequestFacts } from './sent-facts.ts'
import { say, type CallSite } from '../model-errors.ts'
import { ModelError } from '../provider.ts'

const REASON_CHARS = 300

/** The error itself if nothing was learned from it. */
export function learnFrom(
  profiles: ServerProfiles,
  site: CallSite,
  error: ModelError,
  refusal: Refusal,
  sent: () => SentRequestFacts,
): ModelError {
  const lesson = lessonOf(refusal, sent())
  if (lesson === null) return error
  const reason = say(site, refusal.text).slice(0, REASON_CHARS).toWellFormed()
  const learned = profiles.learn(site.model, lesson, reason)
  if (learned.length === 0) return error
  const facts = learned.map(({ fact, value }) => `${fact} is ${JSON.stringify(value)}`).join(', ')
  return new ModelError('provider_error', `${error.message}; learned: ${facts}`, {
    retryable: true,
    cause: error,
    learned,
  })
}
