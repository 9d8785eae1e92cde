/** /tokenize and /detokenize: a prompt's tokens without generating. */
import { renderChat } from './chat-prompt.ts'
import { badRequest } from './errors.ts'
import { checkParameters } from './parameters/check.ts'
import type { TokenizeRequest } from './protocol.ts'
import type { ServedModel } from './served-model.ts'

export type Tokenized = {
  count: number
  max_model_len: number
  tokens: readonly number[]
  token_strs: string[] | null
}

type Model = Pick<ServedModel, 'maxModelLen' | 'tokenizer' | 'harmony' | 'vocabSize'>

export function tokenize(model: Model, request: TokenizeRequest): Tokenized {
  checkParameters('/tokenize', request)
  const tokens = idsOf(model, request)
  return {
    count: tokens.length,
    max_model_len: model.maxModelLen,
    tokens,
    token_strs: request.return_token_strs ? tokens.map(token => model.tokenizer.decode([token])) : null,
  }
}

function idsOf({ tokenizer, harmony }: Model, request: TokenizeRequest): readonly number[] {
  const { prompt, messages } = request
  if (messages) {
    if (typeof prompt === 'string') throw badRequest('give prompt or messages, not both', 'prompt')
    return renderChat(tokenizer, { ...request, messages, tool_choice: null }, harmony !== undefined).ids
  }
  if (typeof prompt !== 'string') throw badRequest('expected prompt, a text, or messages', 'prompt')
  return (request.add_special_tokens === false ? tokenizer.encode : tokenizer.encodeDocument)(prompt)
}

export function detokenize(
  { tokenizer, vocabSize }: Model,
  request: { tokens: readonly number[] },
): { prompt: string } {
  checkParameters('/detokenize', request)
  const stranger = request.tokens.find(token => token >= vocabSize)
  if (stranger !== undefined)
    throw badRequest(
      `Token id ${stranger} is out of vocabulary: the model has ${vocabSize} tokens.`,
      'tokens',
    )
  return { prompt: tokenizer.decode(request.tokens) }
}
