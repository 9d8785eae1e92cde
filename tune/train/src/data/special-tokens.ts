/** Special tokens that a tokenizer adds to every text: not twice, and not between a prompt and its answer. */
import type { ModelTokenizer } from '@cairn-tune/weights'

type Added = { start: readonly number[]; end: readonly number[] }

const known = new WeakMap<ModelTokenizer, Added>()

/** What the tokenizer adds before and behind a text. */
function addedBy(tokenizer: ModelTokenizer): Added {
  const found = known.get(tokenizer)
  if (found) return found
  const own = tokenizer.encode('a')
  const whole = tokenizer.encodeDocument('a')
  const at = whole.findIndex((_, i) => own.every((id, j) => whole[i + j] === id))
  if (at < 0) throw new Error('[addedBy] the tokenizer changes a text when it adds special tokens')
  const added = { start: whole.slice(0, at), end: whole.slice(at + own.length) }
  known.set(tokenizer, added)
  return added
}

/**
 * A text behind the start tokens that the tokenizer adds, and not its end tokens, because another part
 * follows. A text that was rendered before and begins with the start tokens gets no second ones.
 */
function encodeStart(tokenizer: ModelTokenizer, text: string): number[] {
  const { start } = addedBy(tokenizer)
  const own = tokenizer.encode(text)
  return start.every((id, i) => own[i] === id) ? own : [...start, ...own]
}

/** A text with all special tokens that the tokenizer adds, and no start tokens twice. */
export const encodeWhole = (tokenizer: ModelTokenizer, text: string): number[] => [
  ...encodeStart(tokenizer, text),
  ...addedBy(tokenizer).end,
]
