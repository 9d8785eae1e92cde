/** Selecting a choice by its number. Pure. */
import type { Question } from '@cairn/protocol'

/** The numbered choices; only a single open question has them. */
function choicesOf(questions: readonly Question[]): readonly string[] {
  const [question, ...more] = questions
  return question === undefined || more.length > 0
    ? []
    : (question.choices ?? []).slice(0, 9).map(({ label }) => label)
}

/** The choice that the text names by its number alone. "3 apples" is free text. */
export function choiceOf(questions: readonly Question[], text: string): string | null {
  const number = /^\s*([1-9])\s*$/.exec(text)?.[1]
  return number === undefined ? null : (choicesOf(questions)[Number(number) - 1] ?? null)
}
