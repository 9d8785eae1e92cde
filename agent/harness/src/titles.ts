/**
 * Titles that the harness finds for sessions without one (contract 7.13): the beginning of the first message
 * at once, and what a model makes of the exchange when the turn is over and the process has time to spare:
 * no call for a title stands in the way of a turn. A title is no part of a turn's record, so it needs no
 * lease; one that was given stays.
 */
import { CommitRefused, type LogStore } from '@cairn/log'
import { asError, clip } from '@cairn/protocol'
import { titleCommit } from '@cairn/sessions'
import { setUpAgent } from './agent.ts'
import type { Logger } from './logger.ts'
import type { Models } from './llm/registry.ts'
import type { Capability } from './turn/capability.ts'
import type { SessionLog } from './turn/session-log.ts'
import type { Runner } from './runner.ts'

const FALLBACK_LENGTH = 60
const TITLE_LENGTH = 80
const TIMEOUT_MS = 30_000

type Exchange = { question: string; answer: string }

export function titles(runner: Runner, report: Logger): Capability {
  const { store, config, models, shutdown, keepInBackground, whenFree } = runner
  let named = false
  const reported = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      if (!shutdown.aborted) report('warn', 'the title did not land', { error: asError(error).message })
    })
  return {
    name: 'titles',
    beforeRequest({ log }) {
      const { last_user_text: question } = log.position()
      const { id, title } = log.session()
      if (!named && title === null && question) {
        named = true
        keepInBackground(reported(name(store, id, fallbackTitle(question), null)))
      }
      return Promise.resolve()
    },
    afterTurn({ log }) {
      const standing = log.position().provisional_title
      const exchange = exchangeOf(log)
      if (standing === null || exchange === null) return null
      const find = async (): Promise<void> => {
        const model = setUpAgent(config, log.session()).title_model
        await whenFree()
        const signal = AbortSignal.any([shutdown, AbortSignal.timeout(TIMEOUT_MS)])
        const title = await askForTitle(models, model, exchange, signal)
        shutdown.throwIfAborted()
        if (title !== null) await name(store, log.session().id, title, standing)
      }
      return reported(find())
    },
  }
}

function exchangeOf(log: SessionLog): Exchange | null {
  const { last_user_text: question, conversation } = log.position()
  const last = conversation.entries.findLast(entry => entry.message.role === 'assistant')
  const answer = last?.message.content
  return question && answer ? { question, answer } : null
}

/**
 * `standing` is the title that may be replaced; null: the session has none yet, and this one is provisional.
 */
async function name(
  store: LogStore,
  sessionId: string,
  title: string,
  standing: string | null,
): Promise<void> {
  try {
    await store.commit({ ...titleCommit(sessionId, title, standing === null), expect_title: standing })
  } catch (error) {
    // Somebody named the session in the meantime, or put it away: that is how it stays.
    const refusal = error instanceof CommitRefused ? error.refusal : null
    if (refusal !== 'has_title' && refusal !== 'wrong_status') throw error
  }
}

async function askForTitle(
  models: Models,
  model: string,
  { question, answer }: Exchange,
  signal: AbortSignal,
): Promise<string | null> {
  const served = models.resolve(model)
  const { message } = await served.provider.call(
    {
      model: served.model,
      tools: [],
      messages: [
        {
          role: 'system',
          content:
            'You name conversations. Reply with a title of at most six words, in the language of the ' +
            'conversation: no quotes, no full stop.',
        },
        { role: 'user', content: `${clip(question, 2000)}\n\n---\n\n${clip(answer, 1000)}` },
      ],
    },
    () => {},
    signal,
  )
  return cleanTitle(message.content)
}

const MAX_LINE_CHARS = 1000

/** The first line without quotes and headings; null when nothing is left. */
export function cleanTitle(text: string): string | null {
  const line =
    text
      .split('\n')
      .map(part => part.trim())
      .find(part => part !== '') ?? ''
  // A title is short; the pattern at its end would go over a long line again and again.
  const bare = line
    .slice(0, MAX_LINE_CHARS)
    .replace(/^#+\s*/, '')
    .replace(/^(?:title:\s*)/i, '')
    .replace(/^["'“”«*]+|["'“”»*.]+$/g, '')
    .trim()
  return bare === '' ? null : clip(bare, TITLE_LENGTH)
}

export const fallbackTitle = (question: string): string =>
  clip(question.trim().replaceAll(/\s+/g, ' '), FALLBACK_LENGTH) || 'New session'
