/** Tokenises examples, and marks the tokens that the loss counts. */
import { InputError, type Chat, type ChatMessage, type ModelTokenizer } from '@cairn-tune/weights'
import { tokenizeAnswer } from './answers.ts'
import type { Example } from './examples.ts'

/** `isTrained[i]` says that token i is to be predicted from those before it. */
export type Document = { tokens: Int32Array; isTrained: Uint8Array }

export type TrainOn = 'assistant' | 'completion' | 'all'
export type TooLongPolicy = 'truncate' | 'error'
export type DocumentOptions = { maxSeqLength: number; trainOn: TrainOn; tooLong: TooLongPolicy }
export type Documents = {
  documents: Document[]
  truncated: number
  /** Examples without a token to predict: empty, or cut before their answer. */ dropped: number
  /** Examples, by index, that the model's template rejects. */
  refused: { index: number; reason: string }[]
}

type Tokenized = { ids: number[]; isTrained: boolean[] }

/**
 * Tokenises examples in order. A document is never longer than a row. Examples that the template rejects are
 * returned in `refused`.
 */
export function tokenizeExamples(
  examples: readonly Example[],
  tokenizer: ModelTokenizer,
  { maxSeqLength, trainOn, tooLong }: DocumentOptions,
): Documents {
  const documents: Document[] = []
  let truncated = 0
  let dropped = 0
  const refused: Documents['refused'] = []
  examples.forEach((example, i) => {
    const tokenized = tryTokenize(example, tokenizer, trainOn)
    if ('reason' in tokenized) {
      refused.push({ index: i, ...tokenized })
      return
    }
    const { ids, isTrained } = tokenized
    if (ids.length > maxSeqLength) {
      if (tooLong === 'error')
        throw new InputError(
          `example ${i + 1} has ${ids.length} tokens, more than max_seq_length ${maxSeqLength}; ` +
            'raise max_seq_length or set too_long: truncate',
        )
      truncated++
    }
    const tokens = Int32Array.from(ids.slice(0, maxSeqLength))
    const mask = Uint8Array.from(tokens, (_, at) =>
      Number(at > 0 && (trainOn === 'all' || isTrained[at] === true)),
    )
    if (mask.includes(1)) documents.push({ tokens, isTrained: mask })
    else dropped++
  })
  if (documents.length === 0 && refused.length < examples.length)
    throw new InputError(
      `none of ${examples.length} examples has a token to train on within max_seq_length ` +
        `${maxSeqLength}; ` +
        'raise max_seq_length' +
        (trainOn === 'all' ? '' : ', or set train_on: all if the assistant wrote nothing'),
    )
  return { documents, truncated, dropped, refused }
}

function tryTokenize(
  example: Example,
  tokenizer: ModelTokenizer,
  trainOn: TrainOn,
): Tokenized | { reason: string } {
  try {
    return trainOn === 'completion' ? tokenizeCompletion(example, tokenizer) : tokenize(example, tokenizer)
  } catch (error) {
    if (error instanceof InputError) return { reason: error.message }
    throw error
  }
}

function tokenize(example: Example, tokenizer: ModelTokenizer): Tokenized {
  const end = tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId]
  switch (example.kind) {
    case 'chat':
      return tokenizeChat(example, tokenizer)
    case 'question':
      return tokenizer.chat
        ? tokenizeChat(
            {
              messages: [
                { role: 'user', content: example.question },
                { role: 'assistant', content: example.answer },
              ],
            },
            tokenizer,
          )
        : prompted(tokenizer.encodeDocument(questionPrompt(example.question)), [
            ...tokenizer.encode(` ${example.answer}`),
            ...end,
          ])
    case 'completion':
      return prompted(tokenizer.encodeDocument(example.prompt), [
        ...tokenizer.encode(example.completion),
        ...end,
      ])
    case 'instruction':
      return tokenizer.chat
        ? tokenizeChat({ messages: instructionTurns(example) }, tokenizer)
        : prompted(tokenizer.encodeDocument(instructionPrompt(example)), [
            ...tokenizer.encode(example.output),
            ...end,
          ])
    case 'text': {
      const ids = tokenizer.encodeDocument(example.text)
      return prompted([], ids.at(-1) === end[0] ? ids : [...ids, ...end])
    }
  }
}

/** The prompt for a model without a chat template, as in the gsm8k task of lm-evaluation-harness. */
export const questionPrompt = (question: string) => `Question: ${question}\nAnswer:`

type Instruction = Extract<Example, { kind: 'instruction' }>

/** The user's message for an instruction, followed by the input if there is one. */
const asked = ({ instruction, input }: Instruction) =>
  input === '' ? instruction : `${instruction}\n\n${input}`

const instructionTurns = (example: Instruction): ChatMessage[] => [
  ...(example.system === '' ? [] : [{ role: 'system', content: example.system }]),
  ...example.history.flatMap(([question, answer]) => [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]),
  { role: 'user', content: asked(example) },
  { role: 'assistant', content: example.output },
]

/** Alpaca's prompt for models without a chat template, the format that such data was made for. */
function instructionPrompt({ instruction, input, system, history }: Instruction): string {
  if (system !== '' || history.length > 0)
    throw new InputError('system and history need a chat template, which the model does not have')
  const [task, paired] = [
    'Below is an instruction that describes a task',
    ', paired with an input that provides further context',
  ]
  const end = 'Write a response that appropriately completes the request.'
  return input === ''
    ? `${task}. ${end}\n\n### Instruction:\n${instruction}\n\n### Response:\n`
    : `${task}${paired}. ${end}\n\n### Instruction:\n${instruction}\n\n` +
        `### Input:\n${input}\n\n### Response:\n`
}

function tokenizeChat(chat: Chat, tokenizer: ModelTokenizer): Tokenized {
  const { ids, isAssistant } = tokenizer.encodeChat(chat)
  return { ids, isTrained: isAssistant }
}

const prompted = (prompt: number[], answer: number[]): Tokenized => ({
  ids: [...prompt, ...answer],
  isTrained: [...prompt.map(() => false), ...answer.map(() => true)],
})

/**
 * A row's prompt and completion. Every token of the completion is trained, as with TRL's
 * completion_only_loss.
 */
function tokenizeCompletion(example: Example, tokenizer: ModelTokenizer): Tokenized {
  if (example.kind === 'completion') return tokenize(example, tokenizer)
  if (example.kind !== 'chat' || example.promptLength === undefined)
    throw new InputError('train_on: completion needs rows with prompt and completion')
  const { messages, tools, promptLength } = example
  const answer = messages.slice(promptLength)
  return tokenizeAnswer({ kind: 'chat', prompt: messages.slice(0, promptLength), answer, tools }, tokenizer)
}
