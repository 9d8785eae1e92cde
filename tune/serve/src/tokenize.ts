/** /tokenize and /detokenize: a prompt's tokens without generating. */
import { checkBytes, renderChat } from './chat-prompt.ts'
import { badRequest } from './errors.ts'
import { checkParameters } from './parameters/check.ts'
import type { TokenizeRequest } from './protocol.ts'
import { tokenName } from './sampling.ts'
import type { ServedModel } from './served-model.ts'

export type Tokenized = {
  count: number
  max_model_len: number
  tokens: readonly number[]
  token_strs: string[] | null
}

type Model = Pick<
  ServedModel,
  'maxModelLen' | 'maxPromptBytes' | 'texts' | 'tokenizer' | 'harmony' | 'vocabSize'
>

/** Text that is only counted may be longer than a prompt. */
const MAX_BYTES = 2 ** 20

export async function tokenize(model: Model, request: TokenizeRequest): Promise<Tokenized> {
  checkParameters('/tokenize', request)
  const tokens = await idsOf(model, request)
  const nameOf = tokenName(model, {})
  return {
    count: tokens.length,
    max_model_len: model.maxModelLen,
    tokens,
    token_strs: request.return_token_strs ? tokens.map(nameOf) : null,
  }
}

async function idsOf(
  { texts, maxPromptBytes, harmony }: Model,
  request: TokenizeRequest,
): Promise<readonly number[]> {
  const { prompt, messages } = request
  const limits = { maxPromptBytes: Math.max(maxPromptBytes, MAX_BYTES) }
  if (messages) {
    if (typeof prompt === 'string') throw badRequest('send either prompt or messages, not both', 'prompt')
    const asked = { ...request, messages, tool_choice: null }
    return (await renderChat({ texts, ...limits }, asked, harmony !== undefined)).ids
  }
  if (typeof prompt !== 'string') throw badRequest('expected prompt (a text) or messages', 'prompt')
  checkBytes(prompt, limits, 'prompt')
  return await texts.encode(prompt, { isDocument: request.add_special_tokens !== false })
}

export async function detokenize(
  { texts, vocabSize }: Pick<Model, 'texts' | 'vocabSize'>,
  request: { tokens: readonly number[] },
): Promise<{ prompt: string }> {
  checkParameters('/detokenize', request)
  const stranger = request.tokens.find(token => token >= vocabSize)
  if (stranger !== undefined)
    throw badRequest(
      `Token id ${stranger} is out of vocabulary: the model has ${vocabSize} tokens.`,
      'tokens',
    )
  return { prompt: await texts.decode(request.tokens) }
}
