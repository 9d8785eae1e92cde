/** Tokenises a prompt and its answer, and marks the tokens of the answer. */
import { InputError, type ModelTokenizer } from '@cairn-tune/weights'
import type { PromptWithAnswer } from './preference-examples.ts'

/**
 * Ids of prompt and answer, and which belong to the answer. For messages, the answer is what the template
 * writes after the prompt and the header that asks for an answer. If the template writes the prompt
 * differently when an answer follows, the answer starts where the two versions diverge. A text ends with
 * the end token.
 */
export function tokenizeAnswer(
  answered: PromptWithAnswer,
  tokenizer: ModelTokenizer,
): { ids: number[]; isTrained: boolean[] } {
  return answered.kind === 'texts'
    ? tokenizePrompted(answered.prompt, answered.answer, tokenizer)
    : ofMessages(answered, tokenizer)
}

/**
 * A text and its continuation, tokenised as one document like in TRL. The continuation is trained, with
 * the end token behind it.
 */
export function tokenizePrompted(
  prompt: string,
  answer: string,
  tokenizer: ModelTokenizer,
): { ids: number[]; isTrained: boolean[] } {
  const { ids, isAssistant } = tokenizer.encodePieces(
    [
      { text: prompt, isAssistant: false },
      { text: answer, isAssistant: true },
    ],
    { isDocument: true },
  )
  const end = tokenizer.eosTokenId
  return end === undefined || ids.at(-1) === end
    ? { ids, isTrained: isAssistant }
    : { ids: [...ids, end], isTrained: [...isAssistant, true] }
}

function ofMessages(
  { prompt, answer, tools }: Extract<PromptWithAnswer, { kind: 'chat' }>,
  { chat, encodePieces }: ModelTokenizer,
): { ids: number[]; isTrained: boolean[] } {
  if (!chat)
    throw new InputError('the model has no chat template for messages; provide prompt and answers as texts')
  const asked = chat.render({ messages: prompt, tools }, { addGenerationPrompt: true })
  const whole = chat.render({ messages: [...prompt, ...answer], tools })
  let at = 0
  while (at < asked.length && asked[at] === whole[at]) at++
  const { ids, isAssistant } = encodePieces(
    [
      { text: whole.slice(0, at), isAssistant: false },
      { text: whole.slice(at), isAssistant: true },
    ],
    { isDocument: false },
  )
  return { ids, isTrained: isAssistant }
}
