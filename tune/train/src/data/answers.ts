/** Tokenises a prompt and its answer, and marks the tokens of the answer. */
import { InputError, type ModelTokenizer } from '@cairn-tune/weights'
import type { PromptWithAnswer } from './preference-examples.ts'
import { encodeStart } from './special-tokens.ts'

/**
 * Ids of prompt and answer, and which belong to the answer. For messages, the answer is what the template
 * writes after the prompt and the header that asks for an answer. If the template writes the prompt
 * differently when an answer follows, the answer starts where the two versions diverge. A text ends with the
 * end token.
 */
export function tokenizeAnswer(
  answered: PromptWithAnswer,
  tokenizer: ModelTokenizer,
): { ids: number[]; isTrained: boolean[] } {
  const [prompt, answer] =
    answered.kind === 'texts' ? ofTexts(answered, tokenizer) : ofMessages(answered, tokenizer)
  return {
    ids: [...prompt, ...answer],
    isTrained: [...prompt.map(() => false), ...answer.map(() => true)],
  }
}

function ofTexts(
  { prompt, answer }: Extract<PromptWithAnswer, { kind: 'texts' }>,
  tokenizer: ModelTokenizer,
): [number[], number[]] {
  const end = tokenizer.eosTokenId
  const ids = tokenizer.encode(answer)
  return [encodeStart(tokenizer, prompt), end === undefined || ids.at(-1) === end ? ids : [...ids, end]]
}

function ofMessages(
  { prompt, answer, tools }: Extract<PromptWithAnswer, { kind: 'chat' }>,
  { chat, encode }: ModelTokenizer,
): [number[], number[]] {
  if (!chat)
    throw new InputError('the model has no chat template for messages; provide prompt and answers as texts')
  const asked = chat.render({ messages: prompt, tools }, { addGenerationPrompt: true })
  const whole = chat.render({ messages: [...prompt, ...answer], tools })
  let at = 0
  while (at < asked.length && asked[at] === whole[at]) at++
  return [encode(whole.slice(0, at)), encode(whole.slice(at))]
}
