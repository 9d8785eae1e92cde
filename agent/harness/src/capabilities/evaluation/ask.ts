/**
 * Has a separate model judge the work of a session (contract 14.10): no tools, and a context composed for it.
 */
import { z } from 'zod'
import { callWatched, costOf, ModelError, type ResolvedModel } from '@cairn/models'
import type { TurnContext } from '../../turn/context.ts'
import { Verdict } from './verdict.ts'

export const schemaOf = (type: z.ZodType): Record<string, unknown> => {
  const { $schema: _, ...schema } = z.toJSONSchema(type)
  return schema
}
export const VERDICT = { name: 'outcome_verdict', schema: schemaOf(Verdict) }
/** The model to call, and the format of its answer. */
type Asked = { model: string; system: string; name: string; schema: Record<string, unknown> }

/** The answer and its cost, as in the event of the verdict. */
export type EvaluatorReply = {
  text: string
  used: { input_tokens: number; output_tokens: number } & ReturnType<typeof costOf>
}

/** A failure after all retries is returned: only real verdicts count. */
export async function askEvaluator(
  turn: TurnContext,
  { model, system, name, schema }: Asked,
  compose: (served: ResolvedModel) => string | Promise<string>,
): Promise<EvaluatorReply | ModelError> {
  try {
    const served = turn.models.resolve(model)
    // Not streamed to readers: they see the verdict.
    const { message, usage } = await callWatched({ ...turn, signal: turn.lease.signal }, served, {
      model: served.model,
      tools: [],
      json_schema: { name, schema },
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: await compose(served) },
      ],
    })
    const { input_tokens, output_tokens } = usage
    return {
      text: message.content,
      used: { input_tokens, output_tokens, ...costOf(usage, served.name, served.rates) },
    }
  } catch (error) {
    turn.lease.signal.throwIfAborted()
    if (error instanceof ModelError) return error
    throw error
  }
}

/** Two characters per token is the density of the densest languages; half of the window stays free. */
export const charsFor = ({ contextWindow }: ResolvedModel, most: number): number =>
  Math.min(most, contextWindow)

export const costIn = ({ used }: EvaluatorReply): number => ('cost_usd' in used ? used.cost_usd : 0)
