/** The rubric within the text of a command, as a block of its own. */

/** It begins with its own line; "Criteria:" is taken for the same. */
const RUBRIC = /^[ \t]*(?:rubric|criteria):[ \t]*/im

export function splitRubric(text: string): { description: string; rubric: string | null } {
  const rubric = RUBRIC.exec(text)
  if (!rubric) return { description: text, rubric: null }
  const description = text.slice(0, rubric.index).trim()
  const content = text.slice(rubric.index + rubric[0].length).trim()
  // A message that is nothing but a rubric has nothing to grade; its text is what is to be reached.
  return description === ''
    ? { description: text, rubric: null }
    : { description, rubric: content === '' ? null : content }
}
