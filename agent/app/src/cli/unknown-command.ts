/** The check of a message before it is sent: a mistyped command is not sent to the model. */
import type { CairnClient } from '@cairn/client'

/**
 * The message for the user, or null if the text may be sent. `names` are the command's own words. The skills
 * are read only if no built-in command fits.
 */
export async function unknownCommandText(
  text: string,
  readSkills: () => Promise<readonly string[]>,
  names: readonly string[] = [],
): Promise<string | null> {
  if (!text.startsWith('/')) return null
  // Loaded for such a text only, so that the command starts without it.
  const { unknownCommand } = await import('@cairn/state')
  if (unknownCommand(text, names) === null) return null
  const unknown = unknownCommand(text, [...names, ...(await readSkills())])
  if (unknown === null) return null
  const { word, meant } = unknown
  const advice = meant === null ? '/help lists the commands.' : `Did you mean ${meant}?`
  return `Unknown command ${word}. ${advice} To send it as text, begin with a space.`
}

/** The names of the skills that the server knows. */
export const skillsOf = (client: CairnClient, signal?: AbortSignal) => async (): Promise<string[]> =>
  (await client.call('about', { ...(signal && { signal }) })).skills.map(({ name }) => name)
