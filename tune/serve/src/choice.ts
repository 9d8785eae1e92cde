/** One answer to one prompt: the engine's tokens as text, and the reason for its end. */
import { InputError } from '@cairn-tune/weights'
import type { LoadedAdapter } from './engine/adapters.ts'
import { EndedError } from './engine/ended.ts'
import type { Sampling, TokenReport } from './engine/sequence.ts'
import { ApiError, badRequest, notFound } from './errors.ts'
import { GrammarError } from './grammar/expression.ts'
import type { Form } from './grammar/forms.ts'
import { createTextStream } from './text-stream.ts'
import type { ServedModel } from './served-model.ts'

export type ChoiceRequest = {
  ids: readonly number[]
  adapter: LoadedAdapter | undefined
  sampling: Sampling
  form: Form | undefined
  stop: readonly string[]
  includesStop: boolean
  skipsSpecial: boolean
  signal: AbortSignal
  /** Called with new text, its tokens and the number of tokens so far; never with an empty delta. */
  onDelta?: (delta: { text: string; reports: readonly TokenReport[]; tokens: number }) => void
  onPrompt?: (reports: readonly TokenReport[]) => void
}

export type ChoiceResult = {
  text: string
  reports: TokenReport[]
  promptReports: readonly TokenReport[]
  finish: 'stop' | 'length'
  stopReason: string | number | null
  /** Tokens generated, including the end token. */
  tokens: number
  ids: readonly number[]
  cachedTokens: number
}

/** The client left, so no response can be sent. */
export class ClientDisconnected extends Error {
  override name = 'ClientGone'
}

/** Generates one answer. Rejects with ClientDisconnected, or with the error for the client. */
export function generateChoice(
  model: Pick<ServedModel, 'generator' | 'tokenizer' | 'endTokens'>,
  {
    ids,
    adapter,
    sampling,
    form,
    stop,
    includesStop,
    skipsSpecial,
    signal,
    onDelta,
    onPrompt,
  }: ChoiceRequest,
): Promise<ChoiceResult> {
  return new Promise((resolve, reject) => {
    const stream = createTextStream({ tokenizer: model.tokenizer, stop, includesStop, skipsSpecial })
    const reports: TokenReport[] = []
    let text = ''
    let sent = 0
    let promptReports: readonly TokenReport[] = []
    let stopReason: string | number | null = null
    const emit = (more: string, isLast = false) => {
      text += more
      if (more === '' && !(isLast && sent < reports.length)) return
      onDelta?.({ text: more, reports: reports.slice(sent), tokens: reports.length })
      sent = reports.length
    }
    model.generator.submit({
      ids,
      adapter,
      sampling,
      form,
      signal,
      listener: {
        onPrompt(all) {
          promptReports = all
          onPrompt?.(all)
        },
        onToken(report) {
          reports.push(report)
          const { text: more, stop: found } = stream.push(report.token)
          emit(more)
          if (found === undefined) return false
          stopReason = found
          return true
        },
        onEnd({ reason, token, error, cachedTokens }) {
          if (reason === 'abort') {
            reject(error ? toApiError(error) : new ClientDisconnected())
            return
          }
          // An end token is not text; its report still belongs to the answer.
          if (token !== undefined && !model.endTokens.includes(token)) stopReason = token
          emit(typeof stopReason === 'string' ? '' : stream.flush(), true)
          resolve({
            text,
            reports,
            promptReports,
            finish: reason,
            stopReason,
            tokens: reports.length + (token === undefined ? 0 : 1),
            ids: [...reports.map(report => report.token), ...(token === undefined ? [] : [token])],
            cachedTokens,
          })
        },
      },
    })
  })
}

function toApiError(error: Error): Error {
  if (error instanceof GrammarError) return badRequest(`The answer ended: ${error.message}.`)
  if (error instanceof InputError) return badRequest(error.message)
  if (!(error instanceof EndedError)) return error
  return error.message.includes('shutting down')
    ? new ApiError(503, 'ServiceUnavailableError', error.message)
    : notFound(error.message)
}
