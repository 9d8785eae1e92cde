/** The names under which messages carry the model's thoughts. */

/** The first is the one that most templates read. */
const THOUGHTS = ['reasoning_content', 'thinking', 'reasoning'] as const

/**
 * Fills the names of a message's thoughts from each other, as transformers does before it renders:
 * reasoning_content from the first that is set, and thinking, which the template of gpt-oss reads.
 */
export function withThoughts<T extends Readonly<Record<string, unknown>>>(message: T): T {
  const name = THOUGHTS.find(one => message[one] !== undefined && message[one] !== null)
  if (name === undefined) return message
  const thought = message[name]
  return { thinking: thought, ...message, reasoning_content: thought }
}
