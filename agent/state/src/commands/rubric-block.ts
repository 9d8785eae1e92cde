/** The rubric within the text of a command, as a separate block. */

/** The block starts with a line of its own; "Criteria:" is a synonym. */
const RUBRIC = /^[ \t]*(?:rubric|criteria):[ \t]*/im

export function splitRubric(text: string): { description: string; rubric: string | null } {
  const rubric = RUBRIC.exec(text)
  if (!rubric) return { description: text, rubric: null }
  const description = text.slice(0, rubric.index).trim()
  const content = text.slice(rubric.index + rubric[0].length).trim()
  // A message that is only a rubric leaves nothing to grade, so its text becomes the description.
  return description === ''
    ? { description: text, rubric: null }
    : { description, rubric: content === '' ? null : content }
}
