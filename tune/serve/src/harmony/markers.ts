/**
 * The tokens that divide an answer of gpt-oss into messages (the harmony format). While an answer is read,
 * its text has Unicode noncharacters in their place, which no text contains: what a model spells with
 * ordinary tokens is never mistaken for one of them.
 */
import type { ModelTokenizer } from '@cairn-tune/weights'

export const MARKERS = {
  '<|start|>': '\u{fdd4}',
  '<|end|>': '\u{fdd5}',
  '<|message|>': '\u{fdd6}',
  '<|channel|>': '\u{fdd7}',
  '<|constrain|>': '\u{fdd8}',
  '<|return|>': '\u{fdd9}',
  '<|call|>': '\u{fdda}',
} as const

type Marker = keyof typeof MARKERS
const NAMES = Object.keys(MARKERS) as Marker[]
/** Markers that end an answer: it is complete, or it calls a tool. */
const ENDS = ['<|return|>', '<|call|>'] as const satisfies readonly Marker[]

/** A prompt's text with markers in place of its marker tokens. */
export const withMarkers = (text: string): string =>
  NAMES.reduce((marked, name) => marked.replaceAll(name, MARKERS[name]), text)

/** How an answer to the user starts, after `<|start|>assistant`, and how a tool call starts. */
export const FINAL = '<|channel|>final<|message|>'
export const callStart = (name: string): string =>
  `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>`

/** The part of the continued message that the prompt contains, after its role. */
export function openedIn(prompt: string): string {
  const header = '<|start|>assistant'
  const at = prompt.lastIndexOf(header)
  return at < 0 ? '' : withMarkers(prompt.slice(at + header.length))
}

export type Harmony = {
  /** The model's tokenizer, whose decoded text has markers in place of the marker tokens. */
  reader: ModelTokenizer
  endTokens: readonly number[]
}

/** Undefined for a model that does not write the format, because it lacks one of the tokens. */
export function harmonyOf(tokenizer: ModelTokenizer): Harmony | undefined {
  const { pieceOf } = tokenizer
  const ids = new Map(NAMES.map(name => [tokenizer.idOf(name), MARKERS[name]]))
  if (!pieceOf || ids.has(undefined)) return undefined
  return {
    reader: { ...tokenizer, pieceOf: (id, options) => ids.get(id) ?? pieceOf(id, options) },
    endTokens: ENDS.flatMap(name => tokenizer.idOf(name) ?? []),
  }
}
