/**
 * Titles that the harness finds for sessions without one, beside the turn and never in its way. A title is no
 * part of a turn's record, so it needs no lease; a session that got one in the meantime keeps it.
 */
import { CommitRefused, type LogStore } from '@cairn/log'
import { asError, clip } from '@cairn/protocol'
import { titleCommit } from '@cairn/sessions'
import type { Log } from './log.ts'
import type { Models } from './llm/registry.ts'
import type { Capability } from './turn/capability.ts'
import type { Worker } from './worker.ts'

const FALLBACK_LENGTH = 60
const TITLE_LENGTH = 80
const TIMEOUT_MS = 30_000

type TitleRequest = { session_id: string; model: string; question: string; answer: string }

/** Titles as a row of the capabilities: asked for beside the turn, once, when a session without one has an answer. */
export function titles(worker: Worker, report: Log): Capability {
  const { store, models, shutdown: signal, keepInBackground } = worker
  let asked = false
  return {
    name: 'titles',
    onAnswer({ log, setup }) {
      const { last_user_text: question, conversation } = log.position()
      const answer = conversation.entries.findLast(entry => entry.message.role === 'assistant')?.message
        .content
      if (asked || log.session().title !== null || !question || !answer) return
      asked = true
      const request = { session_id: log.session().id, model: setup.title_model, question, answer }
      keepInBackground(
        findTitle({ store, models, report }, request, signal).catch((thrown: unknown) => {
          if (!signal.aborted) report('warn', 'the title did not land', { error: asError(thrown).message })
        }),
      )
    },
  }
}

async function findTitle(
  { store, models, report }: { store: LogStore; models: Models; report: Log },
  request: TitleRequest,
  signal: AbortSignal,
): Promise<void> {
  const title = await askForTitle(
    models,
    request,
    AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  ).catch((thrown: unknown) => {
    signal.throwIfAborted()
    report('warn', 'no title from the model, taking the message', {
      session_id: request.session_id,
      error: asError(thrown).message,
    })
    return fallbackTitle(request.question)
  })
  const session = await store.getSession(request.session_id)
  if (session === null || session.title !== null || session.status === 'archived' || signal.aborted) return
  try {
    await store.commit({ ...titleCommit(request.session_id, title), expect_untitled: true })
  } catch (thrown) {
    // Somebody named the session in the meantime: theirs it is.
    if (!(thrown instanceof CommitRefused) || thrown.refusal !== 'has_title') throw thrown
  }
}

async function askForTitle(
  models: Models,
  { model, question, answer }: TitleRequest,
  signal: AbortSignal,
): Promise<string> {
  const served = models.resolve(model)
  const { message } = await served.provider.call(
    {
      model: served.model,
      tools: [],
      messages: [
        {
          role: 'system',
          content:
            'You name conversations. Reply with a title of at most six words, in the language of the conversation: no quotes, no full stop.',
        },
        { role: 'user', content: `${clip(question, 2000)}\n\n---\n\n${clip(answer, 1000)}` },
      ],
    },
    () => {},
    signal,
  )
  return cleanTitle(message.content) ?? fallbackTitle(question)
}

const LONGEST_LINE = 1000

/** The first line without quotes and headings; null when nothing is left. */
export function cleanTitle(text: string): string | null {
  const line =
    text
      .split('\n')
      .map(part => part.trim())
      .find(part => part !== '') ?? ''
  // A title is short; the pattern at its end would go over a long line again and again.
  const bare = line
    .slice(0, LONGEST_LINE)
    .replace(/^#+\s*/, '')
    .replace(/^(?:title:\s*)/i, '')
    .replace(/^["'“”«*]+|["'“”»*.]+$/g, '')
    .trim()
  return bare === '' ? null : clip(bare, TITLE_LENGTH)
}

export const fallbackTitle = (question: string): string =>
  clip(question.trim().replaceAll(/\s+/g, ' '), FALLBACK_LENGTH) || 'New session'
