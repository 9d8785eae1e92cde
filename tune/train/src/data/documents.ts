/** Tokenises examples, and marks the tokens that the loss counts. */
import { InputError, type Chat, type ChatMessage, type ModelTokenizer } from '@cairn-tune/weights'
import { tokenizeAnswer, tokenizePrompted } from './answers.ts'
import { encodeWhole } from './special-tokens.ts'
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

/** An example as a document, or the reason why it is left out. */
export type Outcome =
  | { kind: 'document'; document: Document; isTruncated: boolean }
  | { kind: 'dropped'; reason: string; isTruncated: boolean }
  | { kind: 'refused'; reason: string }

/**
 * Tokenises examples in order. A document is never longer than a row. Examples that the template rejects are
 * returned in `refused`.
 */
export function tokenizeExamples(
  examples: readonly Example[],
  tokenizer: ModelTokenizer,
  options: DocumentOptions,
): Documents {
  const made: Documents = { documents: [], truncated: 0, dropped: 0, refused: [] }
  examples.forEach((example, index) => {
    const outcome = tokenizeExample(example, index, tokenizer, options)
    if (outcome.kind === 'refused') made.refused.push({ index, reason: outcome.reason })
    else {
      if (outcome.isTruncated) made.truncated++
      if (outcome.kind === 'document') made.documents.push(outcome.document)
      else made.dropped++
    }
  })
  if (made.documents.length === 0 && made.refused.length < examples.length)
    throw nothingToTrain(examples.length, options)
  return made
}

/** The error for examples that train nothing. `why` names them. */
export function nothingToTrain(
  examples: number,
  { maxSeqLength, trainOn }: DocumentOptions,
  why = '',
): InputError {
  return new InputError(
    `none of ${examples} examples has a token to train on within max_seq_length ${maxSeqLength}; ` +
      'raise max_seq_length' +
      (trainOn === 'all' ? '' : ', or set train_on: all if the assistant wrote nothing') +
      (why === '' ? '' : `\n${why}`),
  )
}

/** Tokenises the example at an index, which is for messages. */
export function tokenizeExample(
  example: Example,
  index: number,
  tokenizer: ModelTokenizer,
  { maxSeqLength, trainOn, tooLong }: DocumentOptions,
): Outcome {
  const tokenized = tryTokenize(example, tokenizer, trainOn)
  if ('reason' in tokenized) return { kind: 'refused', ...tokenized }
  const { ids, isTrained } = tokenized
  const isTruncated = ids.length > maxSeqLength
  if (isTruncated && tooLong === 'error')
    throw new InputError(
      `example ${index + 1} has ${ids.length} tokens, more than max_seq_length ${maxSeqLength}; ` +
        'raise max_seq_length or set too_long: truncate',
    )
  const tokens = Int32Array.from(ids.slice(0, maxSeqLength))
  const isCounted = (at: number) => at > 0 && (trainOn === 'all' || isTrained[at] === true)
  const mask = Uint8Array.from(tokens, (_, at) => Number(isCounted(at)))
  if (mask.includes(1)) return { kind: 'document', document: { tokens, isTrained: mask }, isTruncated }
  const isCut = ids.some((_, at) => at >= maxSeqLength && isCounted(at))
  return { kind: 'dropped', reason: isCut ? CUT : untrainedText(example), isTruncated }
}

const CUT = 'max_seq_length cuts everything that is trained'

/** Why nothing in an example is trained. Roles tell a conversation whose assistant has an unknown name. */
function untrainedText(example: Example): string {
  if (example.kind !== 'chat') return 'has no token that is predicted from another'
  const { messages, untrained = [] } = example
  const roles = [...new Set(messages.map(({ role }) => JSON.stringify(role)))].join(', ')
  if (!messages.some(({ role }) => role === 'assistant'))
    return `no message has the role "assistant"; its roles are ${roles}`
  const isExcluded = messages.every(({ role }, i) => role !== 'assistant' || untrained.includes(i))
  return isExcluded
    ? 'every turn of the assistant is excluded from the loss'
    : 'the assistant wrote nothing that is trained'
}

function tryTokenize(
  example: Example,
  tokenizer: ModelTokenizer,
  trainOn: TrainOn,
): Tokenized | { reason: string } {
  try {
    return trainOn === 'completion'
      ? tokenizeCompletion(example, tokenizer)
      : tokenize(example, tokenizer, trainOn)
  } catch (error) {
    if (error instanceof InputError) return { reason: error.message }
    throw error
  }
}

function tokenize(example: Example, tokenizer: ModelTokenizer, trainOn: TrainOn): Tokenized {
  const end = tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId]
  switch (example.kind) {
    case 'chat':
      return tokenizeChat(example, tokenizer, trainOn)
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
            trainOn,
          )
        : tokenizePrompted(questionPrompt(example.question), ` ${example.answer}`, tokenizer)
    case 'completion':
      return tokenizePrompted(example.prompt, example.completion, tokenizer)
    case 'instruction':
      return tokenizer.chat
        ? tokenizeChat({ messages: instructionTurns(example) }, tokenizer, trainOn)
        : tokenizePrompted(instructionPrompt(example), example.output, tokenizer)
    case 'text': {
      const whole = encodeWhole(tokenizer, example.text)
      const ids = whole.at(-1) === end[0] ? whole : [...whole, ...end]
      return { ids, isTrained: ids.map(() => true) }
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

/** Training on everything does not depend on where an answer starts. */
function tokenizeChat(chat: Chat, tokenizer: ModelTokenizer, trainOn: TrainOn): Tokenized {
  const { ids, isAssistant } =
    trainOn === 'all' && tokenizer.chat
      ? tokenizer.encodePieces([{ text: tokenizer.chat.render(chat), isAssistant: true }], {
          isDocument: false,
        })
      : tokenizer.encodeChat(chat)
  return { ids, isTrained: isAssistant }
}

/**
 * A row's prompt and completion. Every token of the completion is trained, as with TRL's
 * completion_only_loss.
 */
function tokenizeCompletion(example: Example, tokenizer: ModelTokenizer): Tokenized {
  if (example.kind === 'completion') return tokenizePrompted(example.prompt, example.completion, tokenizer)
  if (example.kind !== 'chat' || example.promptLength === undefined)
    throw new InputError('train_on: completion needs rows with prompt and completion')
  const { messages, tools, promptLength } = example
  const answer = messages.slice(promptLength)
  return tokenizeAnswer({ kind: 'chat', prompt: messages.slice(0, promptLength), answer, tools }, tokenizer)
}
