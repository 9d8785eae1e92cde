/** From examples to tokens, and which of them the loss counts. */
import { InputError, type ModelTokenizer } from '@cairn-tune/weights'
import type { Example } from './examples.ts'

/** `isTrained[i]` says that token i is to be predicted from those before it. */
export type Document = { tokens: Int32Array; isTrained: Uint8Array }

export type TrainOn = 'assistant' | 'all'
export type TooLong = 'truncate' | 'error'
export type DocumentOptions = { maxSeqLength: number; trainOn: TrainOn; tooLong: TooLong }
export type Documents = {
  documents: Document[]
  truncated: number
  /** Without a token to predict: empty, or cut before their answer. */ dropped: number
}

type Tokenized = { ids: number[]; isTrained: boolean[] }

/** Tokenises examples in order. A document is never longer than a row. */
export function tokenizeExamples(
  examples: readonly Example[],
  tokenizer: ModelTokenizer,
  { maxSeqLength, trainOn, tooLong }: DocumentOptions,
): Documents {
  const documents: Document[] = []
  let truncated = 0
  let dropped = 0
  examples.forEach((example, i) => {
    const { ids, isTrained } = tokenize(example, tokenizer, i)
    if (ids.length > maxSeqLength) {
      if (tooLong === 'error')
        throw new InputError(
          `example ${i + 1} has ${ids.length} tokens, a row has max_seq_length ${maxSeqLength}; raise ` +
            'max_seq_length, or set too_long: truncate',
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
  if (documents.length === 0)
    throw new InputError(
      `none of ${examples.length} examples has a token to train on within max_seq_length ` +
        `${maxSeqLength}; ` +
        'raise max_seq_length' +
        (trainOn === 'all' ? '' : ', or set train_on: all where nothing is the assistant’s'),
    )
  return { documents, truncated, dropped }
}

function tokenize(example: Example, tokenizer: ModelTokenizer, index: number): Tokenized {
  const end = tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId]
  switch (example.kind) {
    case 'chat':
      return tokenizeChat(example.messages, example.tools, tokenizer, index)
    case 'question':
      return tokenizer.chat
        ? tokenizeChat(
            [
              { role: 'user', content: example.question },
              { role: 'assistant', content: example.answer },
            ],
            undefined,
            tokenizer,
            index,
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
    case 'text': {
      const ids = tokenizer.encodeDocument(example.text)
      return prompted([], ids.at(-1) === end[0] ? ids : [...ids, ...end])
    }
  }
}

/** How a model without a chat template is asked; it is what the gsm8k task of lm-evaluation-harness sends. */
export const questionPrompt = (question: string) => `Question: ${question}\nAnswer:`

function tokenizeChat(
  messages: Extract<Example, { kind: 'chat' }>['messages'],
  tools: unknown[] | undefined,
  tokenizer: ModelTokenizer,
  index: number,
): Tokenized {
  try {
    const { ids, isAssistant } = tokenizer.encodeChat({ messages, tools })
    return { ids, isTrained: isAssistant }
  } catch (cause) {
    if (cause instanceof InputError) throw new InputError(`example ${index + 1}: ${cause.message}`, { cause })
    throw cause
  }
}

const prompted = (prompt: number[], answer: number[]): Tokenized => ({
  ids: [...prompt, ...answer],
  isTrained: [...prompt.map(() => false), ...answer.map(() => true)],
})
