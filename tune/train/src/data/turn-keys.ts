/**
 * Keys of messages and rows that mean something beyond their text: whether a turn is trained, and
 * media. A key with null does not count.
 */
import { ExactNumber, InputError } from '@cairn-tune/weights'

type Values = Readonly<Record<string, unknown>>

/** Values without the keys that are null. */
export const withoutNulls = (values: Values): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined))

/** A number in JSON or in a column of floats: 0, 0.0, 1 or 1.0. */
export const numberOf = (value: unknown): unknown =>
  value instanceof ExactNumber ? Number(value.text) : value

/**
 * Keys that say whether a turn is trained: OpenAI's and ShareGPT's weight, axolotl's train, XTuner's loss.
 */
const TRAINING_KEYS = ['weight', 'train', 'loss'] as const

/** Keys of messages that change what is trained in a way that is not supported. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  train_detail: 'parts of a turn cannot be excluded; split the turn, or use weight: 0',
  mask: 'has no one meaning in data files; use weight: 0 to exclude a turn from the loss',
}

/** What a message says about its training, and with which key. */
type Training = { key: (typeof TRAINING_KEYS)[number]; isTrained: boolean }

/** Takes the keys that say whether a turn is trained out of a message. */
export function takeTraining(message: Values): { rest: Record<string, unknown>; training?: Training } {
  for (const [key, why] of Object.entries(UNSUPPORTED))
    if (message[key] !== undefined) throw new InputError(`${key}: ${why}`)
  const rest = { ...message }
  const said = TRAINING_KEYS.flatMap(key => {
    if (rest[key] === undefined) return []
    const value = numberOf(rest[key])
    delete rest[key]
    if (value !== 0 && value !== 1 && typeof value !== 'boolean')
      throw new InputError(`${key}: ${key} must be 0 or 1${key === 'weight' ? '' : ', or true or false'}`)
    return [{ key, isTrained: Boolean(value) }]
  })
  const [first] = said
  if (!first) return { rest }
  const other = said.find(({ isTrained }) => isTrained !== first.isTrained)
  if (other) throw new InputError(`${first.key} and ${other.key} of a message contradict each other`)
  return { rest, training: first }
}

const MEDIA = ['images', 'image', 'videos', 'video', 'audios', 'audio'] as const

/** Throws if a row or message has pictures, sounds or films, which a text model cannot read. */
export function refuseMedia(values: Values): void {
  const found = MEDIA.find(name => {
    const value = values[name]
    return Array.isArray(value) ? value.length > 0 : (value ?? '') !== '' && value !== false
  })
  if (found !== undefined)
    throw new InputError(`${found}: the model reads only text; remove the column to train on the text alone`)
}

/** Throws if a value that a template may print contains bytes. */
export function refuseBytes(value: unknown, path: string): void {
  if (value instanceof Uint8Array) throw new InputError(`${path}: a binary value that is not UTF-8`)
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return
  for (const [key, one] of Object.entries(value)) refuseBytes(one, path === '' ? key : `${path}.${key}`)
}
