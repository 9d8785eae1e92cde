/** Rows of preference data: pairs of answers, or single rated answers. */
import { InputError, type ChatMessage } from '@cairn-tune/weights'
import { z } from 'zod'
import type { Preference } from '../methods.ts'
import { readConversation } from './conversations.ts'
import { text, type Shape } from './examples.ts'
import { numberOf } from './turn-keys.ts'

/** A prompt with an answer to it: texts end to end, or messages. */
export type PromptWithAnswer =
  | { kind: 'texts'; prompt: string; answer: string }
  | { kind: 'chat'; prompt: ChatMessage[]; answer: ChatMessage[]; tools: unknown[] | undefined }

export type PreferenceExample =
  | { kind: 'pair'; chosen: PromptWithAnswer; rejected: PromptWithAnswer }
  | { kind: 'rated'; answered: PromptWithAnswer; isWanted: boolean }

type Values = Record<string, unknown>

const isList = (value: unknown): value is unknown[] => Array.isArray(value)

function answered(prompt: unknown, answer: unknown, tools: unknown): PromptWithAnswer {
  if (!isList(prompt) && !isList(answer))
    return { kind: 'texts', prompt: text.parse(prompt), answer: text.parse(answer) }
  if (!isList(prompt) || !isList(answer))
    throw new InputError('a prompt and its answers must either all be texts or all be lists of messages')
  const asked = readConversation(prompt, tools)
  return {
    kind: 'chat',
    prompt: asked.messages,
    answer: readConversation(answer).messages,
    tools: asked.tools,
  }
}

/** The common prefix of two conversations or texts, like TRL's extract_prompt. */
function sharedPrompt(
  chosen: unknown,
  rejected: unknown,
): [prompt: unknown, chosen: unknown, rejected: unknown] {
  if (isList(chosen) && isList(rejected)) {
    const same = (i: number) => JSON.stringify(chosen[i]) === JSON.stringify(rejected[i])
    let at = 0
    while (at < Math.min(chosen.length, rejected.length) && same(at)) at++
    if (at === 0)
      throw new InputError('chosen and rejected start differently, but the prompt column is missing')
    return [chosen.slice(0, at), chosen.slice(at), rejected.slice(at)]
  }
  const [a, b] = [text.parse(chosen), text.parse(rejected)]
  let at = 0
  while (at < Math.min(a.length, b.length) && a[at] === b[at]) at++
  // A space belongs to the word after it.
  if (a[at - 1] === ' ') at--
  return [a.slice(0, at), a.slice(at), b.slice(at)]
}

function readPair({ prompt, chosen, rejected, tools }: Values): PreferenceExample & { kind: 'pair' } {
  const [shared, wanted, other] =
    prompt === undefined || prompt === null ? sharedPrompt(chosen, rejected) : [prompt, chosen, rejected]
  const pair = {
    kind: 'pair' as const,
    chosen: answered(shared, wanted, tools),
    rejected: answered(shared, other, tools),
  }
  if (JSON.stringify(pair.chosen) === JSON.stringify(pair.rejected))
    throw new InputError('chosen and rejected are the same')
  return pair
}

const rating = z.union([z.boolean(), z.literal([0, 1]).transform(Boolean)], {
  error: 'label must be true (rated up) or false (rated down)',
})

const PAIR: Shape<PreferenceExample> = {
  columns: ['chosen', 'rejected'],
  more: ['prompt', 'tools'],
  read: values => [readPair(values)],
}
const RATED: Shape<PreferenceExample> = {
  columns: ['prompt', 'completion', 'label'],
  more: ['tools'],
  read: ({ prompt, completion, label, tools }) => [
    { kind: 'rated', answered: answered(prompt, completion, tools), isWanted: rating.parse(numberOf(label)) },
  ],
}
/** A pair becomes an answer rated up and one rated down. */
const UNPAIRED: Shape<PreferenceExample> = {
  ...PAIR,
  read: values => {
    const { chosen, rejected } = readPair(values)
    return [
      { kind: 'rated', answered: chosen, isWanted: true },
      { kind: 'rated', answered: rejected, isWanted: false },
    ]
  },
}

export const PREFERENCE_SHAPES: Readonly<Record<Preference, readonly Shape<PreferenceExample>[]>> = {
  dpo: [PAIR],
  orpo: [PAIR],
  kto: [RATED, UNPAIRED],
}
