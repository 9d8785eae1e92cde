/** Converts rows of a data set to examples. The columns determine the format. */
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'
import { readConversation, type Conversation } from './conversations.ts'
import { withoutNulls } from './turn-keys.ts'

export type Example =
  | ({
      kind: 'chat'
      /** Number of messages before the completion, for rows with both. */ promptLength?: number
    } & Conversation)
  | { kind: 'completion'; prompt: string; completion: string }
  | { kind: 'question'; question: string; answer: string }
  | {
      kind: 'instruction'
      instruction: string
      input: string
      output: string
      system: string
      history: [string, string][]
    }
  | { kind: 'text'; text: string }

export type Values = Record<string, unknown>

/** `columns` are required; `more` are optional. */
export type Shape<E = Example> = {
  columns: readonly string[]
  more?: readonly string[]
  /** The examples in a row. */
  read: (values: Values) => E[]
}

export const text = z.string().refine(value => value.isWellFormed(), 'a text contains an unpaired surrogate')
const maybe = text.nullish().transform(value => value ?? '')
const texts = <const K extends string>(...names: readonly K[]) =>
  z.object(Object.fromEntries(names.map(name => [name, text])) as Record<K, typeof text>)
const questionAndAnswer = texts('question', 'answer')
const promptAndCompletion = texts('prompt', 'completion')
const onlyText = texts('text')
const instruction = texts('instruction', 'output').extend({
  input: maybe,
  system: maybe,
  history: z
    .array(z.tuple([text, text]))
    .nullish()
    .transform(turns => turns ?? []),
})

/** A question and its answer under the names that published data sets give them. */
const pairOf = (question: string, answer: string): Shape => ({
  columns: [question, answer],
  more: ['system', 'system_prompt'],
  read: values => {
    const pair = { question: values[question], answer: values[answer] }
    const read = named({ question, answer }, () => questionAndAnswer.parse(pair))
    const system = systemOf(values)
    return [
      system === ''
        ? { kind: 'question', ...read }
        : {
            kind: 'instruction',
            instruction: read.question,
            output: read.answer,
            input: '',
            system,
            history: [],
          },
    ]
  },
})

/** In order of precedence: the first format whose columns are all present. */
export const SHAPES: readonly Shape[] = [
  {
    columns: ['messages'],
    more: ['system', 'tools', 'functions'],
    read: values => [readChat(values['messages'], values)],
  },
  {
    columns: ['conversations'],
    more: ['system', 'tools', 'functions'],
    read: values => [readChat(values['conversations'], values)],
  },
  {
    columns: ['conversation'],
    more: ['system', 'tools', 'functions'],
    read: values => [readChat(values['conversation'], values)],
  },
  {
    columns: ['prompt', 'completion'],
    more: ['tools', 'functions'],
    read: values => [readCompletion(values)],
  },
  pairOf('question', 'answer'),
  {
    columns: ['instruction', 'output'],
    more: ['input', 'system', 'history'],
    read: values => [{ kind: 'instruction', ...instruction.parse(values) }],
  },
  { columns: ['text'], read: values => [{ kind: 'text', ...onlyText.parse(values) }] },
  {
    // Dolly's names.
    columns: ['instruction', 'response'],
    more: ['context', 'input', 'system'],
    read: ({ context, input, response, ...values }) => [
      {
        kind: 'instruction',
        ...named({ input: 'context', output: 'response' }, () =>
          instruction.parse({ ...values, input: context ?? input, output: response }),
        ),
      },
    ],
  },
  pairOf('prompt', 'response'),
  pairOf('question', 'response'),
  pairOf('query', 'response'),
  pairOf('problem', 'solution'),
  pairOf('problem', 'answer'),
  pairOf('input', 'output'),
]

/** Runs a reader, and gives the columns in its errors the names that the row has. */
function named<T>(names: Readonly<Record<string, string>>, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    throw new z.ZodError(
      error.issues.map(issue => ({
        ...issue,
        path: issue.path.map(key => (typeof key === 'string' ? (names[key] ?? key) : key)),
      })),
    )
  }
}

/** A system message in a column of its own, under the names that data sets give it. */
const systemOf = ({ system, system_prompt: prompt }: Values): string => maybe.parse(system ?? prompt)

function readChat(messages: unknown, values: Values): Example {
  const { tools, functions, chat_template_kwargs: variables } = values
  if (
    typeof variables === 'object' &&
    variables !== null &&
    Object.keys(withoutNulls({ ...variables })).length > 0
  )
    throw new InputError('chat_template_kwargs: variables of the template are not supported in data')
  const read = readConversation(messages, tools, functions)
  const start = systemOf(values)
  if (start === '') return { kind: 'chat', ...read }
  if (read.messages[0]?.role === 'system')
    throw new InputError('has a column system, and its conversation begins with another system message')
  return {
    kind: 'chat',
    ...read,
    messages: [{ role: 'system', content: start }, ...read.messages],
    ...(read.untrained ? { untrained: read.untrained.map(i => i + 1) } : {}),
  }
}

/** Two texts end to end, or two lists of messages, of which the completion's are trained. */
function readCompletion({ prompt, completion, tools, functions }: Values): Example {
  if (!Array.isArray(prompt) && !Array.isArray(completion))
    return { kind: 'completion', ...promptAndCompletion.parse({ prompt, completion }) }
  if (!Array.isArray(prompt) || !Array.isArray(completion))
    throw new InputError('prompt and completion must both be texts, or both lists of messages')
  const read = readConversation([...prompt, ...completion], tools, functions)
  const untrained = new Set([...prompt.keys(), ...(read.untrained ?? [])])
  return { kind: 'chat', ...read, untrained: [...untrained], promptLength: prompt.length }
}
