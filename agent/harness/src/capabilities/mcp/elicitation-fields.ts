/** The fields of an elicitation's form: a question for each, and the value that an answer means. */
import type { Question } from '@cairn/protocol'

export type Field = {
  name: string
  question: Question
  required: boolean
  schema: Json
  /** The value of each label, for a field with choices. */
  values: ReadonlyMap<string, unknown> | null
}
type Json = Record<string, unknown>

const MAX_FIELDS = 20
const YES_NO: ReadonlyMap<string, unknown> = new Map([
  ['Yes', true],
  ['No', false],
])

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws if the form cannot be asked: a nested field, or too many of them. */
export function fieldsOf(schema: unknown): Field[] {
  const { properties = {}, required } = isObject(schema) ? schema : {}
  if (!isObject(properties)) throw new Error('invalid elicitation: the schema has no properties')
  const names = Object.keys(properties)
  if (names.length > MAX_FIELDS)
    throw new Error(`invalid elicitation: ${names.length} fields; at most ${MAX_FIELDS} can be asked`)
  const prompts = new Set<string>()
  return names.map(name => {
    const property = properties[name]
    if (!isObject(property)) throw new Error(`invalid elicitation: the field ${name} has no schema`)
    const isRequired = Array.isArray(required) && required.includes(name)
    const values = choicesOf(name, property)
    const plain = promptOf(name, property, isRequired)
    const prompt = prompts.has(plain) ? `${plain} [${name}]` : plain
    prompts.add(prompt)
    return {
      name,
      required: isRequired,
      schema: property,
      values,
      question: {
        prompt,
        ...(values === null || property['type'] === 'array'
          ? {}
          : { choices: [...values.keys()].map(label => ({ label })), allow_other: false }),
      },
    }
  })
}

function promptOf(name: string, schema: Json, isRequired: boolean): string {
  const { title, description, type } = schema
  const preset = schema['default']
  const parts = [
    typeof title === 'string' && title !== '' ? title : name,
    ...(typeof description === 'string' && description !== '' ? [`: ${description}`] : []),
    ...(type === 'array'
      ? [` (choose from ${[...(choicesOf(name, schema)?.keys() ?? [])].join(', ')})`]
      : []),
    ...(isRequired ? [] : [' (optional)']),
    ...(preset === undefined ? [] : [` (default: ${JSON.stringify(preset)})`]),
  ]
  return parts.join('')
}

/** Null for a field without choices. */
function choicesOf(name: string, schema: Json): ReadonlyMap<string, unknown> | null {
  switch (schema['type']) {
    case 'boolean':
      return YES_NO
    case 'string':
      return listed(schema)
    case 'integer':
    case 'number':
      return null
    case 'array': {
      const found = isObject(schema['items']) ? listed(schema['items']) : null
      if (found !== null) return found
    }
  }
  throw new Error(
    `invalid elicitation: the field ${name} has the type ${JSON.stringify(schema['type'])}; ` +
      'only string, integer, number, boolean and a list of choices can be asked',
  )
}

/** Choices as `enum` with or without names, or as a list of constants with titles. */
function listed(schema: Json): ReadonlyMap<string, unknown> | null {
  const { enumNames } = schema
  const titled = [schema['oneOf'], schema['anyOf']].find(Array.isArray) as unknown[] | undefined
  if (titled !== undefined)
    return new Map(
      titled.flatMap(each =>
        isObject(each) && each['const'] !== undefined
          ? [[String(each['title'] ?? each['const']), each['const']]]
          : [],
      ),
    )
  if (!Array.isArray(schema['enum'])) return null
  return new Map(
    schema['enum'].map((value, at) => [
      String(Array.isArray(enumNames) ? (enumNames[at] ?? value) : value),
      value,
    ]),
  )
}

type Read = { value: unknown } | { problem: string }

/** The value of a person's answer; no answer means the default, or that the field is left out. */
export function readAnswer(field: Field, answer: string | undefined): Read {
  const { schema, required, question, values } = field
  const text = answer?.trim() ?? ''
  if (text === '') {
    if (schema['default'] !== undefined) return { value: schema['default'] }
    return required ? { problem: `${question.prompt}: an answer is required.` } : { value: undefined }
  }
  const wrong = (why: string): Read => ({ problem: `${question.prompt}: ${JSON.stringify(text)} ${why}.` })
  switch (schema['type']) {
    case 'integer':
    case 'number': {
      const value = Number(text)
      if (!Number.isFinite(value)) return wrong('is not a number')
      if (schema['type'] === 'integer' && !Number.isSafeInteger(value)) return wrong('is not a whole number')
      const { minimum, maximum } = schema
      if (typeof minimum === 'number' && value < minimum) return wrong(`is less than ${minimum}`)
      if (typeof maximum === 'number' && value > maximum) return wrong(`is more than ${maximum}`)
      return { value }
    }
    case 'array': {
      const labels = text.split(',').map(each => each.trim())
      const unknown = labels.find(label => values?.has(label) !== true)
      if (unknown !== undefined) return wrong(`contains ${JSON.stringify(unknown)}, which is not a choice`)
      return { value: labels.map(label => values?.get(label)) }
    }
    default: {
      if (values !== null) return values.has(text) ? { value: values.get(text) } : wrong('is not a choice')
      const { minLength, maxLength, format } = schema
      if (typeof minLength === 'number' && text.length < minLength)
        return wrong(`is shorter than ${minLength} characters`)
      if (typeof maxLength === 'number' && text.length > maxLength)
        return wrong(`is longer than ${maxLength} characters`)
      const problem = typeof format === 'string' ? FORMATS[format]?.(text) : undefined
      return problem === undefined || problem ? { value: text } : wrong(`is not a valid ${String(format)}`)
    }
  }
}

/** Whether a text has the format. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: text => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: text => URL.canParse(text),
  date: text => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': text => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)),
}
